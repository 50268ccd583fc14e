/*
 * The kernel's list of this process's threads: /proc/self/task, through the sampler's own descriptor.
 *
 * Called from: the sampler thread only.
 *
 * Files about the sampler's own thread are read only where there is no other way. The kernel keeps entries
 * for a thread whose files were read, and discards them at its end, after the parent has been told that the
 * process has ended. A parent that waits for its child just then spins until that is done (release_task and
 * shrink_dcache_parent of Linux 6.18), on a busy machine for seconds.
 */
#ifndef WALLPROF_PROC_TASKS_H
#define WALLPROF_PROC_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* An open /proc/self/task; or that of the process whose directory in /proc is open, unless that is negative.
 * Or -errno. */
int proc_tasks_open(int process_directory);

/* How many threads there are, for the price of one fstat; 0 when it is not known. */
uint32_t proc_tasks_count(int directory_fd);

/*
 * The next tids of the list, in no order: their number; or 0 at the end of the list or -errno, and then the
 * next call starts over. The kernel goes on at the thread it stopped at. If that thread is gone, it goes on
 * at the same position, and may leave out some. About 1 us each.
 */
enum { PROC_TASKS_NEXT_MAX = 170 };
int proc_tasks_next(int directory_fd, pid_t ret_tids[PROC_TASKS_NEXT_MAX]);

/* Opens the file `name` of a thread: a descriptor, or -errno. */
int proc_tasks_open_file(int directory_fd, pid_t tid, const char *name);

/* Reads that file as a string, by one read. False, and "", when it cannot be read or is empty. */
bool proc_tasks_read(int directory_fd, pid_t tid, const char *name, char *text, size_t capacity);

/* What the kernel says of a thread. */
struct proc_task {
    char state;           /* man proc_pid_stat */
    bool is_kernels;      /* the kernel runs it for itself (io_uring, vhost): it has no code of the program */
    uint64_t start_ns;    /* CLOCK_MONOTONIC, to 10 ms */
    uint64_t stack_start; /* where the process's first stack began; 0 when the thread has ended */
    int realtime_priority; /* 1 to 99; 0 for a thread that is not a real-time one */
};

/* False if the thread is gone. */
bool proc_tasks_stat(int directory_fd, pid_t tid, struct proc_task *ret);

/* Its name, as set by prctl or pthread_setname_np; "" when it is gone. */
void proc_tasks_name(int directory_fd, pid_t tid, char *ret_name, size_t capacity);

/* Whether another process traces it (ptrace): false too if the file cannot be read, or that process is
 * outside of our namespace. About 10 us. */
bool proc_tasks_is_traced(int directory_fd, pid_t tid);

/* Whether a seccomp filter is on a thread of that process; true if it cannot be told.
 * Who asks wants to make a call for which a filter might end the process. */
bool proc_tasks_is_filtered(int directory_fd, pid_t tid);

/* Sets of signals, bit n-1 for signal n. */
struct proc_tasks_signals {
    uint64_t blocked;
    uint64_t pending; /* sent to this thread, and not taken yet */
    bool is_known;    /* false: the file cannot be read, and the sets are empty */
};

struct proc_tasks_signals proc_tasks_signals(int directory_fd, pid_t tid);

#endif
