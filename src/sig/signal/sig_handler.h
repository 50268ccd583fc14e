/*
 * The signal handler: in a profiled thread, it replies to the sampler's requests with a sample of that
 * thread.
 *
 * Every other signal that arrives on our numbers is the program's. It goes to the action that the program has
 * set, which the hooks keep (sig_action.h).
 *
 * The handler saves nothing in errno because it never touches it: all its system calls are raw. It reads no
 * thread-local storage but sig_wait_here, which is never allocated, so it runs in any thread.
 */
#ifndef WALLPROF_SIG_HANDLER_H
#define WALLPROF_SIG_HANDLER_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

/* A handler of SA_SIGINFO, with every signal blocked. */
void sig_handler(int number, siginfo_t *info, void *context);

/*
 * Hooks: a call that waits for signals has returned this one. True if it is a request of ours, which the
 * program is not to see: it has been replied to with this context.
 */
bool sig_handler_reply(siginfo_t *info, ucontext_t *context);

/*
 * Another handler of ours, with every signal blocked, which returns to this context: if it has cut a hook's
 * wait short, that wait goes on.
 */
void sig_handler_spare_wait(ucontext_t *context);

#endif
