/*
 * Reading an interpreter's memory during a walk (sig_interp.h), for all languages: counted reads, fields of
 * records, and the checks of code objects that were met before.
 *
 * Called from: the walks of this room.
 */
#ifndef WALLPROF_SIG_INTERP_READ_H
#define WALLPROF_SIG_INTERP_READ_H

#include "sig_interp.h"

enum { SIG_INTERP_WORD_BYTES = 8, SIG_INTERP_PAGE_BYTES = 4096, SIG_INTERP_READS_MAX = 4096 };

static inline void sig_interp_begin(const struct sig_interp_walk *walk)
{
    walk->stack->count = 0;
    walk->stack->end = SIG_INTERP_NONE;
    walk->scratch->reads_left = SIG_INTERP_READS_MAX;
    for (size_t i = 0; i < SIG_INTERP_KNOWN_CODES; i++)
        walk->scratch->known[i].code = walk->scratch->known[i].check = 0; /* address 0 is no code */
}

/* Whole words at an aligned address. False once too much was read. */
static inline bool sig_interp_read(const struct sig_interp_walk *walk, void *to, uint64_t from, size_t bytes,
                                   bool is_held)
{
    if (walk->scratch->reads_left == 0 || from % SIG_INTERP_WORD_BYTES != 0 || from < SIG_INTERP_PAGE_BYTES ||
        from + bytes < from)
        return false;
    walk->scratch->reads_left--;
    return walk->memory->read(walk->memory, to, from, bytes, is_held);
}

/* A field of a record that was read, by its offset in bytes. */
static inline uint64_t sig_interp_word(const uint64_t *record, uint16_t offset)
{
    return record[offset / SIG_INTERP_WORD_BYTES];
}

static inline uint32_t sig_interp_half(const uint64_t *record, uint16_t offset)
{
    return (uint32_t)(record[offset / SIG_INTERP_WORD_BYTES] >> offset % SIG_INTERP_WORD_BYTES * 8);
}

static inline uint8_t sig_interp_byte(const uint64_t *record, uint16_t offset)
{
    return (uint8_t)(record[offset / SIG_INTERP_WORD_BYTES] >> offset % SIG_INTERP_WORD_BYTES * 8);
}

static inline uint64_t sig_interp_mix(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x9e3779b97f4a7c15U ^ hash >> 29;
}

/* Where the check of a code object is kept during a walk. It has another one's until it is set. */
static inline size_t sig_interp_known_at(uint64_t code)
{
    return code / SIG_INTERP_WORD_BYTES / 2 % SIG_INTERP_KNOWN_CODES;
}

#endif
