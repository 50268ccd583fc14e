/*
 * Sockets. On a socket with a time limit (SO_RCVTIMEO, SO_SNDTIMEO) any handler ends a call with EINTR, and a
 * call that moves much data may end early. The hooks go on, so a call takes and moves as much as without us.
 */
#include "hook_transfer.h"
#include "hook_argument.h"
#include "hook.h"

#include <sys/socket.h>

WALLPROF_WAIT_HOOK int setsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
{
    if (level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO))
        __atomic_store_n(&hook_memory()->has_time_limits, true, __ATOMIC_RELAXED);
    return libc()->setsockopt(fd, level, name, value, bytes);
}

/* ---- connections ---- */

/* Makes a call again once it does not have to wait. real: the call. */
#define CONNECT_AGAIN(limit, error_at_end, real)                                                             \
    do {                                                                                                     \
        struct hook_transfer transfer;                                                                       \
        hook_transfer_begin(&transfer, fd, 0);                                                               \
        int result = (real);                                                                                 \
        while (hook_wait_was_cut(&transfer.wait) && result < 0 && errno == EINTR) {                          \
            if (!hook_transfer_await(&transfer, limit)) {                                                    \
                errno = errno == EAGAIN ? error_at_end : errno;                                              \
                break;                                                                                       \
            }                                                                                                \
            if (!hook_wait_release(&transfer.wait)) {                                                        \
                errno = EINTR;                                                                               \
                break;                                                                                       \
            }                                                                                                \
            result = (real);                                                                                 \
        }                                                                                                    \
        hook_wait_end(&transfer.wait);                                                                       \
        return result;                                                                                       \
    } while (0)

WALLPROF_WAIT_HOOK int accept(int fd, struct sockaddr *restrict address, socklen_t *restrict length)
{
    CONNECT_AGAIN(SO_RCVTIMEO, EAGAIN, libc()->accept(fd, address, length));
}

WALLPROF_WAIT_HOOK int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict length,
                               int flags)
{
    CONNECT_AGAIN(SO_RCVTIMEO, EAGAIN, libc()->accept4(fd, address, length, flags));
}

WALLPROF_WAIT static int error_of_limit(const struct sockaddr *address)
{
    sa_family_t family = AF_UNSPEC;
    hook_argument_read(&family, &address->sa_family, sizeof(family));
    return family == AF_UNIX ? EAGAIN : EINPROGRESS;
}

/* A second call waits for the connection that the first one has begun (inet_stream_connect,
 * SS_CONNECTING). */
WALLPROF_WAIT_HOOK int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    CONNECT_AGAIN(SO_SNDTIMEO, error_of_limit(address), libc()->connect(fd, address, length));
}

WALLPROF_ALSO(__connect, connect);

/* ---- receiving ---- */

WALLPROF_WAIT static bool waits_for_all(const struct hook_transfer *transfer, ssize_t result, size_t bytes)
{
    return transfer->flags & MSG_WAITALL && !(transfer->flags & MSG_PEEK) && result > 0 &&
           (size_t)result < bytes && !hook_transfer_is_nonblocking(transfer);
}

/* Goes on after EINTR, or after a part of the bytes that MSG_WAITALL waits for. */
WALLPROF_WAIT static ssize_t receive_on(struct hook_transfer *transfer, void *to, size_t bytes,
                                        ssize_t result)
{
    if (result < 0)
        return errno == EINTR ? hook_transfer_read_once(transfer, to, bytes) : result;
    while (waits_for_all(transfer, result, bytes)) {
        ssize_t step = hook_transfer_read_once(transfer, (char *)to + result, bytes - (size_t)result);
        if (step <= 0)
            break;
        result += step;
    }
    return result;
}

WALLPROF_WAIT_HOOK ssize_t recv(int fd, void *to, size_t bytes, int flags)
{
    struct hook_transfer transfer;
    hook_transfer_begin(&transfer, fd, flags);
    ssize_t result = libc()->recv(fd, to, bytes, flags);
    if (hook_wait_was_cut(&transfer.wait))
        result = receive_on(&transfer, to, bytes, result);
    hook_wait_end(&transfer.wait);
    return result;
}

WALLPROF_WAIT static ssize_t receive_from(struct hook_transfer *transfer, void *to, size_t bytes,
                                          struct sockaddr *address, socklen_t *length)
{
    HOOK_TRANSFER_WHEN_READY(
        transfer, SO_RCVTIMEO,
        libc()->recvfrom(transfer->fd, to, bytes, transfer->flags | MSG_DONTWAIT, address, length));
}

/* Receives a message in several parts in one call. */
WALLPROF_WAIT static ssize_t receive_message(struct hook_transfer *transfer, struct msghdr *message)
{
    HOOK_TRANSFER_WHEN_READY(transfer, SO_RCVTIMEO,
                             libc()->recvmsg(transfer->fd, message, transfer->flags | MSG_DONTWAIT));
}

