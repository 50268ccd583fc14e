/*
 * The kernel's threads against the registry's: which came without a hook, and which went without one.
 *
 * No hook sees a raw clone, a thread the C library starts for itself (SIGEV_THREAD timers), or one for which
 * there was no record; nor the end of a thread by the bare system call. Every 100 ms the scan compares the
 * kernel's number of threads with ours. When they differ, it reads on in the kernel's list,
 * PROC_TASKS_NEXT_MAX threads at most, and remembers those that are not registered. Such a stranger is
 * reported in a later scan, when it can be none of these:
 *
 *  - a thread that is still on its way to its hook: all who were coming have come (threads_turn);
 *  - one on its way from its last hook to its end: its tid has left, and it started before that;
 *  - a new thread with the tid of the one remembered: it has the same start time.
 *
 * And each scan checks whether some of the registered ones are still there: of 64 that no hook will
 * end, and of 64 others, in turn; of 8 each while the numbers agree, which they do when as many have come
 * unseen as have gone.
 *
 * Cost: while the numbers agree, 8 reads of a clock every 100 ms; else 0.2-0.3 % of a core, however many
 * threads there are. So a stranger is found late where there are many: 0.2 s after its start among a hundred
 * threads, up to 8 s among 10,000 (a pass over the whole list); its time counts from its start all the same.
 * That a thread has gone is found within n / 640 seconds, but 0.1 at least, n being how many no hook will end
 * or how many others there are (n / 80 when a stranger makes up for it); it is taken to have been there until
 * then.
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_THREAD_SCAN_H
#define WALLPROF_THREAD_SCAN_H

#include "proc_tasks.h"
#include "threads.h"

#include <stdbool.h>
#include <stdint.h>

enum { THREAD_SCAN_LEFT_MAX = 4096 };

/* A thread as the kernel lists it: the tid alone may stand for another one a moment later. */
struct thread_scan_task {
    pid_t tid;
    uint64_t time_ns; /* of a stranger its start, of one that left its end; CLOCK_MONOTONIC */
};

struct thread_scan {
    int task_directory; /* -1 when /proc is not available */
    pid_t own_tid;
    uint64_t next_ns; /* when the next scan is due */
    struct thread_scan_list {
        uint32_t count;
        struct thread_scan_task tasks[PROC_TASKS_NEXT_MAX];
    } met, strangers;              /* not registered; nor will they be */
    bool is_turned;                /* since they were met */
    struct thread_scan_task *left; /* who left last, by tid % THREAD_SCAN_LEFT_MAX */
    struct thread_scan_foreign {
        struct thread *thread;
        uint64_t start_ns; /* by which it is known again */
    } * foreign;           /* the live that no hook registered */
    uint32_t foreign_count, foreign_capacity;
    uint32_t foreign_at,
        foreign_checks; /* how far the scan has come among them, and how many are still due */
    uint32_t mapped_store_at, live_checks; /* and among all that are live */
};

/* *scan is zeroed memory. 0 or -ENOMEM. */
int thread_scan_init(struct thread_scan *scan);
void thread_scan_deinit(struct thread_scan *scan);

/* In the sampler thread: opens its view of /proc. */
void thread_scan_open(struct thread_scan *scan);

/* The threads that were there before the first hook: until false; thread_scan_next_stranger has them at once.
 */
bool thread_scan_start(struct thread_scan *scan, const struct threads *threads);

/*
 * When it is due, a scan; false when not. After it, in this order: take what has arrived, then call the two
 * below until they have nothing more.
 */
bool thread_scan_begin(struct thread_scan *scan, struct threads *threads, uint64_t now_ns);

/* A live thread that is not there any more and has not said so; NULL when no other is known. */
struct thread *thread_scan_next_gone(struct thread_scan *scan, const struct threads *threads);

/* A thread of the kernel that no hook has registered or will; false when there is none. */
bool thread_scan_next_stranger(struct thread_scan *scan, const struct threads *threads,
                               struct thread_scan_task *ret);

/* This thread is the stranger's: no hook will tell its end, so that is looked for from now on. 0 or -ENOMEM.
 */
int thread_scan_adopt(struct thread_scan *scan, struct thread *thread,
                      const struct thread_scan_task *stranger);

/* A live thread ends at end_ns: the kernel may list it a little longer. */
void thread_scan_forget(struct thread_scan *scan, struct thread *thread, uint64_t end_ns);

#endif
