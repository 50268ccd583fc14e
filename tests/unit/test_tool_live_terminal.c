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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_deadline_that_has_passed_comes_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
