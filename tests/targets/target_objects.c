/*
 * Threads that wait for what is no lock: files, sockets, pipes, children.
 *
 *     target_objects held MS DIRECTORY   each thread waits for one thing for MS, from when all do. Records
 *                                        that time only (WALLPROF_START=0). Prints the truth, a line WAITER -
 *                                        ON for each: "-" where nothing can be said.
 *     target_objects swap MS DIRECTORY   each thread makes a thing of its own kind, waits for it, and closes
 *                                        it, as often as it can: so all use the same few descriptors. Prints
 *                                        a line WAITER - ON for each.
 */
#include "target.h"
#include "wallprof.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { WAITERS_MAX = 48, TEXT_BYTES = 256 };

static struct waiter {
    char name[16], on[TEXT_BYTES];
    void (*wait)(int fd);
    int fd;
    long number; /* of the system call */
    pid_t tid;   /* atomic */
} waiters[WAITERS_MAX];
static int count;
static bool is_over; /* atomic */

static int must(int result, const char *what)
{
    if (result < 0)
        die(what);
    return result;
}

static void *run(void *argument)
{
    struct waiter *one = argument;
    CHECK(pthread_setname_np(pthread_self(), one->name) == 0);
    __atomic_store_n(&one->tid, gettid(), __ATOMIC_SEQ_CST);
    one->wait(one->fd);
    return NULL;
}

__attribute__((format(printf, 5, 6))) static void begin(const char *name, void (*wait)(int fd), int fd,
                                                        long number, const char *on, ...)
{
    struct waiter *one = &waiters[count++];
    pthread_t thread;
    va_list arguments;
    snprintf(one->name, sizeof one->name, "%s", name);
    va_start(arguments, on);
    vsnprintf(one->on, sizeof one->on, on, arguments);
    va_end(arguments);
    one->wait = wait;
    one->fd = fd;
    one->number = number;
    if (pthread_create(&thread, NULL, run, one) != 0)
        die("pthread_create");
}

/* Whether a thread is blocked in that system call. */
static bool is_blocked(const struct waiter *one)
{
    char path[64], line[256] = "";
    long number = -1;
    const pid_t tid = __atomic_load_n(&one->tid, __ATOMIC_SEQ_CST);
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)tid);
    FILE *file = tid ? fopen(path, "r") : NULL;
    if (!file)
        return false;
    const bool is_read = fgets(line, sizeof line, file) && sscanf(line, "%ld 0x", &number) == 1;
    fclose(file);
    return is_read && number == one->number;
}

/* ---- ways to wait ---- */

static char byte, message[128]; /* as much as a signalfd wants */

static void wait_read(int fd)
{
    (void)!read(fd, message, sizeof message);
    KEEP_CALL();
}

static void wait_receive(int fd)
{
    recv(fd, &byte, 1, 0);
    KEEP_CALL();
}

static void wait_accept(int fd)
{
    accept(fd, NULL, NULL);
    KEEP_CALL();
}

static void wait_flock(int fd)
{
    flock(fd, LOCK_EX);
    KEEP_CALL();
}

static void wait_lock(int fd)
{
    struct flock lock = {.l_type = F_WRLCK};
    fcntl(fd, F_OFD_SETLKW, &lock);
    KEEP_CALL();
}

static void wait_write(int fd)
{
    while (write(fd, message, sizeof message) > 0)
        continue;
    KEEP_CALL();
}

static void wait_poll(int fd)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    poll(&polled, 1, -1);
    KEEP_CALL();
}

/* For one; or, below 0, for what is in all three sets. */
static fd_set to_read, to_write, to_except;

static void wait_select(int fd)
{
    fd_set one;
    FD_ZERO(&one);
    if (fd >= 0)
        FD_SET(fd, &one);
    pselect(FD_SETSIZE, fd >= 0 ? &one : &to_read, fd >= 0 ? NULL : &to_write, fd >= 0 ? NULL : &to_except,
            NULL, NULL);
    KEEP_CALL();
}

static void wait_epoll(int fd)
{
    struct epoll_event event;
    epoll_wait(fd, &event, 1, -1);
    KEEP_CALL();
}

static void wait_child(int pid)
{
    waitpid(pid, NULL, 0);
    KEEP_CALL();
}

static void wait_queue(int fd)
{
    char received[8192];
    mq_receive(fd, received, sizeof received, NULL);
    KEEP_CALL();
}

