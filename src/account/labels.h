/*
 * Labels of the program (wallprof.h). The table has every pair of a key and a value once, and once every
 * stack of labels that a thread has ever had.
 *
 * A thread's labels are one number of 32 bits, that of a stack. So they change in one store, and a reader
 * sees the labels before a change or after it. A stack is a label on a smaller stack. The same label on the
 * same stack has the same number again.
 *
 * Nothing is taken out of the table, as the program may have a label's pointer for ever. Its size is bounded.
 * A key may have as many values as there is room left, so half of the table at most, and there is room for
 * others. What does not fit is the label [other] of its key, which is there from the key's first value on. So
 * is a label for whose stack there is no room.
 *
 * A label that is taken from below others leaves a hole, as tokens hold the depths of the others.
 *
 * Called from: any thread, and any handler of the program, which may have interrupted another of these calls.
 * There are no locks, and an unfinished call has no effect. The sampler only reads.
 */
#ifndef WALLPROF_LABELS_H
#define WALLPROF_LABELS_H

#include "profile/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LABELS_MAX = 16384,
    LABELS_OF_KEY_MIN = 16, /* a key has that many values while there is any room */
    LABELS_TEXT_BYTES = LABELS_MAX * 96,
    LABELS_STACKS = 1 << 16,                   /* slots */
    LABELS_STACKS_MAX = LABELS_STACKS / 4 * 3, /* used slots */
    LABELS_STACKS_KEPT = LABELS_STACKS_MAX / 8 /* of them for stacks with [other] on top, and for pops */
};

/* The program has pointers to these. */
struct wallprof_label_t {
    uint32_t hash;
    uint32_t text;   /* atomic: where the key begins, with the value after its terminator; 0: not used */
    uint32_t values; /* atomic: of [other]: how many values its key has, more or less */
};

struct label_table {
    uint32_t count;                                  /* atomic: of reserved records, used or not */
    uint32_t text_used;                              /* atomic */
    uint32_t stack_count;                            /* atomic */
    struct wallprof_label_t records[LABELS_MAX + 1]; /* the first one is not used */
    uint32_t slots[2 * LABELS_MAX];                  /* atomic, open addressing: index into records */
    uint64_t stacks[LABELS_STACKS];                  /* atomic, open addressing: see labels.c */
    char text[LABELS_TEXT_BYTES];
};

/* Whether a key has a meaning of its own in profiles. */
bool labels_is_reserved(const char *key);

/*
 * The label of a key and a value, made if new; or the key's [other]. Its text becomes valid UTF-8, with '?'
 * for control characters. 0, or -EINVAL (no text, a reserved key, or one with '='), -ENAMETOOLONG, -ENOSPC
 * (there is no room for another key).
 */
int labels_intern(struct label_table *labels, const char *key, const char *value,
                  const struct wallprof_label_t **ret);

const char *labels_key(const struct label_table *labels, uint32_t label);
const char *labels_value(const struct label_table *labels, uint32_t label);

/*
 * Puts a label on the calling thread's stack, *number; or [other] of its key, if there have been many stacks.
 * A token, which is positive, or -EINVAL (no such label), -ENOSPC (the stack is too deep, or there have been
 * too many stacks).
 */
int labels_push(struct label_table *labels, uint32_t *number, const struct wallprof_label_t *label);

/* Takes the label of a token from the calling thread's stack, wherever it is there. 0, -EINVAL (no token),
 * -ENOENT (it is not there, or not any more), -ENOSPC. */
int labels_pop(struct label_table *labels, uint32_t *number, int token);

/* The labels of a stack, by key. Of several with one key the last one counts. Returns how many. */
size_t labels_of_stack(const struct label_table *labels, uint32_t number, uint32_t ret[LABELS_DEPTH_MAX]);

#endif
