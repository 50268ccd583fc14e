/*
 * A thread of another process stands still for a moment: ptrace, for one look at a time.
 *
 * A thread is seized (PTRACE_SEIZE), interrupted, and let go again (PTRACE_DETACH) at each look, rather than
 * seized once: docs/design/external.md says why. No signal is sent and no handler runs. A signal that comes
 * in that moment is passed on. A stop of job control stays in force.
 *
 * A call that waits is left for the stop and made again. Where Linux would end it with EINTR instead, because
 * it never makes it again (signal(7)), it is made again all the same.
 *
 * Called from: one thread only, that of the sampler, as the kernel demands. SIGCHLD is blocked in it. When it
 * ends, or the process is killed, the kernel lets all threads go.
 */
#ifndef WALLPROF_ATTACH_TRACE_H
#define WALLPROF_ATTACH_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>

enum trace_result {
    TRACE_STOPPED, /* it stands still, until trace_let_go */
    TRACE_COMES,   /* it will, when it has a CPU: to be asked for again (trace_take), when SIGCHLD comes */
    TRACE_GONE,    /* it has ended */
    TRACE_REFUSED, /* it cannot be stopped, as another process traces it */
};

/* A thread that stands still. */
struct trace_stop {
    ucontext_t context;   /* its registers; after a call that it was in */
    uint64_t thread_area; /* the C library's id of it (pthread_self); 0: not known */
    uint64_t returned_pc; /* where a system call had just returned to; 0: none had, or it is not known */
    bool was_waiting;     /* it had begun to wait in a call, which is made again */
    int signal;           /* to be passed on by trace_let_go */
};

/* Asks a thread to stand still. */
enum trace_result trace_begin(pid_t tid, struct trace_stop *ret);

/* Whether it has come to it by now. Never TRACE_REFUSED. */
enum trace_result trace_take(pid_t tid, struct trace_stop *ret);

/* Waits until a thread may have come to stand still, at most until a moment (CLOCK_MONOTONIC). */
void trace_await(uint64_t deadline_ns);

/* It goes on, untraced. False if it is about to end (SIGKILL): then trace_take is to be called until GONE. */
bool trace_let_go(pid_t tid, const struct trace_stop *stop);

/* Whether threads of a process can be stopped: 0 or -errno of PTRACE_SEIZE. The process does not notice. */
int trace_try(pid_t pid);

#endif
