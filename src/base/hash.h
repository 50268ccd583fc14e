/* FNV-1a (Fowler, Noll, Vo), 64 bits, for tables in memory. */
#ifndef WALLPROF_HASH_H
#define WALLPROF_HASH_H

#include <stddef.h>
#include <stdint.h>

static const uint64_t hash_of_nothing = 0xcbf29ce484222325U;

/* hash: of the bytes before these. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (const unsigned char *at = bytes; count > 0; at++, count--)
        hash = (hash ^ *at) * 0x100000001b3U;
    return hash;
}

#endif
