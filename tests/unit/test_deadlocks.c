/* Which circles are deadlocks, and what is said of them. */
#include "waits/deadlocks.h"

#include "lib/unit.h"

#include <string.h>

static const struct deadlock_member circle[] = {{7, 100, 0x4000}, {8, 200, 0x5000}, {9, 300, 0x6000}};

/* The same circle may be found from any of its threads. */
static void a_circle_has_no_first_one(void **state)
{
    const struct deadlock_member turned[] = {circle[1], circle[2], circle[0]};
    assert_true(deadlocks_key(circle, 3) == deadlocks_key(turned, 3));
}

static void another_run_or_lock_is_another_circle(void **state)
{
    struct deadlock_member other[] = {circle[0], circle[1], circle[2]};
    other[1].runs++;
    assert_true(deadlocks_key(circle, 3) != deadlocks_key(other, 3));
    other[1] = (struct deadlock_member){8, 200, 0x5028};
    assert_true(deadlocks_key(circle, 3) != deadlocks_key(other, 3));
    assert_true(deadlocks_key(circle, 3) != deadlocks_key(circle, 2));
}

static void it_takes_two_ticks_and_is_said_once(void **state)
{
    static struct deadlocks deadlocks;
    assert_false(deadlocks_see(&deadlocks, 5, 10));
    assert_false(deadlocks_see(&deadlocks, 5, 10)); /* another thread of it, in the same tick */
    assert_false(deadlocks_see(&deadlocks, 6, 11)); /* another circle */
    assert_true(deadlocks_see(&deadlocks, 5, 11));
    assert_true(deadlocks_see(&deadlocks, 5, 12)); /* it was not certain, so that it was not said */
    deadlocks_begin_text(&deadlocks, 5);
    assert_false(deadlocks_see(&deadlocks, 5, 13));
    assert_true(deadlocks_see(&deadlocks, 6, 13));
}

/* Circles that open again are many, and are forgotten in turn. */
static void many_circles(void **state)
{
    static struct deadlocks deadlocks;
    for (uint64_t key = 1; key <= DEADLOCKS_KEPT + 1; key++)
        assert_false(deadlocks_see(&deadlocks, key, 1));
    assert_true(deadlocks_see(&deadlocks, 2, 2));
    assert_false(deadlocks_see(&deadlocks, 1, 2));
}

static void the_text_names_all(void **state)
{
    static struct deadlocks deadlocks;
    deadlocks_see(&deadlocks, 5, 1);
    deadlocks_begin_text(&deadlocks, 5);
    deadlocks_add_text(&deadlocks, 7, "eater-1", "eat", "mutex forks");
    deadlocks_add_text(&deadlocks, 8, "eater-2", "drink", "mutex forks+40");
    deadlocks_end_text(&deadlocks, 7, "eater-1");
    assert_string_equal(
        deadlocks.text,
        "deadlock: eater-1 (7) waits in eat for mutex forks, held by eater-2 (8), which waits "
        "in drink for mutex forks+40, held by eater-1 (7)");
}

static void a_long_text_is_cut(void **state)
{
    static struct deadlocks deadlocks;
    char name[1024];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    deadlocks_begin_text(&deadlocks, 5);
    for (int i = 0; i < 16; i++)
        deadlocks_add_text(&deadlocks, 7, name, name, name);
    assert_int_equal(strlen(deadlocks.text), DEADLOCK_TEXT_BYTES - 1);
    assert_string_equal(deadlocks.text + DEADLOCK_TEXT_BYTES - 5, "x...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_circle_has_no_first_one),
        cmocka_unit_test(another_run_or_lock_is_another_circle),
        cmocka_unit_test(it_takes_two_ticks_and_is_said_once),
        cmocka_unit_test(many_circles),
        cmocka_unit_test(the_text_names_all),
        cmocka_unit_test(a_long_text_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
