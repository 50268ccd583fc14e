/*
 * A thread's time in gaps (gaps.h): what it is, and where it goes. fold.h has the rule.
 *
 * Called from: fold.c, in the sampler thread.
 */
#ifndef WALLPROF_FOLD_GAPS_H
#define WALLPROF_FOLD_GAPS_H

#include "fold.h"
#include "gaps.h"
#include "passed.h"

#include <stdint.h>

/* Of the time that has passed for a thread, what is in gaps. */
struct fold_missed {
    struct gap_times times;
    struct passed passed; /* their sum, and what does not fit into the time beside the gaps */
};

/*
 * Takes the gaps out of the time that has passed up to thread->time_ns.
 * What is left ends now, as if the gaps had come before it: so the end of the last observation's stretch
 * moves by the gaps after it. gaps: NULL without.
 */
struct fold_missed fold_gaps_take(const struct gaps *gaps, struct fold_thread *thread, struct passed *passed);

/* Gives it to pseudo-frames below the stack that the thread was last seen in. settle_claims.h leaves that as
 * it is. For the timeline: in_stretch_ns has passed in the last observation's stretch. */
void fold_gaps_give(const struct fold *fold, struct fold_thread *thread, const struct fold_missed *missed,
                    uint64_t in_stretch_ns);

#endif
