/*
 * How far above the stack pointer the frame pointer is, at an address: what a walk that knows both has found,
 * for one that knows the stack pointer only (of another thread).
 *
 * A function that keeps a frame pointer has it at one distance each time it is at one place of call, unless
 * its frame varies in size (alloca, arguments on the stack). An address that was seen with two distances has
 * none any more, until all is forgotten.
 *
 * sig_distance_learn is called from signal handlers of any number of threads at once, sig_distance_find from
 * the sampler thread, and sig_distance_clear from it while no handler can be in the midst of learning
 * (sig_handler_publish_modules): what stands at an address may be other code now.
 *
 * Never wrong of what it has learned: an entry is one 64-bit word of pc and distance, so a relaxed load sees
 * one of them whole. An entry is given to a pc by compare-and-exchange and stays its own; from then on it can
 * only become "varies". So that cannot be lost. Where there is no entry left for a pc, nothing is learned of
 * it.
 */
#ifndef WALLPROF_SIG_DISTANCE_H
#define WALLPROF_SIG_DISTANCE_H

#include <stdbool.h>
#include <stdint.h>

/* lookup_pc as sig_unwind reports it; of an interrupted function the address behind the system call. */
void sig_distance_learn(uint64_t lookup_pc, uint64_t sp, uint64_t fp);

enum sig_distance { SIG_DISTANCE_UNKNOWN, SIG_DISTANCE_KNOWN, SIG_DISTANCE_VARIES };

/* The frame pointer that belongs to a stack pointer, if its distance is KNOWN at this address. */
enum sig_distance sig_distance_find(uint64_t lookup_pc, uint64_t sp, uint64_t *ret_fp);

void sig_distance_clear(void);

#endif
