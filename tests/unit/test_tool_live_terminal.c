/* What the screen of a process waits for: signals, keys, an end, and the time, in this order. */
#include "tool/live/live_terminal.h"

#include "lib/unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Begins to wait. Keys come from a pipe, as nothing has a terminal here. Returns where they are written to.
 */
static int begin(struct live_terminal *terminal)
{
    int keys[2];
    assert_int_equal(live_terminal_begin(terminal, false), 0);
    assert_int_equal(pipe2(keys, O_CLOEXEC), 0);
    assert_int_equal(dup2(keys[0], STDIN_FILENO), STDIN_FILENO);
    close(keys[0]);
    terminal->has_screen = true;
    return keys[1];
}

static void end(struct live_terminal *terminal, int keys)
{
    close(keys);
    live_terminal_end(terminal);
}

static void put_keys(int keys, const char *text)
{
    assert_int_equal(write(keys, text, strlen(text)), strlen(text));
}

/* A reading may take as long as the interval. */
static void a_deadline_that_has_passed_comes_last(void **state)
{
    (void)state;
    struct live_terminal terminal;
    int key = 0, ended[2];
    const int keys = begin(&terminal);
    assert_int_equal(pipe2(ended, O_CLOEXEC), 0);
    assert_int_equal(live_terminal_wait(&terminal, ended[0], 0, &key), LIVE_TIME);
    close(ended[1]);
    assert_int_equal(live_terminal_wait(&terminal, ended[0], 0, &key), LIVE_ENDED);
    put_keys(keys, "q");
    assert_int_equal(live_terminal_wait(&terminal, ended[0], 0, &key), LIVE_KEY);
    assert_int_equal(key, 'q');
    put_keys(keys, "q");
    raise(SIGTERM);
    assert_int_equal(live_terminal_wait(&terminal, ended[0], 0, &key), LIVE_END);
    close(ended[0]);
    end(&terminal, keys);
}

static void assert_key(struct live_terminal *terminal, int expected)
{
    int key = 0;
    assert_int_equal(live_terminal_wait(terminal, -1, 0, &key), LIVE_KEY);
    assert_int_equal(key, expected);
}

static void what_an_arrow_sends_means_nothing_and_takes_no_key_along(void **state)
{
    (void)state;
    static const char *const arrows[] = {"\033[A", "\033OB", "\033[1;5C"};
    struct live_terminal terminal;
    int key = 0;
    const int keys = begin(&terminal);
    for (size_t i = 0; i < sizeof arrows / sizeof *arrows; i++) {
        put_keys(keys, arrows[i]);
        put_keys(keys, "q");
        assert_int_equal(live_terminal_wait(&terminal, -1, 0, &key), LIVE_RESIZE);
        assert_key(&terminal, 'q');
    }
    put_keys(keys, "\033xq\033");
    assert_key(&terminal, '\033');
    assert_key(&terminal, 'x');
    assert_key(&terminal, 'q');
    assert_key(&terminal, '\033');
    assert_int_equal(live_terminal_wait(&terminal, -1, 0, &key), LIVE_TIME);
    end(&terminal, keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_that_has_passed_comes_last),
        cmocka_unit_test(what_an_arrow_sends_means_nothing_and_takes_no_key_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
