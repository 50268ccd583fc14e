/*
 * The sampler: the stages of a tick, one after the other, and everything that is recorded.
 *
 *     gather (threads, modules) -> schedule and send -> [replies come] -> collect: locate, fold
 *
 * Called from: the sampler thread, while no thread holds it (session_hold_*); sampler_inherit before that
 * exists. The thread that exports reads the finished recording. No locks.
 */
#ifndef WALLPROF_SAMPLER_H
#define WALLPROF_SAMPLER_H

#include "cpu_quota.h"
#include "thread_scan.h"
#include "overhead_group.h"
#include "account/account.h"
#include "account/blames.h"
#include "account/mapped_store.h"
#include "account/merge_ended.h"
#include "account/thread_records.h"
#include "gap_watch.h"
#include "modules/modules.h"
#include "observe.h"
#include "program_clock.h"
#include "base/random.h"
#include "overhead_limit.h"
#include "realtime.h"
#include "schedule.h"
#include "thread.h"
#include "threads.h"
#include "tick.h"
#include "profile/timeline.h"
#include "profile/tree.h"
#include "waits/deadlocks.h"
#include "waits/waits.h"

#include <stdbool.h>
#include <stdint.h>

enum { SAMPLER_SKIPPED_MAX = 256, SAMPLER_TIDS_KEPT = 1 << 15 };

struct sampler {
    struct overhead_group overhead_group; /* begun by a thread that forks, joined in its child */
    enum thread_stat_view view;           /* of /proc; inherited in a forked child */
    const struct target *target;          /* not owned; NULL: this process is recorded */
    struct threads *threads;              /* not owned */
    struct arena arena;
    struct modules modules;
    struct tree tree;
    struct interp interp;
    struct lock_waits waits;
    struct account account;
    struct blames blames;
    struct deadlocks deadlocks;
    arena_ref deadlock_notes;  /* lines of one string: the first ones; 0: none */
    bool may_ask;              /* a tick is under way, whose replies will be taken */
    struct thread *holder;     /* that sampler_find_holder has found last; NULL: it has found none */
    struct timeline *timeline; /* NULL without */
    struct observer observer;
    uint64_t signals_taken; /* a set: signals of ours that the program took; the session reports each once */
    struct tick tick;
    uint32_t
        skipped; /* how many ticks without a sample the schedule has not counted yet, and their moments */
    uint64_t skipped_ns[SAMPLER_SKIPPED_MAX];
    struct overhead_limit overhead_limit;
    struct program_clock program_clock;
    uint32_t overhead_group_count; /* its last answer; 0: none yet */
    uint64_t sample_count;
    uint64_t former_cpu_ns; /* of sampler threads before this one */
    uint64_t upkeep_cpu_ns; /* of threads that began and ended, and of files: not less at a lower rate */
    uint64_t charged_ns;    /* the thread's CPU clock at the end of the last tick, less upkeep */
    uint64_t quiet_cpu_ns;  /* of quiet threads in a crowd */
    struct {
        uint64_t cpu_ns, samples;
    } quiet; /* the cost of so many of the last samples of quiet threads */
    struct random_state random;
    struct schedule schedule;
    uint64_t start_ns; /* threads' time counts from here on */
    /* Threads that have begun up to here took part in a tick: when it was, and its number. */
    uint64_t admitted_ns, admitted_tick;
    uint64_t next_tick_ns; /* when the next tick with samples comes, or the one under way has come */
    bool is_stopped;       /* nothing is recorded: no thread is scheduled */
    uint64_t stop_ns;      /* of the last stop */
    struct thread_scan thread_scan;
    bool was_left_silently;                   /* a registered thread has ended without its hook */
    uint8_t tids_used[SAMPLER_TIDS_KEPT / 8]; /* a set: the lowest bits of tids that threads have had */
    struct thread_records records;
    struct merge_ended merge_ended;
    struct counters counters;
    struct gaps gaps; /* time in which nobody could be observed */
    struct gap_watch gap_watch;
    struct realtime realtime;
    struct mapped_store mapped_store;         /* sampler_store.c */
    bool has_quota;                           /* whether this is known: */
    struct cpu_quota quota_before, throttled; /* at the start, and since then up to the end or a pause */
    arena_ref free_state;                     /* struct thread_state of threads that have ended */
    struct counters counted_before; /* counts that never start over: their values at sampler_begin_anew */
    bool modules_changed;           /* since the last table was built */
    uint64_t modules_quiet_ns;      /* from when on the modules count as settled */
    const struct sig_modules_table *pending_table; /* built, but handlers may still use the one before */
    uint32_t unloads_ended;                        /* sig_unloads.ended as of the snapshot */
    uint32_t pending_unloads_ended;                /* the same for the pending table */
};

/* The user's settings: a part of struct config. */
struct sampler_options {
    uint32_t hz;                 /* ticks per second */
    uint32_t threads_per_tick;   /* samples per tick on average, at most */
    uint32_t depth;              /* frames per stack */
    uint64_t memory_bytes;       /* for the profile while recording */
    uint64_t timeline_bytes;     /* for samples with their times; 0: no timeline */
    uint32_t overhead_ppm;       /* of the program's CPU time, in millionths; 0: no limit */
    bool by_signal_only;         /* no thread is sampled from outside */
    enum interp_mode interp;     /* how frames of an interpreter are shown */
    const struct target *target; /* not owned; NULL: this process is recorded */
};

