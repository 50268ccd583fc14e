/*
 * Handlers of the program's on signal stacks with little room (sigaltstack).
 *
 * Such a stack was made for one frame of the kernel's and the handler; with AVX-512 or AMX one frame more and
 * ours do not fit, and the kernel ends the process. The frame is written before any instruction of ours runs,
 * so the signal must not come: the kernel is given our signals in the mask of every handler that may run on a
 * signal stack (sig_action.h), and the entry of that handler (sig_trampolines.h) lets them in as soon as it
 * finds that it has room. Where it has not, the thread gets another request after the handler.
 *
 * A thread that has both of ours blocked and not their stand-in (sig_numbers.h) is in such a handler, or has
 * left it by a jump without its mask; to the program none is blocked.
 *
 * Handler code.
 */
#ifndef WALLPROF_SIG_ALTSTACK_H
#define WALLPROF_SIG_ALTSTACK_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* What there must be below a handler for its own frames, one of the kernel's (AT_MINSIGSTKSZ: up to 12 KiB)
 * and ours. */
enum { SIG_ALTSTACK_BYTES = 32 * 1024 };

/* Whether a handler for this context, with a variable of its own at `here`, has less than that below it. The
 * thread is told so. */
bool sig_altstack_is_around(const ucontext_t *context, uintptr_t here);

/* Whether the calling thread is where it was told so last. */
bool sig_altstack_is_here(void);

/* In the entry of a handler that has begun with these blocked on our behalf: lets them in if there is room.
 */
void sig_altstack_enter(const ucontext_t *context, uint64_t held);

#endif
