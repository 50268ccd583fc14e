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

/* How much of the interrupted stack a reply uses at most, beside the kernel's frame. In bytes. */
enum { SIG_HANDLER_STACK_BYTES = 1792 };

/*
 * A handler for SA_SIGINFO, with every signal blocked but SIG_ACTION_FAULTS.
 *
 * Where the kernel's frame has found room on the stack and a reply does not, the thread gets SIGSEGV as if it
 * had overflowed its stack itself. A handler for that may jump out: nothing has been claimed yet.
 */
void sig_handler(int number, siginfo_t *info, void *context);

/* Hooks: a call that waits for signals has returned this one. True if it is a request, which the program must
 * not see; it was replied to with this context. */
bool sig_handler_reply(siginfo_t *info, ucontext_t *context);

/* Another handler of ours, with every signal blocked, which will return to this context: if it has cut a
 * hook's wait short, that wait goes on. */
void sig_handler_spare_wait(ucontext_t *context);

#endif
