/* Records once for each key, numbered in order of first use. */
#include "base/intern_table.h"

#include "lib/narrow_memory.h"

struct record {
    uint32_t a, b; /* the key */
    uint64_t sum;
};

static int setup(void **state)
{
    static struct intern_table table;
    *state = &table;
    assert_int_equal(intern_table_init(&table, sizeof(struct record), 2 * sizeof(uint32_t)), 0);
    return 0;
}

static int teardown(void **state)
{
    intern_table_deinit(*state);
    return 0;
}

static uint32_t intern(struct intern_table *table, uint32_t a, uint32_t b)
{
    uint32_t key[] = {a, b};
    return intern_table_intern(table, key);
}

static void a_key_has_one_record(void **state)
{
    struct intern_table *table = *state;
    assert_int_equal(intern(table, 0, 0), 0);
    assert_int_equal(intern(table, 0, 1), 1);
    assert_int_equal(intern(table, 1, 0), 2);
    assert_int_equal(intern(table, 0, 1), 1);
    assert_int_equal(table->count, 3);
    const struct record *record = intern_table_at(table, 2);
    assert_int_equal(record->a, 1);
    assert_int_equal(record->b, 0);
    assert_int_equal(record->sum, 0);
}

static void records_stay_what_they_are_when_many_come(void **state)
{
    enum { MANY = 100000 };
    struct intern_table *table = *state;
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(intern(table, i / 3, i * 7), i);
        ((struct record *)intern_table_at(table, i))->sum = i;
    }
    for (uint32_t i = 0; i < MANY; i++) {
        if (intern(table, i / 3, i * 7) != i || ((struct record *)intern_table_at(table, i))->sum != i)
            fail_msg("record %u is another one now", i);
    }
    assert_int_equal(table->count, MANY);
    assert_false(table->failed);
}

static void without_memory_all_is_record_0(void **state)
{
    struct intern_table *table = *state;
    intern(table, 5, 6);
    for (uint32_t i = 1; i < table->capacity; i++)
        intern(table, i, i);
    struct rlimit before = narrow_memory_begin(0);
    uint32_t number = intern(table, 7, 8);
    narrow_memory_end(before);
    assert_int_equal(number, 0);
    assert_true(table->failed);
    assert_int_equal(((struct record *)intern_table_at(table, 0))->b, 6);
    assert_int_equal(intern(table, 3, 3), 3);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_key_has_one_record, setup, teardown),
        cmocka_unit_test_setup_teardown(records_stay_what_they_are_when_many_come, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_all_is_record_0, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
