/*
 * What debug information has said, kept between runs: one file per build-id, so that a binary that was read
 * once need not be read again.
 *
 * In $XDG_CACHE_HOME/wallprof or ~/.cache/wallprof, or where WALLPROF_CACHE says; not at all with
 * WALLPROF_CACHE=off, and silently not where there is no home that can be written to, nor in a directory of
 * somebody else's. Files are checked like any other input, appear whole (rename), and together hold at most a
 * bound, above which the oldest go.
 *
 * Called from: names.c.
 */
#ifndef WALLPROF_TOOL_NAME_CACHE_H
#define WALLPROF_TOOL_NAME_CACHE_H

#include "frame_table.h"

#include <stddef.h>
#include <stdint.h>

#define NAME_CACHE_MAX_BYTES ((uint64_t)256 << 20)

struct name_cache {
    int directory_fd;   /* -1: there is no cache */
    uint64_t max_bytes; /* of all files together */
};

/* Never fails: there may be no cache then. */
void name_cache_open(struct name_cache *cache);
void name_cache_close(struct name_cache *cache);

/* What is kept of a file with this build-id; an empty table where there is nothing, or no build-id. */
struct frame_table name_cache_load(const struct name_cache *cache, const uint8_t *build_id, size_t bytes);

/* Keeps a table instead of what was kept; then sees to the bound. Failing is no error. */
void name_cache_store(const struct name_cache *cache, const uint8_t *build_id, size_t bytes,
                      const struct frame_table *table);

#endif