static void wait_sleep(int fd)
{
    const struct timespec hour = {.tv_sec = 3600};
    (void)fd;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL);
    KEEP_CALL();
}

/* Under a filter of system calls nobody asks for peers. */
static bool tells_peers(void)
{
    char text[4096];
    const int fd = must(open("/proc/self/status", O_RDONLY), "/proc/self/status");
    const ssize_t bytes = read(fd, text, sizeof text - 1);
    text[bytes > 0 ? bytes : 0] = '\0';
    close(fd);
    return strstr(text, "\nSeccomp:\t0\n");
}

/* ---- things ---- */

/* Who has the other end of a pipe or socket is looked for as far as that is paid for, and not longer than 10
 * ms. On a machine with many processes there is only its kind: that is right too. What is said where it can
 * be paid for is in tests/unit/test_other_ends.c. */

/* What is said of both ends where all can be seen who might have one. */
static const char *within(void)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)getppid());
    return access(path, R_OK | X_OK) == 0 ? " within this process" : "";
}

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un un;
};

/* Bound to the loopback's address; its port in *ret. */
static int bound(int family, int type, union address *ret, socklen_t *ret_bytes)
{
    const int fd = socket(family, type, 0);
    memset(ret, 0, sizeof *ret);
    ret->any.sa_family = (sa_family_t)family;
    *ret_bytes = family == AF_INET ? sizeof ret->v4 : sizeof ret->v6;
    if (family == AF_INET)
        ret->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        ret->v6.sin6_addr = in6addr_loopback;
    if (fd < 0 || bind(fd, &ret->any, *ret_bytes) != 0) /* without IPv6 */
        return -1;
    must(getsockname(fd, &ret->any, ret_bytes), "getsockname");
    return fd;
}

static int connected(int family, int type, const union address *to, socklen_t bytes)
{
    const int fd = must(socket(family, type, 0), "socket");
    must(connect(fd, &to->any, bytes), "connect");
    return fd;
}

static void begin_tcp(void)
{
    union address address;
    socklen_t bytes;
    int server = must(bound(AF_INET, SOCK_STREAM, &address, &bytes), "bind");
    must(listen(server, 8), "listen");
    const int port = ntohs(address.v4.sin_port), client = connected(AF_INET, SOCK_STREAM, &address, bytes);
    const int accepted = must(accept(server, NULL, NULL), "accept");
    begin("accept", wait_accept, server, SYS_accept, "tcp listening 127.0.0.1:%d", port);
    begin("client", wait_receive, client, SYS_recvfrom, "tcp 127.0.0.1:%d", port);
    begin("reader", wait_read, client, SYS_read, "tcp 127.0.0.1:%d", port);
    begin("server", wait_receive, accepted, SYS_recvfrom, "tcp :%d clients", port);
#ifdef SYS_poll
    begin("poll", wait_poll, client, SYS_poll, "tcp 127.0.0.1:%d", port);
#endif
    server = bound(AF_INET6, SOCK_STREAM, &address, &bytes);
    if (server < 0)
        return;
    must(listen(server, 8), "listen");
    begin("client6", wait_receive, connected(AF_INET6, SOCK_STREAM, &address, bytes), SYS_recvfrom,
          "tcp [::1]:%d", ntohs(address.v6.sin6_port));
    begin("server6", wait_receive, must(accept(server, NULL, NULL), "accept"), SYS_recvfrom,
          "tcp :%d clients", ntohs(address.v6.sin6_port));
}

static void begin_udp(void)
{
    union address address;
    socklen_t bytes;
    const int peer = must(bound(AF_INET, SOCK_DGRAM, &address, &bytes), "bind");
    begin("udp-client", wait_receive, connected(AF_INET, SOCK_DGRAM, &address, bytes), SYS_recvfrom,
          "udp 127.0.0.1:%d", ntohs(address.v4.sin_port));
    begin("udp", wait_receive, peer, SYS_recvfrom, "udp");
}

