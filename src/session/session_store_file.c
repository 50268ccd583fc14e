/*
 * The file of a store: its name and its lock, stores that others have left, and runs.
 *
 * A store is locked (fcntl, by the sampler's descriptor) as long as its process lives. A process that can
 * lock it knows that no process will finish it. The lock ends with the sampler's descriptor table: with the
 * process, however it ends, and with an exec. Children do not have it.
 *
 * In a run (wallprof-run) all stores are in one directory. `wallprof gather` locks a file in there (flock).
 */
#include "account/mapped_store.h"
#include "base/clock.h"
#include "base/raw_calls.h"
#include "base/name_pattern.h"
#include "base/trusted_path.h"
#include "profile/store.h"
#include "session_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_ATTEMPTS = 100, WAITING_MAX = 1000, ENTRIES_BYTES = 4096, PROC_PATH_BYTES = 64 };

int session_store_open_directory(const struct session_store *store)
{
    int place = trusted_path_open_directory(store->path.directory);
    if (place < 0)
        return place;
    int fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = errno;
    close(place);
    return fd < 0 ? -error : fd;
}

/* ---- the file ---- */

static bool lock_store(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return raw_fcntl(fd, F_SETLK, (long)&lock) == 0;
}

/* A name that nobody can know beforehand. The first attempt is the user's name, if there is one. */
static int choose_store_name(struct session_store *store, int attempt)
{
    uint32_t random = 0;
    char text[16];
    strcpy(store->name, store->path.name);
    if (store->is_named && attempt == 0)
        return 0;
    if (raw_getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = (uint32_t)clock_monotonic_ns();
    snprintf(text, sizeof(text), "%08x", random);
    if (store->is_named)
        return name_pattern_insert(store->name, sizeof(store->name), text);
    int length =
        snprintf(store->name, sizeof(store->name), "%s.%s" STORE_LIVE_ENDING, store->path.name, text);
    return length < (int)sizeof(store->name) ? 0 : -ENAMETOOLONG;
}

/* Tries one name after the other. Returns what try_name returns: -EEXIST for a name that is taken. */
static int with_a_name(struct session_store *store, int directory_fd, int fd,
                       int try_name(int directory_fd, const char *name, int fd))
{
    int status = -EEXIST;
    for (int attempt = 0; attempt < NAME_ATTEMPTS && status == -EEXIST; attempt++) {
        status = choose_store_name(store, attempt);
        if (status == 0)
            status = try_name(directory_fd, store->name, fd);
    }
    return status;
}

static int create_named(int directory_fd, const char *name, int fd)
{
    (void)fd;
    int created = openat(directory_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return created < 0 ? -errno : created;
}

/* By the descriptor table of this thread, which is the sampler's own. */
static void path_of_descriptor(int fd, char ret[PROC_PATH_BYTES])
{
    snprintf(ret, PROC_PATH_BYTES, "/proc/thread-self/fd/%d", fd);
}

static int give_name(int directory_fd, const char *name, int fd)
{
    char path[PROC_PATH_BYTES];
    path_of_descriptor(fd, path);
    return linkat(AT_FDCWD, path, directory_fd, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* Without a name nobody sees the file before it is a store. Not all file systems can do that, nor is there
 * always a /proc. It takes twice as long as a file with a name. */
static int create_nameless(int directory_fd)
{
    char path[PROC_PATH_BYTES];
    int fd = openat(directory_fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    path_of_descriptor(fd, path);
    if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return fd;
    close(fd);
    return -ENOENT;
}

int session_store_give_name(struct session_store *store, int directory_fd, int fd)
{
    return with_a_name(store, directory_fd, fd, give_name);
}

int session_store_create(struct session_store *store, int directory_fd, bool *ret_is_named)
{
    /* in a run nobody reads the file before the end, so it may have its name at once */
    int fd = store->is_run ? -ENOTSUP : create_nameless(directory_fd);
    *ret_is_named = fd < 0;
    if (fd < 0)
        fd = with_a_name(store, directory_fd, -1, create_named);
    if (fd >= 0 && (fchmod(fd, 0600) < 0 || !lock_store(fd))) {
        int status = -errno;
        if (*ret_is_named)
            unlinkat(directory_fd, store->name, 0);
        close(fd);
        return status;
    }
    return fd;
}

/* ---- stores that were left ---- */

/* Whether it is a store of ours whose process has gone without finishing it. */
static bool is_waiting(int directory_fd, const char *name)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat status;
    int fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool waits = raw_fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                 status.st_size > STORE_HEADER_BYTES && raw_fcntl(fd, F_GETLK, (long)&lock) == 0 &&
                 lock.l_type == F_UNLCK;
    close(fd);
    return waits;
}

static void report_waiting(const struct session_store *store, struct log *log, const char *first,
                           unsigned count)
{
    if (count == 1)
        log_add(log, LOG_WARNING,
                "the recording of a process that was ended waits in %s/%s: 'wallprof recover' makes a "
                "profile of it",
                store->path.directory, first);
    else if (count > 1)
        log_add(
            log, LOG_WARNING,
            "the recordings of %u processes that were ended wait in %s: 'wallprof recover %s' makes profiles "
            "of them",
            count, store->path.directory, store->path.directory);
}

/* The process's own is left out: opening and closing it would end its lock. Not by readdir, which allocates
 * with the program's malloc. */
static unsigned count_waiting(const struct session_store *store, int directory_fd, char first[NAME_MAX + 1])
{
    char entries[ENTRIES_BYTES] __attribute__((aligned(8)));
    unsigned count = 0;
    for (ssize_t got; (got = raw_getdents(directory_fd, entries, sizeof(entries))) > 0;) {
        for (ssize_t at = 0; at < got && count < WAITING_MAX;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            at += entry->d_reclen;
            if (store_is_live_name(entry->d_name) && strcmp(entry->d_name, store->name) != 0 &&
                is_waiting(directory_fd, entry->d_name) && count++ == 0)
                snprintf(first, NAME_MAX + 1, "%s", entry->d_name);
        }
    }
    return count;
}

void session_store_report_waiting(const struct session_store *store, int directory_fd, struct log *log)
{
    char first[NAME_MAX + 1] = "";
    unsigned count = 0;
    if (!store->is_named)
        count = count_waiting(store, directory_fd, first);
    else if (strcmp(store->name, store->path.name) != 0 && is_waiting(directory_fd, store->path.name)) {
        strcpy(first, store->path.name);
        count = 1;
    }
    report_waiting(store, log, first, count);
}

/* ---- runs ---- */

/* `wallprof gather` locked the file before this process started. */
int session_store_open_run(int directory_fd, int access)
{
    int fd = openat(directory_fd, STORE_RUN_NAME, access | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || (flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK))
        return fd;
    close(fd);
    return -1;
}

bool session_store_is_gathered(int directory_fd)
{
    int fd = session_store_open_run(directory_fd, O_RDONLY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int session_store_reopen(const struct session_store *store)
{
    int directory_fd = session_store_open_directory(store);
    if (directory_fd < 0)
        return directory_fd;
    int fd = openat(directory_fd, store->name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int status = fd >= 0 && lock_store(fd) ? fd : -errno;
    if (fd >= 0 && status < 0)
        close(fd);
    close(directory_fd);
    return status;
}

void session_store_unlink(const struct session_store *store, const struct mapped_store *mapped)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct stat status;
    snprintf(path, sizeof(path), "%s/%s", store->path.directory, store->name);
    if (raw_lstat(path, &status) == 0 && status.st_dev == mapped->device && status.st_ino == mapped->inode)
        unlink(path);
}

/* The directory stays as long as other stores are in it. */
void session_store_remove_run(const struct session_store *store)
{
    int directory_fd = session_store_open_directory(store);
    if (directory_fd < 0)
        return;
    if (!session_store_is_gathered(directory_fd)) {
        unlinkat(directory_fd, STORE_RUN_NAME, 0);
        unlinkat(directory_fd, STORE_WRITTEN_NAME, 0);
        rmdir(store->path.directory);
    }
    close(directory_fd);
}
