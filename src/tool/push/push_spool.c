#include "push_spool.h"
#include "base/clock.h"
#include "tool/io/array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char state_name[] = ".wallprof-push", state_head[] = "wallprof push 1\n";

/* ---- files ---- */

/* A name with control characters cannot stand on a line of the state file. */
static bool is_waiting_name(const struct push_spool *spool, const char *name)
{
    for (const char *at = name; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return false;
    }
    return fnmatch(spool->pattern, name, FNM_PERIOD) == 0;
}

static bool describe_file(int directory_fd, const char *name, struct push_file *ret)
{
    struct stat status;
    if (fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(status.st_mode))
        return false;
    *ret =
        (struct push_file){.inode = status.st_ino,
                           .bytes = (uint64_t)status.st_size,
                           .changed_ns = (int64_t)status.st_mtim.tv_sec * NS_PER_S + status.st_mtim.tv_nsec};
    snprintf(ret->name, sizeof ret->name, "%s", name);
    return true;
}

static bool are_same_files(const struct push_file *a, const struct push_file *b)
{
    return a->inode == b->inode && a->bytes == b->bytes && a->changed_ns == b->changed_ns &&
           strcmp(a->name, b->name) == 0;
}

/* The oldest first; files of one moment by the numbers in their names. */
static int compare_file_ages(const void *left, const void *right)
{
    const struct push_file *a = left, *b = right;
    if (a->changed_ns != b->changed_ns)
        return a->changed_ns < b->changed_ns ? -1 : 1;
    return strverscmp(a->name, b->name);
}

static int compare_name(const void *left, const void *right)
{
    const struct push_file *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static int append_file(struct push_file_list *files, const struct push_file *file)
{
    if (!array_grow(&files->list, &files->capacity, files->count, sizeof *files->list))
        return -ENOMEM;
    files->list[files->count++] = *file;
    return 0;
}

/* ---- the state file ---- */

/* INODE BYTES CHANGED NAME, a line for each file that is done. */
static bool parse_line(char *line, struct push_file *ret)
{
    int at = 0;
    *ret = (struct push_file){.is_done = true};
    if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNd64 " %n", &ret->inode, &ret->bytes, &ret->changed_ns,
               &at) != 3 ||
        at == 0)
        return false;
    line[strcspn(line, "\n")] = '\0';
    snprintf(ret->name, sizeof ret->name, "%s", line + at);
    return *ret->name;
}

/* -1 without a state file, or if it is another user's or no regular file: all files are then sent again. */
static int open_state(const struct push_spool *spool)
{
    struct stat status;
    int fd = openat(spool->directory_fd, state_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid())) {
        close(fd);
        return -1;
    }
    return fd;
}

static int read_state(struct push_spool *spool)
{
    char line[NAME_MAX + 128];
    struct push_file file;
    int fd = open_state(spool), status = 0;
    FILE *stream = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!stream)
        return 0;
    bool is_ours = fgets(line, sizeof line, stream) && strcmp(line, state_head) == 0;
    while (is_ours && status == 0 && spool->remembered.count < PUSH_SPOOL_LISTED_MAX &&
           fgets(line, sizeof line, stream)) {
        if (parse_line(line, &file))
            status = append_file(&spool->remembered, &file);
    }
    fclose(stream);
    return status;
}

static void put_state(const struct push_spool *spool, FILE *stream)
{
    fputs(state_head, stream);
    for (size_t i = 0; i < spool->files.count; i++) {
        const struct push_file *file = &spool->files.list[i];
        if (file->is_done)
            fprintf(stream, "%" PRIu64 " %" PRIu64 " %" PRId64 " %s\n", file->inode, file->bytes,
                    file->changed_ns, file->name);
    }
}

