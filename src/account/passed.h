/* What has passed between two readings of a thread's clocks: a part of fold.c. */
#ifndef WALLPROF_PASSED_H
#define WALLPROF_PASSED_H

#include "base/smaller.h"
#include "profile/tree.h"

#include <stdint.h>

struct passed {
    uint64_t wall_ns, cpu_ns, delay_ns;
};

/* What the clocks say of a time of which nothing else is known. */
static inline struct values by_clocks(const struct passed *passed, uint64_t wall_ns)
{
    uint64_t cpu_ns = smaller(passed->cpu_ns, wall_ns);
    uint64_t delay_ns = smaller(passed->delay_ns, wall_ns - cpu_ns);
    return (struct values){
        .cpu_ns = cpu_ns, .rundelay_ns = delay_ns, .blocked_ns = wall_ns - cpu_ns - delay_ns};
}

/* No part of it is negative. */
static inline struct values values_less(const struct values *values, const struct values *taken)
{
    return (struct values){.cpu_ns = since(taken->cpu_ns, values->cpu_ns),
                           .rundelay_ns = since(taken->rundelay_ns, values->rundelay_ns),
                           .blocked_ns = since(taken->blocked_ns, values->blocked_ns)};
}

/* What is left of a time, by its clocks, without a part of it. The part may have been found otherwise than
 * the clocks say of it. */
static inline struct values clocks_less(const struct values *all, const struct values *known)
{
    const struct passed left = {.cpu_ns = since(known->cpu_ns, all->cpu_ns),
                                .delay_ns = since(known->rundelay_ns, all->rundelay_ns)};
    return by_clocks(&left, since(tree_wall_ns(known), tree_wall_ns(all)));
}

/* A part of what has passed: nobody knows in which part the thread ran. */
static inline struct passed share_of(const struct passed *passed, uint64_t wall_ns)
{
    if (passed->wall_ns == 0)
        return (struct passed){0};
    return (struct passed){
        .wall_ns = wall_ns,
        .cpu_ns = (uint64_t)((unsigned __int128)passed->cpu_ns * wall_ns / passed->wall_ns),
        .delay_ns = (uint64_t)((unsigned __int128)passed->delay_ns * wall_ns / passed->wall_ns),
    };
}

#endif
