/*
 * The program's handlers on small signal stacks (sigaltstack).
 *
 * Such a stack was made for one frame of the kernel and the handler. With AVX-512 or AMX, another frame and
 * our handler do not fit, and the kernel ends the process. It writes the frame before our first instruction,
 * so the signal must not come. So the mask of every handler that may run on a signal stack has our signals
 * (sig_action.h), and the entry of that handler (sig_trampolines.h) lets them in if there is room. If not,
 * the thread gets another request after the handler.
 *
 * A thread that blocks both of our numbers, but not their stand-in (sig_numbers.h), is in such a handler, or
 * has left it by a jump that did not restore the mask. To the program it blocks none of them.
 *
 * Handler code.
 */
#ifndef WALLPROF_SIG_ALTSTACK_H
#define WALLPROF_SIG_ALTSTACK_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* Room below a handler for its own frames, one of the kernel (AT_MINSIGSTKSZ: up to 12 KiB) and ours. */
enum { SIG_ALTSTACK_BYTES = 32 * 1024 };

/* Whether the handler for this context, with a variable at `here`, has less than that on its signal stack. If
 * so, notes it for sig_altstack_is_here. */
bool sig_altstack_is_around(const ucontext_t *context, uintptr_t here);

/* Whether the calling thread is on the signal stack that was noted last. */
bool sig_altstack_is_here(void);

/* In the entry of a handler that has begun with `held` blocked for us: unblocks them if there is room. */
void sig_altstack_enter(const ucontext_t *context, uint64_t held);

#endif
