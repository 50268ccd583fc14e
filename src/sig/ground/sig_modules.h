/*
 * What a walk may know of the mapped modules, in a signal handler or in the sampler thread: a sorted table of
 * executable segments, replaced as a whole.
 *
 * The sampler thread builds a table, publishes it, and reuses the memory of the one before only when no
 * handler is in flight (sig_walk_tables.h). Walks only read.
 *
 * A table may name a library that is gone. dlclose passes our hook, but the C library also unloads libraries
 * by itself (character sets, after iconv_close). So only the unwind tables of permanent modules are read
 * directly. Those of others are read through the kernel, which fails where nothing is mapped, and their
 * search table is a copy in our own memory. A cache miss then costs 2 us instead of 0.5 us. With the search
 * table read through the kernel too it would cost 11 us.
 *
 * The loader can say whether an object is still there: _dl_find_object takes 10 ns and no lock. But it does
 * not allow a direct read: glibc unmaps an object before it takes it off that list (elf/dl-close.c: DL_UNMAP,
 * then _dl_find_object_dlclose). So the loader is only asked for what was loaded after the table was made.
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
    int64_t cfi_shift;          /* from an address in there to its bytes; 0 where they are read in place */
    const struct sig_search_entry *search; /* in memory of ours, sorted; NULL: .eh_frame_hdr is searched */
    uint64_t search_count;
    uint64_t search_base;
    bool is_permanent; /* loaded with the program and never unmapped, so its tables can be read directly */
};

struct sig_modules_table {
    size_t count;
    uint64_t generation;         /* another one in every table */
    struct sig_module modules[]; /* by start_pc, disjoint */
};

/* The segment that holds pc, or NULL. */
const struct sig_module *sig_modules_find(const struct sig_modules_table *table, uint64_t pc);

/*
 * The whole object that holds pc, from the loader, which may have unmapped it already. False if there is
 * none, or the C library has no _dl_find_object. That reads one of two copies of a list, of which the loader
 * changes the other, so it neither waits nor fails during dlopen and dlclose (glibc's elf/dl-find_object.c).
 */
bool sig_modules_ask_loader(uint64_t pc, struct sig_module *ret);

/* _dl_find_object (glibc 2.35), once before the handler is installed; NULL where the C library has none. */
struct dl_find_object;
typedef int sig_find_object_fn(void *address, struct dl_find_object *result);
void sig_modules_use_loader(sig_find_object_fn *find_object);

#endif
