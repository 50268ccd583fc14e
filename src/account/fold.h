/*
 * Observations become time on nodes of the tree. Every moment of a thread's life is accounted for exactly
 * once, so its sums are exact at any rate and load. That makes the profile true.
 *
 * - wall: an observation stands for a stretch of the thread's time, part of it before the sample and part of
 * it after the sample (schedule.h says why). All of it goes to the observed stack. The time since the end of
 * the last observation's stretch is added at once, the rest of the stretch at the next observation.
 * - cpu, rundelay, blocked: the three parts of a node's wall time. An observation that found the thread
 *   blocked claims its stretch as blocked time. One that found it woken, waiting for a CPU in the call that
 * it had waited in, claims its stretch as run delay. Any other that found it runnable claims its stretch as
 * CPU time and run delay, in the proportion in which the thread's two clocks have advanced since the
 * observation before, less the run delay of those that found it woken. Until the thread's end the tree holds
 * these claims. At the end the parts are made to add up to the thread's true totals (settle_claims.h): CPU
 * time to what its CPU clock advanced, run delay to what the kernel has counted, blocked time to the rest of
 * its life. Off-CPU time is run delay and blocked time. (Giving a running observation all CPU time since the
 * last running one would be biased: it favours what a thread does when it is sampled often.)
 * - calls: the frames that two successive stacks of a thread share, by call site, are the same calls. Each
 * frame below them is one new call. A change of labels makes no call.
 * - what a thread waits for stands below its stack (profile/wait_labels.h). A lock may change hands while a
 * thread waits for it: then an observation of the same stack ends the stretch before.
 * - blame: what a thread waits for is blamed on a node of what the holder of its lock was doing
 * (profile/wait_labels.h). An observation stands for a stretch of the thread's time, and so does the holder's
 * stack at its moment. What lies in the stretch before the observation is passed at once, the rest at the
 * next one. So the odds of a holder's stack are those of the wait itself, and blame adds up to the time of
 * the waits. It is not settled: the parts of the waiter's time are, by about a per cent.
 * - gaps: time that nobody could observe (gaps.h) is in no stretch. It goes to a pseudo-frame below the stack
 * that the thread was last seen in. Of the CPU time and the run delay that passed it has what does not fit
 * into the time beside it.
 *
 * Why a row adds up, and what that costs. A node's wall time is the sum of its parts, so no part is negative
 * or above the whole. The claims are unbiased: the stretch of a function goes to it with the right odds
 * (schedule.h). The parts are less certain than the whole, as a thread's state is not always what it was when
 * it was chosen. The proportion of CPU time and run delay is that of the neighbourhood of the observation. A
 * function that waits for a CPU more than its neighbours within one stretch has a part of theirs; over the
 * thread's life both totals are exact.
 * A thread that was woken waits for a CPU where it was blocked, and is often found blocked there. So the run
 * delay that observations of a runnable thread do not account for is in the time of those that found it
 * blocked. Of a thread that is rarely seen a part that no observation has claimed goes to [unsampled].
 *
 * Short lives. A stretch may begin before its thread and go on after the thread's end. Claims of a short life
 * are those of whole stretches, and are scaled together with those of others (short_lives.h).
 *
 * The kernel counts a wait for a CPU when it ends. So the wait in which an observation finds a thread is in
 * the next one's proportion, and that in which the recording ends is in none.
 *
 * Source: the call counts of rbspy (callgrind.rs).
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_FOLD_H
#define WALLPROF_FOLD_H

#include "changes.h"
#include "gaps.h"
#include "settle_claims.h"
#include "profile/timeline.h"
#include "profile/tree.h"
#include "profile/wait_labels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The stretch of an observation goes on after it, until fold_stretch_ended. */
#define FOLD_GOES_ON UINT64_MAX

/* A life of fewer periods, all of it recorded, is a short one. Longer ones lose at most a hundredth at their
 * end. */
enum { FOLD_SHORT_PERIODS = 100 };

/* A delay clock that the kernel does not tell. */
#define FOLD_NO_DELAY UINT64_MAX

/* Part of a thread's record. Zeroed memory: nobody is blamed. */
struct fold_blame {
    arena_ref node;       /* that is blamed for the last observation's stretch; 0: none, or not known yet */
    arena_ref root;       /* of the thread whose node that is */
    bool is_orphan;       /* it has ended, so that its tree may become part of another */
    bool is_awaited;      /* that thread's reply is */
    uint64_t awaiting_ns; /* what has passed meanwhile */
    uint64_t before_ns;   /* the time of the last observation that lies before it */
};

/* Time of the last observation's stretch has passed. */
static inline void fold_blame_pass(const struct tree *tree, struct fold_blame *blame, uint64_t ns)
{
    if (blame->node)
        tree_node(tree, blame->node)->blame_ns += ns;
    else if (blame->is_awaited)
        blame->awaiting_ns += ns;
}

/*
 * How far one thread's time is accounted for. Times are CLOCK_MONOTONIC, CPU times the thread's CPU clock.
 * The delay clock is how long it has waited for a CPU in its life (thread_stat.h).
 */
