/*
 * What a signal handler may know of the mapped modules: a sorted table of executable segments, replaced as a
 * whole.
 *
 * The sampler thread builds a table, publishes it, and reuses the old one's memory only when no handler is in
 * flight (sig_handler.h). Handlers only read.
 */
#ifndef WALLPROF_SIG_MODULES_H
#define WALLPROF_SIG_MODULES_H

#include <stddef.h>
#include <stdint.h>

struct sig_module {
    uint64_t start_pc, end_pc;  /* executable segment, run-time addresses */
    uint64_t eh_frame_hdr;      /* run-time address, 0 without */
    uint64_t cfi_low, cfi_high; /* the mapped segment that holds eh_frame_hdr: reads of CFI stay inside */
};

struct sig_modules_table {
    size_t count;
    uint64_t generation;         /* another one in every table */
    struct sig_module modules[]; /* by start_pc, disjoint */
};

/* The segment that holds pc, or NULL. */
const struct sig_module *sig_modules_find(const struct sig_modules_table *table, uint64_t pc);

#endif