static void begin_unix(const char *directory)
{
    union address address = {.un = {.sun_family = AF_UNIX}};
    int pair[2];
    snprintf(address.un.sun_path, sizeof address.un.sun_path, "%s/a socket", directory);
    const int server = must(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
    must(bind(server, &address.any, sizeof address.un), "bind");
    must(listen(server, 8), "listen");
    begin("unix-client", wait_receive, connected(AF_UNIX, SOCK_STREAM, &address, sizeof address.un),
          SYS_recvfrom, "unix%s%s|unix", tells_peers() ? " " : "", tells_peers() ? address.un.sun_path : "");
    begin("unix-server", wait_receive, must(accept(server, NULL, NULL), "accept"), SYS_recvfrom,
          "unix %s clients", address.un.sun_path);
    begin("unix-accept", wait_accept, server, SYS_accept, "unix listening %s", address.un.sun_path);
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
    begin("unix-pair", wait_read, pair[0], SYS_read, "unix%s|unix", tells_peers() ? within() : "");
}

static void begin_files(const char *directory)
{
    char path[TEXT_BYTES];
    snprintf(path, sizeof path, "%s/journal", directory);
    for (int i = 0; i < 2; i++) {
        const int held = must(open(path, O_CREAT | O_RDWR, 0600), path);
        const int fd = must(open(path, O_RDWR), path);
        struct flock lock = {.l_type = F_WRLCK};
        must(i ? flock(held, LOCK_EX) : fcntl(held, F_OFD_SETLK, &lock), "lock");
        begin(i ? "flock" : "fcntl", i ? wait_flock : wait_lock, fd, i ? SYS_flock : SYS_fcntl, "file %s",
              path);
    }
    const int terminal = must(posix_openpt(O_RDWR | O_NOCTTY), "posix_openpt");
    CHECK(grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    const int fd = must(open(ptsname(terminal), O_RDWR | O_NOCTTY), "ptsname");
    begin("tty", wait_read, fd, SYS_read, "tty %s", ptsname(terminal));
    const int queue = mq_open("/wallprof-objects", O_CREAT | O_RDONLY, 0600, NULL);
    if (queue >= 0) {
        mq_unlink("/wallprof-objects");
        begin("queue", wait_queue, queue, SYS_mq_timedreceive, "mqueue /wallprof-objects%s", " (deleted)");
    }
}

static int set_of(int first, int second)
{
    struct epoll_event event = {.events = EPOLLIN};
    const int set = epoll_create1(0);
    must(epoll_ctl(set, EPOLL_CTL_ADD, first, &event), "epoll_ctl");
    if (second >= 0)
        must(epoll_ctl(set, EPOLL_CTL_ADD, second, &event), "epoll_ctl");
    return set;
}

/* That cannot be written to. */
static int full_event(void)
{
    const int fd = must(eventfd(0, 0), "eventfd");
    CHECK(eventfd_write(fd, UINT64_MAX - 1) == 0);
    return fd;
}

static void begin_events(void)
{
    int ends[2];
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    must(pipe(ends), "pipe");
    begin("pipe", wait_read, ends[0], SYS_read, "pipe%s|pipe", within());
    begin("select", wait_select, ends[0], SYS_pselect6, "pipe%s|pipe", within());
    FD_SET(ends[0], &to_read);
    FD_SET(full_event(), &to_write);
    FD_SET(inotify_init(), &to_except);
    begin("select-sets", wait_select, -1, SYS_pselect6,
          "select of 1 eventfd, 1 inotify, %spipe%s|select of 1 eventfd, 1 inotify, 1 pipe",
          *within() ? "" : "1 ", within());
    begin("eventfd", wait_read, eventfd(0, 0), SYS_read, "eventfd");
    begin("timerfd", wait_read, timerfd_create(CLOCK_MONOTONIC, 0), SYS_read, "timerfd");
    begin("signalfd", wait_read, signalfd(-1, &signals, 0), SYS_read, "signalfd");
    begin("inotify", wait_read, inotify_init(), SYS_read, "inotify");
#ifdef SYS_epoll_wait
    begin("epoll", wait_epoll, epoll_create1(0), SYS_epoll_wait, "epoll");
    begin("epoll-set", wait_epoll, set_of(ends[0], eventfd(0, 0)), SYS_epoll_wait,
          "epoll of 1 eventfd, %spipe%s|epoll of 1 eventfd, 1 pipe", *within() ? "" : "1 ", within());
    begin("epoll-one", wait_epoll, set_of(ends[0], -1), SYS_epoll_wait, "pipe%s|pipe", within());
#endif
    begin("sleep", wait_sleep, -1, SYS_clock_nanosleep, "-");
}

static pid_t begin_child(void)
{
    int from[2], to[2], both[2];
    must(pipe(from), "pipe");
    must(pipe(to), "pipe");
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, both), "socketpair");
    const pid_t child = must(fork(), "fork");
    close(child ? from[1] : from[0]);
    close(child ? to[0] : to[1]);
    close(both[child ? 1 : 0]);
    if (child == 0) {
        prctl(PR_SET_NAME, "a child");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)!write(from[1], "", 1);
        for (;;)
            pause();
    }
    CHECK(read(from[0], &byte, 1) == 1);
    begin("pipe-from", wait_read, from[0], SYS_read, "pipe from a child (pid %d)|pipe", (int)child);
    begin("pipe-to", wait_write, to[1], SYS_write, "pipe to a child (pid %d)|pipe", (int)child);
    if (tells_peers())
        begin("pair", wait_read, both[0], SYS_read, "unix a child (pid %d)|unix", (int)child);
    begin("child", wait_child, child, SYS_wait4, "child %d a child", (int)child);
    begin("children", wait_child, -1, SYS_wait4, "child");
    return child;
}

