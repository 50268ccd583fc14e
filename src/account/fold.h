/*
 * Observations become time on nodes of the tree. Here lies what makes the profile true: a thread's time is
 * owed from observation to observation, so its sums are exact at any rate and load.
 *
 * - wall: an observation stands for a stretch of the thread's time, part of it before the sample and part
 * behind (schedule.h says why, and which). All of it goes to the observed stack: what passed since the end of
 * the last observation's stretch at once, the rest of its own at the next observation. It always adds up.
 * - cpu, offcpu: an observation claims the time it stands for as CPU time when it found the thread running,
 * as off-CPU time when it found it waiting. At the thread's end its claims are scaled to what is true of it
 * as a whole: of one kind to what its CPU clock advanced, of the other to the rest of its wall time. So both
 * are as unbiased as wall time, and add up exactly. (To give a running observation all CPU time since the
 * last running one is not: it favours what a thread does when it is sampled often.) Until the end the tree
 * holds the claims.
 * - calls: of two successive stacks of a thread the frames with equal call sites are the same calls; what is
 * new below them is one new call each. Other labels make no call.
 *
 * Source: the call counts of rbspy (callgrind.rs).
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_FOLD_H
#define WALLPROF_FOLD_H

#include "profile/timeline.h"
#include "profile/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The stretch of an observation goes on after it, up to the moment that fold_stretch_ended will tell. */
#define FOLD_GOES_ON UINT64_MAX

/* What one thread's time is owed since when. Times are CLOCK_MONOTONIC, CPU times the thread's CPU clock. */
struct fold_thread {
    arena_ref root;
    arena_ref node;        /* where it was last seen; the root before the first observation */
    uint32_t label_depth;  /* that node's path begins with so many labels */
    arena_ref credited;    /* where the last observation's time goes: that node or a pseudo-frame's */
    bool was_running;      /* at the last observation */
    uint64_t until_ns;     /* the last observation stands for the time up to here, or FOLD_GOES_ON */
    uint64_t time_ns;      /* accounted for up to here */
    uint64_t cpu_clock_ns; /* the CPU clock then */
    uint64_t begin_ns, begin_cpu_clock_ns;
    struct timeline_thread timeline;
};

/* One sample a thread. */
struct fold_observation {
    uint64_t time_ns;
    uint64_t until_ns;   /* it stands for what follows up to here; 0 for nothing, or FOLD_GOES_ON */
    uint64_t until_tick; /* the same by tick, for the timeline: the last that it stands for */
    uint64_t cpu_clock_ns;
    bool is_running;       /* on a CPU, as opposed to waiting for something or for a CPU */
    bool is_unchanged;     /* the thread provably has not run since it was last seen: path is not read,
                            * and everything since goes to where that was */
    bool is_unknown;       /* it did not reply and may have run: the time goes to [not responding] */
    bool is_left_out;      /* only its clock was read: the time goes to [uninteresting] */
    arena_ref base;        /* the node that the path hangs from; 0: the thread's root */
    const arena_ref *path; /* locations, innermost first, and after them labels, if it hangs from the root */
    size_t depth;          /* 0, from the root: nothing of the program was on the stack */
    uint32_t label_count;  /* how many of these the path has, or its base */
};

/* Whether it is of a stack. */
static inline bool fold_has_stack(const struct fold_observation *observation)
{
    return !observation->is_unchanged && !observation->is_unknown && !observation->is_left_out;
}

struct fold {
    struct tree *tree;
    uint64_t period_ns;        /* between ticks */
    uint64_t samples;          /* observations folded in */
    struct timeline *timeline; /* where they are kept with their times too; NULL: nowhere. Not owned */
};

/* What belongs to the timeline is begun by timeline_begin, after this. */
void fold_thread_begin(struct fold_thread *thread, arena_ref root, uint64_t time_ns, uint64_t cpu_clock_ns);

/* The last observation's stretch has ended then, if it was still going on. */
void fold_stretch_ended(struct fold_thread *thread, uint64_t end_ns);

void fold_observe(struct fold *fold, struct fold_thread *thread, const struct fold_observation *observation);

/*
 * The thread's end, with one pass over its tree: what lies in the last observation's stretch goes where that
 * went. What is owed after it goes to [unsampled] below the root; or to where the thread was last seen when
 * it provably has not run since, or to [not responding] when it owes a reply.
 */
enum fold_rest { FOLD_REST_UNSAMPLED, FOLD_REST_UNCHANGED, FOLD_REST_NOT_RESPONDING };
void fold_thread_end(struct fold *fold, struct fold_thread *thread, uint64_t time_ns, uint64_t cpu_clock_ns,
                     enum fold_rest rest);

/*
 * The same for a thread that goes on: its sums are true now, and are again at the next of these moments. What
 * it has used until that one is then shared out anew, by what each node has now and what has been claimed
 * since. stretch_end_ns: up to when the last observation's stretch goes, if it goes on.
 */
void fold_thread_settle(struct fold *fold, struct fold_thread *thread, uint64_t stretch_end_ns,
                        uint64_t time_ns, uint64_t cpu_clock_ns, enum fold_rest rest);

/*
 * After a settling: what has passed since is in no thread's account, and what was seen before does not stand
 * for what follows.
 */
void fold_thread_skip(struct fold_thread *thread, uint64_t time_ns, uint64_t cpu_clock_ns);

#endif
