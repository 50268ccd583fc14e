/* Threads whose reply is overdue, or that do not reply. Called from observe.c only. */
#ifndef WALLPROF_OBSERVE_OVERDUE_H
#define WALLPROF_OBSERVE_OVERDUE_H

#include "observe.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Why a reply is overdue. Held back: the signal is blocked and still pending. Lost: it is neither, because
 * the signal was ignored for a moment or merged with one of the program's. Else the reply comes: while our
 * handler runs, the signal is blocked but not pending.
 */
enum overdue { OVERDUE_COMES, OVERDUE_HELD_BACK, OVERDUE_LOST };
enum overdue observe_overdue(struct observer *observer, const struct thread *thread, uint64_t now_ns);

/* A reply takes 5-50 us from a thread on a CPU. After this long something is in the way. */
enum { OBSERVE_OVERDUE_NS = 20000000 };

/* Whether a thread has our signal blocked. */
bool observe_is_blocked(const struct observer *observer, pid_t tid);

/* What a signal stack must have for the kernel's frame and our handler. */
uint64_t observe_handler_bytes(void);

/*
 * Whether a thread must not get a request. Its signal stack may not have the room or may not be writable,
 * and the kernel would end the process. A signal would end a program that the thread is about to execute. It
 * would stop a traced thread, and its tracer would see it.
 * A tracer may begin at any moment, so a request may meet it within the 50 ms that an answer is remembered.
 */
bool observe_must_not_signal(const struct observer *observer, struct thread *thread, uint64_t now_ns);

/* The observation of a thread that cannot reply. It gets no other request for a while. */
void observe_report_silent(struct observer *observer, struct thread *thread, uint64_t now_ns,
                           struct observation *ret);

/* Whether it has left: then its tid may have passed to another thread. */
static inline bool observe_has_left(const struct thread *thread)
{
    return sig_load_acquire(&thread->end_ns) != 0; /* partner: the release in threads_leave */
}

/* Of a thread that the program calls uninteresting only the clocks are read. False if it has left. */
bool observe_leave_out(struct observer *observer, struct thread *thread, uint64_t now_ns,
                       struct observation *ret);

/* Of a reply: whether the thread had no CPU since it was asked, for longer than a signal takes. */
bool observe_had_no_cpu(const struct thread *thread, const struct sig_slot *slot);

/* One that was woken is where it was blocked until it has a CPU. */
bool observe_was_queued(const struct thread *thread, const struct sig_slot *slot);

/* Of a reply: whether the thread waited for a CPU in a call that it waits in now and then. */
bool observe_was_woken(const struct thread *thread, const struct sig_slot *slot);

/*
 * The moment of an observation. The result is unbiased only if these moments do not depend on what the
 * program does. The moment at which a thread that waits for a CPU replies does. The moment at which it was
 * chosen does not, and the thread was at the same place then.
 */
uint64_t observe_moment_of(const struct thread *thread, const struct sig_slot *slot);

#endif
