/*
 * What is in a directory to be sent, oldest first, and what has been dealt with.
 *
 * The spool is the directory itself: files that match and have not been dealt with. When they become too many
 * or too much, the oldest is given up. What has been dealt with is remembered by name, inode, size and time
 * of change, so that a name that is used again is a new file; in a file beside them, for the next start, as
 * long as the file that it is of is there.
 *
 * Called from: push_follow. One process for a directory: push_spool_open locks it.
 */
#ifndef WALLPROF_TOOL_PUSH_SPOOL_H
#define WALLPROF_TOOL_PUSH_SPOOL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PUSH_SPOOL_FILES = 1000, /* what may wait unless something else is said */
    PUSH_SPOOL_MIB = 256,
    PUSH_SPOOL_LISTED_MAX = 1 << 17
};

struct push_file {
    char name[NAME_MAX + 1];
    uint64_t inode, bytes;
    int64_t changed_ns; /* since the epoch */
    bool is_done;
};

struct push_spool {
    int directory_fd;
    const char *pattern;           /* of fnmatch(3) */
    uint64_t max_files, max_bytes; /* of what waits */
    struct push_file *files;       /* that match, the oldest first */
    size_t count, capacity;
    struct push_file *remembered; /* of the state file; until the first scan */
    size_t remembered_count;
};

/* 0; or -errno, -EWOULDBLOCK if another process has it. The limits are the caller's to set. */
int push_spool_open(struct push_spool *spool, const char *directory, const char *pattern);
void push_spool_close(struct push_spool *spool);

/* Looks what is there now. 0 or -errno; -ENOENT when the directory has been removed. */
int push_spool_scan(struct push_spool *spool);

/* The oldest that waits, or NULL; valid until the next scan. */
struct push_file *push_spool_first(struct push_spool *spool);

/* The oldest if too much waits, else NULL. */
struct push_file *push_spool_surplus(struct push_spool *spool);

/* It has been dealt with, and is remembered. 0, or -errno when it cannot be for the next start. */
int push_spool_finish(struct push_spool *spool, struct push_file *file);

/* Removes it if it is still the one that was found. */
void push_spool_remove(struct push_spool *spool, const struct push_file *file);

#endif
