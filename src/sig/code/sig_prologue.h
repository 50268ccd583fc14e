/*
 * How far a function's frame pointer lies above its stack pointer when it calls another, by its prologue:
 * push %rbp; mov %rsp,%rbp, further pushes, sub $N,%rsp. The unwind table has the pushes, the code has N.
 *
 * These are guesses, as a function may move its stack pointer later on, or have other instructions that look
 * like this one. The caller must prove a guess by what it leads to.
 *
 * Called from: the sampler thread. Bounded; code is read through the kernel. Needs SIG_DECODES_CALLS.
 */
#ifndef WALLPROF_SIG_PROLOGUE_H
#define WALLPROF_SIG_PROLOGUE_H

#include "sig/cfi/sig_cfi.h"
#include "sig/ground/sig_modules.h"

#include <stddef.h>
#include <stdint.h>

enum { SIG_PROLOGUE_GUESSES = 8 };

/* Distances in words for the function around lookup_pc, without duplicates; returns how many, 0 if there is
 * no such prologue or no table. rows: SIG_ROW_COPIES rows of SIG_ROW_ALL columns of scratch. */
size_t sig_prologue_distances(const struct sig_module *module, uint64_t lookup_pc, struct sig_column *rows,
                              uint32_t ret[SIG_PROLOGUE_GUESSES]);

#endif
