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

#include "remote_sample.h"
#include "account/fold.h"
#include "account/thread_annotations.h"
#include "profile/profile.h"
#include "schedule.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct wp_thread {
    uint32_t index;     /* in the pool; constant */
    uint32_t next_free; /* atomic: the pool's list; read by threads that try to take the record too */

    /* Written by the creating or the starting thread, constant once `arrived`. */
    uint32_t number; /* 1.. in the order of registration */
    pid_t tid;
    uint8_t turn;   /* the group it is coming in: 0 or 1 */
    bool is_coming; /* acquired, not yet entered */
    uint64_t start_ns, start_cpu_ns;
    uint64_t stack_low, stack_high; /* its own stack, 0 and 0 when not known */

    /* Written by the ending thread before it pushes itself on `left`. */
    uint64_t end_ns; /* atomic: 0 while it lives */
    uint64_t end_cpu_ns;
    char end_name[THREAD_NAME_BYTES];

    struct wp_marks marks; /* what the program says of it */

    /* The creating hook's message to the starting thread. */
    char start_space[64] __attribute__((aligned(16)));

    /* List links, each written by the pushing thread. */
    struct wp_thread *next_arrived, *next_left;

    /* The sampler's own. */
    uint32_t live_index;
    uint32_t recorded_number; /* 1.. in the order in which the recording has begun with it; its record's */
    struct wp_thread *next_of_tid; /* in its bucket of by_tid */
    arena_ref record;
    struct fold_thread fold;
    struct schedule_thread schedule;
    struct wp_memo *memo; /* of its last stack; NULL without */
    struct watch watch;   /* its descriptors */
    struct blocked_memory blocked;
    uint64_t name_due_ns; /* when to read its name again, while the recording is kept in a file */
    bool is_foreign; /* found by the census, not registered by a hook: nobody will tell us when it ends */
    uint32_t foreign_index;
    struct {
        int slot;         /* outstanding signal, -1 without */
        uint32_t look;    /* the last look at the modules before it was sent */
        uint64_t sent_ns; /* when it was sent */
        uint64_t
            chosen_ns; /* the last time the thread was chosen, with the signal sent or still outstanding */
        uint64_t sent_cpu_ns;
        uint64_t check_ns;   /* when to look into an overdue answer, or to try a silent thread again */
        uint64_t backoff_ns; /* doubles with every silent try; 0 for a thread that answers */
        bool is_silent;      /* did not answer the last time: look at its mask before another signal */
    } observe;
};

/* live_index of a thread that found no place in the array. */
#define THREAD_NOT_LIVE UINT32_MAX

enum { THREADS_CHUNK_COUNT = 4096, THREADS_PER_CHUNK = 256 };

struct wp_threads {
    struct wp_thread *chunks[THREADS_CHUNK_COUNT]; /* atomic pointers, published once */
    uint32_t fresh;                                /* atomic: records never used start here */
    uint64_t free_head;                            /* atomic: tag << 32 | index + 1 */
    uint32_t next_number;                          /* atomic */
    int32_t registered;                            /* atomic: acquired and not yet left */
    int32_t coming[2];                             /* atomic: being created, not yet entered; by group */
    uint32_t turn;                                 /* atomic: the group newcomers count in is turn % 2 */
    struct wp_thread *arrived, *left;              /* atomic list heads */

    /* The sampler's own. */
    struct wp_thread **live;
    struct wp_thread **by_tid;          /* as many buckets: lists of the live, by the tid's lowest bits */
    uint32_t live_count, live_capacity; /* a power of two */
};

/* 0 or -errno. */
int threads_init(struct wp_threads *threads);
void threads_deinit(struct wp_threads *threads);

/* Any thread: a record for a thread about to be created; NULL when there is no memory (it is then found in
 * /proc). */
struct wp_thread *threads_acquire(struct wp_threads *threads);

/* A record that will not be left by its thread: it was not created, or nobody tells when it ends. */
void threads_uncount(struct wp_threads *threads, struct wp_thread *thread);

/* Gives back a record that was never entered (uncounted), or (sampler only) one whose end has been folded. */
void threads_release(struct wp_threads *threads, struct wp_thread *thread);

/* The new thread itself, first thing: from now on it is observed. */
void threads_enter(struct wp_threads *threads, struct wp_thread *thread, pid_t tid, uint64_t start_ns,
                   uint64_t start_cpu_ns);

/* The ending thread itself, last thing; the record is not its own any more. Returns how many registered are
 * left. */
int threads_leave(struct wp_threads *threads, struct wp_thread *thread, const char *name);

/* Sampler: the lists of what came and went since the last call, linked by next_arrived and next_left. */
struct wp_thread *threads_take_arrived(struct wp_threads *threads);
struct wp_thread *threads_take_left(struct wp_threads *threads);

/* Sampler: into and out of the dense array. threads_add: 0 or -ENOMEM. */
int threads_add(struct wp_threads *threads, struct wp_thread *thread);
void threads_remove(struct wp_threads *threads, struct wp_thread *thread);

/*
 * Sampler: from now on newcomers count in the other group. False, and nothing is changed, while that is not
 * empty.
 */
bool threads_turn(struct wp_threads *threads);

/* Sampler: whether everyone who was coming at the last turn has entered (threads_take_arrived has them), or
 * never will. */
bool threads_have_come(const struct wp_threads *threads);

/* Sampler: the live record of a tid whose thread has not left, or NULL; O(1) as tids are dense. */
struct wp_thread *threads_find(const struct wp_threads *threads, pid_t tid);

#endif
