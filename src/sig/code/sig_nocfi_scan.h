/*
 * Finding the caller of assembly in a module, which has no unwind tables and mostly no frame pointer (GMP,
 * codecs): the first word on the stack that a call of this very code can have left.
 *
 * Called from: signal handlers and the sampler thread, by the walk. Bounded. Needs SIG_DECODES_CALLS.
 */
#ifndef WALLPROF_SIG_NOCFI_SCAN_H
#define WALLPROF_SIG_NOCFI_SCAN_H

#include "sig/ground/sig_modules.h"
#include "sig/ground/sig_stack.h"

#include <stdbool.h>
#include <stdint.h>

/* The code without tables around an address, which calls of it can lead to. */
struct sig_nocfi_scan {
    const struct sig_modules_table *modules;
    uint64_t low, high; /* high is the address itself, low not far before it */
};

void sig_nocfi_scan_around(struct sig_nocfi_scan *scan, const struct sig_modules_table *modules,
                           const struct sig_module *module, uint64_t lookup_pc);

/* Whether the code keeps a frame pointer, as far as can be told: fp leads to a return address that a call of
 * code without tables left. (In a function's first instructions fp is its caller's.) */
bool sig_nocfi_scan_keeps_frame(const struct sig_nocfi_scan *scan, struct sig_stack *stack, uint64_t fp);

/* Searches from sp on: how many words lie on top of the return address, -1 if there is none near. */
int sig_nocfi_scan_words_on_return_address(const struct sig_nocfi_scan *scan, struct sig_stack *stack,
                                           uint64_t sp, uint64_t *ret_return_address);

#endif
