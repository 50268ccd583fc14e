/* A whole file in memory, unpacked if it is gzip. Sizes that are too large are refused. */
#ifndef WALLPROF_FILE_BYTES_H
#define WALLPROF_FILE_BYTES_H

#include <stddef.h>

struct file_bytes {
    unsigned char *bytes; /* owned, page aligned; never NULL after success */
    size_t count, capacity;
};

/*
 * Reads a file or a pipe ("-": standard input) to its end. 0; or -errno with nothing held: -EFBIG when it is
 * too large, -EBADMSG when it is no valid gzip stream. A gzip stream that was cut gives its beginning and
 * sets *ret_is_cut.
 */
int file_bytes_read(struct file_bytes *file, const char *path, int *ret_is_cut);
void file_bytes_free(struct file_bytes *file);

#endif
