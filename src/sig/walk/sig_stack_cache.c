/*
 * frames[0] is the root, so what is shared stays in place. The new frames come innermost first; written from
 * the end of the memory downwards they lie in order, and move down behind the shared ones as one block.
 */
#include "sig_stack_cache.h"
#include "sig/sys/sig_arch.h"

void sig_memo_begin(struct sig_memo_walk *walk, struct sig_memo *memo, uint64_t generation)
{
    *walk = (struct sig_memo_walk){.memo = memo};
    if (!memo)
        return;
    if (memo->generation != generation)
        memo->count = 0;
    memo->generation = generation;
    memo->walks++;
    memo->shared = 0;
    walk->left = memo->count > 0 ? memo->count - 1 : 0; /* the innermost was interrupted: no caller is that */
    walk->newest = memo->frames + memo->capacity;
}

void sig_memo_record(struct sig_memo_walk *walk, const struct sig_memo_frame *frame)
{
    if (!walk->memo)
        return;
    if (walk->newest == walk->memo->frames + walk->memo->count)
        sig_memo_give_up(walk);
    else
        *--walk->newest = *frame;
}

static bool is_same(const struct sig_memo_frame *a, const struct sig_memo_frame *b)
{
    return a->address == b->address && a->sp == b->sp && a->fp == b->fp && a->extra == b->extra &&
           a->fp_known == b->fp_known && a->extra_known == b->extra_known;
}

/* Whether stepping from a frame would lead to its caller as it was: the words it is made of are the same. */
static bool leads_on(const struct sig_memo_frame *frame, const struct sig_memo_frame *caller)
{
    const uint64_t *cfa = (const uint64_t *)(uintptr_t)caller->sp;
    return frame->ra_words != 0 &&
           sig_plain_return_address(cfa[-(int)frame->ra_words]) - 1 == caller->address &&
           (frame->fp_words == 0 || cfa[-(int)frame->fp_words] == caller->fp) &&
           (frame->extra_words == 0 || cfa[-(int)frame->extra_words] == caller->extra);
}

/*
 * Frames of the same size called from elsewhere (recursion): where one is another, the next mostly is too,
 * and looking costs as much as walking. So ever more are passed by; what is shared is found at most twice as
 * far out as it begins.
 */
static void let_go(struct sig_memo_walk *walk)
{
    uint32_t gone = walk->skip + 1;
    walk->skip = 2 * walk->skip + 1;
    walk->left = walk->left > gone ? walk->left - gone : 0;
}

uint32_t sig_memo_meet(struct sig_memo_walk *walk, const struct sig_memo_frame *frame, uint64_t window_high)
{
    const struct sig_memo_frame *frames = walk->memo->frames;
    while (walk->left > 0 && frames[walk->left - 1].sp < frame->sp)
        walk->left--;
    if (walk->left == 0 || frames[walk->left - 1].sp != frame->sp)
        return 0;
    if (!is_same(&frames[walk->left - 1], frame)) {
        let_go(walk);
        return 0;
    }
    uint32_t at = walk->left - 1;
    while (at > 0 && frames[at - 1].sp <= window_high && leads_on(&frames[at], &frames[at - 1]))
        at--;
    return at == 0 ? walk->left : walk->left - 1 - at;
}

void sig_memo_end(struct sig_memo_walk *walk, uint32_t shared)
{
    struct sig_memo *memo = walk->memo;
    if (!memo)
        return;
    uint32_t fresh = (uint32_t)(memo->frames + memo->capacity - walk->newest);
    for (uint32_t i = 0; i < fresh; i++)
        memo->frames[shared + i] = walk->newest[i];
    memo->count = shared + fresh;
    memo->shared = shared;
}

void sig_memo_give_up(struct sig_memo_walk *walk)
{
    if (walk->memo)
        walk->memo->count = 0;
    *walk = (struct sig_memo_walk){.memo = NULL};
}
