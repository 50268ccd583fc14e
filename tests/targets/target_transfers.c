/*
 * Sockets with a time limit, transfers that a signal cuts short, and waits by system call number, each in a
 * thread of its own (waits.h says what is checked).
 *
 *     target_transfers MS
 */
#include "waits.h"

#include <aio.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <stddef.h>
#include <sys/un.h>
#include <sys/wait.h>

/* LIMIT_MS: sockets count in jiffies, and the first may have begun long ago. */
enum { LARGE = 1 << 19, PIECE = 5000, LIMIT_MS = SHORT_MS - 10 };

static int ring_fd, epoll_fd, silent[2], silent_pair[2], silent_listener;
static pid_t sleeper;
static int pattern_fd; /* the same bytes as pattern() */
static aio_context_t aio;
static sigset_t only_usr2;

/* ---- sockets with a limit ---- */

static void limit(int fd)
{
    struct timeval time = {.tv_usec = SHORT_MS * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

/* A pair whose first end has a limit; its buffer is full if it is to be written to. */
static bool make_pair(int pair[2], int type, bool is_full)
{
    static const char bytes[4096];
    if (socketpair(AF_UNIX, type, 0, pair) != 0)
        return false;
    while (is_full && send(pair[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        ;
    limit(pair[0]);
    return true;
}

/* The kernel times SO_RCVTIMEO and SO_SNDTIMEO by its clock's ticks. On a busy virtual machine their count
 * lags behind the time, so a wait may be shorter by a part of a tick, with nobody's doing. */
static uint64_t tick_ms(void)
{
    struct timespec tick;
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    return (uint64_t)tick.tv_nsec / NS_PER_MS + 1;
}

#define ON_PAIR(name, type, is_full, wait)                                                                   \
    static void name(struct waiter *waiter)                                                                  \
    {                                                                                                        \
        int pair[2];                                                                                         \
        char bytes[64] = "";                                                                                 \
        struct iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};                                   \
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};                                         \
        struct mmsghdr messages[2] = {{.msg_hdr = message}, {.msg_hdr = message}};                           \
        (void)messages;                                                                                      \
        if (!make_pair(pair, type, is_full))                                                                 \
            return;                                                                                          \
        waiter->begin_ns = now_ns();                                                                         \
        int result = (int)(wait);                                                                            \
        expect_end(waiter, result, -1, errno, EAGAIN, LIMIT_MS - tick_ms());                                 \
        close(pair[0]);                                                                                      \
        close(pair[1]);                                                                                      \
    }

ON_PAIR(by_recv, SOCK_STREAM, false, recv(pair[0], bytes, sizeof(bytes), 0))
ON_PAIR(by_recv_all, SOCK_STREAM, false, recv(pair[0], bytes, sizeof(bytes), MSG_WAITALL))
ON_PAIR(by_recvfrom, SOCK_DGRAM, false,
        recvfrom(pair[0], bytes, sizeof(bytes), 0, (struct sockaddr *)&(struct sockaddr_un){0},
                 &(socklen_t){sizeof(struct sockaddr_un)}))
ON_PAIR(by_recvmsg, SOCK_STREAM, false, recvmsg(pair[0], &message, 0))
ON_PAIR(by_recvmmsg, SOCK_DGRAM, false, recvmmsg(pair[0], messages, 2, 0, NULL))
ON_PAIR(by_read, SOCK_STREAM, false, read(pair[0], bytes, sizeof(bytes)))
ON_PAIR(by_readv, SOCK_STREAM, false, readv(pair[0], &part, 1))
ON_PAIR(by_send, SOCK_STREAM, true, send(pair[0], bytes, sizeof(bytes), 0))
ON_PAIR(by_sendto, SOCK_DGRAM, true, sendto(pair[0], bytes, sizeof(bytes), 0, NULL, 0))
ON_PAIR(by_sendmsg, SOCK_STREAM, true, sendmsg(pair[0], &message, 0))
ON_PAIR(by_sendmmsg, SOCK_DGRAM, true, sendmmsg(pair[0], messages, 2, 0))
ON_PAIR(by_write, SOCK_STREAM, true, write(pair[0], bytes, sizeof(bytes)))
ON_PAIR(by_writev, SOCK_STREAM, true, writev(pair[0], &part, 1))

/* A socket that listens under a name of its own, and one to connect with. */
static bool make_listener(struct waiter *waiter, int fds[2], struct sockaddr_un *name, socklen_t *length)
{
    name->sun_family = AF_UNIX;
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                          (size_t)snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "wp.%d.%s.%u",
                                           getpid(), waiter->name, waiter->calls));
    fds[0] = socket(AF_UNIX, SOCK_STREAM, 0);
    fds[1] = socket(AF_UNIX, SOCK_STREAM, 0);
    limit(fds[0]);
    limit(fds[1]);
    return bind(fds[0], (struct sockaddr *)name, *length) == 0 && listen(fds[0], 0) == 0;
}

static void by_accept(struct waiter *waiter)
{
    int fds[2];
    struct sockaddr_un name = {0};
    socklen_t length;
    if (make_listener(waiter, fds, &name, &length)) {
        waiter->begin_ns = now_ns();
        int result = accept(fds[0], NULL, NULL);
        expect_end(waiter, result, -1, errno, EAGAIN, LIMIT_MS - tick_ms());
    }
    close(fds[0]);
    close(fds[1]);
}

/* The second connection finds the queue full. */
static void by_connect(struct waiter *waiter)
{
    int fds[2], first = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un name = {0};
    socklen_t length;
    if (make_listener(waiter, fds, &name, &length) && connect(first, (struct sockaddr *)&name, length) == 0) {
        waiter->begin_ns = now_ns();
        int result = connect(fds[1], (struct sockaddr *)&name, length);
        expect_end(waiter, result, -1, errno, EAGAIN, LIMIT_MS - tick_ms());
    }
    close(first);
    close(fds[0]);
    close(fds[1]);
}

/* ---- much data ---- */

struct reader {
    int fd;
    size_t total;
    bool is_good;
};

/* Slowly, so that the writer waits; the bytes are to come in their order. */
static void *read_slowly(void *argument)
{
    struct reader *reader = argument;
    unsigned char bytes[PIECE * 4];
    struct timespec pause = span(NS_PER_MS / 10);
    ssize_t count;
    reader->is_good = true;
    while ((count = read(reader->fd, bytes, sizeof(bytes))) > 0) {
        for (ssize_t i = 0; i < count; i++)
            reader->is_good &= bytes[i] == (unsigned char)((reader->total + (size_t)i) % 251);
        reader->total += (size_t)count;
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    return NULL;
}

static unsigned char *pattern(void)
{
    static unsigned char bytes[LARGE];
    if (bytes[1] == 0)
        for (size_t i = 0; i < LARGE; i++)
            bytes[i] = (unsigned char)(i % 251);
    return bytes;
}

/* In three parts, the first empty and the second long. */
static void split(struct iovec parts[3])
{
    parts[0] = (struct iovec){.iov_base = pattern(), .iov_len = 0};
    parts[1] = (struct iovec){.iov_base = pattern(), .iov_len = LARGE / 3};
    parts[2] = (struct iovec){.iov_base = pattern() + LARGE / 3, .iov_len = LARGE - LARGE / 3};
}

#define LARGE_ON(name, make, wait)                                                                           \
    static void name(struct waiter *waiter)                                                                  \
    {                                                                                                        \
        int ends[2];                                                                                         \
        struct iovec parts[3];                                                                               \
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};                                         \
        pthread_t thread;                                                                                    \
        split(parts);                                                                                        \
        (void)message;                                                                                       \
        if ((make) != 0)                                                                                     \
            return;                                                                                          \
        struct reader reader = {.fd = ends[0]};                                                              \
        pthread_create(&thread, NULL, read_slowly, &reader);                                                 \
        ssize_t result = (wait);                                                                             \
        close(ends[1]);                                                                                      \
        pthread_join(thread, NULL);                                                                          \
        close(ends[0]);                                                                                      \
        expect(waiter, result == LARGE, "gave %zd", result);                                                 \
        expect(waiter, reader.total == LARGE && reader.is_good, "%zu bytes arrived, %s", reader.total,       \
               reader.is_good ? "as sent" : "others");                                                       \
    }

LARGE_ON(pipe_write, pipe(ends), write(ends[1], pattern(), LARGE))
LARGE_ON(pipe_writev, pipe(ends), writev(ends[1], parts, 3))
LARGE_ON(socket_sendfile, socketpair(AF_UNIX, SOCK_STREAM, 0, ends),
         sendfile(ends[1], pattern_fd, &(off_t){0}, LARGE))
LARGE_ON(socket_write, socketpair(AF_UNIX, SOCK_STREAM, 0, ends), write(ends[1], pattern(), LARGE))
LARGE_ON(socket_send, socketpair(AF_UNIX, SOCK_STREAM, 0, ends), send(ends[1], pattern(), LARGE, 0))
LARGE_ON(socket_sendmsg, socketpair(AF_UNIX, SOCK_STREAM, 0, ends), sendmsg(ends[1], &message, 0))

static void *send_slowly(void *argument)
{
    int fd = *(int *)argument;
    struct timespec pause = span(NS_PER_MS / 10);
    for (size_t at = 0; at < LARGE / 8; at += PIECE) {
        size_t rest = LARGE / 8 - at;
        send(fd, pattern() + at, rest < PIECE ? rest : PIECE, 0);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    return NULL;
}

static void recv_all(struct waiter *waiter)
{
    int ends[2];
    pthread_t thread;
    unsigned char *bytes = malloc(LARGE / 8);
    if (bytes && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) {
        pthread_create(&thread, NULL, send_slowly, &ends[1]);
        ssize_t result = recv(ends[0], bytes, LARGE / 8, MSG_WAITALL);
        pthread_join(thread, NULL);
        expect(waiter, result == LARGE / 8, "gave %zd", result);
        expect(waiter, memcmp(bytes, pattern(), LARGE / 8) == 0, "other bytes than sent");
        close(ends[0]);
        close(ends[1]);
    }
    free(bytes);
}

static void read_zero(struct waiter *waiter)
{
    enum { BYTES = 8 << 20 };
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    char *bytes = malloc(BYTES);
    ssize_t result = read(fd, bytes, BYTES);
    expect(waiter, result == BYTES, "gave %zd", result);
    free(bytes);
    close(fd);
}

static void get_random(struct waiter *waiter)
{
    enum { BYTES = 1 << 20 };
    char *bytes = malloc(BYTES);
    ssize_t result = getrandom(bytes, BYTES, 0);
    expect(waiter, result == BYTES, "gave %zd", result);
    free(bytes);
}

/* Less than asked for, and no more to come: it must not be waited for. */
static void read_part(struct waiter *waiter)
{
    int ends[2];
    char bytes[64];
    if (pipe(ends) != 0 || write(ends[1], "part", 4) != 4)
        return;
    expect(waiter, read(ends[0], bytes, sizeof(bytes)) == 4, "not what there was");
    close(ends[0]);
    close(ends[1]);
}

static void write_at_once(struct waiter *waiter)
{
    int ends[2];
    if (pipe2(ends, O_NONBLOCK) != 0)
        return;
    ssize_t result = write(ends[1], pattern(), LARGE);
    expect(waiter, result > 0 && result < LARGE, "gave %zd", result);
    close(ends[0]);
    close(ends[1]);
}

/* ---- by number ---- */

SHORT(number_nanosleep, 0, 0, syscall(SYS_nanosleep, &time, NULL))
SHORT(number_clock_nanosleep, 0, 0, syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL))
#ifdef SYS_poll /* older calls, which newer machines do not have */
SHORT(number_poll, 0, 0, syscall(SYS_poll, NULL, 0, SHORT_MS))
SHORT(number_select, 0, 0,
      syscall(SYS_select, 0, NULL, NULL, NULL, &(struct timeval){.tv_usec = SHORT_MS * 1000}))
SHORT(number_epoll_wait, 0, 0, syscall(SYS_epoll_wait, epoll_fd, &(struct epoll_event){0}, 1, SHORT_MS))
SIGNALLED(number_poll_ended, syscall(SYS_poll, NULL, 0, -1))
SIGNALLED(number_pause_ended, syscall(SYS_pause))
#endif
SHORT(number_ppoll, 0, 0, syscall(SYS_ppoll, NULL, 0, &time, NULL, 8))
SHORT(number_pselect, 0, 0, syscall(SYS_pselect6, 0, NULL, NULL, NULL, &time, NULL))
SHORT(number_sigtimedwait, -1, EAGAIN, syscall(SYS_rt_sigtimedwait, &only_usr2, NULL, &time, 8))
SHORT(number_futex, -1, ETIMEDOUT, syscall(SYS_futex, &(int){0}, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0))
SHORT(number_futex_bitset, -1, ETIMEDOUT,
      (time = moment(CLOCK_MONOTONIC, SHORT_MS *NS_PER_MS),
       syscall(SYS_futex, &(int){0}, FUTEX_WAIT_BITSET_PRIVATE, 0, &time, NULL, FUTEX_BITSET_MATCH_ANY)))
SHORT(number_io_getevents, 0, 0, syscall(SYS_io_getevents, aio, 1, 1, &(struct io_event){0}, &time))
SHORT(number_io_uring_enter, -1, ETIME,
      syscall(SYS_io_uring_enter, ring_fd, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
              &(struct io_uring_getevents_arg){.ts = (uint64_t)(uintptr_t)&time},
              sizeof(struct io_uring_getevents_arg)))

/* ---- calls that are made again after a handler with SA_RESTART, as ours is,
 * and end after one without ---- */

SIGNALLED(read_ended, read(silent[0], &(char){0}, 1))
SIGNALLED(recv_ended, recv(silent_pair[0], &(char){0}, 1, 0))
SIGNALLED(accept_ended, accept(silent_listener, NULL, NULL))
SIGNALLED(waitpid_ended, waitpid(sleeper, NULL, 0))
SIGNALLED(futex_ended, syscall(SYS_futex, &(int){0}, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0))

static void make_silence(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    silent_listener = socket(AF_UNIX, SOCK_STREAM, 0);
    sleeper = fork();
    if (sleeper == 0) {
        pause();
        _exit(0);
    }
    if (sleeper < 0 || pipe(silent) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, silent_pair) != 0 ||
        bind(silent_listener, (struct sockaddr *)&name, sizeof(sa_family_t)) != 0 ||
        listen(silent_listener, 1) != 0)
        exit(2);
}

