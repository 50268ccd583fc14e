#include "fake_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

void fake_directory_create(struct fake_directory *directory)
{
    const char *parent = getenv("TMPDIR");
    snprintf(directory->path, sizeof(directory->path), "%s/wallprof-test.XXXXXX", parent ? parent : "/tmp");
    assert_non_null(mkdtemp(directory->path));
    directory->fd = open(directory->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(directory->fd >= 0);
}

int fake_directory_entries(const struct fake_directory *directory, bool is_removing)
{
    DIR *stream = opendir(directory->path);
    const struct dirent *entry;
    int count = 0;
    assert_non_null(stream);
    while ((entry = readdir(stream))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        count++;
        if (is_removing && unlinkat(directory->fd, entry->d_name, 0) < 0)
            unlinkat(directory->fd, entry->d_name, AT_REMOVEDIR);
    }
    closedir(stream);
    return count;
}

void fake_directory_remove(struct fake_directory *directory)
{
    fake_directory_entries(directory, true);
    close(directory->fd);
    rmdir(directory->path);
}

struct fake_bytes fake_read_fd(int fd)
{
    struct fake_bytes file = {malloc(1), 0};
    ssize_t got;
    do {
        file.bytes = realloc(file.bytes, file.size + 65536 + 1);
        got = read(fd, file.bytes + file.size, 65536);
        file.size += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    assert_int_equal(got, 0);
    file.bytes[file.size] = '\0';
    return file;
}

struct fake_bytes fake_read(const struct fake_directory *directory, const char *name)
{
    int fd = openat(directory->fd, name, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    struct fake_bytes file = fake_read_fd(fd);
    close(fd);
    return file;
}

void fake_write(const struct fake_directory *directory, const char *name, const char *text)
{
    int fd = openat(directory->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

void fake_bytes_free(struct fake_bytes *file)
{
    free(file->bytes);
    *file = (struct fake_bytes){0};
}

struct fake_bytes fake_gunzip(struct fake_bytes file)
{
    struct fake_bytes plain = {malloc(1), 0};
    z_stream stream = {.next_in = file.bytes, .avail_in = (unsigned)file.size};
    int status;
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    do {
        plain.bytes = realloc(plain.bytes, plain.size + 65536 + 1);
        stream.next_out = plain.bytes + plain.size;
        stream.avail_out = 65536;
        status = inflate(&stream, Z_NO_FLUSH);
        plain.size += 65536 - stream.avail_out;
    } while (status == Z_OK);
    assert_int_equal(status, Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    inflateEnd(&stream);
    free(file.bytes);
    plain.bytes[plain.size] = '\0';
    return plain;
}
