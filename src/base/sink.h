/*
 * Where a profile goes: bytes as they are or as a gzip stream, into a file that appears whole or not at all.
 *
 * A regular file is written under a temporary name in the same directory and renamed when complete. An
 * existing FIFO or device (/dev/null) is written to directly.
 *
 * Called from: the exporting thread. Errors are sticky: go on writing, and check what sink_commit returns.
 * Standard: RFC 1952 (gzip), by zlib with memory from scratch_alloc.
 */
#ifndef WALLPROF_SINK_H
#define WALLPROF_SINK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct sink; /* holds zlib's state and a buffer, about 400 KiB of scratch memory */

enum sink_coding { SINK_GZIP, SINK_PLAIN };

/*
 * Opens `name` in the directory `directory_fd` (as openat takes it, AT_FDCWD included). NULL and -errno in
 * *ret_error on failure.
 */
struct sink *sink_create(int directory_fd, const char *name, enum sink_coding coding, int *ret_error);

/*
 * Opens a nameless file in advance, for when no descriptor is left later (RLIMIT_NOFILE): a descriptor, or
 * -errno where there is none. sink_create_with takes ownership of it; negative: there is none.
 */
int sink_spare(int directory_fd, const char *name);
struct sink *sink_create_with(int spare_fd, int directory_fd, const char *name, enum sink_coding coding,
                              int *ret_error);

/* Writes to a descriptor that stays the caller's, at its present offset. NULL without memory. */
struct sink *sink_create_on(int fd, enum sink_coding coding);

/* Small pieces may be written one by one: they are gathered. */
void sink_write(struct sink *sink, const void *data, size_t bytes);

/* The file is not to be completed: sink_commit then discards it and returns this -errno. */
void sink_fail(struct sink *sink, int error);

/* Completes the file and destroys the sink. 0, or the first -errno met; the old file, if any, is then
 * untouched. */
int sink_commit(struct sink *sink);

/* Whether there is a device, a FIFO or a link into /proc (/dev/stdout), which is written to and never
 * replaced. False for one that another user may have put there (trusted_path.h): it is replaced, or nothing
 * is written. */
bool sink_is_special(int directory_fd, const char *name);

/* Whether a profile could be written there now: 0 or -errno. Leaves nothing behind. */
int sink_check(int directory_fd, const char *name);

#endif
