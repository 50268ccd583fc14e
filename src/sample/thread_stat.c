#include "thread_stat.h"
#include "proc_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Each kept descriptor holds some 5 KiB in the kernel (an inode and seq_file's page). A thread that never
 * runs needs one only. The limit of open files is the process's, but counts in each descriptor table by
 * itself. */
enum { KEPT_MAX = 1536, DESCRIPTORS_LEFT_FREE = 32, TEXT_BYTES = 256, OWN_FRAMES_BYTES_MAX = 65536 };

/* ---- the list of those that keep descriptors ---- */

static bool is_listed(const struct watch *watch)
{
    return watch->schedstat || watch->syscall;
}

static void unlink_watch(struct wp_watches *watches, struct watch *watch)
{
    *(watch->newer ? &watch->newer->older : &watches->newest) = watch->older;
    *(watch->older ? &watch->older->newer : &watches->oldest) = watch->newer;
    watch->newer = watch->older = NULL;
}

static void link_newest(struct wp_watches *watches, struct watch *watch)
{
    watch->older = watches->newest;
    *(watches->newest ? &watches->newest->newer : &watches->oldest) = watch;
    watches->newest = watch;
}

static void close_descriptor(struct wp_watches *watches, int *descriptor)
{
    if (!*descriptor)
        return;
    close(*descriptor);
    *descriptor = 0;
    watches->kept--;
}

void watch_close(struct wp_watches *watches, struct watch *watch)
{
    if (!is_listed(watch))
        return;
    unlink_watch(watches, watch);
    close_descriptor(watches, &watch->schedstat);
    close_descriptor(watches, &watch->syscall);
}

void watch_drop_all(struct wp_watches *watches)
{
    while (watches->newest) {
        struct watch *watch = watches->newest;
        unlink_watch(watches, watch);
        watch->schedstat = watch->syscall = 0;
    }
    watches->kept = 0;
    watches->task_directory = -1;
}

/* For one more. The watch keeps what it has. */
static void make_room(struct wp_watches *watches, const struct watch *watch)
{
    while (watches->kept >= watches->kept_max && watches->oldest && watches->oldest != watch)
        watch_close(watches, watches->oldest);
}

static void mark_used(struct wp_watches *watches, struct watch *watch)
{
    if (watches->newest == watch || !is_listed(watch))
        return;
    unlink_watch(watches, watch);
    link_newest(watches, watch);
}

/* ---- reading ---- */

