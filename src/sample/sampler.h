/*
 * The sampler: the stages of a tick, one after the other, over everything that is being recorded.
 *
 *     gather (threads, modules) -> schedule and send -> [replies come] -> collect: locate, fold
 *
 * Called from: the sampler thread, between session_hold_*'s; sampler_init before it exists, and the finished
 * recording is read by whoever exports it. No locking of its own.
 */
#ifndef WALLPROF_SAMPLER_H
#define WALLPROF_SAMPLER_H

#include "thread_scan.h"
#include "overhead_group.h"
#include "account/account.h"
#include "account/mapped_store.h"
#include "modules/modules.h"
#include "observe.h"
#include "base/random.h"
#include "overhead_limit.h"
#include "schedule.h"
#include "thread.h"
#include "threads.h"
#include "tick.h"
#include "profile/timeline.h"
#include "profile/tree.h"

#include <stdbool.h>
#include <stdint.h>

enum { SAMPLER_SKIPPED_MAX = 256 };

struct sampler {
    struct threads *threads; /* not owned */
    struct arena arena;
    struct modules modules;
    struct tree tree;
    struct account account;
    struct timeline *timeline; /* NULL when none is asked for */
    struct observer observer;
    enum thread_stat_view view; /* of /proc; also found out by a parent */
    uint64_t signals_taken; /* from us, past the C library: a set; each is reported once, by the session */
    struct tick tick;
    uint32_t skipped; /* ticks without a sample: their moments, until the schedule is told */
    uint64_t skipped_ns[SAMPLER_SKIPPED_MAX];
    struct overhead_limit overhead_limit;
    struct overhead_group overhead_group; /* begun or joined before sampler_init */
    uint32_t overhead_group_count;        /* as it said last; 0: not yet */
    uint64_t sample_count;
    uint64_t former_cpu_ns; /* of sampler threads before this one */
    uint64_t
        upkeep_cpu_ns; /* what threads that begin and end, and files, have cost: not less at a lower rate */
    struct random_state random;
    struct schedule schedule;
    uint64_t start_ns; /* no thread's time counts from earlier on */
    bool is_stopped;   /* nothing is recorded: no thread is scheduled */
    uint64_t stop_ns;  /* since then, or before the last start until then */
    struct thread_scan thread_scan;
    bool was_left_silently;  /* a registered thread has ended without its hook */
    arena_ref newest_record; /* struct thread_record */
    uint32_t thread_count;   /* records' numbers so far */
    struct counters counters;
    struct mapped_store mapped_store; /* sampler_store.c */
    arena_ref free_state;             /* struct thread_state, of threads that have ended */
    struct counters counted_before;   /* of what goes on counting: as it stood when all began anew */
    bool modules_changed;             /* since the last table was built */
    uint64_t modules_quiet_ns;        /* from when on the modules count as settled */
    const struct sig_modules_table *pending_table; /* built, but handlers may still use the one before */
    uint32_t unloads_ended,
        pending_unloads_ended; /* sig_unloads.ended as of the snapshot, and of that table's */
};

/* What the user has asked of a sampler. struct config (session) has one, which the variables are read into.
 */
struct sampler_options {
    uint32_t hz;               /* ticks per second */
    uint32_t threads_per_tick; /* sampled per tick at most */
    uint32_t depth;            /* frames per stack */
    uint64_t memory_bytes;     /* for the profile while recording */
    uint64_t timeline_bytes;   /* for samples with their times; 0: none are kept */
    uint32_t overhead_ppm;     /* of the program's CPU time, in millionths; 0: no limit */
    bool by_signal_only;       /* no thread is sampled from outside */
};

/* *sampler is zeroed memory (it is large: not cleared twice). labels is not owned. start_ns: from when on
 * threads' time counts. 0 or -errno. */
int sampler_init(struct sampler *sampler, const struct sampler_options *options, struct threads *threads,
                 const struct label_table *labels, uint64_t start_ns, uint64_t seed);
void sampler_deinit(struct sampler *sampler);

/* In a forked child, before sampler_init: its parent's group, and what its parent has found out about /proc.
 */
void sampler_inherit(struct sampler *sampler, const struct sampler *parent);

