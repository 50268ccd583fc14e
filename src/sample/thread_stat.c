#include "thread_stat.h"
#include "proc/proc_tasks.h"
#include "base/raw_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_stack_end; /* ld.so: where the kernel began the main thread's stack */

static const char schedstat_name[] = "schedstat", syscall_name[] = "syscall";

/* Each kept descriptor holds some 5 KiB in the kernel (an inode and seq_file's page). A thread that never
 * runs needs only one. The limit of open files counts in each descriptor table by itself. */
enum { KEPT_MAX = 1536, DESCRIPTORS_LEFT_FREE = 32, TEXT_BYTES = 256, FIRST_FRAME_BYTES_MAX = 65536 };

/* ---- the list of those that keep descriptors ---- */

static bool is_listed(const struct thread_stat *stat)
{
    return stat->schedstat || stat->syscall;
}

static void unlink_stat(struct thread_stats *stats, struct thread_stat *stat)
{
    *(stat->newer ? &stat->newer->older : &stats->newest) = stat->older;
    *(stat->older ? &stat->older->newer : &stats->oldest) = stat->newer;
    stat->newer = stat->older = NULL;
}

static void link_newest(struct thread_stats *stats, struct thread_stat *stat)
{
    stat->older = stats->newest;
    *(stats->newest ? &stats->newest->newer : &stats->oldest) = stat;
    stats->newest = stat;
}

static void close_descriptor(struct thread_stats *stats, int *descriptor)
{
    if (!*descriptor)
        return;
    close(*descriptor);
    *descriptor = 0;
    stats->kept--;
}

