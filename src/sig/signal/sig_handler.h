/*
 * The signal handler: in a profiled thread, it replies to the sampler's requests with a sample.
 *
 * Every other signal on our numbers is the program's, and goes to the action that the program has set
 * (sig_action.h). The handler never touches errno: all its system calls are raw. It uses no thread-local
 * storage but sig_wait_here, which is never allocated lazily, so it runs in any thread.
 */
#ifndef WALLPROF_SIG_HANDLER_H
#define WALLPROF_SIG_HANDLER_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

/* A handler for SA_SIGINFO, with every signal blocked. */
void sig_handler(int number, siginfo_t *info, void *context);

/* Hooks: a call that waits for signals has returned this one. True if it is a request, which the program must
 * not see; it was replied to with this context. */
bool sig_handler_reply(siginfo_t *info, ucontext_t *context);

/* Another handler of ours, with every signal blocked, which will return to this context: if it has cut a
 * hook's wait short, that wait goes on. */
void sig_handler_spare_wait(ucontext_t *context);

#endif