WALLPROF_WAIT_HOOK ssize_t recvfrom(int fd, void *restrict to, size_t bytes, int flags,
                                    struct sockaddr *restrict address, socklen_t *restrict length)
{
    struct hook_transfer transfer;
    hook_transfer_begin(&transfer, fd, flags);
    ssize_t result = libc()->recvfrom(fd, to, bytes, flags, address, length);
    if (hook_wait_was_cut(&transfer.wait))
        result = result < 0 && errno == EINTR && address ? receive_from(&transfer, to, bytes, address, length)
                                                         : receive_on(&transfer, to, bytes, result);
    hook_wait_end(&transfer.wait);
    return result;
}

/* The program may have unmapped the message while the call waited. */
WALLPROF_WAIT static ssize_t receive_message_on(struct hook_transfer *transfer, struct msghdr *message,
                                                ssize_t result)
{
    struct msghdr header;
    struct iovec part;
    if (result < 0)
        return errno == EINTR ? receive_message(transfer, message) : result;
    if (hook_argument_read(&header, message, sizeof(header)) && header.msg_iovlen == 1 &&
        hook_argument_read(&part, header.msg_iov, sizeof(part)))
        return receive_on(transfer, part.iov_base, part.iov_len, result);
    return result;
}

WALLPROF_WAIT_HOOK ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    struct hook_transfer transfer;
    hook_transfer_begin(&transfer, fd, flags);
    ssize_t result = libc()->recvmsg(fd, message, flags);
    if (hook_wait_was_cut(&transfer.wait))
        result = receive_message_on(&transfer, message, result);
    hook_wait_end(&transfer.wait);
    return result;
}

extern ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags);
extern ssize_t __recvfrom_chk(int fd, void *restrict to, size_t bytes, size_t room, int flags,
                              struct sockaddr *restrict address, socklen_t *restrict length);

WALLPROF_WAIT_HOOK ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags)
{
    if (bytes > room)
        __chk_fail();
    return recv(fd, to, bytes, flags);
}

WALLPROF_WAIT_HOOK ssize_t __recvfrom_chk(int fd, void *restrict to, size_t bytes, size_t room, int flags,
                                          struct sockaddr *restrict address, socklen_t *restrict length)
{
    if (bytes > room)
        __chk_fail();
    return recvfrom(fd, to, bytes, flags, address, length);
}

/* ---- sending ---- */

/* Whether a send that only our signal cut short goes on, on a stream with the rest. */
WALLPROF_WAIT static bool goes_on_sending(const struct hook_transfer *transfer, ssize_t result, size_t bytes)
{
    if (result < 0)
        return errno == EINTR;
    return (size_t)result < bytes && !hook_transfer_is_nonblocking(transfer);
}

WALLPROF_WAIT static ssize_t send_on(struct hook_transfer *transfer, const void *from, size_t bytes,
                                     ssize_t result)
{
    size_t done = result > 0 ? (size_t)result : 0;
    ssize_t rest = hook_transfer_write_all(transfer, (const char *)from + done, bytes - done);
    return rest > 0 ? (ssize_t)done + rest : done ? (ssize_t)done : rest;
}

WALLPROF_WAIT_HOOK ssize_t send(int fd, const void *from, size_t bytes, int flags)
{
    struct hook_transfer transfer;
    hook_transfer_begin(&transfer, fd, flags);
    ssize_t result = libc()->send(fd, from, bytes, flags);
    if (hook_wait_was_cut(&transfer.wait) && goes_on_sending(&transfer, result, bytes))
        result = send_on(&transfer, from, bytes, result);
    hook_wait_end(&transfer.wait);
    return result;
}

WALLPROF_ALSO(__send, send);

/* Sends a message with an address or several parts again, after a call that sent nothing of it. */
WALLPROF_WAIT static ssize_t send_message(struct hook_transfer *transfer, const struct msghdr *message)
{
    HOOK_TRANSFER_WHEN_READY(transfer, SO_SNDTIMEO,
                             libc()->sendmsg(transfer->fd, message, transfer->flags | MSG_DONTWAIT));
}

WALLPROF_WAIT static bool read_part(const struct msghdr *message, size_t i, struct iovec *ret)
{
    return hook_argument_read(ret, &message->msg_iov[i], sizeof(*ret));
}

WALLPROF_WAIT static ssize_t send_rest(struct hook_transfer *transfer, const struct msghdr *message,
                                       ssize_t result)
{
    size_t before = 0, done = (size_t)result;
    struct iovec part;
    for (size_t i = 0; i < message->msg_iovlen && read_part(message, i, &part); i++) {
        if (done < before + part.iov_len) {
            result = send_on(transfer, part.iov_base, part.iov_len, (ssize_t)(done - before));
            done = before + (result > 0 ? (size_t)result : 0);
            if (done < before + part.iov_len)
                break;
        }
        before += part.iov_len;
    }
    return (ssize_t)done;
}

