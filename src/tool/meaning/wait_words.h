/*
 * The words for a profile's waits, for encoders that do not know this room (struct waits in
 * profile/profile.h).
 *
 * Called from: formats. One thread.
 */
#ifndef WALLPROF_WAIT_WORDS_H
#define WALLPROF_WAIT_WORDS_H

#include "meaning.h"

struct wait_words {
    struct waits waits; /* first: its function gets a pointer to it */
    struct meaning_names names;
};

/* 0 or -ENOMEM; deinit in any case. */
int wait_words_init(struct wait_words *words, const struct profile *profile);
void wait_words_deinit(struct wait_words *words);

#endif
