#include "view_serve.h"
#include "base/number_names.h"
#include "tool/io/command.h"
#include "tool/io/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process of its own answers a request, and ends after so long whatever the browser does. */
enum { REQUEST_BYTES = 8192, CONNECTION_MAX_S = 60, BACKLOG = 16 };

struct server {
    const char *page;
    size_t page_bytes;
    char target[64 + NAME_MAX]; /* "/SECRET/NAME" */
    int listener, signals;
    unsigned port;
};

/* ---- the start ---- */

static int map_page(struct server *server, const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0)
        return command_fail("%s: %s", path, error_text(errno));
    server->page_bytes = (size_t)status.st_size;
    server->page = mmap(NULL, server->page_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return server->page == MAP_FAILED ? command_fail("%s: %s", path, error_text(errno)) : 0;
}

static int open_port(struct server *server, unsigned port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof address;
    const int yes = 1;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->listener < 0)
        return command_fail("no socket: %s", error_text(errno));
    setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(server->listener, (struct sockaddr *)&address, bytes) < 0 ||
        listen(server->listener, BACKLOG) < 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &bytes) < 0)
        return command_fail("port %u: %s", port, error_text(errno));
    server->port = ntohs(address.sin_port);
    return 0;
}

static int open_signals(struct server *server)
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigprocmask(SIG_BLOCK, &ending, NULL);
    signal(SIGCHLD, SIG_IGN); /* nobody waits for those that answer */
    server->signals = signalfd(-1, &ending, SFD_CLOEXEC);
    return server->signals < 0 ? command_fail("no signalfd: %s", error_text(errno)) : 0;
}

/* Letters of a name that need no quoting in an address; others become '_'. */
static int choose_target(struct server *server, const char *name)
{
    uint64_t secret[2];
    if (getrandom(secret, sizeof secret, 0) != sizeof secret)
        return command_fail("no random numbers: %s", error_text(errno));
    int at = snprintf(server->target, sizeof server->target, "/%016" PRIx64 "%016" PRIx64 "/", secret[0],
                      secret[1]);
    for (; *name && at + 1 < (int)sizeof server->target; name++)
        server->target[at++] = strchr("-._", *name) || (*name >= '0' && *name <= '9') ||
                                       ((*name | 32) >= 'a' && (*name | 32) <= 'z')
                                   ? *name
                                   : '_';
    server->target[at] = '\0';
    return 0;
}

static int say_address(const struct server *server)
{
    char host[HOST_NAME_MAX + 1] = "HOST";
    gethostname(host, sizeof host - 1);
    printf("http://127.0.0.1:%u%s\n", server->port, server->target);
    int status = output_printed();
    fprintf(stderr,
            "wallprof: from another machine: ssh -L %u:127.0.0.1:%u %s, and open the same address there\n"
            "wallprof: Ctrl-C ends it\n",
            server->port, server->port, host);
    return status;
}

/* ---- a request ---- */

static bool send_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return false;
        bytes += sent > 0 ? sent : 0;
        count -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

/* Reads to the end of the head, which is all that is needed. */
static bool read_request(int fd, char ret[REQUEST_BYTES])
{
    size_t used = 0;
    while (used + 1 < REQUEST_BYTES) {
        ssize_t count = recv(fd, ret + used, REQUEST_BYTES - 1 - used, 0);
        if (count <= 0)
            return false;
        used += (size_t)count;
        ret[used] = '\0';
        if (strstr(ret, "\r\n\r\n") || strstr(ret, "\n\n"))
            return true;
    }
    return false;
}

static void answer(const struct server *server, int fd)
{
    char request[REQUEST_BYTES], method[8] = "", target[512] = "", head[256];
    if (!read_request(fd, request))
        return;
    sscanf(request, "%7s %511s", method, target);
    const bool is_head = strcmp(method, "HEAD") == 0, is_read = is_head || strcmp(method, "GET") == 0;
    const bool is_found = is_read && strcmp(target, server->target) == 0;
    const char *status = is_found ? "200 OK" : is_read ? "404 Not Found" : "405 Method Not Allowed";
    const size_t bytes = is_found ? server->page_bytes : 0;
    snprintf(head, sizeof head,
             "HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %zu\r\n"
             "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
             status, bytes);
    if (send_all(fd, head, strlen(head)) && !is_head)
        send_all(fd, server->page, bytes);
}

static void answer_apart(const struct server *server, int fd)
{
    pid_t child = fork();
    if (child == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        alarm(CONNECTION_MAX_S);
        answer(server, fd);
        _exit(0);
    }
    close(fd);
}

static int serve(const struct server *server)
{
    struct pollfd events[] = {{.fd = server->listener, .events = POLLIN},
                              {.fd = server->signals, .events = POLLIN}};
    for (;;) {
        if (poll(events, 2, -1) < 0 && errno != EINTR)
            return command_fail("poll: %s", error_text(errno));
        if (events[1].revents)
            return 0;
        int fd = events[0].revents ? accept4(server->listener, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (fd >= 0)
            answer_apart(server, fd);
    }
}

int view_serve(const char *path, const char *name, unsigned port)
{
    struct server server = {.listener = -1, .signals = -1};
    int status = map_page(&server, path);
    if (status == 0)
        status = open_port(&server, port);
    if (status == 0)
        status = choose_target(&server, name);
    if (status == 0)
        status = open_signals(&server);
    if (status == 0)
        status = say_address(&server);
    return status ? status : serve(&server);
}
