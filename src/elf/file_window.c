#include "file_window.h"
#include "sig/sys/sig_arch.h"

#include <string.h>

size_t file_window_look_at(struct file_window *file, uint64_t offset, size_t wanted,
                           const unsigned char **ret)
{
    if (offset < file->offset || offset + wanted > file->offset + file->bytes || offset + wanted < offset) {
        long got = sig_syscall4(SYS_pread64, file->fd, (long)file->data, FILE_WINDOW_BYTES, (long)offset);
        file->offset = offset;
        file->bytes = got > 0 ? (size_t)got : 0;
    }
    size_t there = file->bytes - (size_t)(offset - file->offset);
    *ret = file->data + (offset - file->offset);
    return there < wanted ? there : wanted;
}

bool file_window_copy(struct file_window *file, uint64_t offset, void *to, size_t bytes)
{
    const unsigned char *at;
    if (file_window_look_at(file, offset, bytes, &at) < bytes)
        return false;
    memcpy(to, at, bytes);
    return true;
}

bool file_window_copy_string(struct file_window *file, uint64_t offset, char *to, size_t capacity)
{
    const unsigned char *at;
    size_t there = file_window_look_at(file, offset, capacity, &at);
    const unsigned char *end = memchr(at, '\0', there);
    if (!end)
        return false;
    memcpy(to, at, (size_t)(end - at) + 1);
    return true;
}
