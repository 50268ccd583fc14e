#include "left_store.h"
#include "tool/io/command.h"
#include "base/name_pattern.h"
#include "tool/io/array.h"
#include "tool/io/output_file.h"
#include "tool/read/store_reader.h"
#include "base/number_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RETRY_MS = 5 };

/* Locks the open file description: the reader closes the file, which would end a lock of the process. */
static bool lock_store(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole) == 0;
}

static int describe_store(struct left_store *store)
{
    struct store_header header;
    struct stat status;
    if (fstat(store->fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode) || pread(store->fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header.magic, STORE_MAGIC, sizeof header.magic) != 0)
        return -EPROTO;
    store->is_own = status.st_uid == geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH));
    store->is_closed = header.live.state == STORE_WHOLE || header.live.state == STORE_CLOSED;
    enum store_end end = store->is_closed ? STORE_END_UNKNOWN : store_believed_end(&header.live);
    store->became_another = end == STORE_END_EXEC;
    store->has_exited = end == STORE_END_EXIT;
    store->is_external = header.live.is_external;
    store->says_its_end = end != STORE_END_UNKNOWN;
    store->pid = header.process.pid;
    store->start_utc_ns = header.start_utc_ns;
    store->beat_ns = header.live.beat_ns;
    memcpy(store->deaths, header.live.deaths, sizeof store->deaths);
    return 0;
}

int left_open(struct left_store *store, const char *path)
{
    *store = (struct left_store){.fd = -1};
    if (strlen(path) >= sizeof store->path)
        return -ENAMETOOLONG;
    strcpy(store->path, path);
    store->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (store->fd < 0)
        return -errno;
    store->is_running = !lock_store(store->fd);
    int status = describe_store(store);
    if (status < 0)
        left_close(store);
    return status;
}

void left_close(struct left_store *store)
{
    if (store->fd >= 0)
        close(store->fd);
    store->fd = -1;
}

bool left_has_ended(struct left_store *store, unsigned patience_ms)
{
    struct stat status;
    for (unsigned waited = 0; store->is_running && (store->is_running = !lock_store(store->fd));
         waited += RETRY_MS) {
        describe_store(store);
        if (waited >= patience_ms || !(store->is_closed || store->says_its_end))
            return false;
        poll(NULL, 0, RETRY_MS);
    }
    describe_store(store);
    return fstat(store->fd, &status) < 0 || status.st_nlink > 0;
}

/* A write lease is given to the only one that has the file open. A mapping counts as long as it lasts. */
bool left_is_mapped(const struct left_store *store)
{
    bool is_mapped = fcntl(store->fd, F_SETLEASE, F_WRLCK) < 0 && errno == EAGAIN;
    fcntl(store->fd, F_SETLEASE, F_UNLCK);
    return is_mapped;
}

/* ---- a directory of them ---- */

static int compare_starts(const void *left, const void *right)
{
    const struct left_store *a = left, *b = right;
    int order = (a->start_utc_ns > b->start_utc_ns) - (a->start_utc_ns < b->start_utc_ns);
    return order ? order : strcmp(a->path, b->path);
}

static int list_stores(DIR *entries, const char *directory, struct left_store **ret)
{
    size_t count = 0;
    uint32_t capacity = 0;
    for (struct dirent *entry; (entry = readdir(entries));) {
        char path[PATH_MAX];
        struct left_store store;
        if (!store_is_live_name(entry->d_name) ||
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) >= (int)sizeof path ||
            left_open(&store, path) < 0)
            continue;
        left_close(&store);
        if (!array_grow(ret, &capacity, count, sizeof **ret))
            return -ENOMEM;
        (*ret)[count++] = store;
    }
    if (count > 0)
        qsort(*ret, count, sizeof **ret, compare_starts);
    return (int)count;
}

int left_list(const char *directory, struct left_store **ret)
{
    *ret = NULL;
    DIR *entries = opendir(directory);
    if (!entries)
        return -errno;
    int count = list_stores(entries, directory, ret);
    closedir(entries);
    if (count < 0) {
        free(*ret);
        *ret = NULL;
    }
    return count;
}

static void remove_if_empty(const char *path)
{
    struct left_store store = {.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    if (store.fd >= 0 && lock_store(store.fd) && describe_store(&store) == -EPROTO)
        unlink(path);
    left_close(&store);
}

void left_remove_empty(const char *directory)
{
    char path[PATH_MAX];
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (store_is_live_name(entry->d_name) &&
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) < (int)sizeof path)
            remove_if_empty(path);
    }
    if (entries)
        closedir(entries);
}

/* ---- its profile ---- */

static const char without_recorder[] = "how it ended is not known: its recorder was killed";

void left_describe_end(const struct left_store *store, struct recording *recording, int signal_number)
{
    const char *name = signal_number > 0 && signal_number < NSIG ? signal_name(signal_number) : NULL;
    if (store->is_running || store->is_closed || store->has_exited || store->became_another)
        return;
    if (name)
        snprintf(recording->ending, sizeof recording->ending, "killed by signal %d (%s)", signal_number,
                 name);
    else if (strcmp(recording->ending, STORE_NOT_ENDED) == 0)
        snprintf(recording->ending, sizeof recording->ending, "%s",
                 store->is_external ? without_recorder : "killed, by which signal is not known");
}

void left_describe_status(struct recording *recording, long status)
{
    const bool had_no_recorder = strcmp(recording->ending, without_recorder) == 0;
    if (had_no_recorder || strcmp(recording->ending, STORE_NOT_ENDED) == 0)
        snprintf(recording->ending, sizeof recording->ending, "ended with status %ld%s", status,
                 had_no_recorder ? "; its recorder was killed before" : "");
}

static void insert_into_name(char path[PATH_MAX], const char *insertion)
{
    char plain[PATH_MAX];
    strcpy(plain, path);
    if (insertion && name_pattern_insert(path, PATH_MAX, insertion) < 0)
        strcpy(path, plain);
}

/* The path of profile `index`; false after the last. */
static bool profile_path_at(const struct left_store *store, const struct recording *recording,
                            const char *instead, uint32_t index, char ret[PATH_MAX])
{
    const bool is_believed = !instead && store->is_own && recording->profile_path_count > 0;
    if (index >= (is_believed ? recording->profile_path_count : 1))
        return false;
    if (is_believed)
        snprintf(ret, PATH_MAX, "%s", recording->profile_paths[index]);
    else if (instead)
        snprintf(ret, PATH_MAX, "%s", instead);
    else
        snprintf(ret, PATH_MAX, "wallprof.%d.pb.gz", (int)store->pid);
    return true;
}

void left_profile_path(const struct left_store *store, const struct recording *recording, const char *instead,
                       const char *insertion, char ret[PATH_MAX])
{
    profile_path_at(store, recording, instead, 0, ret);
    insert_into_name(ret, insertion);
}

int left_write(const struct left_store *store, const struct recording *recording, const char *instead,
               const char *insertion, const char *word)
{
    char path[PATH_MAX], where[PATH_MAX];
    int failed = 0;
    for (uint32_t i = 0; profile_path_at(store, recording, instead, i, path); i++) {
        insert_into_name(path, insertion);
        enum file_format format = format_of_name(output_file_name(path));
        int status = instead
                         ? output_file_write(path, format, &recording->profile)
                         : output_file_write_somewhere(path, format, &recording->profile, store->pid, where);
        if (!status)
            printf("%s: %s\n", i == 0 ? word : "also", instead ? path : where);
        failed |= status;
    }
    return failed;
}
