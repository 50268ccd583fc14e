/*
 * An append-only region addressed by offsets: the memory of everything that ends up in a profile.
 *
 * One region holds tree nodes, locations, modules and threads. Records are never moved or freed, and they
 * refer to each other by offset, so the same bytes are valid wherever they are mapped. Memory comes from
 * mmap, never from the program's malloc, and is touched only as it is used.
 *
 * Called from: the sampler thread only (and unit tests). There is no locking: one writer, no concurrent
 * reader.
 */
#ifndef WALLPROF_ARENA_H
#define WALLPROF_ARENA_H

#include <stddef.h>
#include <stdint.h>

enum { ARENA_UNIT_BYTES = 8 };

/* An offset into the region in these units; 0 is "none". 32 bits reach 32 GiB. */
typedef uint32_t arena_ref;

/* How far memory can be touched, where that is not all of it: it is mapped from a file that grows with its
 * use (live.h). */
struct arena_backing {
    size_t bytes;
    void (*extend)(struct arena_backing *backing,
                   size_t bytes); /* afterwards there are as many, in any case */
};

struct wp_arena {
    unsigned char *base; /* page aligned, owned */
    size_t size_bytes;   /* reserved; the hard limit */
    size_t used_bytes;   /* handed out, a multiple of 8; starts at 8 so that no record has offset 0 */
    struct arena_backing *backing; /* not owned; NULL: all of it can be touched */
};

/* Before so many bytes from the beginning are touched. */
static inline void arena_back(struct arena_backing *backing, size_t bytes)
{
    if (backing && bytes > backing->bytes)
        backing->extend(backing, bytes);
}

/* Reserves size_bytes (rounded up to whole pages, at most 32 GiB). 0, or -errno with nothing reserved. */
int arena_init(struct wp_arena *arena, size_t size_bytes);
void arena_deinit(struct wp_arena *arena);

/* Empty again, as after arena_init: no reference into it is valid any more. Its pages are the kernel's again.
 */
void arena_clear(struct wp_arena *arena);

/*
 * A zeroed record of the given size, 8-byte aligned; 0 when the region is full (nothing is handed out then).
 * The last sixteenth of the region is kept for arena_alloc_reserved: the few records without which time would
 * be lost.
 */
arena_ref arena_alloc(struct wp_arena *arena, size_t bytes);
arena_ref arena_alloc_reserved(struct wp_arena *arena, size_t bytes);

/* The record behind a non-zero reference; valid until arena_deinit. */
static inline void *arena_at(const struct wp_arena *arena, arena_ref ref)
{
    return arena->base + (size_t)ref * ARENA_UNIT_BYTES;
}

/* A NUL-terminated copy of a string; 0 when the region is full. */
arena_ref arena_strdup(struct wp_arena *arena, const char *string);

/*
 * Plain anonymous memory outside any region, for index tables and export scratch. NULL when there is none.
 * scratch_free takes the same size that was asked for.
 */
void *scratch_alloc(size_t bytes);

/* The same, for what is about to be used all over: one visit to the kernel instead of one for each page. */
void *scratch_alloc_touched(size_t bytes);
void scratch_free(void *memory, size_t bytes);

/* Like scratch_alloc and a copy: the old block is released, also when NULL is returned for lack of memory. */
void *scratch_grow(void *memory, size_t old_bytes, size_t new_bytes);

#endif
