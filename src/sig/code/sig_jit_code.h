/*
 * What generated code itself tells about the stack, as it has no tables.
 *
 * Called from: signal handlers and the sampler thread. Bounded. Reads code through the kernel.
 */
#ifndef WALLPROF_SIG_JIT_CODE_H
#define WALLPROF_SIG_JIT_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether an address follows a call instruction, as every return address does. */
bool sig_jit_code_follows_call(uint64_t address);

/*
 * For an interrupted function that keeps the frame pointer convention, but not at this pc: its frame is not
 * set up yet, or was taken down; or for a call to an address without code. Returns how many words lie on top
 * of the return address, or -1 if the code looks different. With a link register 0 means: still there.
 */
int sig_jit_code_words_on_return_address(uint64_t pc);

#endif
