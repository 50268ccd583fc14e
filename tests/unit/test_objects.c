/* What threads wait for that is no lock: by calls, links and rows as the kernel writes them. */
#include "lib/unit.h"
#include "waits/blocking_calls.h"
#include "waits/descriptor_names.h"
#include "waits/object_sets.h"
#include "waits/sockets.h"
#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- calls ---- */

static struct blocking_call call(long number, uint64_t first, uint64_t second)
{
    const uint64_t arguments[6] = {first, second};
    return blocking_call_of(number, arguments);
}

static void a_call_waits_for_its_descriptor(void **state)
{
    static const long numbers[] = {SYS_read, SYS_recvfrom, SYS_accept4, SYS_connect, SYS_fsync, SYS_flock};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_int_equal(call(numbers[i], 7, 0).kind, BLOCKING_DESCRIPTOR);
        assert_int_equal(call(numbers[i], 7, 0).descriptor, 7);
    }
    assert_int_equal(call(SYS_read, 0xffffffff, 0).descriptor, -1);
    assert_int_equal(call(SYS_fcntl, 7, F_SETLKW).kind, BLOCKING_DESCRIPTOR);
    assert_int_equal(call(SYS_fcntl, 7, F_GETFL).kind, BLOCKING_OTHER);
    assert_int_equal(call(SYS_close, 7, 0).kind, BLOCKING_OTHER);
    assert_int_equal(call(SYS_nanosleep, 7, 0).kind, BLOCKING_OTHER);
    assert_int_equal(call(-1, 7, 0).kind, BLOCKING_OTHER);
    assert_int_equal(call(SYS_mq_timedreceive, 7, 0).kind, BLOCKING_QUEUE);
}

static void sets_are_polled(void **state)
{
    assert_int_equal(call(SYS_ppoll, 4096, 1).kind, BLOCKING_POLL);
    assert_int_equal(call(SYS_ppoll, 4096, 1).polled, 4096);
    assert_int_equal(call(SYS_ppoll, 4096, 2).polled_count, 2);
    assert_int_equal(call(SYS_epoll_pwait, 7, 0).kind, BLOCKING_EPOLL);
    assert_int_equal(call(SYS_epoll_pwait, 7, 0).descriptor, 7);
    assert_int_equal(call(SYS_ppoll, 0, 0).kind, BLOCKING_OTHER);
    assert_int_equal(call(SYS_pselect6, 0, 4096).kind, BLOCKING_OTHER); /* a sleep */
    assert_int_equal(call(SYS_pselect6, 7, 4096).kind, BLOCKING_SELECT);
    assert_int_equal(call(SYS_pselect6, 7, 4096).selected[0], 4096);
    assert_int_equal(call(SYS_pselect6, 7, 4096).selected[2], 0);
    assert_int_equal(call(SYS_pselect6, 7, 4096).selected_bits, 7);
    assert_int_equal(call(SYS_pselect6, 0xffff00000007, 4096).selected_bits,
                     7); /* an int is half a register */
}

static void a_child_is_named_by_its_pid(void **state)
{
    assert_int_equal(call(SYS_wait4, 4711, 0).kind, BLOCKING_CHILD);
    assert_int_equal(call(SYS_wait4, 4711, 0).child, 4711);
    assert_int_equal(call(SYS_wait4, 0xffffffff, 0).child, 0);
    assert_int_equal(call(SYS_waitid, P_PID, 4711).child, 4711);
    assert_int_equal(call(SYS_waitid, P_ALL, 4711).child, 0);
}

/* ---- links ---- */

static void assert_name(const char *link, const char *wanted)
{
    char name[DESCRIPTOR_NAME_BYTES] = "-";
    const bool is_known = descriptor_name(link, name);
    assert_string_equal(is_known ? name : "-", wanted);
}

