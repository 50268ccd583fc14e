/*
 * The sampler: the stages of a tick, one after the other, over everything that is being recorded.
 *
 *     gather (threads, modules) -> schedule and send -> [answers come] -> collect: locate, fold
 *
 * Called from: the sampler thread, between session_hold_*'s; sampler_init before it exists, and the finished
 * recording is read by whoever exports it. No locking of its own.
 */
#ifndef WALLPROF_SAMPLER_H
#define WALLPROF_SAMPLER_H

#include "thread_scan.h"
#include "config/config.h"
#include "overhead_group.h"
#include "account/fold.h"
#include "account/mapped_store.h"
#include "account/locate.h"
#include "modules/modules.h"
#include "observe.h"
#include "base/random.h"
#include "overhead_limit.h"
#include "schedule.h"
#include "threads.h"
#include "tick.h"
#include "profile/timeline.h"
#include "profile/tree.h"

#include <stdbool.h>
#include <stdint.h>

enum { SAMPLER_SKIPPED_MAX = 256 };

struct wp_sampler {
    struct wp_threads *threads; /* not owned */
    struct wp_arena arena;
    struct wp_modules modules;
    struct wp_tree tree;
    struct wp_fold fold;
    struct wp_timeline *timeline; /* NULL when none is asked for */
    struct wp_locate locate;
    struct wp_observer observer;
    uint64_t signals_taken; /* from us, past the C library: a set; each is reported once, by the session */
    struct wp_tick tick;
    uint32_t skipped; /* ticks without a look: their moments, until the schedule is told */
    uint64_t skipped_ns[SAMPLER_SKIPPED_MAX];
    struct wp_restraint restraint;
    struct wp_family family; /* begun or joined before sampler_init */
    uint32_t family_count;   /* as it said last; 0: not yet */
    uint64_t looks;
    uint64_t former_cpu_ns; /* of sampler threads before this one */
    uint64_t
        upkeep_cpu_ns; /* what threads that begin and end, and files, have cost: not less at a lower rate */
    struct wp_random random;
    struct wp_schedule schedule;
    uint64_t start_ns; /* no thread's time counts from earlier on */
    bool is_stopped;   /* nothing is recorded: no thread is scheduled */
    uint64_t stop_ns;  /* since then, or before the last start until then */
    arena_ref *path;   /* scratch: one stack's locations, and its labels' */
    uint32_t *inner;   /* and its locate_stack.inner */
    uint64_t *whole;   /* and its addresses, when shared ones must be folded again */
    size_t path_capacity;
    struct wp_census census;
    bool was_left_silently;  /* a registered thread has ended without its hook */
    arena_ref newest_record; /* struct wp_thread_record */
    uint32_t thread_count;   /* records' numbers so far */
    struct wp_counters counters;
    struct wp_live live;               /* sampler_live.c */
    arena_ref free_state;              /* struct wp_thread_state, of threads that have ended */
    struct wp_counters counted_before; /* of what goes on counting: as it stood when all began anew */
    bool modules_changed;              /* since the last table was built */
    uint64_t modules_quiet_ns;         /* from when on the modules count as settled */
    const struct sig_modules_table *pending_table; /* built, but handlers may still use the one before */
    uint32_t unloads_ended, pending_unloads_ended; /* sig_unloads.ended as of the look, and of that table's */
};

/* *sampler is zeroed memory (it is large: not cleared twice). 0 or -errno. start_ns: from when on threads'
 * time counts. */
int sampler_init(struct wp_sampler *sampler, const struct wp_config *config, struct wp_threads *threads,
                 uint64_t start_ns, uint64_t seed);
void sampler_deinit(struct wp_sampler *sampler);

/* When the recording is closed by another thread than the sampler, whose descriptors these were. */
void sampler_drop_descriptors(struct wp_sampler *sampler);

/*
 * In the sampler thread, once: its own view of /proc, the modules, and the threads that are there already.
 * has_own_descriptors: the program sees none of those that are opened here. 0 or -errno.
 */
