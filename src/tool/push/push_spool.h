/*
 * The files of a directory that wait to be sent, oldest first, and those that are done.
 *
 * The spool is the directory itself: its files that match and are not done. Files that are done are
 * remembered by name, inode, size and time of change, so that a new file under an old name is told apart. A
 * state file beside them keeps the list for the next start, as long as these files exist.
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
    PUSH_SPOOL_FILES = 1000, /* default limits of the files that wait */
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
    const char *pattern; /* of fnmatch(3) */
    struct push_file_list {
        struct push_file *list; /* owned */
        size_t count;
        uint32_t capacity;
    } files;                          /* that match, the oldest first */
    struct push_file_list remembered; /* from the state file; until the first scan */
};

/* 0; or -errno with nothing open. -EWOULDBLOCK: another process has the directory. */
int push_spool_open(struct push_spool *spool, const char *directory, const char *pattern);
void push_spool_close(struct push_spool *spool);

/* Lists the files that are there now. 0 or -errno; -ENOENT when the directory has been removed. */
int push_spool_scan(struct push_spool *spool);

/* The oldest waiting file, or NULL; valid until the next scan. */
struct push_file *push_spool_first(struct push_spool *spool);

/* The oldest waiting file if more wait than that, else NULL. */
struct push_file *push_spool_surplus(struct push_spool *spool, uint64_t max_files, uint64_t max_bytes);

/* Marks a file as done and writes the state file. 0, or -errno when that cannot be written. */
int push_spool_finish(struct push_spool *spool, struct push_file *file);

/* Removes the file if it is still the one that was found. */
void push_spool_remove(struct push_spool *spool, const struct push_file *file);

#endif
