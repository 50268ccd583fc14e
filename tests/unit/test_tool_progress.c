/* Who waits for names at a terminal is told what for; who does not, or not for long, is told nothing. */
#include "tool/debug/debug_info.h"
#include "tool/debug/names.h"

#include "lib/unit.h"
#include "lib/fake_profile.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEARD_BYTES = 4096 };

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

/* ---- names that take long ---- */

enum { FILES = 17, FILES_BEFORE = 3, WAIT_MS = 1500, HEARD_MAX_MS = 60000 };

static const char slow_path[] = "/usr/lib/lib\033[2Jfoo.so";

/* Where the progress is heard of while the slow file is read; -1: it is read for so long as it would take. */
static int heard_fd = -1;

/* In place of the tool's: what a program defines itself is not taken out of an archive. */
int debug_info_read(const struct debug_module *module, const uint64_t *addresses, size_t count,
                    struct frame_table *ret)
{
    struct pollfd heard = {.fd = heard_fd, .events = POLLIN};
    (void)addresses, (void)count, (void)ret;
    if (strcmp(module->path, slow_path) == 0)
        poll(&heard, 1, heard_fd < 0 ? WAIT_MS : HEARD_MAX_MS);
    return -ENOENT;
}

/* A file by itself for each of the locations; the slow one is the fourth by name. */
static void make_profile(struct fake_profile *fake)
{
    fake_profile_init(fake, 1 << 16);
    for (int i = 0; i < FILES; i++) {
        char path[32];
        snprintf(path, sizeof path, "/usr/lib/%s%d.so", i < FILES_BEFORE ? "a" : "z", i);
        fake_profile_plain(fake, fake_profile_module(fake, i == FILES_BEFORE ? slow_path : path), "f");
    }
}

static void wait_for_names(bool is_quiet)
{
    const struct names_options options = {.is_quiet = is_quiet};
    struct fake_profile fake;
    struct symbols *symbols;
    setenv("WALLPROF_CACHE", "off", 1);
    make_profile(&fake);
    assert_int_equal(names_make(&fake.profile, &options, &symbols), 0);
    assert_int_equal(symbols->lost_file_count, FILES);
    names_release(symbols);
    fake_profile_deinit(&fake);
}

/* Says what the terminal has heard of it. */
static void wait_at_terminal(bool is_quiet, char heard[HEARD_BYTES])
{
    struct terminal terminal;
    terminal_open(&terminal);
    heard_fd = is_quiet ? -1 : terminal.primary;
    wait_for_names(is_quiet);
    heard_fd = -1;
    terminal_close(&terminal, heard);
}

static void a_file_that_takes_long_is_named(void **state)
{
    char heard[HEARD_BYTES];
    const char *line = "\r\033[Kwallprof: reading debug information: 3 of 17 modules, lib?[2Jfoo.so";
    wait_at_terminal(false, heard);
    assert_non_null(strstr(heard, line));
    assert_string_equal(heard + strlen(heard) - 4, "\r\033[K"); /* and the line is gone at the end */
}

static void nothing_is_said_unasked(void **state)
{
    char heard[HEARD_BYTES];
    wait_at_terminal(true, heard);
    assert_string_equal(heard, "");
}

static void nothing_is_said_where_no_terminal_is(void **state)
{
    int saved = dup(STDERR_FILENO), ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    wait_for_names(false);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
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
