/*
 * Names from debug information, kept between runs: one file for each build-id, so that a binary that was read
 * once need not be read again.
 *
 * The cache is in $XDG_CACHE_HOME/wallprof or ~/.cache/wallprof, or where WALLPROF_CACHE says. There is none
 * with WALLPROF_CACHE=off, without a home that can be written to, or where the directory is another user's.
 * No message says so. Files are checked like any other input, and appear whole (sink.h). Above a bound on
 * their total size the oldest are removed.
 *
 * Called from: names.c.
 */
#ifndef WALLPROF_NAME_CACHE_H
#define WALLPROF_NAME_CACHE_H

#include "frame_table.h"

#include <stddef.h>
#include <stdint.h>

#define NAME_CACHE_MAX_BYTES ((uint64_t)256 << 20)

struct name_cache {
    int directory_fd;   /* -1: there is no cache */
    uint64_t max_bytes; /* of all files together */
};

/* Does not fail; where there can be no cache, directory_fd is -1. */
void name_cache_open(struct name_cache *cache);
void name_cache_close(struct name_cache *cache);

/* What is kept for this build-id; an empty table where nothing is, or without a build-id. */
struct frame_table name_cache_load(const struct name_cache *cache, const uint8_t *build_id, size_t bytes);

/* Replaces what was kept, and then removes what is above the bound. A failure is ignored. */
void name_cache_store(const struct name_cache *cache, const uint8_t *build_id, size_t bytes,
                      const struct frame_table *table);

#endif
