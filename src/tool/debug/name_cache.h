/*
 * Names of code, kept between runs: one file of each kind for each build-id, so that a binary that was read
 * once need not be read again.
 *
 * The cache is in $XDG_CACHE_HOME/wallprof or ~/.cache/wallprof, or where WALLPROF_CACHE says. There is none
 * with WALLPROF_CACHE=off, without a home that can be written to, or where the directory is another user's.
 * No message says so. Files are checked like any other input, and appear whole (sink.h). Above a bound on
 * their total size the oldest are removed.
 *
 * Called from: file_frames.c, names_files.c.
 */
#ifndef WALLPROF_NAME_CACHE_H
#define WALLPROF_NAME_CACHE_H

#include "frame_table.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define NAME_CACHE_MAX_BYTES ((uint64_t)256 << 20)

struct name_cache {
    int directory_fd;   /* -1: there is no cache */
    uint64_t max_bytes; /* of all files together */
};

/* Does not fail; where there can be no cache, directory_fd is -1. */
void name_cache_open(struct name_cache *cache);
void name_cache_close(struct name_cache *cache);

/* What debug information says stays true. What symbols say is believed for a time (file_frames.c): they are
 * kept apart. */
enum name_cache_kind { NAME_CACHE_DEBUG, NAME_CACHE_SYMBOLS, NAME_CACHE_KINDS };

/* What is kept for this build-id, if it was stored after `since` (NULL: at any time); else, or without a
 * build-id, an empty table. */
struct frame_table name_cache_load(const struct name_cache *cache, enum name_cache_kind kind,
                                   const uint8_t *build_id, size_t bytes, const struct timespec *since);

/* Replaces what was kept, and then removes what is above the bound. A failure is ignored. */
void name_cache_store(const struct name_cache *cache, enum name_cache_kind kind, const uint8_t *build_id,
                      size_t bytes, const struct frame_table *table);

#endif
