/*
 * What the files of the sampler share:
 *
 *     sampler.c           its life
 *     sampler_modules.c   what is mapped
 *     sampler_tick.c      a tick
 *     sampler_threads.c   threads that come and go
 *     sampler_holders.c   holders of locks
 *     sampler_spans.c     the recording is settled, stopped, goes on, begins anew and ends
 *     sampler_store.c     the mapped store
 */
#ifndef WALLPROF_SAMPLER_INTERNAL_H
#define WALLPROF_SAMPLER_INTERNAL_H

#include "sampler.h"

/* A live thread is recorded from then on: it gets a record and a root, and is scheduled. */
void sampler_record(struct sampler *sampler, struct thread *thread, const struct fold_clocks *start);

/* A thread's delay clock; FOLD_NO_DELAY when that cannot be read. */
uint64_t sampler_delay_of(struct sampler *sampler, struct thread *thread);

/* Who holds a lock: waits_holder_fn, with the sampler as its context. */
arena_ref sampler_find_holder(void *context, pid_t tid, uint64_t other_ns);

/*
 * After a sample of a thread was accounted for. What it waits for is blamed on what the lock's holder does:
 * sampler->holder, if the wait has one. And those who wait for the thread blame what it does.
 */
void sampler_blame(struct sampler *sampler, struct thread *waiter, const struct wait_locations *wait);
void sampler_take_blame(struct sampler *sampler, struct thread *holder, const struct observation *seen);

/* At the end of a tick: holders that were not seen in it, and were not asked either, will not be. */
void sampler_end_looks(struct sampler *sampler);

/* A thread has ended; and before trees of threads that have ended are merged. */
void sampler_end_blame(struct sampler *sampler, struct thread *thread);
void sampler_void_blame(struct sampler *sampler);

/* Only the part of it for the schedule and the timeline. */
void sampler_schedule(struct sampler *sampler, struct thread *thread, uint64_t start_ns);

/* Takes threads that have come, replies, and threads that have left. While stopped none is recorded. */
void sampler_gather(struct sampler *sampler, uint64_t now_ns);

/* When a scan for threads that no hook has seen is due: adopts those that came, and ends those that went. */
void sampler_scan_threads(struct sampler *sampler, uint64_t now_ns);
void sampler_adopt_strangers(struct sampler *sampler);

/* Begins the threads that have arrived; ends a list of threads that have left, or one that was settled. */
void sampler_begin_arrived(struct sampler *sampler);
void sampler_end_left(struct sampler *sampler, struct thread *left);
void sampler_end_settled(struct sampler *sampler, struct thread *thread, uint64_t end_ns);

/* At the recording's end: samples the threads that were not sampled yet, if they are blocked. Takes 0.2 s at
 * most. */
void sampler_sample_last(struct sampler *sampler, uint64_t now_ns);

/* Writes a thread's end, and its name, to its record. */
void sampler_record_end(struct sampler *sampler, const struct thread *thread, uint64_t end_ns);

/* What its time after the last observation becomes, at end_ns. */
enum fold_rest sampler_rest_of(const struct thread *thread, uint64_t end_ns);

/* Closes the sampler's files. For a descriptor table that is the program's too: the program may close our
 * descriptor, or get other numbers for its own. */
void sampler_close_descriptors(struct sampler *sampler);

/* Takes a snapshot of the modules. Makes the handlers' table of it. */
void sampler_refresh_modules(struct sampler *sampler);
void sampler_publish_modules(struct sampler *sampler);

/* Looks for an interpreter in the modules of the last snapshot. */
void sampler_find_interp(struct sampler *sampler);

/* Updates a thread's part of the mapped store; at its end: gives that part back. Nothing without a store. */
void sampler_show_thread(struct sampler *sampler, struct thread *thread, uint64_t now_ns);
void sampler_show_end(struct sampler *sampler, const struct thread *thread);

/* Brings the counters up to date. */
void sampler_count_up(struct sampler *sampler);

/* A thread's record in the arena; NULL when there was no memory for it. */
static inline struct thread_record *sampler_record_of(const struct sampler *sampler,
                                                      const struct thread *thread)
{
    return thread->record ? arena_at(&sampler->arena, thread->record) : NULL;
}

#endif