static void links_tell_what_descriptors_are(void **state)
{
    assert_name("/var/lib/x.db", "file /var/lib/x.db");
    assert_name("/tmp/x (deleted)", "file /tmp/x (deleted)");
    assert_name("/dev/shm/x", "file /dev/shm/x");
    assert_name("/dev/pts/3", "tty /dev/pts/3");
    assert_name("/dev/ttyS0", "tty /dev/ttyS0");
    assert_name("/dev/fuse", "device /dev/fuse");
    assert_name("pipe:[4711]", "pipe");
    assert_name("anon_inode:[eventfd]", "eventfd");
    assert_name("anon_inode:[eventpoll]", "epoll");
    assert_name("anon_inode:[io_uring]", "io_uring");
    assert_name("anon_inode:inotify", "inotify");
    assert_name("anon_inode:", "-");
    assert_name("net:[4026531840]", "-");
    assert_name("socket:[4711]", "-");
}

static void of_a_long_path_the_end_is_kept(void **state)
{
    char link[DESCRIPTOR_LINK_BYTES], wanted[DESCRIPTOR_NAME_BYTES];
    memset(link, 'x', sizeof link);
    link[0] = '/';
    link[300] = '\0';
    snprintf(wanted, sizeof wanted, "file ...%.200s", link + 100);
    assert_name(link, wanted);
}

static void a_socket_has_an_inode(void **state)
{
    uint64_t inode = 0;
    assert_true(descriptor_is_socket("socket:[4711]", &inode));
    assert_int_equal(inode, 4711);
    assert_false(descriptor_is_socket("pipe:[4711]", &inode));
}

/* ---- sets ---- */

static void assert_set(const char *const *names, uint32_t count, const char *wanted)
{
    struct object_set set = {.count = count};
    char name[KNOWN_OBJECT_BYTES];
    for (uint32_t i = 0; i < count; i++)
        strcpy(set.names[i], names[i]);
    object_set_name(&set, "epoll", name);
    assert_string_equal(name, wanted);
}

static void a_set_is_called_by_its_members(void **state)
{
    const char *const names[] = {"tcp 10.0.0.7:5432", "eventfd", "tcp 10.0.0.8:5432", "eventfd",
                                 "tcp 10.0.0.7:5432"};
    const char *const many[OBJECT_SET_MAX] = {"pipe", "eventfd", "pipe", "pipe", "pipe",
                                              "pipe", "pipe",    "pipe", "pipe", "pipe"};
    const char *const various[] = {"tcp",     "tcp :80 clients", "timerfd 1",
                                   "tcp a:1", "tcp [::1]:1",     "tcp b:1"};
    assert_set(names, 0, "epoll");
    assert_set(names, 1, "tcp 10.0.0.7:5432");
    assert_set(names, 2, "epoll of 1 eventfd, tcp 10.0.0.7:5432");
    assert_set(names, 3, "epoll of 1 eventfd, tcp 10.0.0.7:5432, tcp 10.0.0.8:5432");
    assert_set(names, 5, "epoll of 2 eventfd, tcp 10.0.0.7:5432, tcp 10.0.0.8:5432");
    assert_set(various, 4, "epoll of 3 tcp, timerfd 1");
    assert_set(various + 1, 4, "epoll of tcp :80 clients, tcp [::1]:1, tcp a:1, timerfd 1");
    assert_set(various + 1, 5, "epoll of 4 tcp, timerfd 1");
    assert_set(many, 10, "epoll of 1 eventfd, many pipe");
    assert_set(many + 2, 8, "pipe");
}

static void members_stand_in_a_file(void **state)
{
    static const char *const row = "tfd: %8d events:       19 data:  5  pos:0 ino:61 sdev:9\n";
    char text[4096] = "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1057\n";
    int members[OBJECT_SET_MAX];
    assert_int_equal(object_set_members(text, members), 0);
    for (int i = 1; i <= OBJECT_SET_MAX; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), row, 10 * i);
        assert_int_equal(object_set_members(text, members), i);
        assert_int_equal(members[i - 1], 10 * i);
    }
    snprintf(text + strlen(text), sizeof text - strlen(text), row, 4711);
    assert_int_equal(object_set_members(text, members), -1);
}

