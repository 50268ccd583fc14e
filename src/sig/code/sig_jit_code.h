/*
 * What machine code itself tells about the stack, where no table does: generated code.
 *
 * Called from: signal handlers and the sampler thread. Bounded. Code is read as data that may be gone:
 * through the kernel.
 */
#ifndef WALLPROF_SIG_JIT_CODE_H
#define WALLPROF_SIG_JIT_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether an address lies right behind a call instruction, as every return address does. */
bool sig_jit_code_follows_call(uint64_t address);

/*
 * An interrupted function that keeps the frame pointer convention, but not at this pc: it has not set up its
 * frame yet, or has taken it down again; or a call to an address where there is no code. Returns how many
 * words lie on the return address (on a machine with a link register 0 means that it is still there),
 * or -1 when the code does not look so.
 */
int sig_jit_code_words_on_return_address(uint64_t pc);

#endif
