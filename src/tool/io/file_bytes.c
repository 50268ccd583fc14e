#include "file_bytes.h"
#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { FIRST_BYTES = 1 << 20, GZIP_WINDOW_BITS = 15 + 16, STEP_MAX_BYTES = 1 << 30 };

/* More than a full store with the largest WALLPROF_MEM takes. */
static const size_t max_bytes = (size_t)40 << 30;

void file_bytes_free(struct file_bytes *file)
{
    scratch_free(file->bytes, file->capacity);
    *file = (struct file_bytes){0};
}

/* Makes space for more bytes. 0, or -errno with nothing held. */
static int grow_if_full(struct file_bytes *file)
{
    size_t capacity = file->capacity ? 2 * file->capacity : FIRST_BYTES;
    if (file->count < file->capacity)
        return 0;
    unsigned char *bytes = capacity <= max_bytes ? scratch_grow(file->bytes, file->capacity, capacity) : NULL;
    if (bytes) {
        file->bytes = bytes;
        file->capacity = capacity;
        return 0;
    }
    if (capacity > max_bytes) /* else scratch_grow has released it */
        scratch_free(file->bytes, file->capacity);
    *file = (struct file_bytes){0};
    return capacity > max_bytes ? -EFBIG : -ENOMEM;
}

static int read_fd(struct file_bytes *file, int fd)
{
    for (;;) {
        int status = grow_if_full(file);
        if (status < 0)
            return status;
        ssize_t got = read(fd, file->bytes + file->count, file->capacity - file->count);
        if (got == 0)
            return 0;
        if (got > 0)
            file->count += (size_t)got;
        else if (errno != EINTR) {
            status = -errno;
            file_bytes_free(file);
            return status;
        }
    }
}

static unsigned limit_step(size_t bytes)
{
    return bytes < STEP_MAX_BYTES ? (unsigned)bytes : STEP_MAX_BYTES;
}

/* Returns Z_STREAM_END, or Z_BUF_ERROR if the input ends before the stream, or another error of zlib's, or
 * -errno, which is below all of those. */
static int inflate_all(z_stream *stream, const struct file_bytes *packed, struct file_bytes *plain)
{
    int status = Z_OK;
    stream->next_in = packed->bytes;
    while (status == Z_OK) {
        int error = grow_if_full(plain);
        if (error < 0)
            return error;
        size_t left = packed->count - (size_t)(stream->next_in - packed->bytes);
        unsigned room = limit_step(plain->capacity - plain->count);
        stream->avail_in = limit_step(left);
        stream->next_out = plain->bytes + plain->count;
        stream->avail_out = room;
        status = inflate(stream, Z_NO_FLUSH);
        plain->count += room - stream->avail_out;
    }
    return status;
}

static int inflate_file(struct file_bytes *file, int *ret_is_cut)
{
    struct file_bytes plain = {0};
    z_stream stream = {0};
    if (inflateInit2(&stream, GZIP_WINDOW_BITS) != Z_OK) {
        file_bytes_free(file);
        return -ENOMEM;
    }
    int status = inflate_all(&stream, file, &plain);
    inflateEnd(&stream);
    file_bytes_free(file);
    *ret_is_cut = status == Z_BUF_ERROR;
    *file = plain;
    if (status == Z_STREAM_END || status == Z_BUF_ERROR)
        return 0;
    file_bytes_free(file);
    return status == Z_DATA_ERROR || status == Z_NEED_DICT ? -EBADMSG
           : status == Z_MEM_ERROR                         ? -ENOMEM
                                                           : status;
}

int file_bytes_read(struct file_bytes *file, const char *path, int *ret_is_cut)
{
    *file = (struct file_bytes){0};
    *ret_is_cut = 0;
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int status = read_fd(file, fd);
    if (!is_stdin)
        close(fd);
    if (status == 0 && file->count >= 2 && file->bytes[0] == 0x1f && file->bytes[1] == 0x8b)
        status = inflate_file(file, ret_is_cut);
    return status;
}
