/*
 * Names for code that a program made at run time, from the list that the program writes: /tmp/perf-PID.map.
 *
 * A line is one entry, "START SIZE NAME", with hexadecimal numbers. Just-in-time compilers write it on demand
 * (node --perf-basic-prof, python3.12 -X perf, DOTNET_PerfMapEnabled=1, an agent for Java, ...). Memory is
 * used again for other code, so the last entry that covers an address counts.
 *
 * A forked child has its parent's code but not its parent's list. struct perf_maps says for each ancestor how
 * much of its list was there at the fork. All lists are read as one, the eldest first.
 *
 * Every user may write to the directory. So a list counts only if it is a regular file of our effective user
 * or root, and was written to since the process started. An older file belongs to an earlier process with the
 * same pid. A list is read line by line, twice: memory depends on the queries, not on the file.
 *
 * Called from: perf_maps_init: the starting thread. The others: the exporting thread. Scratch memory only.
 * Format: linux/tools/perf/Documentation/jit-interface.txt.
 */
#ifndef WALLPROF_PERF_MAP_H
#define WALLPROF_PERF_MAP_H

#include "base/string_pool.h"
#include "profile/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    PERF_MAP_PATH_BYTES = 32,
    PERF_MAP_NAME_BYTES = 4096, /* a longer name is cut */
};

/* Only the end of a longer list is read: 2.5 million functions, in about a second. */
static const uint64_t perf_map_max_bytes = 256U << 20;

struct perf_maps {
    struct perf_map_source sources[PERF_MAPS_MAX]; /* ancestors, the eldest first, and the process itself */
    uint32_t count;
};

/* For a process that begins now. parent: of the process that it was forked from, or NULL. */
void perf_maps_init(struct perf_maps *maps, pid_t pid, uint64_t start_utc_ns, const struct perf_maps *parent);

/* An address to be named. The caller sorts the array by address, and zeroes the names. */
struct perf_map_query {
    uint64_t address;
    const char *name; /* out: valid UTF-8 without control characters, in the pool; NULL for none */
};

void perf_map_path(pid_t pid, char ret[PERF_MAP_PATH_BYTES]);

/*
 * A descriptor of the list, or -errno: -ENOENT and so on from open, -ELOOP for a symbolic link, -EINVAL for
 * what is no regular file, -EPERM for another user's, -ESTALE for one that is older than since_utc_ns.
 */
int perf_map_open(const char *path, uint64_t since_utc_ns);

/*
 * Names those of queries[0..count) that have no name yet, from the first `bytes` bytes of a list. Returns the
 * number of lines that were no entries and were skipped.
 */
uint64_t perf_map_name(int fd, uint64_t bytes, struct string_pool *names, struct perf_map_query *queries,
                       size_t count);

#endif
