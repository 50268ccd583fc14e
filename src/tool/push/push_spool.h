/*
 * The files of a directory that wait to be sent, oldest first, and those that are done.
 *
 * The spool is the directory itself: files that match and are not done. When they are too many or too large,
 * the oldest is given up. Files that are done are remembered by name, inode, size and time of change, so that
 * a name that is used again is a new file. A state file beside them has the list for the next start, as long
 * as these files exist.
 *
 * Called from: push_follow. One process for a directory: push_spool_open locks it.
 */
#ifndef WALLPROF_PUSH_SPOOL_H
#define WALLPROF_PUSH_SPOOL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PUSH_SPOOL_FILES = 1000, /* default limits of what may wait */
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
    uint64_t max_files, max_bytes; /* that may wait */
    struct push_file *files;       /* that match, the oldest first */
    size_t count, capacity;
    struct push_file *remembered; /* from the state file; until the first scan */
    size_t remembered_count;
};

/* 0; or -errno, -EWOULDBLOCK if another process has it. Sets the default limits, which the caller may change.
 */
int push_spool_open(struct push_spool *spool, const char *directory, const char *pattern);
void push_spool_close(struct push_spool *spool);

/* Lists the files that are there now. 0 or -errno; -ENOENT when the directory has been removed. */
int push_spool_scan(struct push_spool *spool);

/* The oldest waiting file, or NULL; valid until the next scan. */
struct push_file *push_spool_first(struct push_spool *spool);

/* The same if more waits than the limits allow, else NULL. */
struct push_file *push_spool_surplus(struct push_spool *spool);

/* Marks a file as done and writes the state file. 0, or -errno when that cannot be written. */
int push_spool_finish(struct push_spool *spool, struct push_file *file);

/* Removes the file if it is still the one that was found. */
void push_spool_remove(struct push_spool *spool, const struct push_file *file);

#endif
