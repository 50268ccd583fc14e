/* What WALLPROF_IDLE says. */
#include "tool/meaning/idle.h"

#include "lib/unit.h"

#include <stdlib.h>
#include <string.h>

static struct idle_setting setting;

static void read_setting(const char *text)
{
    setenv("WALLPROF_IDLE", text, 1);
    idle_setting_read(&setting);
}

static void nothing_said_hides_and_names_nothing(void **state)
{
    (void)state;
    unsetenv("WALLPROF_IDLE");
    idle_setting_read(&setting);
    assert_false(setting.shows);
    assert_false(idle_setting_has(&setting, "main"));
    read_setting("");
    assert_false(setting.shows || idle_is_shown());
}

static void the_last_word_counts(void **state)
{
    (void)state;
    read_setting("show");
    assert_true(setting.shows && idle_is_shown());
    read_setting("show,hide");
    assert_false(setting.shows);
    read_setting("hide,take,show");
    assert_true(setting.shows);
    assert_true(idle_setting_has(&setting, "take"));
}

static void functions_are_like_patterns_with_their_arguments_or_without(void **state)
{
    (void)state;
    read_setting("Pool::take*,next_job");
    assert_int_equal(setting.pattern_count, 2);
    assert_true(idle_setting_has(&setting, "next_job"));
    assert_true(idle_setting_has(&setting, "next_job(int, long)"));
    assert_true(idle_setting_has(&setting, "Pool::take_one(Job&)"));
    assert_false(idle_setting_has(&setting, "next_jobs"));
    assert_false(idle_setting_has(&setting, "show"));
}

static void too_much_is_left_out(void **state)
{
    static char text[2 * IDLE_TEXT_BYTES];
    (void)state;
    for (int i = 0; i + 2 < IDLE_TEXT_BYTES; i += 2)
        strcat(text, "x,");
    read_setting(text);
    assert_int_equal(setting.pattern_count, IDLE_PATTERNS_MAX);
    memset(text, 'y', sizeof text - 1);
    read_setting(text);
    assert_int_equal(setting.pattern_count, 1);
    assert_int_equal(strlen(setting.patterns[0]), IDLE_TEXT_BYTES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_said_hides_and_names_nothing),
        cmocka_unit_test(the_last_word_counts),
        cmocka_unit_test(functions_are_like_patterns_with_their_arguments_or_without),
        cmocka_unit_test(too_much_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
