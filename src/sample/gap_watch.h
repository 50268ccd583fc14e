/*
 * Why the sampler came late. It looks at itself before it waits, and when it has come very late.
 *
 * The second number of its own schedstat is how long it was ready to run without a CPU. If that is half of
 * the time or more, it was starved. Else, if it has left its CPU by itself more than once for one wait, the
 * kernel has stopped it: a process that is stopped or frozen, or that a debugger has attached to, wakes each
 * of its threads so that they stop. (The sampler has all signals blocked: nothing else wakes it in between.
 * A thread that another takes the CPU from counts elsewhere.) Else nobody knows: a virtual machine that
 * stood still, a cgroup of version 1 that was frozen, a wait of the sampler in its own work.
 *
 * How often it has left its CPU is asked without a file. schedstat is opened when it has first come very
 * late, as proc_tasks.h demands. It is compared with nothing then: unless it was stopped, a sampler that has
 * waited for a CPU for as long in its life counts as starved. Who is late by less than 50 ms does so, too.
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_GAP_WATCH_H
#define WALLPROF_GAP_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* What the kernel says of the sampler thread. */
struct gap_watch_runs {
    uint64_t delay_ns; /* ready, without a CPU */
    uint64_t sleeps;   /* how often it has left its CPU by itself */
};

/* Zeroed memory: no file can be read. */
struct gap_watch {
    bool may_open; /* there is a descriptor table of its own: */
    int fd;        /* its schedstat there; 0: not open. (0 to 2 are never ours.) */
    struct gap_watch_runs before;
};

enum gap_cause { GAP_CAUSE_UNKNOWN, GAP_CAUSE_STOPPED, GAP_CAUSE_STARVED };

/* The sampler thread has a descriptor table of its own, or not; or it is gone with that. */
void gap_watch_enter(struct gap_watch *watch, bool has_own_descriptors);
void gap_watch_drop(struct gap_watch *watch);

/* Before a wait. 0.3 us, or 1 us with its schedstat. */
void gap_watch_begin(struct gap_watch *watch);

/* After it: why it lasted late_ns too long. */
enum gap_cause gap_watch_cause(struct gap_watch *watch, uint64_t late_ns);

/* The rule, for tests. */
enum gap_cause gap_watch_judge(const struct gap_watch_runs *before, const struct gap_watch_runs *after,
                               uint64_t late_ns);

#endif
