/* What a reading process finds comes over; one that goes wrong costs no more than names. */
#include "lib/unit.h"
#include "tool/debug/debug_child.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static const struct debug_bounds short_bounds = {.cpu_seconds = 1, .wall_seconds = 10};
static const uint64_t addresses[] = {0x1000, 0x1010, 0x1020};

enum { ADDRESS_COUNT = sizeof addresses / sizeof *addresses };

/* What the process does in place of reading the file. */
static enum { FIND, FIND_NONE, CRASH, LOOP, HANG } reading;

static int find(const uint64_t *wanted, size_t count, struct frame_table *ret)
{
    for (size_t i = 0; i < count; i++) {
        frame_table_add_row(
            ret, &(struct frame_row){.address = wanted[i], .source = NAME_FROM_DWARF, .is_final = 1});
        frame_table_add_frame(ret, &(struct frame_entry){.system_name = frame_table_string(ret, "found"),
                                                         .file = frame_table_string(ret, "/src/found.c"),
                                                         .line = 7});
    }
    return 0;
}

/* In place of the tool's: what a program defines itself is not taken out of an archive. */
int debug_info_read(const struct debug_module *module, const uint64_t *wanted, size_t count,
                    struct frame_table *ret)
{
    volatile bool is_over = false;
    (void)module;
    *ret = (struct frame_table){0};
    if (reading == CRASH) {
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    while (reading == LOOP && !is_over)
        continue;
    while (reading == HANG)
        pause();
    return reading == FIND ? find(wanted, count, ret) : -ESTALE;
}

static int read_status(int how, const struct debug_bounds *bounds, struct frame_table *ret)
{
    const struct debug_module module = {.path = "/no/such/file"};
    reading = how;
    return debug_child_read(bounds, &module, addresses, ADDRESS_COUNT, ret);
}

static int failing_status(int how, const struct debug_bounds *bounds)
{
    struct frame_table table;
    int status = read_status(how, bounds, &table);
    assert_int_equal(table.row_count, 0);
    return status;
}

static void what_a_process_finds_comes_over(void **state)
{
    struct frame_table table;
    assert_int_equal(read_status(FIND, &short_bounds, &table), 0);
    assert_int_equal(table.row_count, ADDRESS_COUNT);
    const struct frame_row *row = frame_table_find(&table, 0x1010);
    assert_non_null(row);
    assert_string_equal(frame_table_text(&table, table.frames[row->first_frame].system_name), "found");
    frame_table_free(&table);
    assert_int_equal(failing_status(FIND_NONE, &short_bounds), -ESTALE);
}

static void a_process_that_fails_costs_names_only(void **state)
{
    static const struct debug_bounds impatient = {.cpu_seconds = 10, .wall_seconds = 1};
    assert_int_equal(failing_status(CRASH, &short_bounds), -EIO);
    assert_int_equal(failing_status(LOOP, &short_bounds), -EIO);
    assert_int_equal(failing_status(HANG, &impatient), -EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_process_finds_comes_over),
        cmocka_unit_test(a_process_that_fails_costs_names_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
