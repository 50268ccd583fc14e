/*
 * Calls that the kernel is about to make again because of our signal (SA_RESTART), and a handler of the
 * program's that wants them ended (without SA_RESTART) and comes just then.
 *
 * The kernel decides by the first of the signals. Ours steps the program counter back onto the system call;
 * the program's, let in when our handler returns, would find a call that has not begun and run before it,
 * where without us it ends it with EINTR. So our handler leaves word of where it was, and the entry of the
 * program's handler (sig_trampolines.h) ends the call there as the kernel would have (handle_signal in
 * arch/x86/kernel/signal.c).
 */
#ifndef WALLPROF_SIG_RESTART_H
#define WALLPROF_SIG_RESTART_H

#include <ucontext.h>

/* In our handler, which returns to this context. */
void sig_restart_note(const ucontext_t *context);

/* In the entry of a handler without SA_RESTART, which will return to this context: -EINTR becomes the call's
 * result if it is one that was noted. Handler code. */
void sig_restart_end(ucontext_t *context);

#endif
