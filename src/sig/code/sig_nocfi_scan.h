/*
 * Assembly in a module, without unwind tables and mostly without a frame pointer (GMP, codecs): where its
 * caller is follows from what the call instructions before the words on the stack call.
 *
 * Called from: signal handlers and the sampler thread, by the walk. Bounded. Where SIG_DECODES_CALLS only.
 */
#ifndef WALLPROF_SIG_NOCFI_SCAN_H
#define WALLPROF_SIG_NOCFI_SCAN_H

#include "sig/ground/sig_modules.h"
#include "sig/ground/sig_stack.h"

#include <stdbool.h>
#include <stdint.h>

/* Code without tables around an address: what calls of it can lead to. */
struct sig_nocfi_scan {
    const struct sig_modules_table *modules;
    uint64_t low, high; /* not behind the address, nor far before it */
};

void sig_nocfi_scan_around(struct sig_nocfi_scan *bare, const struct sig_modules_table *modules,
                           const struct sig_module *module, uint64_t lookup_pc);

/*
 * Whether the frame pointer is one of such code, its own or in a function's first instructions its caller's:
 * then it leads to a return address that was left by a call of code without tables, as far as can be said.
 */
bool sig_nocfi_scan_keeps_frame(const struct sig_nocfi_scan *bare, struct sig_stack *stack, uint64_t fp);

/* The first such word from sp on: how many words lie on it, -1 when there is none near. */
int sig_nocfi_scan_words_on_return_address(const struct sig_nocfi_scan *bare, struct sig_stack *stack,
                                           uint64_t sp, uint64_t *ret_return_address);

#endif
