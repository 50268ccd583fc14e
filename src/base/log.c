#include "log.h"
#include "trusted_path.h"
#include "write_at_once.h"
#include "sig/sys/sig_arch.h"
#include "raw_calls.h"
#include "number_names.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char prefix[] = "wallprof: ";

enum { NOTICE_BYTES = 64 }; /* reserved for the line that says how many messages were dropped */

void log_init(struct log *log, enum log_level level)
{
    struct stat status;
    if (*log->path) /* else its page stays untouched */
        *log->path = '\0';
    log->level = level;
    log->has_stderr = raw_fstat(STDERR_FILENO, &status) == 0;
    log->stderr_device = log->has_stderr ? status.st_dev : 0;
    log->stderr_inode = log->has_stderr ? status.st_ino : 0;
    log->used_bytes = log->unread_bytes = log->dropped = 0;
    log->is_confined = false;
}

void log_set_path(struct log *log, const char *path)
{
    size_t length = 0;
    if (*path != '/' && getcwd(log->path, sizeof(log->path))) {
        length = strlen(log->path);
        log->path[length++] = '/';
    }
    snprintf(log->path + length, sizeof(log->path) - length, "%s", path);
}

void log_add(struct log *log, enum log_level level, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    if (level > log->level)
        return;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    size_t line_bytes = length < 0 ? 0 : (size_t)length < sizeof(line) ? (size_t)length : sizeof(line) - 1;
    size_t total = sizeof(prefix) - 1 + line_bytes + 1;
    if (log->used_bytes + total > sizeof(log->text) - NOTICE_BYTES) {
        log->dropped++;
        return;
    }
    char *at = log->text + log->used_bytes;
    memcpy(at, prefix, sizeof(prefix) - 1);
    memcpy(at + sizeof(prefix) - 1, line, line_bytes);
    at[total - 1] = '\n';
    log->used_bytes += total;
}

/*
 * A pipe without a reader and a file at its size limit raise a signal with the error. The program must not
 * get it, as it did not write. A terminal raises SIGTTOU only where that is not blocked. Raw calls are used,
 * because the hooks do not show the true mask.
 */
static const uint64_t write_signals = 1ULL << (SIGPIPE - 1) | 1ULL << (SIGXFSZ - 1);
static const uint64_t blocked_signals = 1ULL << (SIGPIPE - 1) | 1ULL << (SIGXFSZ - 1) | 1ULL << (SIGTTOU - 1);

static uint64_t pending_write_signals(void)
{
    uint64_t pending = 0;
    sig_syscall4(SYS_rt_sigpending, (long)&pending, sizeof(pending), 0, 0);
    return pending & write_signals;
}

struct held_signals {
    uint64_t mask, pending; /* as they were before */
};

static struct held_signals hold_write_signals(void)
{
    struct held_signals before = {.pending = pending_write_signals()};
    sig_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, (long)&blocked_signals, (long)&before.mask,
                 sizeof(before.mask));
    return before;
}

static void release_write_signals(const struct held_signals *before)
{
    static const struct timespec at_once;
    uint64_t ours = pending_write_signals() & ~before->pending;
    if (ours)
        sig_syscall4(SYS_rt_sigtimedwait, (long)&ours, 0, (long)&at_once, sizeof(ours));
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before->mask, 0, sizeof(before->mask));
}

static void add_notice(struct log *log)
{
    char *at = log->text + log->used_bytes;
    if (log->dropped == 0 || log->used_bytes + NOTICE_BYTES > sizeof(log->text))
        return; /* the last notice is still there */
    log->used_bytes +=
        (size_t)snprintf(at, NOTICE_BYTES, "%s%zu more messages found no room\n", prefix, log->dropped);
    log->dropped = 0;
}

/* The log file, or -1 if there is none or nothing to write. A failure to open it is one more message. */
static int open_file(struct log *log)
{
    add_notice(log);
    if (log->used_bytes == 0 || !*log->path)
        return -1;
    int fd = trusted_path_open_to_append(log->path);
    if (fd < 0) {
        log_add(log, LOG_ERROR, "cannot write messages to %s: %s; using stderr", log->path, error_text(-fd));
        *log->path = '\0';
    }
    return fd;
}

static bool is_stderr_of_the_start(const struct log *log)
{
    struct stat status;
    return log->has_stderr && raw_fstat(STDERR_FILENO, &status) == 0 && status.st_dev == log->stderr_device &&
           status.st_ino == log->stderr_inode;
}

/* Writes what can be written now, and keeps the rest. A file of ours is closed. */
static void write_kept(struct log *log, int fd, bool is_file)
{
    struct held_signals before = hold_write_signals();
    size_t written = write_at_once(fd, log->text, log->used_bytes);
    release_write_signals(&before);
    log->used_bytes -= written;
    log->unread_bytes = log->used_bytes;
    memmove(log->text, log->text + written, log->used_bytes);
    if (is_file)
        close(fd);
}

/* Under such a filter of the program only a file on a disk can be written to. */
static bool is_out_of_reach(const struct log *log)
{
    struct stat status;
    return __atomic_load_n(&log->is_confined, __ATOMIC_RELAXED) && raw_fstat(STDERR_FILENO, &status) == 0 &&
           !S_ISREG(status.st_mode);
}

void log_flush(struct log *log)
{
    int fd = open_file(log);
    if (fd >= 0)
        write_kept(log, fd, true);
    else if (log->used_bytes > 0 && is_stderr_of_the_start(log) && !is_out_of_reach(log))
        write_kept(log, STDERR_FILENO, false);
}

/* Opens the process's entry in /proc if it is the same file: a thread's entry costs more (proc_tasks.h). */
int log_open_stderr_handle(void)
{
    struct stat own, found;
    if (raw_fstat(STDERR_FILENO, &own) < 0)
        return -1;
    /* A regular file has no reader that waits for its end. Opened again, it would have another offset. */
    if (S_ISREG(own.st_mode))
        return raw_fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int fd = open("/proc/self/fd/2", O_PATH | O_CLOEXEC);
    if (fd >= 0 && raw_fstat(fd, &found) == 0 && found.st_dev == own.st_dev && found.st_ino == own.st_ino)
        return fd;
    if (fd >= 0)
        close(fd);
    return open("/proc/thread-self/fd/2", O_PATH | O_CLOEXEC);
}

void log_flush_through(struct log *log, int stderr_handle)
{
    int fd = open_file(log);
    if (fd >= 0)
        write_kept(log, fd, true);
    else if (log->used_bytes > 0 && log->has_stderr && stderr_handle >= 0)
        write_kept(log, stderr_handle, false); /* not a socket, which has no handle: then log_flush is next */
}
