#include "interp_replies.h"

#include "base/arena.h"

void interp_replies_begin(struct interp_replies *replies, struct interp *interp,
                          const struct sig_slots *slots)
{
    if (replies->interp)
        return;
    *replies = (struct interp_replies){.interp = interp, .count = slots->count, .depth = slots->capacity};
    replies->slots = scratch_alloc(sizeof *replies->slots * replies->count);
    replies->frames = scratch_alloc(sizeof *replies->frames * replies->count * replies->depth);
}

void interp_replies_deinit(struct interp_replies *replies)
{
    scratch_free(replies->slots, sizeof *replies->slots * replies->count);
    scratch_free(replies->frames, sizeof *replies->frames * replies->count * replies->depth);
    *replies = (struct interp_replies){0};
}

void interp_replies_request(struct interp_replies *replies, struct sig_slots *slots, uint32_t index,
                            struct interp_thread *thread, pid_t tid)
{
    if (!replies->slots || !replies->frames)
        return;
    interp_find_state(replies->interp, thread, tid);
    if (!thread->state)
        return;
    struct sig_slot_interp *part = &replies->slots[index];
    part->layout = replies->interp->runtime.frames;
    part->thread = interp_whose(thread, tid);
    part->stack = (struct sig_interp_stack){.frames = replies->frames + (size_t)index * replies->depth,
                                            .capacity = replies->depth};
    sig_slots_request_frames(slots, index, part);
}

const struct sig_interp_stack *interp_replies_take(const struct sig_slot *slot, struct interp_thread *thread)
{
    const struct sig_slot_interp *part = slot->interp;
    if (part && !part->is_its_state)
        thread->state = 0;
    return part && part->stack.count > 0 ? &part->stack : NULL;
}
