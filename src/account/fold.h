/*
 * Observations become time on nodes of the tree. Every moment of a thread's life is accounted for exactly
 * once, so its sums are exact at any rate and load. That makes the profile true.
 *
 * - wall: an observation stands for a stretch of the thread's time, part of it before the sample and part of
 * it after the sample (schedule.h says why). All of it goes to the observed stack. The time since the end of
 * the last observation's stretch is added at once, the rest of the stretch at the next observation.
 * - cpu, offcpu: an observation claims its time as CPU time if it found the thread running, else as off-CPU
 *   time. Until the thread's end the tree holds these claims. At the end they are scaled: CPU time to what
 * the thread's CPU clock advanced, off-CPU time to the rest of its wall time. So both are as unbiased as wall
 *   time, and add up exactly. (Giving a running observation all CPU time since the last running one would be
 *   biased: it favours what a thread does when it is sampled often.)
 * - calls: the frames that two successive stacks of a thread share, by call site, are the same calls. Each
 * frame below them is one new call. A change of labels makes no call.
 *
 * - gaps: time that nobody could observe (gaps.h) is in no stretch. It goes to a pseudo-frame below the stack
 * that the thread was last seen in. Of the CPU time that passed it has what does not fit into the time beside
 * it.
 *
 * Source: the call counts of rbspy (callgrind.rs).
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_FOLD_H
#define WALLPROF_FOLD_H

#include "changes.h"
#include "gaps.h"
#include "profile/timeline.h"
#include "profile/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The stretch of an observation goes on after it, until fold_stretch_ended. */
#define FOLD_GOES_ON UINT64_MAX

/* How far one thread's time is accounted for. Times are CLOCK_MONOTONIC, CPU times the thread's CPU clock. */
struct fold_thread {
    arena_ref root;
    arena_ref node;       /* where it was last seen; the root before the first observation */
    uint32_t label_depth; /* how many labels that node's path begins with */
    arena_ref credited; /* the node that the last observation's time goes to: that one or a pseudo-frame's */
    bool was_running;   /* at the last observation */
    uint64_t until_ns;  /* the end of the last observation's stretch, or FOLD_GOES_ON */
    uint64_t time_ns;   /* accounted for up to here */
    uint64_t cpu_clock_ns; /* the CPU clock then */
    uint64_t begin_ns, begin_cpu_clock_ns;
    struct changes_thread changes;
    struct timeline_thread timeline;
};

/* What one sample says of a thread. */
struct fold_observation {
    uint64_t time_ns;
    uint64_t until_ns;   /* the end of its stretch; 0 if that ends with the sample, or FOLD_GOES_ON */
    uint64_t until_tick; /* for the timeline: the last tick of the stretch */
    uint64_t cpu_clock_ns;
    bool is_running;       /* on a CPU, as opposed to waiting for something or for a CPU */
    bool is_unchanged;     /* provably has not run since it was last seen: the time goes to the same node */
    bool is_unknown;       /* did not reply and may have run: the time goes to [not responding] */
    bool is_left_out;      /* only its clock was read: the time goes to [uninteresting] */
    arena_ref base;        /* the node that the path begins below; 0: the thread's root */
    const arena_ref *path; /* locations, innermost first; from the root, labels after them */
    size_t depth;          /* of the path; 0 from the root: no frame of the program was on the stack */
    uint32_t label_count;  /* how many labels the path has, or the base's path */
};

/* Whether a stack was seen: else the path is not read. */
static inline bool fold_has_stack(const struct fold_observation *observation)
{
    return !observation->is_unchanged && !observation->is_unknown && !observation->is_left_out;
}

struct fold {
    struct tree *tree;
    uint64_t period_ns;        /* between ticks */
    uint64_t samples;          /* observations so far */
    struct timeline *timeline; /* keeps them with their times; NULL: nothing does. Not owned */
    struct changes_newcomers newcomers;
    const struct gaps *gaps;   /* NULL: there are none. Not owned */
};

/* timeline_begin begins the timeline's part, after this. */
void fold_thread_begin(struct fold_thread *thread, arena_ref root, uint64_t time_ns, uint64_t cpu_clock_ns);

/* Sets the end of the last observation's stretch, if that is still going on. */
void fold_stretch_ended(struct fold_thread *thread, uint64_t end_ns);

void fold_observe(struct fold *fold, struct fold_thread *thread, const struct fold_observation *observation);

/*
 * Ends a thread, with two passes over its tree. Time in the last observation's stretch goes where that
 * observation went. The rest goes to [unsampled] below the root, to the last stack if the thread provably has
 * not run since, or to [not responding] if its reply is outstanding.
 */
enum fold_rest { FOLD_REST_UNSAMPLED, FOLD_REST_UNCHANGED, FOLD_REST_NOT_RESPONDING };
void fold_thread_end(struct fold *fold, struct fold_thread *thread, uint64_t time_ns, uint64_t cpu_clock_ns,
                     enum fold_rest rest);

/*
 * The same for a thread that goes on: its sums are exact now, and again after the next call. That call scales
 * what each node has now together with what is claimed in between. stretch_end_ns: the end of the last
 * observation's stretch, if that goes on.
 */
void fold_thread_settle(struct fold *fold, struct fold_thread *thread, uint64_t stretch_end_ns,
                        uint64_t time_ns, uint64_t cpu_clock_ns, enum fold_rest rest);

/* After fold_thread_settle: the time since then is left out, and the last observation's stretch has ended. */
void fold_thread_skip(struct fold_thread *thread, uint64_t time_ns, uint64_t cpu_clock_ns);

#endif