/* ---- rows ---- */

#define REST "00000000:00000000 00:00000000 00000000  1000        0 4711 1 000000005ee839f5 100 0 0 10 0"

static struct line line_of(const char *text)
{
    return (struct line){.text = text, .bytes = strlen(text)};
}

static void assert_row(enum socket_table table, const char *text, bool is_listened_on, const char *wanted)
{
    struct socket_row row;
    char name[SOCKET_NAME_BYTES];
    const struct line line = line_of(text);
    assert_true(socket_row_read(&line, table, &row));
    assert_int_equal(row.inode, 4711);
    socket_row_name(&row, is_listened_on, name);
    assert_string_equal(name, wanted);
}

static void a_connection_is_called_by_its_peer(void **state)
{
    assert_row(SOCKET_TCP, "   1: 0100007F:C350 0700000A:1538 01 " REST, false, "tcp 10.0.0.7:5432");
    assert_row(SOCKET_TCP, "   1: 0100007F:C350 0700000A:1538 02 " REST, false, "tcp 10.0.0.7:5432");
    assert_row(SOCKET_TCP6,
               "   1: 00000000000000000000000001000000:C350 00000000000000000000000001000000:1538 01 " REST,
               false, "tcp [::1]:5432");
    assert_row(SOCKET_TCP6,
               "   1: 0000000000000000FFFF00000100007F:C350 0000000000000000FFFF00000700000A:1538 01 " REST,
               false, "tcp 10.0.0.7:5432");
    assert_row(SOCKET_UDP, "  90: 0100007F:C350 0700000A:0035 01 " REST, true, "udp 10.0.0.7:53");
}

static void others_connections_are_called_by_our_port(void **state)
{
    assert_row(SOCKET_TCP, "   0: 00000000:1F90 00000000:0000 0A " REST, true, "tcp listening 0.0.0.0:8080");
    assert_row(SOCKET_TCP, "   1: 0100007F:1F90 0700000A:C350 01 " REST, true, "tcp :8080 clients");
}

static void who_has_no_peer_has_a_port(void **state)
{
    assert_row(SOCKET_UDP, "  90: 00000000:0035 00000000:0000 07 " REST, false, "udp 0.0.0.0:53");
    assert_row(SOCKET_UDP, "  90: 00000000:C350 00000000:0000 07 " REST, false, "udp");
    assert_row(SOCKET_TCP, "   1: 0100007F:C350 00000000:0000 07 " REST, false, "tcp");
}

static void lines_that_are_no_rows_are_none(void **state)
{
    static const char *const texts[] = {
        "",
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
        "   1: 0100007F:C350 0700000A:1538 01", "   1: 0100007F 0700000A:1538 01 " REST,
        "   1: 0100007FC3500 0700000A:1538 01 " REST};
    struct socket_row row;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct line line = line_of(texts[i]);
        assert_false(socket_row_read(&line, SOCKET_TCP, &row));
    }
}

static void assert_unix(const char *text, const char *wanted)
{
    uint64_t inode;
    char name[SOCKET_NAME_BYTES] = "-";
    const struct line line = line_of(text);
    assert_int_equal(socket_row_read_unix(&line, &inode, name), strcmp(wanted, "-") != 0);
    assert_string_equal(name, wanted);
    if (strcmp(wanted, "-") != 0)
        assert_int_equal(inode, 4711);
}

static void unix_sockets_are_called_by_their_path(void **state)
{
    assert_unix("00000000eba131d0: 00000003 00000000 00000000 0001 03  4711", "unix");
    assert_unix("00000000eba131d0: 00000002 00000000 00010000 0001 01  4711 /run/a b",
                "unix listening /run/a b");
    assert_unix("00000000eba131d0: 00000003 00000000 00000000 0001 03  4711 /run/a b",
                "unix /run/a b clients");
    assert_unix("00000000eba131d0: 00000002 00000000 00000000 0002 01  4711 @log", "unix @log");
    assert_unix("Num       RefCount Protocol Flags    Type St Inode Path", "-");
}

