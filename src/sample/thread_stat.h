/*
 * What the kernel tells of a thread without waking it: how often it has run, and where it is blocked.
 *
 * Two files of /proc/self/task/TID tell it (fs/proc/base.c: proc_pid_schedstat, proc_pid_syscall;
 * lib/syscall.c: task_current_syscall):
 *
 *  - `schedstat`: the thread's CPU time, the time it waited for a CPU, and its run count: how often it was
 * put on a CPU. A run count that has not changed proves that the thread has not run. The CPU clock proves
 *    nothing: it can stand still across a short run.
 *  - `syscall`: the system call that the thread is blocked in, its stack pointer and pc; else "running".
 *
 * Descriptors are kept open, in the sampler's own descriptor table. Reading a kept one costs a third of
 * opening one for each sample. It belongs to the thread, while its tid may be another thread's a moment
 * later. It stays readable when the program has changed its user and no new one can be opened.
 *
 * Their number is bounded. Past the bound the least recently used ones are closed for threads that are
 * sampled often. A thread that is sampled more rarely than all others together has its descriptor closed at
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
    uint64_t read_at; /* struct thread_stats.reads at its last reading */
};

struct thread_stats {
    int task_directory;      /* /proc/self/task; negative: nothing can be read. Not owned. */
    uint32_t kept, kept_max; /* descriptors */
    uint64_t reads;          /* so far, of all threads' */
    struct {
        const struct thread_stat *of; /* NULL: none */
        int schedstat, syscall;       /* negative: none */
        bool is_often;                /* it is read so often that its descriptors are kept */
    } held; /* what is not kept, until thread_stat_let_go: both may be read twice for a sample */
    struct thread_stat *newest, *oldest; /* those that keep a descriptor, by their last use */
};

/* How often a thread has run. */
struct thread_stat_runs {
    uint64_t count;    /* how often it was put on a CPU */
    uint64_t cpu_ns;   /* its CPU clock, exact while it does not run */
    uint64_t delay_ns; /* how long it has waited for a CPU so far; a wait counts when it is over */
};

/* Where it is blocked. */
struct thread_stat_call {
    long number; /* of the system call; -1 outside one (it waits for a page) */
    uint64_t arguments[6];
    uint64_t sp, pc; /* pc: after the system call's instruction, or at the one that waits for its page */
};

enum thread_stat_state {
    THREAD_STAT_KNOWN,      /* the result has been read; of thread_stat_call: the thread is blocked */
    THREAD_STAT_RUNNING,    /* on a CPU, or waiting for one */
    THREAD_STAT_GONE,       /* ended, or about to end: its stack may be unmapped */
    THREAD_STAT_UNREADABLE, /* the kernel does not show it, or descriptors have run out */
};

/* Whose threads /proc shows: in an emulator those of the emulator. */
enum thread_stat_view { THREAD_STAT_VIEW_UNKNOWN, THREAD_STAT_VIEW_OURS, THREAD_STAT_VIEW_OTHERS };

/* Of an open /proc/self/task. Its files of the main thread are read, if that has not ended (see
 * proc_tasks.h).
 */
enum thread_stat_view thread_stat_find_view(int task_directory);

/* task_directory: an open /proc/self/task. is_usable: it is about our threads, and the program cannot see our
 * descriptors. Otherwise none is opened. */
void thread_stats_init(struct thread_stats *stats, int task_directory, bool is_usable);

/* The sampler has ended, and its descriptors are gone with it. */
void thread_stats_drop_all(struct thread_stats *stats);

/* Opens both files now, while that is possible. */
void thread_stat_open(struct thread_stats *stats, struct thread_stat *stat, pid_t tid);

/* The thread is not sampled any more. */
void thread_stat_close(struct thread_stats *stats, struct thread_stat *stat);

/* Never THREAD_STAT_RUNNING. *ret is filled in for THREAD_STAT_KNOWN only. */
enum thread_stat_state thread_stat_runs(struct thread_stats *stats, struct thread_stat *stat, pid_t tid,
                                        struct thread_stat_runs *ret);

/* Closes what the other functions have opened and do not keep. To be called after them, before another
 * thread's turn. */
void thread_stat_let_go(struct thread_stats *stats);

/* *ret is filled in for THREAD_STAT_KNOWN only. */
enum thread_stat_state thread_stat_call(struct thread_stats *stats, struct thread_stat *stat, pid_t tid,
                                        struct thread_stat_call *ret);

#endif
