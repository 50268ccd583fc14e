/*
 * Gaps: time in which the sampler could observe no thread, because it came much later than it was due.
 *
 * A gap is no thread's time in what its next sample finds. fold.h puts it below the stack that the thread was
 * last seen in: as [stopped] if the whole process did not run, else as [not observed]. A thread that provably
 * has not run since is known, and has no gap.
 *
 * A thread comes to its gaps at its next observation, so a gap costs nothing for each thread. Only the newest
 * GAPS_MAX are kept. A thread that was not sampled for longer than that finds the older ones as its own time.
 *
 * Called from: the sampler thread only. Times: CLOCK_MONOTONIC.
 */
#ifndef WALLPROF_GAPS_H
#define WALLPROF_GAPS_H

#include <stdint.h>

enum gap_kind {
    GAP_STOPPED,      /* no thread of the process ran: SIGSTOP, a debugger, a frozen cgroup */
    GAP_NOT_OBSERVED, /* threads may have run: the sampler waited for a CPU, or nobody knows why */
    GAP_KINDS
};

enum { GAPS_MAX = 256 };

struct gap {
    uint64_t begin_ns, end_ns;
    enum gap_kind kind;
};

/* Zeroed memory: none yet. */
struct gaps {
    struct gap newest[GAPS_MAX]; /* a ring: the gap with number n is at n % GAPS_MAX */
    uint64_t count;
    uint64_t total_ns[GAP_KINDS];
};

/* Gaps follow each other: what an earlier one covers is left out of this one. */
void gaps_add(struct gaps *gaps, uint64_t begin_ns, uint64_t end_ns, enum gap_kind kind);

struct gap_times {
    uint64_t wall_ns[GAP_KINDS];
};

/* How long the gaps between two moments were. O(1) where there is none. */
struct gap_times gaps_between(const struct gaps *gaps, uint64_t from_ns, uint64_t to_ns);

static inline uint64_t gaps_sum(const struct gap_times *times)
{
    return times->wall_ns[GAP_STOPPED] + times->wall_ns[GAP_NOT_OBSERVED];
}

#endif