/* ---- others that need nothing done, or little ---- */

static void by_mq_timedreceive(struct waiter *waiter)
{
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    char name[64], bytes[8];
    snprintf(name, sizeof(name), "/wp.%d", getpid());
    mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    if (queue == (mqd_t)-1)
        return;
    struct timespec until = moment(CLOCK_REALTIME, SHORT_MS * NS_PER_MS);
    waiter->begin_ns = now_ns();
    int result = (int)mq_timedreceive(queue, bytes, sizeof(bytes), NULL, &until);
    expect_end(waiter, result, -1, errno, ETIMEDOUT, SHORT_MS - 1);
    mq_close(queue);
    mq_unlink(name);
}

static void by_aio_suspend(struct waiter *waiter)
{
    int ends[2];
    char bytes[4];
    struct timespec time = span(SHORT_MS * NS_PER_MS);
    if (pipe(ends) != 0)
        return;
    struct aiocb request = {.aio_fildes = ends[0], .aio_buf = bytes, .aio_nbytes = sizeof(bytes)};
    const struct aiocb *requests[] = {&request};
    aio_read(&request);
    waiter->begin_ns = now_ns();
    int result = aio_suspend(requests, 1, &time);
    expect_end(waiter, result, -1, errno, EAGAIN, SHORT_MS);
    close(ends[1]);
    while (aio_error(&request) == EINPROGRESS)
        sched_yield();
    aio_return(&request);
    close(ends[0]);
}