/* When the recording is closed by another thread than the sampler, whose descriptors these were. */
void sampler_drop_descriptors(struct sampler *sampler);

/*
 * In the sampler thread, once: its own view of /proc, the modules, and the threads that are there already.
 * has_own_descriptors: the program sees none of those that are opened here. 0 or -errno.
 */
int sampler_enter(struct sampler *sampler, bool has_own_descriptors);

/* In a sampler thread that ends before the recording does, and in the one that takes over. */
void sampler_pause(struct sampler *sampler);
void sampler_resume(struct sampler *sampler, bool has_own_descriptors);

/* The last thread of the program has gone without its hook: only the sampler keeps the process alive. */
bool sampler_is_deserted(const struct sampler *sampler);

/* The first half of a tick: brings the registry and the handlers' modules up to date, and looks at the
 * threads that are due. */
void sampler_send(struct sampler *sampler, uint64_t now_ns);

/*
 * Whether the replies should be taken at once, as they come, and not only at the next tick. They keep until
 * then, and a wake-up of the sampler, which the thread that replies last has to make, is a good part of what
 * a sample costs. But while libraries come and go, a reply soon cannot be told any more in which of them
 * its addresses are (modules.h).
 */
bool sampler_awaits_replies(const struct sampler *sampler, uint64_t now_ns);

/* The second half: takes the replies. */
void sampler_collect(struct sampler *sampler, uint64_t now_ns);

/* After a tick: leaves out the next ones that have no sample, up to a time; the deadline is then that of the
 * first that is not left out. */
void sampler_skip_ticks(struct sampler *sampler, uint64_t now_ns);

/* Before a tick: looks at threads as rarely as the limit on their cost demands. */
void sampler_limit_overhead(struct sampler *sampler, uint64_t now_ns);

/* A moment at which the recording can be exported as if it had ended at now_ns; it goes on. Not while
 * stopped: then it can be. */
void sampler_settle(struct sampler *sampler, uint64_t now_ns);

/*
 * From now on the recording is kept in a file, new and empty, which is taken over in case of success. header:
 * what it is to say of the process; the rest is filled in. 0 or -errno, and then nothing has changed.
 */
int sampler_keep(struct sampler *sampler, int fd, struct store_header *header, uint64_t now_ns);

/* For a file that is kept: what has changed of one thread; and of everything, at now_ns. Nothing without. */
void sampler_show_thread(struct sampler *sampler, struct thread *thread, uint64_t now_ns);
void sampler_show_end(struct sampler *sampler, const struct thread *thread);
void sampler_show(struct sampler *sampler, uint64_t now_ns);

/* How often it says there at least that the process is there: at every tick, but in a group of more than 4
 * processes only as often as makes one at every tick of them all. */
uint64_t sampler_beat_period_ns(const struct sampler *sampler);

/* What happened until now is put into the counters. */
void sampler_count_up(struct sampler *sampler);

/* The end: what has been answered is taken, and every thread's time is closed at now_ns. */
void sampler_close(struct sampler *sampler, uint64_t now_ns);

/* ---- sampler_spans.c ---- */

/*
 * From now_ns on nothing is recorded, until sampler_start: no thread is sampled, and what passes is in no
 * thread's account. In between the recording can be exported, and sampler_idle is to be called now and then:
 * it takes note of the threads that come and go, lest they pile up.
 */
void sampler_stop(struct sampler *sampler, uint64_t now_ns);
void sampler_start(struct sampler *sampler, uint64_t now_ns);
void sampler_idle(struct sampler *sampler, uint64_t now_ns);

/*
 * The recording, which is stopped or has just been settled at now_ns, is forgotten, and another one begins:
 * of the living threads, each from the moment that it was accounted for. Everything whose memory grows is
 * dropped here: the arena with the tree, names and records, their indexes, and the timeline. Before that,
 * sampler_let_go until it is true: then no handler knows anything of what lies in the arena. 0; or -ENOMEM,
 * or -EBUSY where it is kept in a file, and the recording goes on as it is.
 */
bool sampler_let_go(struct sampler *sampler);
int sampler_begin_anew(struct sampler *sampler, uint64_t now_ns);

#endif
