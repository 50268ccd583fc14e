/* Who waits for names at a terminal is told what for; who does not, or not for long, is told nothing. */
#include "tool/debug/debug_child.h"
#include "tool/debug/names_progress.h"

#include "lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <string.h>
#include <unistd.h>

enum { ANSWER_MS = 2500, HEARD_BYTES = 1024 };

struct terminal {
    int primary, saved_stderr;
};

static void terminal_open(struct terminal *terminal)
{
    int secondary;
    assert_int_equal(openpty(&terminal->primary, &secondary, NULL, NULL, NULL), 0);
    terminal->saved_stderr = dup(STDERR_FILENO);
    dup2(secondary, STDERR_FILENO);
    close(secondary);
}

/* What was written to it, as far as it can be had without waiting. */
static void terminal_close(struct terminal *terminal, char heard[HEARD_BYTES])
{
    size_t used = 0;
    struct pollfd wait = {.fd = terminal->primary, .events = POLLIN};
    while (used + 1 < HEARD_BYTES && poll(&wait, 1, 0) > 0 && wait.revents & POLLIN) {
        ssize_t got = read(terminal->primary, heard + used, HEARD_BYTES - 1 - used);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    heard[used] = '\0';
    dup2(terminal->saved_stderr, STDERR_FILENO);
    close(terminal->saved_stderr);
    close(terminal->primary);
}

static int read_slowly(const struct debug_module *module, const uint64_t *addresses, size_t count,
                       struct frame_table *ret)
{
    (void)module, (void)addresses, (void)count, (void)ret;
    usleep(ANSWER_MS * 1000);
    return -ENOENT;
}

/* Waits for a file, and says what the terminal has heard of it, if the progress is wanted. */
static void wait_for_file(bool is_wanted, char heard[HEARD_BYTES])
{
    static const struct debug_bounds bounds = {.cpu_seconds = 10, .wall_seconds = 10};
    const uint64_t address = 0x1000;
    struct terminal terminal;
    struct names_progress progress;
    struct frame_table table;
    terminal_open(&terminal);
    names_progress_begin(&progress, is_wanted);
    names_progress_advance(&progress, 3, 17, "/usr/lib/lib\033[2Jfoo.so");
    const struct debug_module module = {
        .path = "x", .waiting = names_progress_show, .waiting_argument = &progress};
    int status = debug_child_run(read_slowly, &bounds, &module, &address, 1, &table);
    names_progress_end(&progress);
    terminal_close(&terminal, heard);
    assert_int_equal(status, -ENOENT);
}

static void a_file_that_takes_long_is_named(void **state)
{
    char heard[HEARD_BYTES];
    const char *line = "\r\033[Kwallprof: reading debug information: 3 of 17 modules, lib?[2Jfoo.so";
    (void)state;
    wait_for_file(true, heard);
    assert_int_equal(strncmp(heard, line, strlen(line)), 0);
    assert_string_equal(heard + strlen(heard) - 4, "\r\033[K"); /* and the line is gone at the end */
}

static void nothing_is_said_unasked(void **state)
{
    char heard[HEARD_BYTES];
    (void)state;
    wait_for_file(false, heard);
    assert_string_equal(heard, "");
}

static void nothing_is_said_where_no_terminal_is(void **state)
{
    int saved = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
    struct names_progress progress;
    (void)state;
    dup2(null, STDERR_FILENO);
    names_progress_begin(&progress, true);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(null);
    assert_false(progress.is_wanted);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_takes_long_is_named),
        cmocka_unit_test(nothing_is_said_unasked),
        cmocka_unit_test(nothing_is_said_where_no_terminal_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
