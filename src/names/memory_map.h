/*
 * What is mapped into this process, as the kernel tells it: /proc/thread-self/maps, read once.
 *
 * The kernel knows the file of a mapping, whatever happened to its path since. So a path on disk is compared
 * with the map, and the map says what code outside all modules belongs to. It is the state at the time of
 * reading, not at the time of a sample.
 *
 * Called from: the exporting thread. Scratch memory only.
 * Format: proc_pid_maps(5). Not /proc/self: that is the main thread's, which may have ended.
 */
#ifndef WALLPROF_MEMORY_MAP_H
#define WALLPROF_MEMORY_MAP_H

#include "base/string_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_region {
    uint64_t start, end;
    uint64_t file_offset; /* of start */
    uint64_t inode;       /* 0 without a file */
    const char *path;     /* as the kernel prints it, without " (deleted)"; "" for plain memory */
    bool is_executable;
    bool is_deleted; /* the file has no name any more */
};

/* A zeroed struct has not been read. */
struct memory_map {
    bool is_read;
    struct memory_region *regions; /* owned; ascending */
    size_t count, capacity_bytes;
    struct string_pool paths;
};

/* Reads the map, once: later calls do nothing. Without /proc, or without memory, it stays empty. */
void memory_map_read(struct memory_map *map);
/* The same from a descriptor of a file of that format. */
void memory_map_read_fd(struct memory_map *map, int fd);
void memory_map_deinit(struct memory_map *map);

/* The region an address lies in, or NULL; valid as long as the map. */
const struct memory_region *memory_map_find(const struct memory_map *map, uint64_t address);

/* Whether the region is of a file with a name: not plain memory, memfd, shared memory or a deleted file. */
bool memory_region_has_file(const struct memory_region *region);

#endif
