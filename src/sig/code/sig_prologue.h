/*
 * How far a function's frame pointer lies above its stack pointer wherever it calls another, by what its
 * prologue does: push %rbp; mov %rsp,%rbp, further pushes, sub $N,%rsp. How many are pushed is in the unwind
 * table, N in the code.
 *
 * These are guesses (N is found by the form of its instruction, and a function may move its stack pointer
 * later on): who uses one must prove it by what it leads to.
 *
 * Called from: the sampler thread. Bounded; code is read through the kernel.
 */
#ifndef WALLPROF_SIG_PROLOGUE_H
#define WALLPROF_SIG_PROLOGUE_H

#include "sig/cfi/sig_cfi.h"
#include "sig/ground/sig_modules.h"

#include <stddef.h>
#include <stdint.h>

enum { SIG_PROLOGUE_GUESSES = 8 };

/*
 * Distances in words, each once, of the function around lookup_pc; returns how many: 0 where there is no such
 * prologue, or no table, or on a machine where frames are laid out otherwise. rows: scratch, as
 * sig_cfi_row's.
 */
size_t sig_prologue_distances(const struct sig_module *module, uint64_t lookup_pc, struct sig_column *rows,
                              uint32_t ret[SIG_PROLOGUE_GUESSES]);

#endif
