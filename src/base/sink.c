#include "sink.h"
#include "arena.h"
#include "trusted_path.h"
#include "raw_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum {
    BUFFER_BYTES = 64 * 1024,
    ZLIB_MEMORY_BYTES = 320 * 1024, /* deflateInit2 with 15 window bits and memory level 8 takes 268 KiB */
    GZIP_WINDOW_BITS = 15 + 16,
    MEMORY_LEVEL = 8,
    FILE_MODE = 0600,
    COMPRESSION_LEVEL = 3, /* files as small as at 6, in 60 % of the time; at 1 they are 5 % larger */
};

struct sink {
    int directory_fd, fd;
    int error; /* the first -errno */
    bool is_renamed, is_nameless, is_plain;
    bool is_borrowed; /* the descriptor stays the caller's */
    char name[NAME_MAX + 1], temporary[NAME_MAX + 32];
    size_t gathered; /* plain: bytes in the buffer */
    z_stream stream;
    size_t zlib_used;
    unsigned char zlib_memory[ZLIB_MEMORY_BYTES] __attribute__((aligned(16)));
    unsigned char buffer[BUFFER_BYTES];
};

static void *zlib_alloc(void *opaque, unsigned items, unsigned item_bytes)
{
    struct sink *sink = opaque;
    size_t bytes = ((size_t)items * item_bytes + 15) & ~(size_t)15;
    if (bytes > ZLIB_MEMORY_BYTES - sink->zlib_used)
        return NULL;
    void *memory = sink->zlib_memory + sink->zlib_used;
    sink->zlib_used += bytes;
    return memory;
}

static void zlib_free(void *opaque, void *memory)
{
    (void)opaque; /* freed with the sink */
    (void)memory;
}

/* Whether a link leads into /proc, as /dev/stdout does. It must not be replaced, even if it leads nowhere. */
static bool leads_to_proc(int directory_fd, const char *name)
{
    static const char proc[] = "/proc/";
    char target[sizeof(proc)];
    return readlinkat(directory_fd, name, target, sizeof(target)) >= (ssize_t)strlen(proc) &&
           memcmp(target, proc, strlen(proc)) == 0;
}

