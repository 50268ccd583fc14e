/* What was said is kept, in order, until it is flushed to where it belongs;
 * what found no room is at least counted. */
#include "base/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fake_files.h"

struct fixture {
    struct log log;
    struct fake_directory directory;
    char path[320];          /* of a file in it */
    bool is_stderr_replaced; /* since the start, by a file of the program's */
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    fake_directory_create(&fixture.directory);
    snprintf(fixture.path, sizeof(fixture.path), "%s/log", fixture.directory.path);
    log_init(&fixture.log, LOG_WARNING);
    fixture.is_stderr_replaced = false;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    fake_directory_remove(&fixture->directory);
    return 0;
}

static void stderr_is_the_one_of_the_start(struct log *log)
{
    struct stat status;
    fstat(STDERR_FILENO, &status);
    log->stderr_device = status.st_dev;
    log->stderr_inode = status.st_ino;
}

/* What a flush writes to a path, and to stderr. */
static void flush(struct fixture *fixture, const char *path, struct fake_bytes *ret_stderr)
{
    int before = dup(STDERR_FILENO);
    int fd = openat(fixture->directory.fd, "stderr", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dup2(fd, STDERR_FILENO);
    if (fixture->log.has_stderr && !fixture->is_stderr_replaced)
        stderr_is_the_one_of_the_start(&fixture->log);
    *fixture->log.path = '\0';
    if (*path)
        log_set_path(&fixture->log, path);
    log_flush(&fixture->log);
    dup2(before, STDERR_FILENO);
    close(before);
    close(fd);
    *ret_stderr = fake_read(&fixture->directory, "stderr");
    unlinkat(fixture->directory.fd, "stderr", 0);
}

static void assert_flushed_to_stderr(struct fixture *fixture, const char *path, const char *expected)
{
    struct fake_bytes text;
    flush(fixture, path, &text);
    assert_string_equal((char *)text.bytes, expected);
    fake_bytes_free(&text);
}

static void assert_file(struct fixture *fixture, const char *expected)
{
    struct fake_bytes text = fake_read(&fixture->directory, "log");
    assert_string_equal((char *)text.bytes, expected);
    fake_bytes_free(&text);
}

static void lines_come_in_order_and_once(void **state)
{
    struct fixture *fixture = *state;
    log_add(&fixture->log, LOG_WARNING, "one %d", 1);
    log_add(&fixture->log, LOG_ERROR, "two %s", "2");
    assert_flushed_to_stderr(fixture, "", "wallprof: one 1\nwallprof: two 2\n");
    assert_flushed_to_stderr(fixture, "", "");
    log_add(&fixture->log, LOG_ERROR, "%s", "");
    assert_flushed_to_stderr(fixture, "", "wallprof: \n");
}

static void only_what_is_urgent_enough_is_kept(void **state)
{
    static const char *const expected[] = {
        "",
        "wallprof: error\n",
        "wallprof: error\nwallprof: warning\n",
        "wallprof: error\nwallprof: warning\nwallprof: info\n",
        "wallprof: error\nwallprof: warning\nwallprof: info\nwallprof: debug\n",
    };
    struct fixture *fixture = *state;
    for (unsigned level = LOG_OFF; level <= LOG_DEBUG; level++) {
        log_init(&fixture->log, (enum log_level)level);
        log_add(&fixture->log, LOG_ERROR, "error");
        log_add(&fixture->log, LOG_WARNING, "warning");
        log_add(&fixture->log, LOG_INFO, "info");
        log_add(&fixture->log, LOG_DEBUG, "debug");
        assert_flushed_to_stderr(fixture, "", expected[level]);
    }
}

static void a_file_is_appended_to(void **state)
{
    struct fixture *fixture = *state;
    assert_flushed_to_stderr(fixture, fixture->path, ""); /* nothing to say: no file */
    assert_int_equal(fake_directory_entries(&fixture->directory, false), 0);
    fake_write(&fixture->directory, "log", "before\n");
    log_add(&fixture->log, LOG_ERROR, "one");
    assert_flushed_to_stderr(fixture, fixture->path, "");
    log_add(&fixture->log, LOG_ERROR, "two");
    assert_flushed_to_stderr(fixture, fixture->path, "");
    assert_file(fixture, "before\nwallprof: one\nwallprof: two\n");
}

static void a_file_that_cannot_be_opened_is_replaced_by_stderr(void **state)
{
    struct fixture *fixture = *state;
    log_add(&fixture->log, LOG_ERROR, "text");
    assert_flushed_to_stderr(
        fixture, "/no/such/directory/log",
        "wallprof: text\nwallprof: cannot write messages to /no/such/directory/log: No such "
        "file or directory; using stderr\n");
}

static void a_closed_stderr_is_not_written_to(void **state)
{
    struct fixture *fixture = *state;
    fixture->log.has_stderr = false;
    log_add(&fixture->log, LOG_ERROR, "one");
    assert_flushed_to_stderr(fixture, "", "");
    assert_flushed_to_stderr(fixture, fixture->path, "");
    assert_file(fixture, "wallprof: one\n");
}

/* The program has closed its stderr and got a file of its own under that number. */
static void another_file_is_not_stderr(void **state)
{
    struct fixture *fixture = *state;
    fixture->is_stderr_replaced = true;
    log_add(&fixture->log, LOG_ERROR, "one");
    assert_flushed_to_stderr(fixture, "", "");
}

/* The program writes on after what was said: both have one position in the file. */
static void a_handle_of_a_file_writes_where_the_program_does(void **state)
{
    struct fixture *fixture = *state;
    int before = dup(STDERR_FILENO);
    int fd = openat(fixture->directory.fd, "stderr", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dup2(fd, STDERR_FILENO);
    stderr_is_the_one_of_the_start(&fixture->log);
    fixture->log.has_stderr = true;
    int handle = log_open_stderr_handle();
    bool is_written = write(STDERR_FILENO, "before\n", 7) == 7;
    log_add(&fixture->log, LOG_ERROR, "said");
    log_flush_through(&fixture->log, handle);
    is_written &= write(STDERR_FILENO, "after\n", 6) == 6;
    dup2(before, STDERR_FILENO);
    close(before);
    close(fd);
    close(handle);
    assert_true(is_written);
    struct fake_bytes found = fake_read(&fixture->directory, "stderr");
    static const char expected[] = "before\nwallprof: said\nafter\n";
    assert_int_equal(found.size, sizeof expected - 1);
    assert_memory_equal(found.bytes, expected, sizeof expected - 1);
    fake_bytes_free(&found);
}

/* As flush does, on a descriptor that is stderr for a moment. */
static void flush_to(struct fixture *fixture, int fd)
{
    int before = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    stderr_is_the_one_of_the_start(&fixture->log);
    fixture->log.has_stderr = true;
    log_flush(&fixture->log);
    dup2(before, STDERR_FILENO);
    close(before);
}

/* Fills a pipe or a socket up to the last byte, without setting anything in it for good. */
static void fill_up(int fd)
{
    static const char dots[4096];
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    while (write(fd, dots, sizeof dots) > 0) {
    }
    while (write(fd, dots, 1) > 0) {
    }
    fcntl(fd, F_SETFL, flags);
}

static void read_all(int fd, char *ret, size_t bytes)
{
    size_t used = 0;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (ssize_t got; (got = read(fd, ret + used, bytes - 1 - used)) > 0;)
        used = ret[0] == '\0' ? 0 : used + (size_t)got; /* what it was filled with is no text */
    ret[used] = '\0';
}

/* A reader that does not read makes nobody wait. What it was to be told is told as soon as there is room. */
static void check_a_full(struct fixture *fixture, const int ends[2])
{
    static char text[1 << 20];
    int flags = fcntl(ends[1], F_GETFL);
    fill_up(ends[1]);
    log_add(&fixture->log, LOG_ERROR, "one");
    for (int i = 0; i < 2; i++) {
        flush_to(fixture, ends[1]);
        assert_int_equal(fixture->log.unread_bytes, sizeof "wallprof: one\n" - 1);
    }
    assert_int_equal(fcntl(ends[1], F_GETFL), flags);
    read_all(ends[0], text, sizeof text);
    log_add(&fixture->log, LOG_ERROR, "two");
    flush_to(fixture, ends[1]);
    assert_int_equal(fixture->log.unread_bytes, 0);
    read_all(ends[0], text, sizeof text);
    assert_string_equal(text, "wallprof: one\nwallprof: two\n");
    close(ends[0]);
    close(ends[1]);
}

static void a_full_pipe_is_not_waited_for(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    check_a_full(*state, ends);
}

static void a_full_socket_is_not_waited_for(void **state)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    check_a_full(*state, ends);
}

/* More than a pipe takes, tried again and again: the notice of what found no room is there once. */
static void what_is_never_read_stays_bounded(void **state)
{
    struct fixture *fixture = *state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fill_up(ends[1]);
    for (int i = 0; i < 3000; i++) {
        log_add(&fixture->log, LOG_ERROR, "%d", i);
        if (i % 100 == 0)
            flush_to(fixture, ends[1]);
        assert_true(fixture->log.used_bytes <= LOG_CAPACITY_BYTES);
    }
    assert_memory_equal(fixture->log.text, "wallprof: 0\nwallprof: 1\n", 24);
    close(ends[0]);
    close(ends[1]);
}

/* A FIFO that nobody reads cannot even be opened; stderr is next. */
static void a_log_file_without_a_reader_is_not_waited_for(void **state)
{
    struct fixture *fixture = *state;
    struct fake_bytes text;
    assert_int_equal(mkfifo(fixture->path, 0600), 0);
    log_add(&fixture->log, LOG_ERROR, "text");
    flush(fixture, fixture->path, &text);
    assert_non_null(strstr((char *)text.bytes, "No such device or address; using stderr\n"));
    fake_bytes_free(&text);
}

static void a_long_line_is_cut(void **state)
{
    struct fixture *fixture = *state;
    char text[3000];
    struct fake_bytes written;
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    log_add(&fixture->log, LOG_ERROR, "%s", text);
    log_add(&fixture->log, LOG_ERROR, "next");
    flush(fixture, "", &written);
    assert_int_equal(written.size, 10 + 1023 + 1 + 15);
    assert_memory_equal(written.bytes + 10 + 1023, "\nwallprof: next\n", 16);
    fake_bytes_free(&written);
}

/* Lines of that many bytes with prefix and newline, until one is dropped. Returns how many were kept. */
static size_t fill(struct log *log, int line_bytes)
{
    size_t kept = 0;
    for (; log->dropped == 0; kept++)
        log_add(log, LOG_ERROR, "%0*d", line_bytes - 11, 0);
    log_add(log, LOG_ERROR, "%0*d", line_bytes - 11, 0);
    assert_int_equal(log->dropped, 2);
    return kept - 1;
}

/* However long the lines are, and so however little room is left. */
static void what_found_no_room_is_counted(void **state)
{
    static const int sizes[] = {1000, 100, 64, 50, 16};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct fake_bytes text;
        log_init(&fixture->log, LOG_WARNING);
        size_t kept = fill(&fixture->log, sizes[i]);
        assert_in_range(kept, LOG_CAPACITY_BYTES / sizes[i] - 8, LOG_CAPACITY_BYTES / sizes[i]);
        assert_true(fixture->log.used_bytes <= LOG_CAPACITY_BYTES);
        flush(fixture, "", &text);
        if (!strstr((char *)text.bytes, "wallprof: 2 more messages found no room\n"))
            fail_msg("lines of %d bytes: nothing is said of the two that were dropped", sizes[i]);
        fake_bytes_free(&text);
        assert_flushed_to_stderr(fixture, "", ""); /* and the count starts anew */
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(lines_come_in_order_and_once),
        TEST(only_what_is_urgent_enough_is_kept),
        TEST(a_file_is_appended_to),
        TEST(a_file_that_cannot_be_opened_is_replaced_by_stderr),
        TEST(a_closed_stderr_is_not_written_to),
        TEST(another_file_is_not_stderr),
        TEST(a_handle_of_a_file_writes_where_the_program_does),
        TEST(a_full_pipe_is_not_waited_for),
        TEST(a_full_socket_is_not_waited_for),
        TEST(what_is_never_read_stays_bounded),
        TEST(a_log_file_without_a_reader_is_not_waited_for),
        TEST(a_long_line_is_cut),
        TEST(what_found_no_room_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