int sampler_enter(struct wp_sampler *sampler, bool has_own_descriptors);

/* In a sampler thread that ends before the recording does, and in the one that takes over. */
void sampler_pause(struct wp_sampler *sampler);
void sampler_resume(struct wp_sampler *sampler, bool has_own_descriptors);

/* The last thread of the program has gone without its hook: only the sampler keeps the process alive. */
bool sampler_is_deserted(const struct wp_sampler *sampler);

/* The first half of a tick: brings the registry and the handlers' modules up to date, and looks at the
 * threads that are due. */
void sampler_send(struct wp_sampler *sampler, uint64_t now_ns);

/*
 * Whether the answers should be taken at once, as they come, and not only at the next tick. They keep until
 * then, and a wake-up of the sampler, which the thread that answers last has to make, is a good part of what
 * a sample costs. But while libraries come and go, an answer soon cannot be told any more in which of them
 * its addresses are (modules.h).
 */
bool sampler_awaits_answers(const struct wp_sampler *sampler, uint64_t now_ns);

/* The second half: takes the answers. */
void sampler_collect(struct wp_sampler *sampler, uint64_t now_ns);

/* After a tick: leaves out the next ones that have no look, up to a time; the deadline is then that of the
 * first that is not left out. */
void sampler_skip_ticks(struct wp_sampler *sampler, uint64_t now_ns);

/* Before a tick: looks at threads as rarely as the limit on their cost demands. */
void sampler_restrain(struct wp_sampler *sampler, uint64_t now_ns);

/* A moment at which the recording can be exported as if it had ended at now_ns; it goes on. Not while
 * stopped: then it can be. */
void sampler_settle(struct wp_sampler *sampler, uint64_t now_ns);

/*
 * From now on the recording is kept in a file, new and empty, which is taken over in case of success. header:
 * what it is to say of the process; the rest is filled in. 0 or -errno, and then nothing has changed.
 */
int sampler_keep(struct wp_sampler *sampler, int fd, struct store_header *header, uint64_t now_ns);

/* For a file that is kept: what has changed of one thread; and of everything, at now_ns. Nothing without. */
void sampler_show_thread(struct wp_sampler *sampler, struct wp_thread *thread, uint64_t now_ns);
void sampler_show_end(struct wp_sampler *sampler, const struct wp_thread *thread);
void sampler_show(struct wp_sampler *sampler, uint64_t now_ns);

/* How often it says there at least that the process is there: at every tick, but in a family of more than 4
 * processes only as often as makes one at every tick of them all. */
uint64_t sampler_beat_period_ns(const struct wp_sampler *sampler);

/* What happened until now is put into the counters. */
void sampler_count_up(struct wp_sampler *sampler);

/* The end: what has been answered is taken, and every thread's time is closed at now_ns. */
void sampler_close(struct wp_sampler *sampler, uint64_t now_ns);

/* ---- sampler_spans.c ---- */

/*
 * From now_ns on nothing is recorded, until sampler_start: nobody is looked at, and what passes is in no
 * thread's account. In between the recording can be exported, and sampler_idle is to be called now and then:
 * it takes note of the threads that come and go, lest they pile up.
 */
void sampler_stop(struct wp_sampler *sampler, uint64_t now_ns);
void sampler_start(struct wp_sampler *sampler, uint64_t now_ns);
void sampler_idle(struct wp_sampler *sampler, uint64_t now_ns);

/*
 * The recording, which is stopped or has just been settled at now_ns, is forgotten, and another one begins:
 * of the living threads, each from the moment that it was accounted for. Everything whose memory grows is
 * dropped here: the arena with the tree, names and records, their indexes, and the timeline. Before that,
 * sampler_let_go until it is true: then no handler knows anything of what lies in the arena. 0; or -ENOMEM,
 * or -EBUSY where it is kept in a file, and the recording goes on as it is.
 */
bool sampler_let_go(struct wp_sampler *sampler);
int sampler_begin_anew(struct wp_sampler *sampler, uint64_t now_ns);

#endif