static int open_file(const struct wp_watches *watches, pid_t tid, const char *name)
{
    char path[48];
    if (watches->task_directory < 0)
        return -ENOENT;
    snprintf(path, sizeof(path), "%d/%s", tid, name);
    int descriptor = openat(watches->task_directory, path, O_RDONLY | O_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

/* The program may have lowered its limit of open files, or the system be out of them: then fewer are kept. */
static int open_within_limits(struct wp_watches *watches, pid_t tid, const char *name)
{
    int opened = open_file(watches, tid, name);
    while ((opened == -EMFILE || opened == -ENFILE) && watches->kept > 0) {
        watch_close(watches, watches->oldest);
        watches->kept_max = watches->kept > 0 ? watches->kept : 1;
        opened = open_file(watches, tid, name);
    }
    return opened;
}

/* Whether fewer descriptors have been read since than are kept: then keeping its own pays. */
static bool is_read_often(const struct wp_watches *watches, const struct watch *watch)
{
    return watch->read_at != 0 && watches->reads - watch->read_at < watches->kept_max;
}

static int keep(struct wp_watches *watches, struct watch *watch, int *descriptor, int opened)
{
    if (!is_listed(watch))
        link_newest(watches, watch);
    watches->kept++;
    return *descriptor = opened;
}

/* One of a watch's two files, to be given back: a descriptor or -errno. */
static int take(struct wp_watches *watches, struct watch *watch, int *descriptor, pid_t tid, const char *name)
{
    bool is_often = is_read_often(watches, watch);
    mark_used(watches, watch);
    watch->read_at = ++watches->reads;
    if (*descriptor || watches->kept_max == 0)
        return *descriptor ? *descriptor : -EMFILE;
    if (is_often)
        make_room(watches, watch);
    int opened = open_within_limits(watches, tid, name);
    bool is_kept = opened >= 0 && (is_often || watches->kept < watches->kept_max);
    return is_kept ? keep(watches, watch, descriptor, opened) : opened;
}

static void give_back(const int *descriptor, int taken)
{
    if (taken >= 0 && taken != *descriptor)
        close(taken);
}

void watch_open(struct wp_watches *watches, struct watch *watch, pid_t tid)
{
    give_back(&watch->schedstat, take(watches, watch, &watch->schedstat, tid, "schedstat"));
    give_back(&watch->syscall, take(watches, watch, &watch->syscall, tid, "syscall"));
}

static enum watch_state state_of_error(int error)
{
    return error == -ESRCH || error == -ENOENT ? WATCH_GONE : WATCH_UNREADABLE;
}

/* One of the two files as a string; WATCH_KNOWN when it has been read. */
static enum watch_state read_file(struct wp_watches *watches, struct watch *watch, int *descriptor, pid_t tid,
                                  const char *name, char *text)
{
    if (watches->task_directory < 0)
        return WATCH_UNREADABLE;
    int taken = take(watches, watch, descriptor, tid, name);
    if (taken < 0)
        return state_of_error(taken);
    ssize_t bytes = pread(taken, text, TEXT_BYTES - 1, 0);
    int error = bytes < 0 ? -errno : 0;
    give_back(descriptor, taken);
    if (bytes <= 0)
        return error ? state_of_error(error) : WATCH_UNREADABLE;
    text[bytes] = '\0';
    return WATCH_KNOWN;
}

/* The kernel of a machine without these statistics writes three zeros. */
static enum watch_state parse_runs(const char *text, struct watch_runs *ret)
{
    char *at;
    ret->cpu_ns = strtoull(text, &at, 10);
    strtoull(at, &at, 10); /* the time it waited for a CPU */
    ret->count = strtoull(at, &at, 10);
    return ret->count > 0 ? WATCH_KNOWN : WATCH_UNREADABLE;
}

enum watch_state watch_runs(struct wp_watches *watches, struct watch *watch, pid_t tid,
                            struct watch_runs *ret)
{
    char text[TEXT_BYTES];
    enum watch_state state = read_file(watches, watch, &watch->schedstat, tid, "schedstat", text);
    return state == WATCH_KNOWN ? parse_runs(text, ret) : state;
}

/* A thread that is ending has let go of its stack, or will: its owner may have unmapped it. */
static bool is_ending(const struct watch_call *call)
{
    return call->number == SYS_exit || call->number == SYS_exit_group || call->sp == 0;
}

static enum watch_state parse_call(const char *text, struct watch_call *ret)
{
    char *at, *end;
    if (strncmp(text, "running", strlen("running")) == 0)
        return WATCH_RUNNING;
    *ret = (struct watch_call){.number = strtol(text, &at, 10)};
    for (int i = 0; i < 6 && ret->number >= 0; i++)
        ret->arguments[i] = strtoull(at, &at, 16);
    ret->sp = strtoull(at, &at, 16);
    ret->pc = strtoull(at, &end, 16);
    if (end == at)
        return WATCH_UNREADABLE;
    return is_ending(ret) ? WATCH_GONE : WATCH_KNOWN;
}

enum watch_state watch_call(struct wp_watches *watches, struct watch *watch, pid_t tid,
                            struct watch_call *ret)
{
    char text[TEXT_BYTES];
    enum watch_state state = read_file(watches, watch, &watch->syscall, tid, "syscall", text);
    return state == WATCH_KNOWN ? parse_call(text, ret) : state;
}

/* ---- start ---- */

/* Found out once: the same holds in whatever is forked. */
static enum { UNKNOWN, ABOUT_US, ABOUT_OTHERS } about;

static bool read_own(const struct wp_watches *watches, const char *name, char *text)
{
    int fd = open_file(watches, gettid(), name);
    ssize_t bytes = fd < 0 ? -1 : pread(fd, text, TEXT_BYTES - 1, 0);
    if (fd >= 0)
        close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    return bytes > 0;
}

/* Whether what the kernel tells is about the threads as we know them: behind an emulator it is about that. So
 * this thread looks at itself. */
static bool is_about_us(const struct wp_watches *watches)
{
    char text[TEXT_BYTES];
    struct watch_runs runs;
    struct watch_call call;
    uint64_t here = (uint64_t)(uintptr_t)&call;
    return read_own(watches, "schedstat", text) && parse_runs(text, &runs) == WATCH_KNOWN &&
           read_own(watches, "syscall", text) && parse_call(text, &call) == WATCH_KNOWN &&
           call.number == SYS_pread64 && call.sp < here && here - call.sp < OWN_FRAMES_BYTES_MAX;
}

void watch_find_out(void)
{
    struct wp_watches watches = {.task_directory = about == UNKNOWN ? tasks_open() : -1};
    if (watches.task_directory < 0)
        return;
    about = is_about_us(&watches) ? ABOUT_US : ABOUT_OTHERS;
    close(watches.task_directory);
}

void watch_init(struct wp_watches *watches, int task_directory, bool is_private)
{
    struct rlimit files = {.rlim_cur = 0};
    *watches = (struct wp_watches){.task_directory = is_private ? task_directory : -1};
    getrlimit(RLIMIT_NOFILE, &files);
    uint64_t room = files.rlim_cur > DESCRIPTORS_LEFT_FREE ? files.rlim_cur - DESCRIPTORS_LEFT_FREE : 0;
    watches->kept_max = room < KEPT_MAX ? (uint32_t)room : KEPT_MAX;
    if (about == UNKNOWN ? !is_about_us(watches) : about == ABOUT_OTHERS)
        watches->task_directory = -1;
}
