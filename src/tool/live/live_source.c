#include "live_source.h"
#include "base/clock.h"
#include "base/number_names.h"
#include "live_dumps.h"
#include "tool/read/store_file.h"
#include "tool/read/store_names.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The file may change while it is read. So often it is read again then, and so long after. */
enum { ATTEMPTS = 5 };
static const struct timespec pause_between = {.tv_nsec = NS_PER_MS};

/* ---- a store ---- */

static bool read_header(int fd, struct store_header *ret)
{
    return pread(fd, ret, sizeof *ret, 0) == (ssize_t)sizeof *ret &&
           memcmp(ret->magic, STORE_MAGIC, sizeof ret->magic) == 0;
}

/* A file that is recorded into; not one that was given up, which says nothing of what comes. */
static bool is_store(const char *path)
{
    struct store_header header;
    struct stat status;
    char target[64] = "";
    if (readlink(path, target, sizeof target - 1) < 0 || strncmp(target, "/proc/", 6) == 0 ||
        stat(path, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size < STORE_HEADER_BYTES)
        return false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is_kept = fd >= 0 && read_header(fd, &header) && header.live.state == STORE_LIVE;
    if (fd >= 0)
        close(fd);
    return is_kept;
}

/* A copy that was made while nothing was recorded is of one moment. Where there is none such, the last one
 * will do: the reader mends it (store_mend.c). 0 or -errno. */
static int copy_store(int fd, struct file_bytes *ret)
{
    char path[64];
    struct store_header before, after;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (int i = 0;; i++) {
        if (!read_header(fd, &before))
            return -ENODATA;
        const int status = store_file_read(ret, path);
        if (status != 0)
            return status < 0 ? status : -ENODATA;
        if (i + 1 == ATTEMPTS || (read_header(fd, &after) && memcmp(&before, &after, sizeof before) == 0))
            return 0;
        file_bytes_free(ret);
        nanosleep(&pause_between, NULL);
    }
}

static int read_store(int fd, struct recording *ret)
{
    struct file_bytes file;
    int status = copy_store(fd, &file);
    if (status < 0)
        return status == -ENODATA ? status : recording_refuse(ret, status, "%s", error_text(-status));
    status = recording_read_store(ret, file.bytes, file.count);
    file_bytes_free(&file);
    if (status < 0)
        recording_close(ret);
    return status;
}

/* ---- the ways ---- */

static void open_ended(struct live_source *source)
{
    source->ended = (int)syscall(SYS_pidfd_open, source->pid, 0);
}

/* 0; -ENOENT: it runs with the library, and keeps no store now; or another -errno: it does not. */
static int look_for_store(struct live_source *source)
{
    struct ctl_subject subject = {.pid = source->pid, .fd = -1};
    const int fd = ctl_subject_find(&subject, is_store, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return fd;
    source->way = LIVE_BY_STORE;
    source->store = fd;
    source->subject = subject;
    return 0;
}

/* 0, 1 after a message, or -ENODATA: it does not run with the library. */
static int open_own(struct live_source *source)
{
    const int status = look_for_store(source);
    if (status != -ENOENT)
        return status == 0 ? 0 : -ENODATA;
    source->way = LIVE_BY_DUMPS;
    source->store = -1;
    return live_dumps_begin(&source->subject, source->pid);
}

/* The recorder has begun when its store is one. However long it takes: no signal is blocked yet, and Ctrl-C
 * ends us and it. */
static int open_outside(struct live_source *source)
{
    struct store_header header;
    source->way = LIVE_FROM_OUTSIDE;
    int status = live_recorder_begin(&source->recorder, source->pid);
    source->store = source->recorder.store;
    while (status == 0 && !read_header(source->store, &header)) {
        if (live_recorder_has_ended(&source->recorder))
            return read_header(source->store, &header) ? 0 : 1;
        nanosleep(&pause_between, NULL);
    }
    return status;
}

int live_source_open(struct live_source *source, pid_t pid)
{
    *source = (struct live_source){.pid = pid, .store = -1, .recorder = {.store = -1, .messages = -1}};
    open_ended(source);
    const int status = open_own(source);
    return status == -ENODATA ? open_outside(source) : status;
}

void live_source_close(struct live_source *source)
{
    live_recorder_end(&source->recorder);
    if (source->store >= 0)
        close(source->store);
    if (source->ended >= 0)
        close(source->ended);
}

bool live_source_process_has_ended(const struct live_source *source)
{
    struct pollfd ended = {.fd = source->ended, .events = POLLIN};
    if (source->ended < 0)
        return kill(source->pid, 0) < 0 && errno == ESRCH;
    return poll(&ended, 1, 0) > 0;
}

/* Another program, or another store, after an exec or a stop. What is found is open. */
static void find_again(struct live_source *source)
{
    struct live_source other = {.pid = source->pid, .ended = source->ended};
    if (live_source_process_has_ended(source) || open_own(&other) != 0)
        return;
    if (source->store >= 0)
        close(source->store);
    source->way = other.way;
    source->store = other.store;
    source->subject = other.subject;
}

static bool is_over(const struct live_source *source)
{
    struct store_header header;
    if (source->way == LIVE_FROM_OUTSIDE)
        return false;
    if (source->way == LIVE_BY_STORE &&
        (!read_header(source->store, &header) || header.live.state != STORE_LIVE))
        return true;
    return !ctl_subject_lives(&source->subject);
}

int live_source_read(struct live_source *source, struct recording *ret)
{
    memset(ret, 0, sizeof *ret);
    if (is_over(source))
        find_again(source);
    else if (source->way == LIVE_BY_DUMPS)
        (void)look_for_store(source); /* it may have begun one */
    int status = source->way == LIVE_BY_DUMPS ? live_dumps_read(&source->subject, ret)
                                              : read_store(source->store, ret);
    if (status < 0)
        return status;
    *ret->ending = '\0'; /* it goes on */
    if (ret->tree.node_index.capacity == 0)
        status = tree_index_all(&ret->tree);
    if (status == 0)
        status = store_names_make(ret);
    if (status < 0)
        recording_close(ret);
    return status;
}

bool live_source_has_ended(struct live_source *source)
{
    return source->way == LIVE_FROM_OUTSIDE ? live_recorder_has_ended(&source->recorder)
                                            : live_source_process_has_ended(source);
}

const char *live_source_how(const struct live_source *source)
{
    static const char *const words[] = {"", "it writes a store each time", "recorded from outside"};
    return words[source->way];
}
