/*
 * Where a profile goes: bytes as they are or as a gzip stream, into a file that appears whole or not at all.
 *
 * A regular file is written without a name, or under a temporary one in the same directory, and gets its own
 * when complete. An existing FIFO or device (/dev/null) is written to directly.
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
 * Opens a nameless file in advance, in case no descriptor is left later (RLIMIT_NOFILE). Returns a
 * descriptor, or -errno: -EEXIST if the name is special. sink_create_with takes it over; negative: none.
 */
int sink_spare(int directory_fd, const char *name);
struct sink *sink_create_with(int spare_fd, int directory_fd, const char *name, enum sink_coding coding,
                              int *ret_error);

/* Writes to a descriptor that stays the caller's, at its present offset. NULL without memory. */
struct sink *sink_create_on(int fd, enum sink_coding coding);

/* Small pieces are gathered, and may be written one by one. */
void sink_write(struct sink *sink, const void *data, size_t bytes);

/* Makes sink_commit discard the file and return this -errno. */
void sink_fail(struct sink *sink, int error);

/* Completes the file and destroys the sink. 0; or the first -errno, and then an old file is as it was. */
int sink_commit(struct sink *sink);

/* Whether a device, a FIFO or a link into /proc (/dev/stdout) is there: it is written to, never replaced.
 * False if another user may have put it there (trusted_path.h): it is replaced, or nothing is written. */
bool sink_is_special(int directory_fd, const char *name);

/* Whether a profile could be written there now: 0 or -errno. Leaves no file there. */
int sink_check(int directory_fd, const char *name);

#endif
