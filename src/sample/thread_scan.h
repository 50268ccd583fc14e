/*
 * Compares the kernel's threads with the registry's: which came without a hook, and which went without one.
 *
 * No hook sees a raw clone, a thread that the C library starts for itself (SIGEV_THREAD timers), or one for
 * which there was no record; nor the end of a thread by the bare system call. Every 100 ms a scan compares
 * the kernel's number of threads with ours. If they differ, it reads on in the kernel's list,
 * PROC_TASKS_NEXT_MAX threads at most, and remembers those that are not registered. A later scan reports such
 * a stranger, when it can be none of these:
 *
 *  - a thread that is still on its way to its hook: all who were coming have come (threads_turn);
 *  - one on its way from its last hook to its end: its tid has left, and it started before that. On a busy
 *    machine thousands of others may end before the kernel lists it no more (`ending`);
 *  - a new thread with the tid of the remembered one: that has another start time;
 *  - a thread of the kernel's own in this process, as io_uring has: the kernel marks it.
 *
 * Each scan also checks, in turn, whether registered threads still exist: 64 of those that no hook will end,
 * and 64 others. While the numbers agree it checks 8 of each: a stranger may hide that a thread has gone.
 *
 * Cost: while the numbers agree, 8 reads of a clock every 100 ms; else 0.2-0.3 % of a core, for any number of
 * threads. So among many threads a stranger is found late: 0.2 s after its start among a hundred, up to 8 s
 * (a pass over the whole list) among 10,000. Its time counts from its start all the same. That a thread has
 * gone is found within n / 640 seconds, but 0.1 at least, or n / 80 when a stranger makes up for it. n is how
 * many no hook will end, or how many others there are. The thread is taken to have lived until then.
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_THREAD_SCAN_H
#define WALLPROF_THREAD_SCAN_H

#include "proc/proc_tasks.h"
#include "target/target.h"
#include "threads.h"

#include <stdbool.h>
#include <stdint.h>

enum { THREAD_SCAN_LEFT_MAX = 4096 };

/* A thread as the kernel lists it. A moment later another thread may have its tid. */
struct thread_scan_task {
    pid_t tid;
    uint64_t time_ns; /* of a stranger its start, of one that left its end; CLOCK_MONOTONIC */
};

struct thread_scan {
    int task_directory; /* -1 when /proc is not available */
    pid_t own_tid;      /* of the sampler, which is listed too; 0: it is not, as another process is scanned */
    uint64_t interval_ns;
    uint64_t next_ns; /* when the next scan is due */
    struct thread_scan_list {
        uint32_t count;
        struct thread_scan_task tasks[PROC_TASKS_NEXT_MAX];
    } met, strangers;              /* not registered; strangers never will be */
    bool is_turned;                /* threads_turn was called after `met` */
    struct thread_scan_task *left; /* the last to leave, by tid % THREAD_SCAN_LEFT_MAX */
    struct thread_scan_ending {    /* those that left before them, and that the kernel still has */
        struct thread_scan_task *tasks;
        uint32_t count, capacity;
    } ending;
    struct thread_scan_foreign {
        struct thread *thread;
        uint64_t start_ns; /* tells it from a later thread with its tid */
    } * foreign;           /* live threads that no hook registered */
    uint32_t foreign_count, foreign_capacity;
    uint32_t foreign_at, foreign_checks; /* the next of them to check, and how many are still due */
    uint32_t live_at, live_checks;       /* the same for all live threads */
    bool is_main_due;                    /* the main thread is still to be checked */
};

/* *scan is zeroed memory. 0 or -ENOMEM. */
int thread_scan_init(struct thread_scan *scan);
void thread_scan_deinit(struct thread_scan *scan);

/* In the sampler thread: opens its view of /proc. target: NULL for this process. */
void thread_scan_open(struct thread_scan *scan, const struct target *target);

/* A thread that no hook will end seems to have ended: it is checked first at the next tick. */
void thread_scan_suspect(struct thread_scan *scan, const struct thread *thread);

/*
 * Makes strangers of the threads that were there before the first hook, unless some thread is on its way to
 * its hook. To be called until false. After each call the caller takes the arrived threads, and then the
 * strangers.
 */
bool thread_scan_start(struct thread_scan *scan, const struct threads *threads);

/*
 * Begins a scan if one is due; else false. The caller then takes the arrived threads, and after that calls
 * the next two functions until they have nothing more.
 */
bool thread_scan_begin(struct thread_scan *scan, struct threads *threads, uint64_t now_ns);

/* A live thread that has ended without a hook; NULL when there is no more. */
struct thread *thread_scan_next_gone(struct thread_scan *scan, const struct threads *threads);

/* A thread of the kernel that no hook has registered or will register; false when there is no more. */
bool thread_scan_next_stranger(struct thread_scan *scan, const struct threads *threads,
                               struct thread_scan_task *ret);

/* Makes the record the stranger's. No hook will tell its end, so scans check it from now on. 0 or -ENOMEM. */
int thread_scan_adopt(struct thread_scan *scan, struct thread *thread,
                      const struct thread_scan_task *stranger);

/* A live thread ended at end_ns. The kernel may list it a little longer. */
void thread_scan_forget(struct thread_scan *scan, struct thread *thread, uint64_t end_ns);

#endif
