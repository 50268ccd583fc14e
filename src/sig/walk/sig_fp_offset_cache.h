/*
 * How far above the stack pointer the frame pointer is, at an address: what a walk that knows both has found,
 * for one that knows the stack pointer only (of another thread).
 *
 * A function that keeps a frame pointer has it at one distance each time it is at one place of call, unless
 * its frame varies in size (alloca, arguments on the stack). An address that was seen with two distances has
 * none any more, until all is forgotten.
 *
 * sig_fp_offset_learn is called from signal handlers of any number of threads at once, sig_fp_offset_find
 * from the sampler thread, and sig_fp_offset_clear from it while no handler can be in the midst of learning
 * (sig_walk_tables_publish): what stands at an address may be other code now.
 *
 * Never wrong of what it has learned: an entry is one 64-bit word of pc and distance, so a relaxed load sees
 * one of them whole. An entry is given to a pc by compare-and-exchange and stays its own; from then on it can
 * only become "varies". So that cannot be lost. Where there is no entry left for a pc, nothing is learned of
 * it.
 */
#ifndef WALLPROF_SIG_FP_OFFSET_CACHE_H
#define WALLPROF_SIG_FP_OFFSET_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* lookup_pc as sig_unwind reports it; of an interrupted function the address behind the system call. */
void sig_fp_offset_learn(uint64_t lookup_pc, uint64_t sp, uint64_t fp);

enum sig_fp_offset { SIG_FP_OFFSET_UNKNOWN, SIG_FP_OFFSET_KNOWN, SIG_FP_OFFSET_VARIES };

/* The frame pointer that belongs to a stack pointer, if its distance is KNOWN at this address. */
enum sig_fp_offset sig_fp_offset_find(uint64_t lookup_pc, uint64_t sp, uint64_t *ret_fp);

void sig_fp_offset_clear(void);

#endif
