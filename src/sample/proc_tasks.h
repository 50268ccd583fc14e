/*
 * The kernel's list of this process's threads: /proc/self/task, through the sampler's own descriptor.
 *
 * Called from: the sampler thread only.
 *
 * Nothing of /proc is asked for about the sampler's own thread where that can be helped: the kernel would
 * keep entries for it, which it throws away at the thread's end, after the parent has been told of the
 * process's. A parent that asks for its child just then spins until that is done (release_task and
 * shrink_dcache_parent of Linux 6.18), on a busy machine for seconds.
 */
#ifndef WALLPROF_PROC_TASKS_H
#define WALLPROF_PROC_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* An open /proc/self/task, or -errno. */
int proc_tasks_open(void);

/* How many threads there are, for the price of one fstat; 0 when it cannot be told. */
uint32_t proc_tasks_count(int directory_fd);

/*
 * The next tids of the list, in no order: their number, 0 at the end of the list, or -errno. The kernel goes
 * on at the thread it stopped at; when that one is gone, at its number in the list, and may leave out some.
 * About 1 us each.
 */
enum { PROC_TASKS_NEXT_MAX = 170 };
int proc_tasks_next(int directory_fd, pid_t ret_tids[PROC_TASKS_NEXT_MAX]);

/* The next call of proc_tasks_next starts over. */
void proc_tasks_rewind(int directory_fd);

/* A thread's state letter (man proc_pid_stat) and when it started on CLOCK_MONOTONIC (to 10 ms). False when
 * it is gone. */
bool proc_tasks_stat(int directory_fd, pid_t tid, char *ret_state, uint64_t *ret_start_ns);

/* Its name, as set by prctl or pthread_setname_np; "" when it is gone. */
void proc_tasks_name(int directory_fd, pid_t tid, char *ret_name, size_t capacity);

/* Sets of signals, bit n-1 for signal n. */
struct proc_tasks_signals {
    uint64_t blocked;
    uint64_t pending; /* sent to this thread, and not taken yet */
    bool is_known;    /* false: the sets are empty because they cannot be told */
};

struct proc_tasks_signals proc_tasks_signals(int directory_fd, pid_t tid);

#endif