/* ---- tables ---- */

static char directory[] = "/tmp/test_objects.XXXXXX";

static void write_table(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/7/net/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_directory(void **state)
{
    char path[128];
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "mkdir -p %s/7/net", directory);
    return system(path);
}

static int remove_directory(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

#define ROW(local, remote, state_of, inode)                                                                  \
    "   0: " local " " remote " " state_of " 00000000:00000000 00:00000000 00000000  0  0 " inode " 1 0\n"

static void assert_found(struct sockets *sockets, int task_directory, uint64_t inode, uint64_t now_ns,
                         const char *wanted)
{
    char name[SOCKET_NAME_BYTES];
    sockets_find(sockets, task_directory, 7, inode, now_ns, name);
    assert_string_equal(name, wanted);
}

static void tables_are_read_as_often_as_is_paid_for(void **state)
{
    struct sockets sockets = {0};
    const int task_directory = open(directory, O_RDONLY | O_DIRECTORY);
    uint64_t now_ns = UINT64_C(1000) * NS_PER_S;
    write_table("tcp", ROW("00000000:1F90", "00000000:0000", "0A", "10")
                           ROW("0100007F:1F90", "0700000A:C350", "01", "11")
                               ROW("0100007F:C351", "0700000A:1538", "01", "12"));
    write_table("udp", ROW("0100007F:C350", "0700000A:0035", "01", "20"));
    write_table("unix", "00: 00000003 00000000 00000000 0001 03  30 /run/x\n");
    assert_found(&sockets, task_directory, 11, now_ns, "tcp :8080 clients");
    write_table("tcp", "");
    assert_found(&sockets, task_directory, 12, now_ns, "tcp 10.0.0.7:5432"); /* of that reading */
    assert_found(&sockets, task_directory, 20, now_ns, "udp 10.0.0.7:53");
    assert_found(&sockets, task_directory, 30, now_ns, "unix /run/x clients");
    assert_found(&sockets, task_directory, 99, now_ns, "");
    write_table("tcp", ROW("0100007F:C352", "0700000A:1539", "01", "99"));
    assert_found(&sockets, task_directory, 99, now_ns, "");
    now_ns += NS_PER_S;
    sockets.credit.paid_until_ns = now_ns;
    assert_found(&sockets, task_directory, 99, now_ns, ""); /* others are paid for first */
    sockets.credit.paid_until_ns = now_ns - 1;
    assert_found(&sockets, task_directory, 99, now_ns, "tcp 10.0.0.7:5433");
    assert_true(sockets.credit.paid_until_ns > now_ns);
    assert_found(&sockets, task_directory, 11, now_ns, "tcp :8080 clients"); /* for ever */
    sockets_deinit(&sockets);
    close(task_directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_waits_for_its_descriptor),
        cmocka_unit_test(sets_are_polled),
        cmocka_unit_test(a_child_is_named_by_its_pid),
        cmocka_unit_test(links_tell_what_descriptors_are),
        cmocka_unit_test(of_a_long_path_the_end_is_kept),
        cmocka_unit_test(a_socket_has_an_inode),
        cmocka_unit_test(a_set_is_called_by_its_members),
        cmocka_unit_test(members_stand_in_a_file),
        cmocka_unit_test(a_connection_is_called_by_its_peer),
        cmocka_unit_test(others_connections_are_called_by_our_port),
        cmocka_unit_test(who_has_no_peer_has_a_port),
        cmocka_unit_test(lines_that_are_no_rows_are_none),
        cmocka_unit_test(unix_sockets_are_called_by_their_path),
        cmocka_unit_test_setup_teardown(tables_are_read_as_often_as_is_paid_for, make_directory,
                                        remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
