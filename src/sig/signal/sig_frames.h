/* The frames of an interpreter in a reply: what the handler reads beside its native stack. */
#ifndef WALLPROF_SIG_FRAMES_H
#define WALLPROF_SIG_FRAMES_H

#include "sig_slots.h"

#include <ucontext.h>

/* Handler, after the claim: reads the frames of its own thread, if they are wanted. */
void sig_frames_sample(struct sig_slot *slot, const ucontext_t *context);

#endif