WALLPROF_WAIT static size_t message_bytes(const struct msghdr *message)
{
    struct iovec part;
    size_t bytes = 0;
    for (size_t i = 0; i < message->msg_iovlen && read_part(message, i, &part); i++)
        bytes += part.iov_len;
    return bytes;
}

WALLPROF_WAIT static ssize_t send_message_on(struct hook_transfer *transfer, const struct msghdr *message,
                                             ssize_t result)
{
    if (result < 0 && errno == EINTR)
        result = send_message(transfer, message);
    struct msghdr header; /* the program may have unmapped it while the call waited */
    if (result > 0 && hook_argument_read(&header, message, sizeof(header)) &&
        goes_on_sending(transfer, result, message_bytes(&header)))
        result = send_rest(transfer, &header, result);
    return result;
}

WALLPROF_WAIT_HOOK ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct hook_transfer transfer;
    hook_transfer_begin(&transfer, fd, flags);
    ssize_t result = libc()->sendmsg(fd, message, flags);
    if (hook_wait_was_cut(&transfer.wait))
        result = send_message_on(&transfer, message, result);
    hook_wait_end(&transfer.wait);
    return result;
}

WALLPROF_WAIT_HOOK ssize_t sendto(int fd, const void *from, size_t bytes, int flags,
                                  const struct sockaddr *address, socklen_t length)
{
    struct hook_transfer transfer;
    hook_transfer_begin(&transfer, fd, flags);
    ssize_t result = libc()->sendto(fd, from, bytes, flags, address, length);
    if (hook_wait_was_cut(&transfer.wait)) {
        struct iovec part = {.iov_base = (void *)(uintptr_t)from, .iov_len = bytes};
        struct msghdr message = {
            .msg_name = (void *)(uintptr_t)address, .msg_namelen = length, .msg_iov = &part, .msg_iovlen = 1};
        result = send_message_on(&transfer, &message, result);
    }
    hook_wait_end(&transfer.wait);
    return result;
}

/* ---- several messages ---- */

WALLPROF_WAIT static bool waits_for_more(const struct hook_transfer *transfer, int result, unsigned count)
{
    return result < 0 ? errno == EINTR
                      : (unsigned)result < count && !(transfer->flags & MSG_WAITFORONE) &&
                            !hook_transfer_is_nonblocking(transfer);
}

WALLPROF_WAIT static bool is_spent(const struct timespec *time)
{
    struct timespec left;
    return time && hook_argument_read(&left, time, sizeof(left)) && left.tv_sec == 0 && left.tv_nsec == 0;
}

/* Receives or sends (limit: SO_RCVTIMEO or SO_SNDTIMEO) all messages that the socket is ready for, again and
 * again. The kernel checks the time only after a message that it received (recvmmsg(2), BUGS), and writes
 * into it what is left. */
WALLPROF_WAIT static int move_messages(struct hook_transfer *transfer, int limit, struct mmsghdr *messages,
                                       unsigned count, struct timespec *time, int result)
{
    unsigned done = result > 0 ? (unsigned)result : 0;
    bool receives = limit == SO_RCVTIMEO;
    while (done < count && !is_spent(time) && hook_transfer_await(transfer, limit)) {
        int flags = transfer->flags | MSG_DONTWAIT;
        int some = receives ? libc()->recvmmsg(transfer->fd, messages + done, count - done, flags, time)
                            : libc()->sendmmsg(transfer->fd, messages + done, count - done, flags);
        if (some < 0 && errno == EAGAIN)
            continue;
        if (some <= 0)
            break;
        done += (unsigned)some;
        if (receives && flags & MSG_WAITFORONE)
            break;
    }
    return done ? (int)done : -1;
}

WALLPROF_WAIT_HOOK int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                                struct timespec *time)
{
    struct hook_transfer transfer;
    hook_transfer_begin(&transfer, fd, flags);
    int result = libc()->recvmmsg(fd, messages, count, flags, time);
    if (hook_wait_was_cut(&transfer.wait) && waits_for_more(&transfer, result, count))
        result = move_messages(&transfer, SO_RCVTIMEO, messages, count, time, result);
    hook_wait_end(&transfer.wait);
    return result;
}

WALLPROF_WAIT_HOOK int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    struct hook_transfer transfer;
    hook_transfer_begin(&transfer, fd, flags);
    int result = libc()->sendmmsg(fd, messages, count, flags);
    if (hook_wait_was_cut(&transfer.wait) && waits_for_more(&transfer, result, count))
        result = move_messages(&transfer, SO_SNDTIMEO, messages, count, NULL, result);
    hook_wait_end(&transfer.wait);
    return result;
}