struct fold_thread {
    arena_ref root;
    arena_ref node;       /* where it was last seen; the root before the first observation */
    uint32_t label_depth; /* how many labels that node's path begins with */
    arena_ref waiting;  /* that node, or the one below it for what it waited for; 0 before a stack was seen */
    arena_ref credited; /* the node that the last observation's time goes to: that one or a pseudo-frame's */
    bool was_running, was_queued, was_woken; /* at the last observation */
    bool knows_delay;      /* its delay clock was read; else a wait for a CPU counts as blocked in the end */
    uint64_t until_ns;     /* the end of the last observation's stretch, or FOLD_GOES_ON */
    uint64_t time_ns;      /* accounted for up to here */
    uint64_t cpu_clock_ns; /* the CPU clock then */
    uint64_t delay_clock_ns; /* the delay clock when it was read last */
    uint64_t begin_ns, begin_cpu_clock_ns, begin_delay_clock_ns;
    uint32_t group;    /* of threads that settle together (settle_claims.h); set before the end */
    uint64_t woken_ns; /* run delay that was claimed where it was woken, and that its clock has not told */
    double preempted; /* of the run delay since the last observation, the part (0 to 1) that is not of such */
    bool knows_birth; /* it has begun while recording */
    int64_t before_ns;       /* how much earlier than the thread its first stretch began */
    arena_ref first;         /* the node that the first observation's time went to; 0 before */
    struct values before;    /* of what that observation found the time between these two is; not negative */
    struct fold_blame blame; /* for what it waits for */
    struct changes_thread changes;
    struct timeline_thread timeline;
};

/* What one sample says of a thread. */
struct fold_observation {
    uint64_t time_ns;
    uint64_t until_ns;   /* the end of its stretch; 0 if that ends with the sample, or FOLD_GOES_ON */
    uint64_t until_tick; /* for the timeline: the last tick of the stretch */
    uint64_t cpu_clock_ns;
    uint64_t delay_clock_ns; /* or FOLD_NO_DELAY; it may be a little older than the sample */
    bool is_running;         /* on a CPU, as opposed to waiting for something or for a CPU */
    bool is_queued;          /* waiting for a CPU */
    bool is_woken;           /* for a CPU, in a call that it was seen blocked in */
    bool is_unchanged;     /* provably has not run since it was last seen: the time goes to the same stack */
    bool is_unknown;       /* did not reply and may have run: the time goes to [not responding] */
    bool is_left_out;      /* only its clock was read: the time goes to [uninteresting] */
    arena_ref base;        /* the node that the path begins below; 0: the thread's root */
    const arena_ref *path; /* locations, innermost first; from the root, labels after them */
    size_t depth;          /* of the path; 0 from the root: no frame of the program was on the stack */
    uint32_t label_count;  /* how many labels the path has, or the base's path */
    struct wait_locations wait; /* below the path; of an unchanged one too */
};

/* Whether a stack was seen: else the path is not read. */
static inline bool fold_has_stack(const struct fold_observation *observation)
{
    return !observation->is_unchanged && !observation->is_unknown && !observation->is_left_out;
}

/* A thread's clocks at one moment. */
struct fold_clocks {
    uint64_t time_ns, cpu_ns;
    uint64_t delay_ns; /* or FOLD_NO_DELAY */
};

struct fold {
    struct tree *tree;
    uint64_t period_ns; /* between ticks */
    uint64_t samples;   /* observations so far */
    struct claims_pool pool;
    bool knows_delay;          /* the delay clock of a thread was read */
    struct timeline *timeline; /* keeps them with their times; NULL: nothing does. Not owned */
    struct changes_newcomers newcomers;
    const struct gaps *gaps; /* NULL: there are none. Not owned */
};

/* timeline_begin begins the timeline's part, after this. */
void fold_thread_begin(struct fold_thread *thread, arena_ref root, const struct fold_clocks *clocks);

/* After that, of a thread that has begun while recording: the first observation claims the time from begin_ns
 * on. It may lie before the thread's beginning, or after it (schedule.h says why). */
void fold_first_stretch(struct fold_thread *thread, uint64_t begin_ns);

/* Sets the end of the last observation's stretch, if that is still going on. At the thread's end it may lie
 * in the future. */
void fold_stretch_ended(struct fold_thread *thread, uint64_t end_ns);

void fold_observe(struct fold *fold, struct fold_thread *thread, const struct fold_observation *observation);

/*
 * Ends a thread together with the recording, with two passes over its tree. A delay clock that cannot be read
 * any more is estimated from its last reading: the off-CPU time since then has as much run delay in it as
 * that before. Time in the last observation's stretch goes where that observation went. The rest goes to
 * [unsampled] below the root, to the last stack if the thread provably has not run since, or to [not
 * responding] if its reply is outstanding.
 */
enum fold_rest { FOLD_REST_UNSAMPLED, FOLD_REST_UNCHANGED, FOLD_REST_NOT_RESPONDING };
void fold_thread_end(struct fold *fold, struct fold_thread *thread, const struct fold_clocks *clocks,
                     enum fold_rest rest);

/* Ends a thread while the recording goes on. Returns the parts of its life if that was a short one: then they
 * are to be settled by short_lives_settle. Else all is as after fold_thread_end, and they are 0. */
struct values fold_life_end(struct fold *fold, struct fold_thread *thread, const struct fold_clocks *clocks,
                            enum fold_rest rest);

/*
 * The same as fold_thread_end for a thread that goes on: its sums are exact now, and again after the next
 * call. That call scales what each node has now together with what is claimed in between. stretch_end_ns: the
 * end of the last observation's stretch, if that goes on.
 */
void fold_thread_settle(struct fold *fold, struct fold_thread *thread, uint64_t stretch_end_ns,
                        const struct fold_clocks *clocks, enum fold_rest rest);

/* After fold_thread_settle: the time since then is left out, and the last observation's stretch has ended. */
void fold_thread_skip(struct fold_thread *thread, const struct fold_clocks *clocks);

#endif
