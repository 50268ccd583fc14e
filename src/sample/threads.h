/*
 * The registry of the program's threads.
 *
 * It has two sides. Threads of the program register and leave through the hooks: lock-free, O(1), and
 * creating threads share nothing but two list heads. Everything else is the sampler's: the dense array of
 * live threads, and the private part of each record. A record passes from the thread to the sampler twice,
 * through the lists `arrived` and `left` (many pushers, one taker). It goes back to the pool when the sampler
 * has folded its end.
 *
 * A record stands for one thread from start to end, not for a tid: the kernel may give the tid to another
 * thread as soon as this one is gone. A sample after end_ns was of another thread (observe.c drops it).
 *
 * Between acquire and enter a thread is coming: the kernel may list it already, and we do not know its tid.
 * The sampler must tell such a thread from one that no hook has seen. So coming threads are counted in two
 * groups that take turns, like the readers of sleepable RCU. When the former group is empty, all that were
 * coming at the turn have come. Paper: McKenney, "Sleepable Read-Copy Update" (LWN 202847, 2006).
 */
#ifndef WALLPROF_THREADS_H
#define WALLPROF_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct thread;

/* live_index of a thread that is not in the array. */
#define THREAD_NOT_LIVE UINT32_MAX

enum { THREADS_CHUNK_COUNT = 4096, THREADS_PER_CHUNK = 256 };

struct threads {
    uint32_t fresh;                /* atomic: records from here on have never been used */
    uint64_t free_head;            /* atomic: tag << 32 | index + 1 */
    uint32_t next_number;          /* atomic */
    int32_t registered;            /* atomic: acquired and not yet left */
    int32_t coming[2];             /* atomic: being created, not yet entered; by group */
    uint32_t turn;                 /* atomic: newcomers count in group turn % 2 */
    struct thread *arrived, *left; /* atomic list heads */

    /* The sampler's own. */
    struct thread **live;
    struct thread **by_tid; /* live_capacity buckets: lists of live threads, by the tid's lowest bits */
    uint32_t live_count, live_capacity; /* capacity: a power of two */

    struct thread *chunks[THREADS_CHUNK_COUNT]; /* atomic pointers, published once */
};

/* Zeroed memory is an empty registry. The sampler's part of it, before the sampler uses any: 0 or -errno. */
int threads_init(struct threads *threads);
void threads_deinit(struct threads *threads);

/* Any thread: a record for a thread about to be created; NULL without memory: the scan finds it. */
struct thread *threads_acquire(struct threads *threads);

/* No hook will report the end of this record: its thread was not created, or has no hooks. */
void threads_uncount(struct threads *threads, struct thread *thread);

/* Gives back a record that was uncounted and never entered, or (sampler only) one whose end has been folded.
 */
void threads_release(struct threads *threads, struct thread *thread);

/* The new thread itself, first of all: it is observed from now on. */
void threads_enter(struct threads *threads, struct thread *thread, pid_t tid, uint64_t start_ns,
                   uint64_t start_cpu_ns);

/* The ending thread itself, last of all: the record is lost to it. Returns how many are still registered. */
int threads_leave(struct threads *threads, struct thread *thread, const char *name);

/* Sampler: the threads that came and went since the last call, linked by next_arrived and next_left. */
struct thread *threads_take_arrived(struct threads *threads);
struct thread *threads_take_left(struct threads *threads);

/* Sampler: into and out of the dense array. threads_add: 0 or -ENOMEM. */
int threads_add(struct threads *threads, struct thread *thread);
void threads_remove(struct threads *threads, struct thread *thread);

/* Sampler: newcomers count in the other group from now on. False, without effect, while it is not empty. */
bool threads_turn(struct threads *threads);

/* Sampler: whether any thread has been created and has not entered yet. */
bool threads_are_coming(const struct threads *threads);

/* Sampler: whether all threads that were coming at the last turn have entered (threads_take_arrived has
 * them), or never will. */
bool threads_have_come(const struct threads *threads);

/* Sampler: the live record of a tid whose thread has not left, or NULL; O(1) as tids are dense. */
struct thread *threads_find(const struct threads *threads, pid_t tid);

/* Sampler: whether there is a record, until threads_remove, of the thread with that tid and start. It lives,
 * or has left after that; the kernel shows a start too early rather than too late. */
bool threads_have(const struct threads *threads, pid_t tid, uint64_t start_ns);

#endif
