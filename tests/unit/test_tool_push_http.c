/* What follows from each status that a server answers with. */
#include "lib/unit.h"
#include "tool/push/push_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    int status;
    enum push_outcome outcome;
} cases[] = {{200, PUSH_SENT},    {204, PUSH_SENT},    {301, PUSH_DENIED},  {307, PUSH_DENIED},
             {400, PUSH_REFUSED}, {401, PUSH_DENIED},  {403, PUSH_DENIED},  {404, PUSH_DENIED},
             {408, PUSH_LATER},   {413, PUSH_REFUSED}, {422, PUSH_REFUSED}, {429, PUSH_LATER},
             {500, PUSH_LATER},   {502, PUSH_LATER},   {503, PUSH_LATER}};

enum { CASES = sizeof cases / sizeof *cases };

struct server {
    pid_t pid;
    char address[64];
};

/* One request on a connection of its own. */
static void reply_to_request(int listening_fd, int status)
{
    char line[1024];
    unsigned body_bytes = 0;
    FILE *connection = fdopen(accept(listening_fd, NULL, NULL), "r+");
    if (!connection)
        _exit(1);
    while (fgets(line, sizeof line, connection) && strcmp(line, "\r\n") != 0)
        sscanf(line, "Content-Length: %u", &body_bytes);
    while (body_bytes-- > 0)
        fgetc(connection);
    fseek(connection, 0, SEEK_CUR); /* from reading to writing */
    fprintf(connection, "HTTP/1.1 %d x\r\nConnection: close\r\n%s\r\n", status,
            status == 204 ? "" : "Content-Length: 0\r\n");
    fclose(connection);
}

static void start_server(struct server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    assert_int_equal(listen(fd, CASES), 0);
    snprintf(server->address, sizeof server->address, "http://127.0.0.1:%d", ntohs(address.sin_port));
    server->pid = fork();
    if (server->pid == 0) {
        for (int i = 0; i < CASES; i++)
            reply_to_request(fd, cases[i].status);
        _exit(0);
    }
    close(fd);
}

static enum push_outcome send_something(struct push_http *http, const char *address)
{
    static const unsigned char bytes[] = "profile";
    static const struct push_credentials none;
    const struct push_profile profile = {.bytes = (unsigned char *)bytes, .count = sizeof bytes};
    struct push_target target = {.interface = PUSH_PARCA, .name = "x"};
    struct push_request request;
    struct push_result result;
    assert_int_equal(push_target_set_address(&target, address), 0);
    assert_int_equal(push_request_init(&request, &target, &profile, "ID"), 0);
    push_http_send(http, &request, &none, &result);
    push_request_free(&request);
    return result.outcome;
}

static void each_status_has_its_outcome(void **state)
{
    const struct push_http_options options = {.authorities = NULL};
    char reason[PUSH_REASON_BYTES];
    struct push_http *http;
    struct server server;
    int status;
    setenv("no_proxy", "*", 1);
    if (push_http_open(&http, &options, reason) < 0) {
        print_message("%s\n", reason);
        skip();
    }
    start_server(&server);
    for (int i = 0; i < CASES; i++)
        assert_int_equal(send_something(http, server.address), cases[i].outcome);
    assert_int_equal(waitpid(server.pid, &status, 0), server.pid);
    assert_int_equal(status, 0);
    push_http_close(http);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_status_has_its_outcome)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
