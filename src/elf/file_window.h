/*
 * A small window on an open file, which moves to where something is read.
 *
 * Called from: any thread, also children of vfork and handlers: it only makes system calls, and keeps errno.
 */
#ifndef WALLPROF_FILE_WINDOW_H
#define WALLPROF_FILE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FILE_WINDOW_BYTES = 1280 };

/* Zeroed memory with a descriptor is one that has read nothing yet. */
struct file_window {
    int fd;          /* not owned */
    uint64_t offset; /* in the file */
    size_t bytes;
    unsigned char data[FILE_WINDOW_BYTES];
};

/* How many of the bytes at an offset the file has, at most `wanted`, which fits the window. *ret: where they
 * are until the next call. */
size_t file_window_look_at(struct file_window *file, uint64_t offset, size_t wanted,
                           const unsigned char **ret);

/* False, and nothing is copied, if the file has not all of the bytes. */
bool file_window_copy(struct file_window *file, uint64_t offset, void *to, size_t bytes);

/* The same for a string that ends within the capacity. */
bool file_window_copy_string(struct file_window *file, uint64_t offset, char *to, size_t capacity);

#endif
