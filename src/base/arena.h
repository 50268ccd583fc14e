/*
 * An append-only region addressed by offsets: the memory of everything that ends up in a profile.
 *
 * One region holds tree nodes, locations, modules and threads. Records are never moved or freed here; who has
 * no more use for one may keep it for the next of its kind (tree_drop, thread_records.h). They refer
 * to each other by offset, so the same bytes are valid wherever they are mapped. Memory comes from mmap,
 * never from the program's malloc, and is touched only as it is used.
 *
 * There is no lock: one thread at a time allocates, in the program the sampler. A published record may be
 * read at any moment. Signal handlers read search tables (sig_modules.h). The file of a mapped store is as
 * its process left it when it was killed (mapped_store.h).
 */
#ifndef WALLPROF_ARENA_H
#define WALLPROF_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ARENA_UNIT_BYTES = 8 };

/* An offset in units of ARENA_UNIT_BYTES; 0 is "none". 32 bits reach 32 GiB. */
typedef uint32_t arena_ref;

/* How much of the memory can be touched, if it is mapped from a file that grows with its use
 * (mapped_store.h). extend does not fail: after it at least `bytes` can be touched. */
struct arena_backing {
    size_t bytes;
    void (*extend)(struct arena_backing *backing, size_t bytes);
};

struct arena {
    unsigned char *base; /* page aligned, owned */
    size_t size_bytes;   /* reserved; the hard limit */
    size_t open_bytes;   /* can be touched where there is no backing; from then on it can */
    size_t used_bytes;   /* handed out, a multiple of 8; starts at 8 so that no record has offset 0 */
    struct arena_backing *backing; /* not owned; NULL: open_bytes counts */
};

/* Called before any of the first `bytes` bytes is touched. */
static inline void arena_back(struct arena_backing *backing, size_t bytes)
{
    if (backing && bytes > backing->bytes)
        backing->extend(backing, bytes);
}

/* Reserves size_bytes, rounded up to whole pages, at most 32 GiB. 0; or -errno with nothing reserved. */
int arena_init(struct arena *arena, size_t size_bytes);
void arena_deinit(struct arena *arena);

/* Makes the first `bytes` bytes ones that can be touched, for whoever fills them as a whole. False without
 * memory. */
bool arena_open(struct arena *arena, size_t bytes);

/* Up to where a region of size_bytes is opened next, for `bytes` bytes: a few steps, and little unused. */
size_t arena_step(size_t have_bytes, size_t bytes, size_t size_bytes);

/* Empties the region, as after arena_init, and gives its pages back. References into it become invalid. */
void arena_clear(struct arena *arena);

/*
 * A zeroed record of the given size, 8-byte aligned; 0 when the region is full (nothing is handed out then).
 * The last sixteenth of the region is kept for arena_alloc_reserved: the few records without which time would
 * be lost.
 */
arena_ref arena_alloc(struct arena *arena, size_t bytes);
arena_ref arena_alloc_reserved(struct arena *arena, size_t bytes);

/* The record that a reference other than 0 leads to; valid until arena_deinit. */
static inline void *arena_at(const struct arena *arena, arena_ref ref)
{
    return arena->base + (size_t)ref * ARENA_UNIT_BYTES;
}

/* A NUL-terminated copy of a string; 0 when the region is full. */
arena_ref arena_strdup(struct arena *arena, const char *string);

/*
 * Anonymous memory outside any region, zeroed, for index tables and for writing. NULL if there is none. It
 * lies where the kernel puts nothing by itself, so that holes between the program's mappings stay free.
 * scratch_free takes the size that was requested.
 */
void *scratch_alloc(size_t bytes);

/* Once, whole pages: what scratch_alloc returns from here on is of one mapping, as long as there is room in
 * it. A short process pays for few mappings and page tables then. */
void scratch_begin(size_t bytes);

/* The same, for memory that is used completely at once: one system call instead of a fault for each page. */
void *scratch_alloc_touched(size_t bytes);
void scratch_free(void *memory, size_t bytes);

/* Moves a block (NULL: none yet) into a larger one. NULL without memory; then the old block is gone. */
void *scratch_grow(void *memory, size_t old_bytes, size_t new_bytes);

/* The same by doubling, if needed_bytes exceed *capacity_bytes, which becomes 0 without memory. first_bytes:
 * the first size, SCRATCH_FIRST_BYTES where nothing better is known. */
enum { SCRATCH_FIRST_BYTES = 4096 };
void *scratch_reserve(void *memory, size_t *capacity_bytes, size_t needed_bytes, size_t first_bytes);

#endif
