/*
 * What the kernel tells of a thread without waking it: how often it has run, and where it is blocked.
 *
 * Two files of /proc/self/task/TID. `schedstat`: its CPU time, the time it waited for a CPU, and how often it
 * was put on one, its run count. A thread whose run count stands where it stood has not run in between,
 * however often one samples: that is a proof, where the CPU clock is none (it can stand still across a short
 * run). `syscall`: the system call it is blocked in, its stack pointer and pc; "running" when it is not
 * blocked. (fs/proc/base.c: proc_pid_schedstat, proc_pid_syscall; lib/syscall.c: task_current_syscall.)
 *
 * Descriptors are kept open: one that is kept costs a third of one that is opened for each sample, it belongs
 * to the thread and not to its tid, which may be another thread's a moment later, and it can be read when the
 * program has changed its user and no new one can be opened. They lie in the sampler's own descriptor table.
 * Their number is bounded; past it the ones that were used least recently are closed for those that are used
 * often, and a thread that is sampled more rarely than all others together has its own closed again at
 * once: what has just been opened is in the CPU's caches, and what has been kept for long is not.
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_THREAD_STAT_H
#define WALLPROF_THREAD_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A thread's descriptors; part of its record. Zeroed memory is a valid one. */
struct thread_stat {
    int schedstat, syscall; /* 0: not open. (0 to 2 are never ours.) */
    struct thread_stat *newer, *older;
    uint64_t read_at; /* struct thread_stats.reads when it was read last */
};

struct thread_stats {
    int task_directory;                  /* /proc/self/task; -1: nothing can be watched. Not owned. */
    uint32_t kept, kept_max;             /* descriptors */
    uint64_t reads;                      /* so far, of any thread's */
    struct thread_stat *newest, *oldest; /* those that keep a descriptor, by their last use */
};

/* How often a thread has run. */
struct thread_stat_runs {
    uint64_t count;  /* how often it was put on a CPU */
    uint64_t cpu_ns; /* what its CPU clock says, exactly as long as it does not run */
};

/* Where it is blocked. */
struct thread_stat_call {
    long number; /* of the system call; -1 outside of one (it waits for a page) */
    uint64_t arguments[6];
    uint64_t sp, pc; /* pc: after the system call's instruction, or the one that waits for its page */
};

enum thread_stat_state {
    THREAD_STAT_KNOWN,      /* what was requested has been read; of thread_stat_call: it is blocked */
    THREAD_STAT_RUNNING,    /* on a CPU, or waiting for one */
    THREAD_STAT_GONE,       /* ended, or about to: it has no stack of its own any more */
    THREAD_STAT_UNREADABLE, /* the kernel does not tell, or descriptors have run out */
};

/* In the thread that starts the recording, which reads its own: whether what the kernel tells is about
 * our threads. Without it thread_stats_init does, in the sampler (but see proc_tasks.h on that). It takes
 * descriptors of the program's for a moment. */
void thread_stat_find_out(void);

/*
 * task_directory: an open /proc/self/task. is_private: whether our descriptors are out of the program's
 * sight; none is opened otherwise.
 */
void thread_stats_init(struct thread_stats *stats, int task_directory, bool is_private);

/* For a process whose sampler, and descriptors, are gone. */
void thread_stats_drop_all(struct thread_stats *stats);

/* Opens both files now, as long as they can be. */
void thread_stat_open(struct thread_stats *stats, struct thread_stat *stat, pid_t tid);

/* The thread is none of ours any more. */
void thread_stat_close(struct thread_stats *stats, struct thread_stat *stat);

/* Never THREAD_STAT_RUNNING. *ret is filled in for THREAD_STAT_KNOWN only. */
enum thread_stat_state thread_stat_runs(struct thread_stats *stats, struct thread_stat *stat, pid_t tid,
                                        struct thread_stat_runs *ret);

/* *ret is filled in for THREAD_STAT_KNOWN only. */
enum thread_stat_state thread_stat_call(struct thread_stats *stats, struct thread_stat *stat, pid_t tid,
                                        struct thread_stat_call *ret);

#endif
