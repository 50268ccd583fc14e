#include "wait_words.h"

static const char *word_at(const struct waits *waits, const struct tree *tree, arena_ref node)
{
    const struct wait_words *words = (const struct wait_words *)waits;
    enum wait_kind kind = meaning_wait_at(&words->names, tree, node);
    return kind == WAIT_UNSEEN ? NULL : wait_kind_words[kind];
}

int wait_words_init(struct wait_words *words, const struct profile *profile)
{
    words->waits.word = word_at;
    return meaning_names_init(&words->names, profile);
}

void wait_words_deinit(struct wait_words *words)
{
    meaning_names_deinit(&words->names);
}