/* *sampler is zeroed memory (it is large: not cleared twice). labels is not owned. start_ns: from when on
 * threads' time counts. 0 or -errno. */
int sampler_init(struct sampler *sampler, const struct sampler_options *options, struct threads *threads,
                 const struct label_table *labels, uint64_t start_ns, uint64_t seed);
void sampler_deinit(struct sampler *sampler);

/* In a forked child, before sampler_init: its parent's group, and what its parent has found out about /proc.
 */
void sampler_inherit(struct sampler *sampler, const struct sampler *parent);

/* Another thread goes on with the recording, after the sampler and its descriptors are gone. */
void sampler_drop_descriptors(struct sampler *sampler);

/*
 * In the sampler thread, once: opens /proc, reads the modules, and finds the threads that exist already.
 * has_own_descriptors: the program cannot see descriptors that are opened here. 0 or -errno.
 */
int sampler_enter(struct sampler *sampler, bool has_own_descriptors);

/* Instead, where the recording has ended before the first tick. Waits for no lock, which the thread that ends
 * the process may hold, and opens nothing. 0 or -errno. */
int sampler_enter_at_end(struct sampler *sampler);

/* In a sampler thread that ends before the recording, and in the one that takes over. */
void sampler_pause(struct sampler *sampler);
void sampler_resume(struct sampler *sampler, bool has_own_descriptors);

/* The last thread of the program has gone without its hook: only the sampler keeps the process alive. */
bool sampler_is_deserted(const struct sampler *sampler);

/* The first half of a tick: updates the registry and the handlers' modules, and samples due threads. */
void sampler_send(struct sampler *sampler, uint64_t now_ns);

/*
 * Whether replies should be taken as they come, and not only at the next tick. They keep until then, and
 * waking the sampler, which the last thread to reply must do, is a good part of a sample's cost. But while
 * libraries come and go, it is soon unknown in which of them a reply's addresses are (modules.h).
 */
bool sampler_awaits_replies(const struct sampler *sampler, uint64_t now_ns);

/* The second half: takes the replies. */
void sampler_collect(struct sampler *sampler, uint64_t now_ns);

/* After a tick: skips the next ticks that have no sample, for a limited time. The deadline is then that of
 * the first tick that is not skipped. */
void sampler_skip_ticks(struct sampler *sampler, uint64_t now_ns);

/* Before a tick: makes samples as rare as the overhead limit demands. */
void sampler_limit_overhead(struct sampler *sampler, uint64_t now_ns);

/* Afterwards the recording can be exported as if it had ended at now_ns; it goes on. Not while stopped: then
 * it can be exported anyway. */
void sampler_settle(struct sampler *sampler, uint64_t now_ns);

/*
 * From now on the recording is kept in a new and empty file, whose descriptor is taken over on success.
 * header: what it says of the process; the rest is filled in. 0, or -errno with nothing changed.
 */
int sampler_keep(struct sampler *sampler, int fd, struct store_header *header, uint64_t now_ns);

/* Brings the mapped store up to date, at now_ns. Nothing without one. */
void sampler_show(struct sampler *sampler, uint64_t now_ns);

/* How often a mapped store must say at least that the process is alive: at every tick; in a group of more
 * than 4 processes all of them together once a tick. */
uint64_t sampler_beat_period_ns(const struct sampler *sampler);

/* The end: takes the replies that have come, and closes every thread's time at now_ns. */
void sampler_close(struct sampler *sampler, uint64_t now_ns);

/* ---- sampler_spans.c ---- */

/*
 * Nothing is recorded from sampler_stop until sampler_start: no thread is sampled, and no thread's time
 * counts. In between the recording can be exported. sampler_idle is to be called now and then: it takes the
 * threads that have come and gone from the registry's lists.
 */
void sampler_stop(struct sampler *sampler, uint64_t now_ns);
void sampler_start(struct sampler *sampler, uint64_t now_ns);
void sampler_idle(struct sampler *sampler, uint64_t now_ns);

/* Whether the run delay is known. Where no sample was taken, there was none to read it for. */
static inline bool sampler_knows_delay(const struct sampler *sampler)
{
    const struct fold *fold = &sampler->account.fold;
    return fold->knows_delay || (fold->samples == 0 && !sampler->observer.by_signal_only);
}

/*
 * Before the sampler thread waits for a moment; whether it has come much later than at that moment; and if
 * so: the time since then could not be observed. is_at_work: it did not wait, but its own calls took so long.
 * They wait for the program's locks in the kernel too, so that says little below a second. *sampler may be
 * zeroed memory for the first two.
 */
void sampler_begin_wait(struct sampler *sampler);
bool sampler_came_late(const struct sampler *sampler, uint64_t due_ns, uint64_t now_ns);
void sampler_note_gap(struct sampler *sampler, uint64_t due_ns, uint64_t now_ns, bool is_at_work);

/*
 * Forgets the recording, which is stopped or has just been settled at now_ns, and begins another one: of the
 * living threads, each from the moment up to which it was accounted for. All memory that grows is emptied:
 * the arena with tree, names and records, their indexes, and the timeline. sampler_let_go is to be called
 * before, until it is true: then no handler has a reference into the arena. 0; or -ENOMEM, or -EBUSY with a
 * mapped store: then the recording goes on as it is.
 */
bool sampler_let_go(struct sampler *sampler);
int sampler_begin_anew(struct sampler *sampler, uint64_t now_ns);

#endif
