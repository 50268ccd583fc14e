/*
 * The stack of a Haskell thread, in a program that GHC has compiled.
 *
 * GHC's code has no unwind tables and pushes nothing on the C stack. Each Haskell thread has a stack of its
 * own, in pieces in GHC's heap, and rbp is its stack pointer. A frame begins with the address of the code
 * that it returns to. Before that code stands what the collector has to know of the frame: its kind and size.
 * (GHC's rts/include/rts/storage/InfoTables.h and ClosureTypes.h, the same from GHC 8.2 to 9.12.)
 *
 * Called from: the walk, in signal handlers and in the sampler thread. Bounded. The stack is read through the
 * kernel: a thread in a foreign call does not keep the collector from freeing it.
 */
#ifndef WALLPROF_SIG_GHC_STACK_H
#define WALLPROF_SIG_GHC_STACK_H

#include "sig/ground/sig_modules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Writes the addresses that the frames from sp on return to, innermost first, and returns their number. Each
 * is exact: the code was never called, so no call stands before it. *ret_is_whole: the last frame is the
 * outermost one; else there was no more room. 0 if these are not the frames of a Haskell thread, which is
 * believed only if they lead to the outermost frame, or are many.
 */
size_t sig_ghc_stack_walk(const struct sig_modules_table *modules, uint64_t sp, uint64_t *addresses,
                          size_t capacity, bool *ret_is_whole);

#endif
