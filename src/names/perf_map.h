/*
 * Names for code that a program made at run time, from the list it writes of it: /tmp/perf-PID.map.
 *
 * One entry a line, "START SIZE NAME", numbers in hexadecimal. Just-in-time compilers write it when asked to
 * (node --perf-basic-prof, python3.12 -X perf, DOTNET_PerfMapEnabled=1, an agent for Java, ...). Memory is
 * used again for other code, so the last entry that covers an address is the one that is believed.
 *
 * A forked child has its parent's code but not its parent's list: struct perf_maps knows how much of the list
 * of each ancestor the process came into the world with. All lists together are read as one, the eldest
 * first.
 *
 * The directory is anybody's to write to: a list counts only if it is a regular file of our own effective
 * user or root, and was written to since the process started (an older one is a namesake's). It is read line
 * by line, twice: memory depends on the addresses that are asked for, not on the file.
 *
 * Called from: perf_maps_*: the starting thread. The others: the exporting thread. Scratch memory only.
 * Format: linux/tools/perf/Documentation/jit-interface.txt.
 */
#ifndef WALLPROF_PERF_MAP_H
#define WALLPROF_PERF_MAP_H

#include "base/string_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    PERF_MAPS_MAX = 8,          /* generations that are remembered */
    PERF_MAP_PATH_BYTES = 32,   /* room for the name of a list */
    PERF_MAP_NAME_BYTES = 4096, /* of a longer name, what is in front */
};

/* Of a longer list, what was written last: 2.5 million functions, read in about a second. */
static const uint64_t perf_map_max_bytes = 256U << 20;

/* One process's list. */
struct perf_map_source {
    pid_t pid;             /* as the process itself sees it */
    uint64_t since_utc_ns; /* a file not written to since then belongs to an earlier process */
    uint64_t bytes;        /* how much of it counts */
};

struct perf_maps {
    struct perf_map_source sources[PERF_MAPS_MAX]; /* ancestors, the eldest first, and the process itself */
    uint32_t count;
};

/* For a process that begins now. parent: of the process it was forked from, or NULL. */
void perf_maps_init(struct perf_maps *maps, pid_t pid, uint64_t start_utc_ns, const struct perf_maps *parent);

/* An address to be named. The caller sorts the array by address and zeroes the names. */
struct perf_map_query {
    uint64_t address;
    const char *name; /* out: valid UTF-8 without control characters, in the store; NULL for none */
};

void perf_map_path(pid_t pid, char ret[PERF_MAP_PATH_BYTES]);

/*
 * A descriptor of the list, or -errno: -ENOENT and so on from open, -ELOOP for a symbolic link, -EINVAL for
 * what is no regular file, -EPERM for another user's, -ESTALE for one that is older than since_utc_ns.
 */
int perf_map_open(const char *path, uint64_t since_utc_ns);

/*
 * Names those of queries[0..count) that have no name yet from the first `bytes` bytes of a list. Returns how
 * many lines were no entries, and were skipped.
 */
uint64_t perf_map_name(int fd, uint64_t bytes, struct name_store *names, struct perf_map_query *queries,
                       size_t count);

#endif
