#include "hook_transfer.h"
#include "hook.h"
#include "base/raw_calls.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <unistd.h>

enum { MEMORY_DEVICES = 1 }; /* the major number: Documentation/admin-guide/devices.txt */

/* A socket's time limit in ns; 0 for none. limit: SO_RCVTIMEO or SO_SNDTIMEO. */
WALLPROF_WAIT static uint64_t time_limit_ns(int fd, int limit)
{
    struct timeval time = {0};
    socklen_t bytes = sizeof(time);
    if (getsockopt(fd, SOL_SOCKET, limit, &time, &bytes) != 0)
        return 0;
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * NS_PER_US;
}

/* A deadline ends the wait even if the socket is ready, because other threads may be faster every time. */
WALLPROF_WAIT static bool has_passed(uint64_t deadline_ns)
{
    return deadline_ns && clock_monotonic_ns() >= deadline_ns;
}

WALLPROF_WAIT bool hook_transfer_await(struct hook_transfer *transfer, int limit)
{
    struct pollfd ready = {.fd = transfer->fd, .events = limit == SO_RCVTIMEO ? POLLIN : POLLOUT};
    uint64_t limit_ns = time_limit_ns(transfer->fd, limit);
    if (!transfer->begun_ns)
        transfer->begun_ns = sig_wait_here.time_ns;
    uint64_t deadline_ns = limit_ns ? transfer->begun_ns + limit_ns : 0;
    int result;
    do {
        struct timespec left = hook_wait_left(deadline_ns);
        result = libc()->ppoll(&ready, 1, deadline_ns ? &left : NULL, &transfer->wait.mask);
    } while (hook_wait_holds(&transfer->wait, result < 0));
    if (result >= 0 && (result == 0 || has_passed(deadline_ns))) {
        errno = EAGAIN;
        return false;
    }
    return result > 0;
}

enum hook_transfer_kind hook_transfer_kind(const struct hook_transfer *transfer)
{
    struct stat status;
    if (raw_fstat(transfer->fd, &status) != 0)
        return HOOK_TRANSFER_OTHER;
    if (S_ISSOCK(status.st_mode))
        return HOOK_TRANSFER_SOCKET;
    if (S_ISCHR(status.st_mode) && major(status.st_rdev) == MEMORY_DEVICES)
        return HOOK_TRANSFER_MEMORY;
    return S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode) ? HOOK_TRANSFER_PIPE : HOOK_TRANSFER_OTHER;
}

bool hook_transfer_is_nonblocking(const struct hook_transfer *transfer)
{
    return transfer->flags & MSG_DONTWAIT || fcntl(transfer->fd, F_GETFL) & O_NONBLOCK;
}

WALLPROF_WAIT static ssize_t send_some(struct hook_transfer *transfer, const void *from, size_t bytes)
{
    HOOK_TRANSFER_WHEN_READY(transfer, SO_SNDTIMEO,
                             libc()->send(transfer->fd, from, bytes, transfer->flags | MSG_DONTWAIT));
}

WALLPROF_WAIT static ssize_t receive_some(struct hook_transfer *transfer, void *to, size_t bytes)
{
    HOOK_TRANSFER_WHEN_READY(transfer, SO_RCVTIMEO,
                             libc()->recv(transfer->fd, to, bytes, transfer->flags | MSG_DONTWAIT));
}

/* Whether a call that has no mask may be made again; errno is EINTR if not. */
WALLPROF_WAIT static bool may_call(struct hook_transfer *transfer)
{
    bool goes_on = hook_wait_release(&transfer->wait);
    if (!goes_on)
        errno = EINTR;
    return goes_on;
}

WALLPROF_WAIT static ssize_t write_some(struct hook_transfer *transfer, const void *from, size_t bytes)
{
    while (may_call(transfer)) {
        ssize_t step = libc()->write(transfer->fd, from, bytes);
        if (!hook_wait_was_cut(&transfer->wait) || step >= 0 || errno != EINTR)
            return step;
    }
    return -1;
}

WALLPROF_WAIT static ssize_t read_some(struct hook_transfer *transfer, void *to, size_t bytes)
{
    while (may_call(transfer)) {
        ssize_t step = libc()->read(transfer->fd, to, bytes);
        if (!hook_wait_was_cut(&transfer->wait) || step >= 0 || errno != EINTR)
            return step;
    }
    return -1;
}

ssize_t hook_transfer_write_all(struct hook_transfer *transfer, const void *from, size_t bytes)
{
    bool is_socket = hook_transfer_kind(transfer) == HOOK_TRANSFER_SOCKET;
    size_t done = 0;
    while (done < bytes) {
        const char *rest = (const char *)from + done;
        ssize_t step =
            is_socket ? send_some(transfer, rest, bytes - done) : write_some(transfer, rest, bytes - done);
        if (step <= 0)
            break;
        done += (size_t)step;
    }
    return done ? (ssize_t)done : -1;
}

ssize_t hook_transfer_read_once(struct hook_transfer *transfer, void *to, size_t bytes)
{
    return hook_transfer_kind(transfer) == HOOK_TRANSFER_SOCKET ? receive_some(transfer, to, bytes)
                                                                : read_some(transfer, to, bytes);
}