static void print_truth(void)
{
    for (int i = 0; i < count; i++)
        printf("%s\t-\t%s\n", waiters[i].name, waiters[i].on);
    fflush(stdout);
}

static void hold(unsigned ms, const char *directory)
{
    signal(SIGPIPE, SIG_IGN); /* of who writes to the child, at its end */
    const pid_t child = begin_child();
    begin_tcp();
    begin_udp();
    begin_unix(directory);
    begin_files(directory);
    begin_events();
    for (int i = 0; i < count; i++) {
        while (!is_blocked(&waiters[i]))
            usleep(1000);
    }
    wallprof_start();
    usleep(ms * 1000);
    wallprof_stop();
    print_truth();
    kill(child, SIGKILL);
}

/* ---- swap ---- */

static void wait_a_moment(int fd)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    poll(&polled, 1, 2);
    KEEP_CALL();
}

static void swap_pipes(int unused)
{
    int ends[2];
    (void)unused;
    while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST)) {
        must(pipe(ends), "pipe");
        wait_a_moment(ends[0]);
        close(ends[0]);
        close(ends[1]);
    }
}

static void swap_events(int unused)
{
    (void)unused;
    while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST)) {
        const int fd = must(eventfd(0, 0), "eventfd");
        wait_a_moment(fd);
        close(fd);
    }
}

/* Each by a port of its own. */
static void swap_connections(int server)
{
    union address address;
    socklen_t bytes = sizeof address;
    must(getsockname(server, &address.any, &bytes), "getsockname");
    while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST)) {
        const int fd = connected(AF_INET, SOCK_STREAM, &address, bytes);
        const int accepted = must(accept(server, NULL, NULL), "accept");
        wait_a_moment(fd);
        close(fd);
        close(accepted);
    }
}

static void swap_datagrams(int peer)
{
    union address address;
    socklen_t bytes = sizeof address;
    must(getsockname(peer, &address.any, &bytes), "getsockname");
    while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST)) {
        const int fd = connected(AF_INET, SOCK_DGRAM, &address, bytes);
        wait_a_moment(fd);
        close(fd);
    }
}

static void swap(unsigned ms)
{
    union address address;
    socklen_t bytes;
    char name[16];
    begin("pipes", swap_pipes, -1, 0, "pipe|pipe within this process");
    begin("events", swap_events, -1, 0, "eventfd");
    for (int i = 0; i < 3; i++) {
        const int server = must(bound(AF_INET, SOCK_STREAM, &address, &bytes), "bind");
        must(listen(server, 8), "listen");
        snprintf(name, sizeof name, "tcp-%d", i);
        begin(name, swap_connections, server, 0, "tcp 127.0.0.1:%d", ntohs(address.v4.sin_port));
        const int peer = must(bound(AF_INET, SOCK_DGRAM, &address, &bytes), "bind");
        snprintf(name, sizeof name, "udp-%d", i);
        begin(name, swap_datagrams, peer, 0, "udp 127.0.0.1:%d", ntohs(address.v4.sin_port));
    }
    usleep(ms * 1000);
    __atomic_store_n(&is_over, true, __ATOMIC_SEQ_CST);
    print_truth();
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    const unsigned ms = (unsigned)atoi(argv[2]);
    if (strcmp(argv[1], "held") == 0)
        hold(ms, argv[3]);
    else
        swap(ms);
    fflush(stdout);
    _exit(failures != 0);
}
