/*
 * Signal stacks (sigaltstack): which handlers run there, the program's and ours, and small ones.
 *
 * A small stack was made for one frame of the kernel and the handler. With AVX-512 or AMX, another frame and
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

#include <signal.h>
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

/*
 * Whether our own handler runs on signal stacks. It does if the program's handler for one of `ours` does, or
 * if all of its handlers do. Then a thread may run where no handler fits (a goroutine's stack has some KiB),
 * or may keep data below its stack pointer (Erlang). Else its signal stack may be too small. Handlers for
 * what a thread does itself (SIGSEGV and its like) do not count, as they tell nothing of other moments.
 *
 * note: the program has set an action. flag: SA_ONSTACK or 0.
 */
void sig_altstack_note_action(int number, const struct sigaction *action);
uint32_t sig_altstack_flag(uint64_t ours);

/*
 * Whether a handler that is under way in the calling thread may make this its signal stack again: on its
 * return the kernel sets the one that was there when it began. That one is in the handler's frame.
 * own_stack_high: the end of the thread's own stack, if the caller is there; 0: the answer is yes, unless no
 * handler of the program has run in this thread.
 */
bool sig_altstack_returns(uint64_t low, uint64_t bytes, uint64_t own_stack_high);

/* In the entry of a handler that has begun with `held` blocked for us: unblocks them if there is room. */
void sig_altstack_enter(const ucontext_t *context, uint64_t held);

#endif
