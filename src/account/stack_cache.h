/*
 * A thread's last stack as the tree knows it: beside sig_memo, which the walk in the handler compares with,
 * the node for each of its frames. A stack that shares its outer frames with the one before is folded from
 * the node of the last shared frame on, so folding costs what has changed.
 *
 * Called from: the sampler thread only. The handler has the walk's part from when the slot is armed until it
 * is done.
 */
#ifndef WALLPROF_MEMO_H
#define WALLPROF_MEMO_H

#include "sig/walk/sig_stack_cache.h"
#include "profile/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Below this depth a memo saves nothing worth its memory. */
enum { MEMO_LEAST_FRAMES = 16 };

/* How much memory all memos together may take. */
struct wp_memos {
    size_t bytes, bytes_max;
};

struct wp_memo {
    size_t bytes;     /* of the block that all of this lies in */
    uint32_t frames;  /* a stack may have */
    uint32_t walks;   /* sig_memo.walks when the nodes were written; 0 when they are of no use */
    uint32_t labels;  /* the number of the thread's label stack then: of another one they are of no use */
    arena_ref *nodes; /* by frame, outermost first; frames of ours have their caller's */
    struct sig_memo *walk; /* never NULL */
};

/* A memo for stacks somewhat deeper than this; NULL when there is no memory or the bound is reached. */
struct wp_memo *memo_create(struct wp_memos *memos, uint32_t depth);

/* NULL does nothing. */
void memo_destroy(struct wp_memos *memos, struct wp_memo *memo);

/*
 * The node that a new stack hangs from, when all but its outermost `shared` frames were answered: 0 when that
 * is not known, then the stack must be folded whole (memo_whole).
 */
arena_ref memo_base(const struct wp_memo *memo, uint32_t labels);

/* Adds the shared frames to the `count` addresses of a new stack, innermost first; capacity bounds all. */
size_t memo_whole(const struct wp_memo *memo, uint64_t *addresses, size_t count, size_t capacity);

/*
 * The stack has been folded, and its innermost frame is this node. inner[i]: how many nodes frame i of the
 * `fresh` ones that were folded, innermost first, has below it.
 */
void memo_keep(struct wp_memo *memo, const struct wp_tree *tree, arena_ref node, const uint32_t *inner,
               size_t fresh, uint32_t labels);

#endif
