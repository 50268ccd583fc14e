/* Tools of settling claims: the parts of a wall time, and how they are scaled, one claim after the other, so
 * that nothing is lost by rounding. */
#ifndef WALLPROF_SCALE_H
#define WALLPROF_SCALE_H

#include "profile/tree.h"

#include <stdint.h>

enum part { CPU, RUNDELAY, BLOCKED, PARTS };

static inline uint64_t *part_of(struct values *values, int part)
{
    return part == CPU ? &values->cpu_ns : part == RUNDELAY ? &values->rundelay_ns : &values->blocked_ns;
}

struct scale {
    uint64_t claimed_ns, true_ns; /* the sum before and after */
    uint64_t done_ns;             /* what has been scaled of the sum before */
};

static inline uint64_t scale(struct scale *scale, uint64_t claim_ns)
{
    uint64_t from_ns = scale->done_ns;
    scale->done_ns += claim_ns;
    if (scale->claimed_ns == 0)
        return 0;
    unsigned __int128 before = (unsigned __int128)from_ns * scale->true_ns / scale->claimed_ns;
    unsigned __int128 after = (unsigned __int128)scale->done_ns * scale->true_ns / scale->claimed_ns;
    return (uint64_t)(after - before);
}

#endif
