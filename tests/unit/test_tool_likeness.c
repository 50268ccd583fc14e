/* What a mistyped word is said to have meant. */
#include "tool/io/likeness.h"

#include "lib/unit.h"

#include <string.h>

static const char *const names[] = {"run",     "record", "top",     "export",
                                    "explain", "merge",  "--focus", "--follow"};

static void assert_meant(const char *word, const char *expected)
{
    struct likeness likeness = {.word = word};
    char text[LIKENESS_TEXT_BYTES];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        likeness_add(&likeness, names[i]);
    if (expected)
        assert_string_equal(likeness.best, expected);
    else
        assert_null(likeness.best);
    assert_int_equal(*likeness_text(&likeness, text) != '\0', expected != NULL);
}

static void letters_may_be_wrong_swapped_missing_or_too_many(void **state)
{
    (void)state;
    assert_meant("tpo", "top");
    assert_meant("expotr", "export");
    assert_meant("explian", "explain");
    assert_meant("merg", "merge");
    assert_meant("recordd", "record");
    assert_meant("--focsu", "--focus");
    assert_meant("TOP", "top");
    assert_meant("top", "top");
}

static void a_part_is_near_and_other_words_are_not(void **state)
{
    (void)state;
    assert_meant("follow", "--follow");
    assert_meant("cord", "record");
    assert_meant("nonsense", NULL);
    assert_meant("x", NULL);
    assert_meant("", NULL);
}

static void long_words_are_compared_by_their_beginning(void **state)
{
    (void)state;
    char word[300];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    struct likeness likeness = {.word = word};
    likeness_add(&likeness, "a");
    assert_null(likeness.best);
    likeness_add(&likeness, word);
    assert_ptr_equal(likeness.best, word);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_may_be_wrong_swapped_missing_or_too_many),
        cmocka_unit_test(a_part_is_near_and_other_words_are_not),
        cmocka_unit_test(long_words_are_compared_by_their_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