static void close_held(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

void thread_stat_let_go(struct thread_stats *stats)
{
    if (stats->held.of) {
        close_held(&stats->held.schedstat);
        close_held(&stats->held.syscall);
    }
    stats->held.of = NULL;
}

static void close_kept(struct thread_stats *stats, struct thread_stat *stat)
{
    if (!is_listed(stat))
        return;
    unlink_stat(stats, stat);
    close_descriptor(stats, &stat->schedstat);
    close_descriptor(stats, &stat->syscall);
}

/* Its record may soon be another thread's. */
void thread_stat_close(struct thread_stats *stats, struct thread_stat *stat)
{
    if (stats->held.of == stat)
        thread_stat_let_go(stats);
    close_kept(stats, stat);
}

void thread_stats_drop_all(struct thread_stats *stats)
{
    while (stats->newest) {
        struct thread_stat *stat = stats->newest;
        unlink_stat(stats, stat);
        stat->schedstat = stat->syscall = 0;
    }
    stats->kept = 0;
    stats->held.of = NULL;
    stats->task_directory = -1;
}

/* Closes descriptors until there is room for one more; not those of `stat`. */
static void make_room(struct thread_stats *stats, const struct thread_stat *stat)
{
    while (stats->kept >= stats->kept_max && stats->oldest && stats->oldest != stat)
        close_kept(stats, stats->oldest);
}

static void mark_used(struct thread_stats *stats, struct thread_stat *stat)
{
    if (stats->newest == stat || !is_listed(stat))
        return;
    unlink_stat(stats, stat);
    link_newest(stats, stat);
}

/* ---- reading ---- */

/* If the program has lowered its limit of open files, or the system has run out of them, fewer are kept. */
static int open_within_limits(struct thread_stats *stats, pid_t tid, const char *name)
{
    int opened = proc_tasks_open_file(stats->task_directory, tid, name);
    while ((opened == -EMFILE || opened == -ENFILE) && stats->kept > 0) {
        close_kept(stats, stats->oldest);
        stats->kept_max = stats->kept > 0 ? stats->kept : 1;
        opened = proc_tasks_open_file(stats->task_directory, tid, name);
    }
    return opened;
}

/* Whether fewer descriptors have been read since its last reading than are kept: then keeping its own pays.
 */
static bool is_read_often(const struct thread_stats *stats, const struct thread_stat *stat)
{
    return stat->read_at != 0 && stats->reads - stat->read_at < stats->kept_max;
}

static int keep_descriptor(struct thread_stats *stats, struct thread_stat *stat, int *descriptor, int opened)
{
    if (!is_listed(stat))
        link_newest(stats, stat);
    stats->kept++;
    return *descriptor = opened;
}

/* One of a thread's two files: a descriptor, *descriptor or one that the caller has to close; or -errno. */
static int open_descriptor(struct thread_stats *stats, struct thread_stat *stat, int *descriptor, pid_t tid,
                           const char *name, bool is_often)
{
    mark_used(stats, stat);
    stat->read_at = ++stats->reads;
    if (*descriptor || stats->kept_max == 0)
        return *descriptor ? *descriptor : -EMFILE;
    if (is_often)
        make_room(stats, stat);
    int opened = open_within_limits(stats, tid, name);
    bool is_kept = opened >= 0 && (is_often || stats->kept < stats->kept_max);
    return is_kept ? keep_descriptor(stats, stat, descriptor, opened) : opened;
}

static void give_back(const int *descriptor, int taken)
{
    if (taken >= 0 && taken != *descriptor)
        close(taken);
}

void thread_stat_open(struct thread_stats *stats, struct thread_stat *stat, pid_t tid)
{
    give_back(&stat->schedstat, open_descriptor(stats, stat, &stat->schedstat, tid, schedstat_name, false));
    give_back(&stat->syscall, open_descriptor(stats, stat, &stat->syscall, tid, syscall_name, false));
}

static enum thread_stat_state state_of_error(int error)
{
    return error == -ESRCH || error == -ENOENT ? THREAD_STAT_GONE : THREAD_STAT_UNREADABLE;
}

/* From now on descriptors of this thread are held. Its two files are one reading. */
static void hold(struct thread_stats *stats, const struct thread_stat *stat)
{
    if (stats->held.of == stat)
        return;
    thread_stat_let_go(stats);
    stats->held.of = stat;
    stats->held.is_often = is_read_often(stats, stat);
    stats->held.schedstat = stats->held.syscall = -1;
}

/* One of the two files as a string; THREAD_STAT_KNOWN when it has been read. */
static enum thread_stat_state read_text(int descriptor, char *text)
{
    ssize_t bytes = pread(descriptor, text, TEXT_BYTES - 1, 0);
    if (bytes <= 0)
        return bytes < 0 ? state_of_error(-errno) : THREAD_STAT_UNREADABLE;
    text[bytes] = '\0';
    return THREAD_STAT_KNOWN;
}

/* The kernel of a machine without these statistics writes three zeros. */
static enum thread_stat_state parse_runs(const char *text, struct thread_stat_runs *ret)
{
    char *at;
    ret->cpu_ns = strtoull(text, &at, 10);
    ret->delay_ns = strtoull(at, &at, 10);
    ret->count = strtoull(at, &at, 10);
    return ret->count > 0 ? THREAD_STAT_KNOWN : THREAD_STAT_UNREADABLE;
}

/* One of a thread's two files as a string. *own: its kept descriptor. *held: the descriptor that is open for
 * this sample only, or -1. */
static enum thread_stat_state read_file(struct thread_stats *stats, struct thread_stat *stat, pid_t tid,
                                        bool is_runs, char *text)
{
    if (stats->task_directory < 0)
        return THREAD_STAT_UNREADABLE;
    hold(stats, stat);
    int *own = is_runs ? &stat->schedstat : &stat->syscall;
    int *held = is_runs ? &stats->held.schedstat : &stats->held.syscall;
    int taken = *held >= 0 ? *held
                           : open_descriptor(stats, stat, own, tid, is_runs ? schedstat_name : syscall_name,
                                             stats->held.is_often);
    if (taken < 0)
        return state_of_error(taken);
    if (taken != *own)
        *held = taken;
    return read_text(taken, text);
}

enum thread_stat_state thread_stat_runs(struct thread_stats *stats, struct thread_stat *stat, pid_t tid,
                                        struct thread_stat_runs *ret)
{
    char text[TEXT_BYTES];
    enum thread_stat_state state = read_file(stats, stat, tid, true, text);
    return state == THREAD_STAT_KNOWN ? parse_runs(text, ret) : state;
}

/* A thread that is ending does not use its stack any more: its owner may have unmapped it. */
static bool is_ending(const struct thread_stat_call *call)
{
    return call->number == SYS_exit || call->number == SYS_exit_group || call->sp == 0;
}

static enum thread_stat_state parse_call(const char *text, struct thread_stat_call *ret)
{
    char *at, *end;
    if (strncmp(text, "running", strlen("running")) == 0)
        return THREAD_STAT_RUNNING;
    *ret = (struct thread_stat_call){.number = strtol(text, &at, 10)};
    for (int i = 0; i < 6 && ret->number >= 0; i++)
        ret->arguments[i] = strtoull(at, &at, 16);
    ret->sp = strtoull(at, &at, 16);
    ret->pc = strtoull(at, &end, 16);
    if (end == at)
        return THREAD_STAT_UNREADABLE;
    return is_ending(ret) ? THREAD_STAT_GONE : THREAD_STAT_KNOWN;
}

enum thread_stat_state thread_stat_call(struct thread_stats *stats, struct thread_stat *stat, pid_t tid,
                                        struct thread_stat_call *ret)
{
    char text[TEXT_BYTES];
    enum thread_stat_state state = read_file(stats, stat, tid, false, text);
    return state == THREAD_STAT_KNOWN ? parse_call(text, ret) : state;
}

/* ---- start ---- */

/* Whether the process of a thread in /proc began with our stack; *ret_is_over: the thread has ended. */
static bool has_our_stack(int task_directory, pid_t tid, bool *ret_is_over)
{
    struct proc_task task;
    uint64_t here = (uint64_t)(uintptr_t)__libc_stack_end;
    bool is_known = proc_tasks_stat(task_directory, tid, &task);
    *ret_is_over = is_known && task.stack_start == 0;
    return is_known && task.stack_start + FIRST_FRAME_BYTES_MAX - here < 2 * FIRST_FRAME_BYTES_MAX;
}

static bool is_readable(int task_directory, pid_t tid)
{
    char text[TEXT_BYTES];
    struct thread_stat_runs runs;
    struct thread_stat_call call;
    return proc_tasks_read(task_directory, tid, "schedstat", text, sizeof(text)) &&
           parse_runs(text, &runs) == THREAD_STAT_KNOWN &&
           proc_tasks_read(task_directory, tid, "syscall", text, sizeof(text)) &&
           parse_call(text, &call) != THREAD_STAT_UNREADABLE;
}

enum thread_stat_view thread_stat_find_view(int task_directory)
{
    bool is_over;
    pid_t tid = getpid();
    bool is_ours = has_our_stack(task_directory, tid, &is_over);
    if (is_over)
        is_ours = has_our_stack(task_directory, tid = raw_gettid(), &is_over);
    return is_ours && is_readable(task_directory, tid) ? THREAD_STAT_VIEW_OURS : THREAD_STAT_VIEW_OTHERS;
}

void thread_stats_init(struct thread_stats *stats, int task_directory, bool is_usable)
{
    struct rlimit files = {.rlim_cur = 0};
    getrlimit(RLIMIT_NOFILE, &files);
    uint64_t room = files.rlim_cur > DESCRIPTORS_LEFT_FREE ? files.rlim_cur - DESCRIPTORS_LEFT_FREE : 0;
    *stats = (struct thread_stats){.task_directory = is_usable ? task_directory : -1,
                                   .kept_max = room < KEPT_MAX ? (uint32_t)room : KEPT_MAX};
}
