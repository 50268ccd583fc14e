/*
 * What a walk may know of the mapped modules, in a signal handler or in the sampler thread: a sorted table of
 * executable segments, replaced as a whole.
 *
 * The sampler thread builds a table, publishes it, and reuses the old one's memory only when no handler is in
 * flight (sig_walk_tables.h). Walks only read.
 *
 * A table may name a library that is gone: dlclose passes our hook, but the C library also unloads libraries
 * of its own accord (character sets, after iconv_close). So only the unwind tables of permanent modules are
 * read directly. Those of others are copied through the kernel as they are read, which fails where nothing is
 * mapped, and their search table is a copy in our own memory. Costs of a cache miss, measured: directly 0.5
 * us; so 2 us; with the search table read through the kernel too, 11 us.
 *
 * Asking the loader whether an object is still there, with _dl_find_object (10 ns, no lock, fit for a
 * handler), would not allow to read it directly: glibc unmaps an object before it takes it off that list
 * (elf/dl-close.c: DL_UNMAP, then _dl_find_object_dlclose), so in between it confirms what is gone, even to
 * the very thread that unloads. It is asked for what the table does not have: what was loaded since.
 */
#ifndef WALLPROF_SIG_MODULES_H
#define WALLPROF_SIG_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A pair of .eh_frame_hdr's search table: distances from a base (LSB 5.0 Core 10.6.2, datarel sdata4). */
struct sig_search_entry {
    int32_t start_pc;
    int32_t fde;
};

struct sig_module {
    uint64_t start_pc, end_pc;  /* executable segment, run-time addresses */
    uint64_t eh_frame_hdr;      /* run-time address, 0 without */
    uint64_t cfi_low, cfi_high; /* reads of CFI stay inside; readable as long as the module is mapped */
    int64_t cfi_shift; /* what to add to an address in there to find its bytes; 0 for the mapped ones */
    const struct sig_search_entry *search; /* in memory of ours, sorted; NULL: .eh_frame_hdr is searched */
    uint64_t search_count;
    uint64_t search_base;
    bool is_permanent; /* loaded with the program, never unmapped: its tables can be read directly */
};

struct sig_modules_table {
    size_t count;
    uint64_t generation;         /* another one in every table */
    struct sig_module modules[]; /* by start_pc, disjoint */
};

/* The segment that holds pc, or NULL. */
const struct sig_module *sig_modules_find(const struct sig_modules_table *table, uint64_t pc);

/*
 * The whole object that holds pc, from the loader, which may have unmapped it already; false when there is
 * none, or no way to ask. Keeps to two copies of the loader's list, of which it changes one at a time, so it
 * neither waits nor fails inside dlopen and dlclose (glibc's elf/dl-find_object.c).
 */
bool sig_modules_ask_loader(uint64_t pc, struct sig_module *ret);

/* _dl_find_object (glibc 2.35), once before the handler is installed; NULL where the C library has none. */
struct dl_find_object;
typedef int sig_find_object_fn(void *address, struct dl_find_object *result);
void sig_modules_use_loader(sig_find_object_fn *find_object);

#endif
