/*
 * Calls that the kernel is about to make again because of our signal (SA_RESTART), when a handler of the
 * program without SA_RESTART comes, which should end them.
 *
 * The kernel decides by the first signal. For ours it puts the program counter back onto the system call. The
 * program's signal comes when our handler returns, and finds a call that has not begun. Without us it would
 * end the call with EINTR. So our handler notes where it was, and the entry of the program's handler
 * (sig_trampolines.h) ends the call as the kernel would (handle_signal in arch/x86/kernel/signal.c).
 */
#ifndef WALLPROF_SIG_RESTART_H
#define WALLPROF_SIG_RESTART_H

#include <ucontext.h>

/* In our handler, which will return to this context. */
void sig_restart_note(const ucontext_t *context);

/* In the entry of a handler without SA_RESTART, which will return to this context: if it is on the call that
 * was noted, -EINTR becomes the call's result. */
void sig_restart_end(ucontext_t *context);

#endif
