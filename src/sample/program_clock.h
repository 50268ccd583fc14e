/*
 * The CPU time of the program, read as rarely as that is dear.
 *
 * It is the whole process's, less the sampler's. The kernel adds up the clocks of all threads for it
 * (thread_group_cputime): 0.2 us for each, so 1.2 ms among 5,000. Four such readings a second were half of
 * what the sampler used in such a crowd. So readings take one part in PROGRAM_CLOCK_PARTS of the time at
 * most. In between, the program is taken to run on as it did between the last two. With some hundred threads
 * each answer is a reading.
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_PROGRAM_CLOCK_H
#define WALLPROF_PROGRAM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { PROGRAM_CLOCK_PARTS = 4000 };

/* Zeroed memory is one that was never read. */
struct program_clock {
    uint64_t read_ns, due_ns; /* of the last reading, and of the next one; CLOCK_MONOTONIC */
    uint64_t cpu_ns;          /* as it was read */
    uint64_t said_ns;         /* the last answer */
    double rate;              /* CPU time in a ns */
};

static inline bool program_clock_is_due(const struct program_clock *clock, uint64_t now_ns)
{
    return now_ns >= clock->due_ns;
}

/* A reading, and the CPU time that it took. */
static inline void program_clock_note(struct program_clock *clock, uint64_t now_ns, uint64_t cpu_ns,
                                      uint64_t took_ns)
{
    if (clock->read_ns && now_ns > clock->read_ns && cpu_ns >= clock->cpu_ns)
        clock->rate = (double)(cpu_ns - clock->cpu_ns) / (double)(now_ns - clock->read_ns);
    clock->read_ns = now_ns;
    clock->cpu_ns = cpu_ns;
    clock->due_ns = now_ns + took_ns * PROGRAM_CLOCK_PARTS;
}

/* The CPU time now. Where less was used than was said before, it stands still until that is true. */
static inline uint64_t program_clock_at(struct program_clock *clock, uint64_t now_ns)
{
    uint64_t cpu_ns = clock->cpu_ns + (uint64_t)(clock->rate * (double)(now_ns - clock->read_ns));
    if (cpu_ns > clock->said_ns)
        clock->said_ns = cpu_ns;
    return clock->said_ns;
}

#endif
