/*
 * Frames of the interpreter in replies: memory for each slot, requests, and what came back.
 *
 * Called from: the sampler thread only. The handler owns a slot's part from when the slot is armed until it
 * is done (sig_slots.h).
 */
#ifndef WALLPROF_INTERP_REPLIES_H
#define WALLPROF_INTERP_REPLIES_H

#include "interp.h"
#include "sig/signal/sig_slots.h"

struct interp_replies {
    struct interp *interp;           /* not owned; NULL: there was none so far */
    struct sig_slot_interp *slots;   /* owned; pages of slots that are not used are never touched */
    struct sig_interp_frame *frames; /* owned: `depth` of each slot */
    uint32_t count, depth;
};

/* An interpreter was found: from now on its frames are read. Nothing the second time. Without memory none are
 * read. */
void interp_replies_begin(struct interp_replies *replies, struct interp *interp,
                          const struct sig_slots *slots);
void interp_replies_deinit(struct interp_replies *replies);

/* Between arming a slot and sending the signal: asks for the frames of the thread, if it has a state. */
void interp_replies_request(struct interp_replies *replies, struct sig_slots *slots, uint32_t index,
                            struct interp_thread *thread, pid_t tid);

/* The frames of a slot that is done, NULL for none; valid until it is released. A state that was not the
 * thread's any more is forgotten. */
const struct sig_interp_stack *interp_replies_take(const struct sig_slot *slot, struct interp_thread *thread);

#endif
