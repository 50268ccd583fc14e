/*
 * The registry of the program's threads.
 *
 * Two sides. Threads of the program register and leave through the hooks: lock-free, O(1), nothing shared
 * between creating threads but two list heads. The sampler owns everything else: the dense array of live
 * threads, and the private part of each record. A record passes from the thread to the
 * sampler twice, through the lists `arrived` and `left` (many pushers, one taker), and back to the pool when
 * the sampler has folded its end.
 *
 * A record stands for one thread from start to end, not for a tid: the kernel may give the tid to another
 * thread as soon as this one is gone. What was observed after a record's end_ns was another thread (observe.c
 * drops it).
 *
 * Between acquire and enter a thread is coming: the kernel may list it already, and we do not know its tid.
 * So that the sampler can tell such a thread from one that no hook has seen, the coming are counted in two
 * groups that take turns, as readers are in sleepable RCU: whoever was coming at a turn has come when the
 * group before it is empty, however many newer ones keep coming.
 * Paper: McKenney, "Sleepable Read-Copy Update" (LWN 202847, 2006).
 */
#ifndef WALLPROF_THREADS_H
#define WALLPROF_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct thread;

/* live_index of a thread that found no place in the array. */
#define THREAD_NOT_LIVE UINT32_MAX

enum { THREADS_CHUNK_COUNT = 4096, THREADS_PER_CHUNK = 256 };

struct threads {
    struct thread *chunks[THREADS_CHUNK_COUNT]; /* atomic pointers, published once */
    uint32_t fresh;                             /* atomic: records never used start here */
    uint64_t free_head;                         /* atomic: tag << 32 | index + 1 */
    uint32_t next_number;                       /* atomic */
    int32_t registered;                         /* atomic: acquired and not yet left */
    int32_t coming[2];                          /* atomic: being created, not yet entered; by group */
    uint32_t turn;                              /* atomic: the group newcomers count in is turn % 2 */
    struct thread *arrived, *left;              /* atomic list heads */

    /* The sampler's own. */
    struct thread **live;
    struct thread **by_tid;             /* as many buckets: lists of the live, by the tid's lowest bits */
    uint32_t live_count, live_capacity; /* a power of two */
};

/* 0 or -errno. */
int threads_init(struct threads *threads);
void threads_deinit(struct threads *threads);

/* Any thread: a record for a thread about to be created; NULL when there is no memory (it is then found in
 * /proc). */
struct thread *threads_acquire(struct threads *threads);

/* A record that will not be left by its thread: it was not created, or no hook tells when it ends. */
void threads_uncount(struct threads *threads, struct thread *thread);

/* Gives back a record that was never entered (uncounted), or (sampler only) one whose end has been folded. */
void threads_release(struct threads *threads, struct thread *thread);

/* The new thread itself, first thing: from now on it is observed. */
void threads_enter(struct threads *threads, struct thread *thread, pid_t tid, uint64_t start_ns,
                   uint64_t start_cpu_ns);

/* The ending thread itself, last thing; the record is not its own any more. Returns how many registered are
 * left. */
int threads_leave(struct threads *threads, struct thread *thread, const char *name);

/* Sampler: the lists of what came and went since the last call, linked by next_arrived and next_left. */
struct thread *threads_take_arrived(struct threads *threads);
struct thread *threads_take_left(struct threads *threads);

/* Sampler: into and out of the dense array. threads_add: 0 or -ENOMEM. */
int threads_add(struct threads *threads, struct thread *thread);
void threads_remove(struct threads *threads, struct thread *thread);

/*
 * Sampler: from now on newcomers count in the other group. False, and nothing is changed, while that is not
 * empty.
 */
bool threads_turn(struct threads *threads);

/* Sampler: whether everyone who was coming at the last turn has entered (threads_take_arrived has them), or
 * never will. */
bool threads_have_come(const struct threads *threads);

/* Sampler: the live record of a tid whose thread has not left, or NULL; O(1) as tids are dense. */
struct thread *threads_find(const struct threads *threads, pid_t tid);

#endif