static struct waiter waiters[] = {
    {.name = "recv", .call = by_recv},
    {.name = "recv-waitall", .call = by_recv_all},
    {.name = "recvfrom", .call = by_recvfrom},
    {.name = "recvmsg", .call = by_recvmsg},
    {.name = "recvmmsg", .call = by_recvmmsg},
    {.name = "read", .call = by_read},
    {.name = "readv", .call = by_readv},
    {.name = "send", .call = by_send},
    {.name = "sendto", .call = by_sendto},
    {.name = "sendmsg", .call = by_sendmsg},
    {.name = "sendmmsg", .call = by_sendmmsg},
    {.name = "write", .call = by_write},
    {.name = "writev", .call = by_writev},
    {.name = "accept", .call = by_accept},
    {.name = "connect", .call = by_connect},
    {.name = "pipe-write", .call = pipe_write},
    {.name = "pipe-writev", .call = pipe_writev},
    {.name = "socket-sendfile", .call = socket_sendfile},
    {.name = "socket-write", .call = socket_write},
    {.name = "socket-send", .call = socket_send},
    {.name = "socket-sendmsg", .call = socket_sendmsg},
    {.name = "socket-recv-waitall", .call = recv_all},
    {.name = "read-zero", .call = read_zero},
    {.name = "getrandom", .call = get_random},
    {.name = "read-part", .call = read_part},
    {.name = "write-nonblocking", .call = write_at_once},
    {.name = "number-nanosleep", .call = number_nanosleep},
    {.name = "number-clock_nanosleep", .call = number_clock_nanosleep},
#ifdef SYS_poll
    {.name = "number-poll", .call = number_poll},
    {.name = "number-select", .call = number_select},
    {.name = "number-epoll_wait", .call = number_epoll_wait},
    {.name = "number-poll-ended", .call = number_poll_ended, .signal = RESTARTING},
    {.name = "number-pause-ended", .call = number_pause_ended, .signal = RESTARTING},
#endif
    {.name = "number-ppoll", .call = number_ppoll},
    {.name = "number-pselect6", .call = number_pselect},
    {.name = "number-rt_sigtimedwait", .call = number_sigtimedwait},
    {.name = "number-futex", .call = number_futex},
    {.name = "number-futex-bitset", .call = number_futex_bitset},
    {.name = "read-ended", .call = read_ended, .signal = ENDING},
    {.name = "recv-ended", .call = recv_ended, .signal = ENDING},
    {.name = "accept-ended", .call = accept_ended, .signal = ENDING},
    {.name = "waitpid-ended", .call = waitpid_ended, .signal = ENDING},
    {.name = "number-futex-ended", .call = futex_ended, .signal = ENDING},
    {.name = "mq_timedreceive", .call = by_mq_timedreceive},
    {.name = "aio_suspend", .call = by_aio_suspend},
    /* Last, and left out where the kernel has none or forbids them. */
    {.name = "number-io_getevents", .call = number_io_getevents},
    {.name = "number-io_uring_enter", .call = number_io_uring_enter},
};

enum { WAITERS = sizeof(waiters) / sizeof(waiters[0]) };

int main(int count, char **arguments)
{
    struct io_uring_params parameters = {0};
    sigemptyset(&only_usr2);
    sigaddset(&only_usr2, SIGUSR2);
    sigprocmask(SIG_BLOCK, &only_usr2, NULL);
    make_silence();
    pattern_fd = memfd_create("pattern", MFD_CLOEXEC);
    if (write(pattern_fd, pattern(), LARGE) != LARGE)
        return 2;
    epoll_fd = epoll_create1(0);
    bool has_aio = syscall(SYS_io_setup, 4, &aio) == 0;
    ring_fd = has_aio ? (int)syscall(SYS_io_uring_setup, 4, &parameters) : -1;
    size_t usable = WAITERS - 2 + has_aio + (ring_fd >= 0);
    int status = run_waiters(waiters, usable, count > 1 ? strtoul(arguments[1], NULL, 10) : 1000);
    kill(sleeper, SIGKILL);
    return status;
}
