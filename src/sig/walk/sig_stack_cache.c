/*
 * frames[0] is the root, so shared frames stay in place. New frames come innermost first. They are written
 * from the end of the memory downwards, so they lie in order, and are then moved to follow the shared ones.
 */
#include "sig_stack_cache.h"
#include "sig/sys/sig_arch.h"

void sig_stack_cache_begin(struct sig_stack_cache_walk *walk, struct sig_stack_cache *stack_cache,
                           uint64_t generation)
{
    *walk = (struct sig_stack_cache_walk){.stack_cache = stack_cache};
    if (!stack_cache)
        return;
    if (stack_cache->generation != generation)
        stack_cache->count = 0;
    stack_cache->generation = generation;
    stack_cache->walks++;
    stack_cache->shared = 0;
    /* Without the innermost, which was interrupted: no caller is the same. */
    walk->left = stack_cache->count > 0 ? stack_cache->count - 1 : 0;
    walk->newest = stack_cache->frames + stack_cache->capacity;
}

void sig_stack_cache_record(struct sig_stack_cache_walk *walk, const struct sig_stack_cache_frame *frame)
{
    if (!walk->stack_cache)
        return;
    if (walk->newest == walk->stack_cache->frames + walk->stack_cache->count)
        sig_stack_cache_give_up(walk);
    else
        *--walk->newest = *frame;
}

static bool is_same(const struct sig_stack_cache_frame *a, const struct sig_stack_cache_frame *b)
{
    return a->address == b->address && a->sp == b->sp && a->fp == b->fp && a->extra == b->extra &&
           a->fp_known == b->fp_known && a->extra_known == b->extra_known;
}

/* Whether a step from a frame would lead to the same caller: the words that it reads are the same. */
static bool leads_on(const struct sig_stack_cache_frame *frame, const struct sig_stack_cache_frame *caller)
{
    const uint64_t *cfa = (const uint64_t *)(uintptr_t)caller->sp;
    return frame->ra_words != 0 &&
           sig_plain_return_address(cfa[-(int)frame->ra_words]) - 1 == caller->address &&
           (frame->fp_words == 0 || cfa[-(int)frame->fp_words] == caller->fp) &&
           (frame->extra_words == 0 || cfa[-(int)frame->extra_words] == caller->extra);
}

/*
 * Frames of the same size may have other callers (recursion). If one differs, mostly the next does too, and a
 * comparison costs as much as a step. So ever more frames are skipped. Shared frames are found at most twice
 * as far out as they begin.
 */
static void skip_frames(struct sig_stack_cache_walk *walk)
{
    uint32_t gone = walk->skip + 1;
    walk->skip = 2 * walk->skip + 1;
    walk->left = walk->left > gone ? walk->left - gone : 0;
}

uint32_t sig_stack_cache_meet(struct sig_stack_cache_walk *walk, const struct sig_stack_cache_frame *frame,
                              uint64_t window_high)
{
    const struct sig_stack_cache_frame *frames = walk->stack_cache->frames;
    while (walk->left > 0 && frames[walk->left - 1].sp < frame->sp)
        walk->left--;
    if (walk->left == 0 || frames[walk->left - 1].sp != frame->sp)
        return 0;
    if (!is_same(&frames[walk->left - 1], frame)) {
        skip_frames(walk);
        return 0;
    }
    uint32_t at = walk->left - 1;
    while (at > 0 && frames[at - 1].sp <= window_high && leads_on(&frames[at], &frames[at - 1]))
        at--;
    return at == 0 ? walk->left : walk->left - 1 - at;
}

void sig_stack_cache_end(struct sig_stack_cache_walk *walk, uint32_t shared)
{
    struct sig_stack_cache *stack_cache = walk->stack_cache;
    if (!stack_cache)
        return;
    uint32_t fresh = (uint32_t)(stack_cache->frames + stack_cache->capacity - walk->newest);
    for (uint32_t i = 0; i < fresh; i++)
        stack_cache->frames[shared + i] = walk->newest[i];
    stack_cache->count = shared + fresh;
    stack_cache->shared = shared;
}

void sig_stack_cache_give_up(struct sig_stack_cache_walk *walk)
{
    if (walk->stack_cache)
        walk->stack_cache->count = 0;
    *walk = (struct sig_stack_cache_walk){.stack_cache = NULL};
}
