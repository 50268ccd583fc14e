#include "name_cache.h"
#include "base/sink.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MIN_KEY_BYTES = 4, /* a shorter build-id does not identify a file */
    FILES_MAX = 1 << 16,
    SUFFIX_BYTES = sizeof ".symbols",
    FILE_NAME_BYTES = 2 * FRAME_TABLE_KEY_MAX_BYTES + SUFFIX_BYTES
};

static const char suffixes[NAME_CACHE_KINDS][SUFFIX_BYTES] = {
    [NAME_CACHE_DEBUG] = ".frames", [NAME_CACHE_SYMBOLS] = ".symbols"};
static const char temporary_prefix[] = ".wallprof-"; /* as sink.h has it */

/* ---- where ---- */

/* Like mkdir -p, with mode 0700: what was profiled is private. */
static void make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
}

static bool choose_directory(char path[PATH_MAX])
{
    const char *chosen = getenv("WALLPROF_CACHE"), *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;
    if (chosen && *chosen)
        length = strcmp(chosen, "off") == 0 ? -1 : snprintf(path, PATH_MAX, "%s", chosen);
    else if (base && base[0] == '/')
        length = snprintf(path, PATH_MAX, "%s/wallprof", base);
    else if (home && home[0] == '/')
        length = snprintf(path, PATH_MAX, "%s/.cache/wallprof", home);
    else
        length = -1;
    return length > 0 && length < PATH_MAX;
}

/* Whether only this user can put files there. Names that others wrote are not used. */
static bool is_private(int directory_fd)
{
    struct stat status;
    return fstat(directory_fd, &status) == 0 && status.st_uid == geteuid() &&
           !(status.st_mode & (S_IWGRP | S_IWOTH));
}

void name_cache_open(struct name_cache *cache)
{
    char path[PATH_MAX];
    *cache = (struct name_cache){.directory_fd = -1, .max_bytes = NAME_CACHE_MAX_BYTES};
    if (!choose_directory(path))
        return;
    make_directories(path);
    cache->directory_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cache->directory_fd >= 0 && !is_private(cache->directory_fd))
        name_cache_close(cache);
}

void name_cache_close(struct name_cache *cache)
{
    if (cache->directory_fd >= 0)
        close(cache->directory_fd);
    cache->directory_fd = -1;
}

static bool is_usable(const struct name_cache *cache, size_t key_bytes)
{
    return cache->directory_fd >= 0 && key_bytes >= MIN_KEY_BYTES && key_bytes <= FRAME_TABLE_KEY_MAX_BYTES;
}

static void name_file(char name[FILE_NAME_BYTES], enum name_cache_kind kind, const uint8_t *key, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        sprintf(name + 2 * i, "%02x", key[i]);
    strcpy(name + 2 * bytes, suffixes[kind]);
}

/* ---- reading ---- */

static bool is_after(const struct timespec *time, const struct timespec *since)
{
    return time->tv_sec > since->tv_sec || (time->tv_sec == since->tv_sec && time->tv_nsec > since->tv_nsec);
}

/* The content of a regular file that is no larger than the whole cache may be; NULL for anything else. */
static unsigned char *read_file(const struct name_cache *cache, const char *name,
                                const struct timespec *since, size_t *ret_bytes)
{
    struct stat status;
    unsigned char *bytes = NULL;
    size_t used = 0;
    int fd = openat(cache->directory_fd, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
        (uint64_t)status.st_size <= cache->max_bytes && (!since || is_after(&status.st_mtim, since)))
        bytes = malloc((size_t)status.st_size);
    for (ssize_t got = 1; bytes && got > 0 && used<(size_t)status.st_size; used += got> 0 ? (size_t)got : 0)
        got = read(fd, bytes + used, (size_t)status.st_size - used);
    close(fd);
    *ret_bytes = used;
    return bytes;
}

/* The time of a file is that of its last use; where its age matters, that of its making. */
struct frame_table name_cache_load(const struct name_cache *cache, enum name_cache_kind kind,
                                   const uint8_t *build_id, size_t bytes, const struct timespec *since)
{
    struct frame_table table = {0};
    char name[FILE_NAME_BYTES];
    size_t count;
    if (!is_usable(cache, bytes))
        return table;
    name_file(name, kind, build_id, bytes);
    unsigned char *file = read_file(cache, name, since, &count);
    if (file && frame_table_decode(&table, file, count, build_id, bytes) == 0 && !since)
        utimensat(cache->directory_fd, name, NULL, AT_SYMLINK_NOFOLLOW); /* it is the newest now */
    return table;
}

/* ---- the bound ---- */

struct kept_file {
    struct timespec used;
    uint64_t bytes;
    char name[FILE_NAME_BYTES];
};

static int compare_age(const void *left, const void *right)
{
    const struct kept_file *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

/* Files of ours are those that are kept, and temporary ones that a killed run has left. */
static bool is_ours(const char *name)
{
    const char *suffix = strrchr(name, '.');
    bool is_kept = suffix && (strcmp(suffix, suffixes[NAME_CACHE_DEBUG]) == 0 ||
                              strcmp(suffix, suffixes[NAME_CACHE_SYMBOLS]) == 0);
    return strlen(name) < FILE_NAME_BYTES &&
           (is_kept || strncmp(name, temporary_prefix, sizeof temporary_prefix - 1) == 0);
}

static size_t list_files(DIR *directory, struct kept_file *files)
{
    size_t count = 0;
    const struct dirent *entry;
    while (count < FILES_MAX && (entry = readdir(directory))) {
        struct stat status;
        if (!is_ours(entry->d_name) ||
            fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode))
            continue;
        files[count].used = status.st_mtim;
        files[count].bytes = (uint64_t)status.st_size;
        strcpy(files[count++].name, entry->d_name);
    }
    return count;
}

static void remove_oldest(const struct name_cache *cache)
{
    int fd = openat(cache->directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    struct kept_file *files = directory ? calloc(FILES_MAX, sizeof *files) : NULL;
    uint64_t sum = 0;
    if (files) {
        size_t count = list_files(directory, files);
        qsort(files, count, sizeof *files, compare_age);
        for (size_t i = 0; i < count; i++)
            sum += files[i].bytes;
        for (size_t i = 0; i < count && sum > cache->max_bytes; i++) {
            unlinkat(cache->directory_fd, files[i].name, 0);
            sum -= files[i].bytes;
        }
    }
    free(files);
    if (directory)
        closedir(directory);
    else if (fd >= 0)
        close(fd);
}

/* ---- writing ---- */

static void replace_file(const struct name_cache *cache, const char *name, const unsigned char *bytes,
                         size_t count)
{
    int error;
    struct sink *sink = sink_create(cache->directory_fd, name, SINK_PLAIN, &error);
    if (!sink)
        return;
    sink_write(sink, bytes, count);
    sink_commit(sink);
}

void name_cache_store(const struct name_cache *cache, enum name_cache_kind kind, const uint8_t *build_id,
                      size_t bytes, const struct frame_table *table)
{
    char name[FILE_NAME_BYTES];
    size_t count;
    if (!is_usable(cache, bytes) || table->is_broken || table->row_count == 0)
        return;
    unsigned char *encoded = frame_table_encode(table, build_id, bytes, &count);
    if (encoded && count <= cache->max_bytes) {
        name_file(name, kind, build_id, bytes);
        replace_file(cache, name, encoded, count);
        remove_oldest(cache);
    }
    free(encoded);
}
