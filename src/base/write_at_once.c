#include "write_at_once.h"
#include "raw_calls.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* One way for each kind of file by which a write does not wait. */
struct outlet {
    int fd;
    bool is_opened_again;
    ssize_t (*write_piece)(int fd, const char *text, size_t bytes);
};

/* A file on a disk, or one that was opened with O_NONBLOCK. */
static ssize_t write_plainly(int fd, const char *text, size_t bytes)
{
    return raw_write(fd, text, bytes);
}

static ssize_t write_to_socket(int fd, const char *text, size_t bytes)
{
    return sig_syscall6(SYS_sendto, fd, (long)text, (long)bytes, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
}

/* Pipes know RWF_NOWAIT since Linux 6.4. Before, nothing is written: to poll and to write would be two steps,
 * and another process may fill the pipe in between. */
static ssize_t write_to_pipe(int fd, const char *text, size_t bytes)
{
    const struct iovec piece = {.iov_base = (void *)(uintptr_t)text, .iov_len = bytes};
    return sig_syscall6(SYS_pwritev2, fd, (long)&piece, 1, -1, -1, RWF_NOWAIT);
}

/* A terminal that is ready may have room for no more than one character. */
static ssize_t write_to_terminal(int fd, const char *text, size_t bytes)
{
    struct timespec at_once = {0};
    struct pollfd asked = {.fd = fd, .events = POLLOUT};
    (void)bytes;
    bool is_ready = sig_syscall6(SYS_ppoll, (long)&asked, 1, (long)&at_once, 0, 0, 0) == 1;
    return is_ready && asked.revents == POLLOUT ? raw_write(fd, text, 1) : -1;
}

/* The side of a pseudoterminal that a terminal emulator has. Opened again, its file is another
 * pseudoterminal. Its writers are no jobs of that terminal. */
static bool is_pty_master(const struct stat *status)
{
    return S_ISCHR(status->st_mode) && status->st_rdev == makedev(5, 2);
}

/* A job in the background would be stopped if the terminal has tostop. */
static bool is_for_foreground_only(int fd, const struct stat *status)
{
    struct termios settings;
    if (!S_ISCHR(status->st_mode) || is_pty_master(status))
        return false;
    if (tcgetattr(fd, &settings) < 0 || !(settings.c_lflag & TOSTOP))
        return false;
    pid_t foreground = tcgetpgrp(fd); /* fails for a terminal that does not control us */
    return foreground > 0 && foreground != (pid_t)sig_syscall4(SYS_getpgid, 0, 0, 0, 0);
}

/* Another user's pipe or terminal cannot be opened; and without /proc nothing can. The entry of a thread in
 * /proc costs more than that of its process (proc_tasks.h). */
static int open_again(int fd)
{
    char path[48];
    const bool is_main = getpid() == (pid_t)sig_syscall4(SYS_gettid, 0, 0, 0, 0);
    snprintf(path, sizeof path, "/proc/%s/fd/%d", is_main ? "self" : "thread-self", fd);
    return open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

static struct outlet open_outlet(int fd, const struct stat *status)
{
    mode_t mode = status->st_mode;
    struct outlet outlet = {.fd = fd, .write_piece = S_ISSOCK(mode) ? write_to_socket : write_plainly};
    if (!S_ISFIFO(mode) && !S_ISCHR(mode))
        return outlet;
    int again = is_pty_master(status) ? -1 : open_again(fd);
    outlet.is_opened_again = again >= 0;
    if (again >= 0)
        outlet.fd = again;
    else
        outlet.write_piece = S_ISFIFO(mode) ? write_to_pipe : write_to_terminal;
    return outlet;
}

/* Whole lines, if they are not too long. The kernel does not mix so much with what others write to a pipe. */
static size_t next_piece(const char *text, size_t bytes)
{
    if (bytes <= PIPE_BUF)
        return bytes;
    const char *newline = memrchr(text, '\n', PIPE_BUF);
    return newline ? (size_t)(newline - text) + 1 : PIPE_BUF;
}

size_t write_at_once(int fd, const char *text, size_t bytes)
{
    struct stat status;
    size_t done = 0;
    if (raw_fstat(fd, &status) < 0)
        return 0;
    struct outlet outlet = open_outlet(fd, &status);
    bool goes_on = !is_for_foreground_only(outlet.fd, &status);
    while (goes_on && done < bytes) {
        ssize_t written = outlet.write_piece(outlet.fd, text + done, next_piece(text + done, bytes - done));
        goes_on = written > 0;
        done += goes_on ? (size_t)written : 0;
    }
    if (outlet.is_opened_again)
        close(outlet.fd);
    return done;
}
