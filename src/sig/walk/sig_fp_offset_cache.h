/*
 * How far the frame pointer is above the stack pointer, by address. A walk that knows both pointers learns it
 * for the walk of another thread, which knows the stack pointer only.
 *
 * At one place of call a function has its frame pointer at one distance, unless its frame varies in size
 * (alloca, arguments on the stack). An address that was seen with two has none until all is cleared.
 *
 * sig_fp_offset_learn is called from signal handlers of any number of threads at once, sig_fp_offset_find
 * from the sampler thread. sig_fp_offset_clear is called from the sampler thread when other code may be at
 * the addresses, and no handler can be learning (sig_walk_tables_publish).
 *
 * It never mixes what it has learned: an entry is one 64-bit word of pc and distance, so a relaxed load sees
 * one whole. A pc gets an entry by compare-and-exchange and keeps it. From then on the entry can only become
 * "varies", so that cannot be lost. If no entry is left for a pc, nothing is learned about it.
 */
#ifndef WALLPROF_SIG_FP_OFFSET_CACHE_H
#define WALLPROF_SIG_FP_OFFSET_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* lookup_pc: as sig_unwind reports it; for an interrupted function the address after the system call. */
void sig_fp_offset_learn(uint64_t lookup_pc, uint64_t sp, uint64_t fp);

enum sig_fp_offset { SIG_FP_OFFSET_UNKNOWN, SIG_FP_OFFSET_KNOWN, SIG_FP_OFFSET_VARIES };

/* *ret_fp is the frame pointer that belongs to a stack pointer, if the result is KNOWN. */
enum sig_fp_offset sig_fp_offset_find(uint64_t lookup_pc, uint64_t sp, uint64_t *ret_fp);

void sig_fp_offset_clear(void);

#endif
