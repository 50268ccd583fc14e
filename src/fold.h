/*
 * Observations become time on nodes of the tree. Here lies what makes the profile true: a thread's time is
 * owed from observation to observation, so its sums are exact at any rate and load.
 *
 * - wall: all that passed since the thread's last observation goes to the observed stack. When observations
 * come at moments that are independent of what the program does, that is unbiased; and it always adds up.
 * - cpu: what the thread's CPU clock advanced is accumulated; an observation that finds the thread running
 * takes all of it, one that finds it waiting leaves it.
 * - offcpu: wall minus cpu is accumulated; an observation that finds the thread waiting takes whole periods
 * and leaves the remainder, so that many short sleeps are neither flooded nor lost.
 * - calls: of two successive stacks of a thread the frames with equal call sites are the same calls; what is
 * new below them is one new call each.
 *
 * Sources: the accumulator of samply (context_switch.rs), the call counts of rbspy (callgrind.rs).
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_FOLD_H
#define WALLPROF_FOLD_H

#include "tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one thread's time is owed since when. Times are CLOCK_MONOTONIC, CPU times the thread's CPU clock. */
struct fold_thread {
    arena_ref root;
    arena_ref node;         /* where it was last seen; the root before the first observation */
    uint64_t time_ns;       /* accounted for up to here */
    uint64_t cpu_clock_ns;  /* the CPU clock then */
    uint64_t cpu_owed_ns;   /* CPU time no running observation has taken yet */
    int64_t offcpu_owed_ns; /* may be negative for a moment: the two clocks are not read at one instant */
};

/* One look at a thread. */
struct fold_observation {
    uint64_t time_ns;
    uint64_t cpu_clock_ns;
    bool is_running;       /* on a CPU, as opposed to waiting for something or for a CPU */
    bool is_unchanged;     /* the thread provably has not run since it was last seen: path is not looked at */
    bool is_unknown;       /* it did not answer and may have run: the time goes to [not responding] */
    arena_ref base;        /* the node that the path hangs from; 0: the thread's root */
    const arena_ref *path; /* locations, innermost first */
    size_t depth;          /* 0, from the root: nothing of the program was on the stack */
};

struct wp_fold {
    struct wp_tree *tree;
    uint64_t period_ns; /* the unit of off-CPU time */
    uint64_t samples;   /* observations folded in */
};

void fold_thread_begin(struct fold_thread *thread, arena_ref root, uint64_t time_ns, uint64_t cpu_clock_ns);

void fold_observe(struct wp_fold *fold, struct fold_thread *thread,
                  const struct fold_observation *observation);

/*
 * The thread's end: what is owed goes to [unsampled] below its root; or to where it was last seen when it
 * provably has not run since, or to [not responding] when it owes an answer.
 */
enum fold_rest { FOLD_REST_UNSAMPLED, FOLD_REST_UNCHANGED, FOLD_REST_NOT_RESPONDING };
void fold_thread_end(struct wp_fold *fold, struct fold_thread *thread, uint64_t time_ns,
                     uint64_t cpu_clock_ns, enum fold_rest rest);

#endif