bool sink_is_special(int directory_fd, const char *name)
{
    struct stat itself, target;
    if (raw_fstatat(directory_fd, name, &itself, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    if (S_ISLNK(itself.st_mode) && leads_to_proc(directory_fd, name))
        return trusted_path_is_trusted(directory_fd, &itself);
    if (raw_fstatat(directory_fd, name, &target, 0) < 0 || S_ISDIR(target.st_mode))
        return false;
    return !S_ISREG(itself.st_mode) && trusted_path_is_trusted(directory_fd, &itself);
}

/* The program's umask may take away even the owner's rights. */
static int set_mode(int fd)
{
    struct stat status;
    if (fd >= 0 && raw_fstat(fd, &status) == 0 && (status.st_mode & 07777) != FILE_MODE)
        fchmod(fd, FILE_MODE); /* fails where the file system has no modes */
    return fd;
}

static int create_temporary(struct sink *sink)
{
    return set_mode(openat(sink->directory_fd, sink->temporary,
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE));
}

/* The first call needs a privilege, or Linux 6.10. The second needs the thread's own view of /proc. */
static int link_as(const struct sink *sink, const char *name)
{
    char path[48];
    if (linkat(sink->fd, "", sink->directory_fd, name, AT_EMPTY_PATH) == 0)
        return 0;
    if (errno == EEXIST)
        return -1;
    snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", sink->fd);
    return linkat(AT_FDCWD, path, sink->directory_fd, name, AT_SYMLINK_FOLLOW);
}

static int link_temporary(struct sink *sink)
{
    return link_as(sink, sink->temporary);
}

/* Calls create with temporary names until one is free. Returns what create returns, or -errno. */
static int create_under_free_name(struct sink *sink, int (*create)(struct sink *))
{
    unsigned random = 0;
    if (raw_getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = (unsigned)getpid();
    for (int attempt = 0; attempt < 100; attempt++) {
        snprintf(sink->temporary, sizeof(sink->temporary), ".wallprof-%08x.tmp", random + (unsigned)attempt);
        int status = create(sink);
        if (status >= 0 || errno != EEXIST)
            return status < 0 ? -errno : status;
    }
    return -EEXIST;
}

/*
 * A file without a name is gone with a process that is killed. It is used where it can get a name without the
 * thread's entry in /proc, which is costly (proc_tasks.h): if it cannot, a link to any name fails with
 * ENOENT, and else, as there is a ".", with EEXIST. Without such a file: -1.
 */
static int open_nameless(const struct sink *sink)
{
    int fd = set_mode(openat(sink->directory_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, FILE_MODE));
    if (fd < 0 || (linkat(fd, "", sink->directory_fd, ".", AT_EMPTY_PATH) < 0 && errno == EEXIST))
        return fd;
    close(fd);
    return -1;
}

static int open_target(struct sink *sink, int *spare_fd)
{
    struct stat status;
    if (sink_is_special(sink->directory_fd, sink->name))
        return trusted_path_open(sink->directory_fd, sink->name, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
    if (raw_fstatat(sink->directory_fd, sink->name, &status, 0) == 0 && S_ISDIR(status.st_mode))
        return -EISDIR;
    sink->is_renamed = true;
    int fd = open_nameless(sink);
    sink->is_nameless = fd >= 0;
    if (fd < 0)
        fd = create_under_free_name(sink, create_temporary);
    if ((fd == -EMFILE || fd == -ENFILE) && *spare_fd >= 0) {
        fd = *spare_fd;
        *spare_fd = -1;
        sink->is_nameless = true;
    }
    return fd;
}

int sink_spare(int directory_fd, const char *name)
{
    if (sink_is_special(directory_fd, name))
        return -EEXIST;
    int fd = set_mode(openat(directory_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, FILE_MODE));
    return fd < 0 ? -errno : fd;
}

struct sink *sink_create(int directory_fd, const char *name, enum sink_coding coding, int *ret_error)
{
    return sink_create_with(-1, directory_fd, name, coding, ret_error);
}

static void start_coding(struct sink *sink, enum sink_coding coding)
{
    sink->is_plain = coding == SINK_PLAIN;
    if (sink->is_plain)
        return;
    sink->stream.zalloc = zlib_alloc;
    sink->stream.zfree = zlib_free;
    sink->stream.opaque = sink;
    if (deflateInit2(&sink->stream, COMPRESSION_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        sink->error = -ENOMEM;
}

struct sink *sink_create_with(int spare_fd, int directory_fd, const char *name, enum sink_coding coding,
                              int *ret_error)
{
    struct sink *sink = scratch_alloc(sizeof(*sink));
    *ret_error = sink ? 0 : -ENOMEM;
    if (sink && strlen(name) > NAME_MAX)
        sink->fd = -ENAMETOOLONG;
    else if (sink) {
        sink->directory_fd = directory_fd;
        strcpy(sink->name, name);
        sink->fd = open_target(sink, &spare_fd);
    }
    if (spare_fd >= 0)
        close(spare_fd);
    if (!sink)
        return NULL;
    if (sink->fd < 0) {
        *ret_error = sink->fd;
        scratch_free(sink, sizeof(*sink));
        return NULL;
    }
    start_coding(sink, coding);
    return sink;
}

struct sink *sink_create_on(int fd, enum sink_coding coding)
{
    struct sink *sink = scratch_alloc(sizeof(*sink));
    if (!sink)
        return NULL;
    sink->fd = fd;
    sink->is_borrowed = true;
    start_coding(sink, coding);
    return sink;
}

static void write_out(struct sink *sink, const unsigned char *data, size_t bytes)
{
    while (bytes > 0 && !sink->error) {
        ssize_t written = raw_write(sink->fd, data, bytes);
        if (written < 0 && errno != EINTR)
            sink->error = -errno;
        else if (written == 0)
            sink->error = -EIO;
        else if (written > 0) {
            data += written;
            bytes -= (size_t)written;
        }
    }
}

static void deflate_input(struct sink *sink, int flush)
{
    int status = Z_OK;
    do {
        sink->stream.next_out = sink->buffer;
        sink->stream.avail_out = BUFFER_BYTES;
        status = deflate(&sink->stream, flush);
        write_out(sink, sink->buffer, BUFFER_BYTES - sink->stream.avail_out);
    } while (!sink->error && (flush == Z_FINISH ? status != Z_STREAM_END : sink->stream.avail_out == 0));
}

static void flush_gathered(struct sink *sink)
{
    write_out(sink, sink->buffer, sink->gathered);
    sink->gathered = 0;
}

static void write_plain(struct sink *sink, const void *data, size_t bytes)
{
    if (bytes > BUFFER_BYTES - sink->gathered)
        flush_gathered(sink);
    if (bytes > BUFFER_BYTES) {
        write_out(sink, data, bytes);
        return;
    }
    memcpy(sink->buffer + sink->gathered, data, bytes);
    sink->gathered += bytes;
}

void sink_write(struct sink *sink, const void *data, size_t bytes)
{
    if (sink->is_plain) {
        write_plain(sink, data, bytes);
        return;
    }
    sink->stream.next_in = (void *)(uintptr_t)data; /* zlib's type is not const; it only reads */
    while (bytes > 0 && !sink->error) {
        unsigned part = bytes < (1U << 30) ? (unsigned)bytes : 1U << 30;
        sink->stream.avail_in = part;
        deflate_input(sink, Z_NO_FLUSH);
        bytes -= part;
    }
}

void sink_fail(struct sink *sink, int error)
{
    if (!sink->error)
        sink->error = error;
}

int sink_commit(struct sink *sink)
{
    sink->stream.avail_in = 0;
    if (sink->is_plain)
        flush_gathered(sink);
    else if (!sink->error)
        deflate_input(sink, Z_FINISH);
    const bool is_nameless = sink->is_nameless && !sink->error;
    const bool is_new = is_nameless && link_as(sink, sink->name) == 0;
    if (is_nameless && !is_new) /* a link replaces nothing, but a rename does */
        sink->error = create_under_free_name(sink, link_temporary);
    sink->is_renamed &= !is_new && (!sink->is_nameless || !sink->error); /* else there is no name to remove */
    if (!sink->is_borrowed && close(sink->fd) < 0 && !sink->error)
        sink->error = -errno;
    if (sink->is_renamed && !sink->error &&
        renameat(sink->directory_fd, sink->temporary, sink->directory_fd, sink->name) < 0)
        sink->error = -errno;
    if (sink->is_renamed && sink->error)
        unlinkat(sink->directory_fd, sink->temporary, 0);
    int error = sink->error;
    scratch_free(sink, sizeof(*sink));
    return error;
}

int sink_check(int directory_fd, const char *name)
{
    struct stat status;
    if (strlen(name) > NAME_MAX)
        return -ENAMETOOLONG;
    if (raw_fstatat(directory_fd, name, &status, 0) == 0) {
        if (S_ISDIR(status.st_mode))
            return -EISDIR;
        if (sink_is_special(directory_fd, name))
            return faccessat(directory_fd, name, W_OK, AT_EACCESS) < 0 ? -errno : 0;
    }
    /* That a nameless file can be created is the proof. Without these only permissions can be checked. */
    int fd = openat(directory_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
        return 0;
    }
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
        return -errno;
    return faccessat(directory_fd, ".", W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
}
