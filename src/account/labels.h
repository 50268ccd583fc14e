/*
 * Labels of the program (wallprof.h): every pair of a key and a value once, and every stack of them that a
 * thread has ever had, once.
 *
 * What a thread's labels are is one number of 32 bits, that of a stack: so they change in one store, and who
 * reads the number sees the labels before or after a change, never something in between. A stack is what was
 * put on one below it: the same label on the same stack is the same number again, found in a table. Nothing
 * is taken out of the tables, and both are bounded.
 *
 * A label that is taken from below others leaves a hole: the places of those above it are what their tokens
 * say.
 *
 * Called from: any thread, and in any handler of the program's, which may have interrupted another of these
 * calls: there are no locks, and what is not finished has no effect. labels_of_stack also by the sampler.
 */
#ifndef WALLPROF_LABELS_H
#define WALLPROF_LABELS_H

#include "profile/label_limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LABELS_MAX = 8192,
    LABELS_TEXT_BYTES = LABELS_MAX * 96,
    LABELS_STACKS = 1 << 16,                  /* slots; */
    LABELS_STACKS_MAX = LABELS_STACKS / 4 * 3 /* so many of them are used at most */
};

/* What the program has a pointer to. */
struct wallprof_label_t {
    uint32_t hash;
    uint32_t text; /* atomic: where the key begins, and after its terminator the value; 0 in one not used */
};

struct label_table {
    uint32_t count;                                  /* atomic: of records handed out, used or not */
    uint32_t text_used;                              /* atomic */
    uint32_t stack_count;                            /* atomic */
    struct wallprof_label_t records[LABELS_MAX + 1]; /* the first one is none */
    uint32_t slots[2 * LABELS_MAX];                  /* atomic, open addressing: index into records */
    uint64_t stacks[LABELS_STACKS];                  /* atomic, open addressing: labels.c has their parts */
    char text[LABELS_TEXT_BYTES];
};

/* Keys that mean something of their own in a profile. */
bool labels_is_reserved(const char *key);

/*
 * The label of a key and a value, made if new: as valid UTF-8, with '?' for control characters. 0, or -EINVAL
 * (no text, a reserved key, or one with '='), -ENAMETOOLONG, -ENOSPC.
 */
int labels_intern(struct label_table *labels, const char *key, const char *value,
                  const struct wallprof_label_t **ret);

const char *labels_key(const struct label_table *labels, uint32_t label);
const char *labels_value(const struct label_table *labels, uint32_t label);

/*
 * Puts a label on the stack of a thread, *number: only the thread itself. A token, which is positive, or
 * -EINVAL (no such label), -ENOSPC (it is as deep as can be, or there have been too many stacks).
 */
int labels_push(struct label_table *labels, uint32_t *number, const struct wallprof_label_t *label);

/* Takes the label of a token from wherever it is in the stack. 0, -EINVAL for what is no token, -ENOENT when
 * it is not there (any more), -ENOSPC. */
int labels_pop(struct label_table *labels, uint32_t *number, int token);

/*
 * The labels of a stack by which its samples are to be told apart, in the order of their keys: of several
 * with one key that which was put on last. Returns how many.
 */
size_t labels_of_stack(const struct label_table *labels, uint32_t number, uint32_t ret[LABELS_DEPTH_MAX]);

#endif