/* The state file is replaced as a whole. */
static int write_state(const struct push_spool *spool)
{
    char temporary[40];
    uint64_t random = 0;
    (void)getrandom(&random, sizeof random, 0);
    snprintf(temporary, sizeof temporary, "%s-%016" PRIx64, state_name, random);
    int fd =
        openat(spool->directory_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!stream)
        return -errno;
    put_state(spool, stream);
    bool is_whole = fflush(stream) == 0 && !ferror(stream) && fsync(fd) == 0;
    is_whole = fclose(stream) == 0 && is_whole;
    if (is_whole && renameat(spool->directory_fd, temporary, spool->directory_fd, state_name) == 0)
        return 0;
    int error = -errno;
    unlinkat(spool->directory_fd, temporary, 0);
    return error;
}

/* ---- the spool ---- */

int push_spool_open(struct push_spool *spool, const char *directory, const char *pattern)
{
    *spool = (struct push_spool){.pattern = pattern,
                                 .directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (spool->directory_fd < 0)
        return -errno;
    int status = flock(spool->directory_fd, LOCK_EX | LOCK_NB) < 0 ? -errno : read_state(spool);
    if (status < 0)
        push_spool_close(spool);
    return status;
}

void push_spool_close(struct push_spool *spool)
{
    free(spool->files.list);
    free(spool->remembered.list);
    if (spool->directory_fd >= 0)
        close(spool->directory_fd);
    *spool = (struct push_spool){.directory_fd = -1};
}

static int list_directory(const struct push_spool *spool, struct push_file_list *files)
{
    const struct dirent *entry;
    struct push_file file;
    struct stat itself;
    int fd = openat(spool->directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    DIR *directory = fdopendir(fd);
    if (!directory) {
        close(fd);
        return -ENOMEM;
    }
    int status = fstat(fd, &itself) < 0 || itself.st_nlink == 0 ? -ENOENT : 0;
    while (status == 0 && files->count < PUSH_SPOOL_LISTED_MAX && (entry = readdir(directory))) {
        if (is_waiting_name(spool, entry->d_name) && describe_file(fd, entry->d_name, &file))
            status = append_file(files, &file);
    }
    closedir(directory);
    return status;
}

/* Marks the files as done that were done before. Sorts the earlier list by name. */
static void carry_over(struct push_file_list *files, struct push_file_list *before)
{
    if (before->count == 0)
        return; /* qsort's list must not be NULL */
    qsort(before->list, before->count, sizeof *before->list, compare_name);
    for (size_t i = 0; i < files->count; i++) {
        struct push_file *file = &files->list[i];
        const struct push_file *found =
            bsearch(file, before->list, before->count, sizeof *before->list, compare_name);
        file->is_done = found && found->is_done && are_same_files(found, file);
    }
}

int push_spool_scan(struct push_spool *spool)
{
    struct push_file_list files = {0};
    int status = list_directory(spool, &files);
    if (status < 0) {
        free(files.list);
        return status;
    }
    carry_over(&files, &spool->files);
    carry_over(&files, &spool->remembered);
    if (files.count > 0)
        qsort(files.list, files.count, sizeof *files.list, compare_file_ages);
    free(spool->files.list);
    free(spool->remembered.list);
    spool->remembered = (struct push_file_list){0};
    spool->files = files;
    return 0;
}

struct push_file *push_spool_first(struct push_spool *spool)
{
    for (size_t i = 0; i < spool->files.count; i++) {
        if (!spool->files.list[i].is_done)
            return &spool->files.list[i];
    }
    return NULL;
}

struct push_file *push_spool_surplus(struct push_spool *spool, uint64_t max_files, uint64_t max_bytes)
{
    uint64_t count = 0, bytes = 0;
    for (size_t i = 0; i < spool->files.count; i++) {
        const struct push_file *file = &spool->files.list[i];
        count += !file->is_done;
        bytes += file->is_done ? 0 : file->bytes;
    }
    return count > max_files || bytes > max_bytes ? push_spool_first(spool) : NULL;
}

int push_spool_finish(struct push_spool *spool, struct push_file *file)
{
    file->is_done = true;
    return write_state(spool);
}

void push_spool_remove(struct push_spool *spool, const struct push_file *file)
{
    struct push_file now;
    if (describe_file(spool->directory_fd, file->name, &now) && are_same_files(&now, file))
        unlinkat(spool->directory_fd, file->name, 0);
}
