/* Who calls a function and what it calls: each stack counts once, and the shares add up. */
#include "tool/io/text.h"
#include "tool/report/callers.h"

#include "lib/fake_profile.h"
#include "lib/unit.h"

enum { MS = 1000000 };

struct fixture {
    struct fake_profile fake;
    struct callers callers;
    arena_ref root, start, handle, append, retry, lock;
};

/* start calls handle and retry, and both call Journal::append, which calls lock and, once, itself. */
static int setup(void **state)
{
    static struct fixture fixture;
    struct fake_profile *fake = &fixture.fake;
    *state = &fixture;
    text_init();
    fake_profile_init(fake, 1 << 20);
    arena_ref module = fake_profile_module(fake, "/srv/app");
    fixture.root = fake_profile_thread(fake, 7, "app");
    fixture.start = fake_profile_plain(fake, module, "start");
    fixture.handle = fake_profile_plain(fake, module, "handle");
    fixture.append = fake_profile_plain(fake, module, "shop::Journal::append(Entry const&)");
    fixture.retry = fake_profile_plain(fake, module, "retry");
    fixture.lock = fake_profile_plain(fake, module, "lock");
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    callers_free(&fixture->callers);
    fake_profile_deinit(&fixture->fake);
    return 0;
}

/* locations: outermost first, 0 at the end. */
static void stack(struct fixture *fixture, uint64_t cpu_ms, const arena_ref *locations)
{
    arena_ref node = fixture->root;
    for (; *locations; locations++)
        node = fake_profile_node(&fixture->fake, node, *locations);
    fake_profile_weigh(&fixture->fake, node, 1, cpu_ms * MS, 0);
}

#define STACK(cpu_ms, ...) stack(fixture, cpu_ms, (const arena_ref[]){__VA_ARGS__, 0})

static void find(struct fixture *fixture, const char *wanted)
{
    callers_free(&fixture->callers);
    assert_int_equal(callers_find(&fixture->callers, &fixture->fake.profile, wanted, false), 0);
}

static void assert_row(const struct callers_row *row, const char *name, uint64_t wall_ms)
{
    assert_string_equal(row->name, name);
    assert_int_equal(tree_wall_ns(&row->values), wall_ms * MS);
}

static void callers_and_callees_add_up(void **state)
{
    struct fixture *fixture = *state;
    STACK(60, fixture->start, fixture->handle, fixture->append, fixture->lock);
    STACK(30, fixture->start, fixture->retry, fixture->append);
    STACK(10, fixture->start, fixture->handle);
    find(fixture, "Journal::append");
    assert_true(fixture->callers.is_known);
    assert_int_equal(tree_wall_ns(&fixture->callers.whole), 100 * MS);
    assert_int_equal(tree_wall_ns(&fixture->callers.in), 90 * MS);
    assert_int_equal(fixture->callers.caller_count, 2);
    assert_row(&fixture->callers.callers[0], "handle", 60);
    assert_row(&fixture->callers.callers[1], "retry", 30);
    assert_int_equal(fixture->callers.callee_count, 2);
    assert_row(&fixture->callers.callees[0], "lock", 60);
    assert_row(&fixture->callers.callees[1], "", 30);
}

static void a_recursion_counts_once(void **state)
{
    struct fixture *fixture = *state;
    STACK(40, fixture->start, fixture->handle, fixture->append, fixture->retry, fixture->append,
          fixture->lock);
    find(fixture, "append");
    assert_int_equal(tree_wall_ns(&fixture->callers.in), 40 * MS);
    assert_int_equal(fixture->callers.caller_count, 1);
    assert_row(&fixture->callers.callers[0], "handle", 40);
    assert_int_equal(fixture->callers.callee_count, 1);
    assert_row(&fixture->callers.callees[0], "lock", 40);
}

static void functions_of_one_name_are_one(void **state)
{
    struct fixture *fixture = *state;
    const arena_ref other =
        fake_profile_plain(&fixture->fake, fake_profile_module(&fixture->fake, "/srv/b"), "handle");
    STACK(10, fixture->start, fixture->handle, fixture->lock);
    STACK(20, fixture->start, other, fixture->lock);
    find(fixture, "lock");
    assert_int_equal(fixture->callers.caller_count, 1);
    assert_row(&fixture->callers.callers[0], "handle", 30);
}

static void a_thread_may_begin_in_it(void **state)
{
    struct fixture *fixture = *state;
    STACK(10, fixture->start);
    find(fixture, "start");
    assert_int_equal(fixture->callers.caller_count, 1);
    assert_row(&fixture->callers.callers[0], "", 10);
    assert_row(&fixture->callers.callees[0], "", 10);
}

static void an_inlined_function_has_callers(void **state)
{
    struct fixture *fixture = *state;
    struct fake_profile *fake = &fixture->fake;
    const struct symbol_frame frames[] = {{fake_profile_function(fake, "inner", NULL, 0), 3},
                                          {fake_profile_function(fake, "outer", NULL, 0), 9}};
    STACK(10, fixture->start, fake_profile_location(fake, fake_profile_module(fake, "/srv/b"), frames, 2));
    find(fixture, "inner");
    assert_row(&fixture->callers.callers[0], "outer", 10);
    find(fixture, "outer");
    assert_row(&fixture->callers.callers[0], "start", 10);
    assert_row(&fixture->callers.callees[0], "inner", 10);
}

static void what_is_not_there_is_not_known(void **state)
{
    struct fixture *fixture = *state;
    STACK(10, fixture->start);
    find(fixture, "tart");
    assert_false(fixture->callers.is_known);
    assert_int_equal(tree_wall_ns(&fixture->callers.in), 0);
    find(fixture, "retry"); /* no stack has it */
    assert_true(fixture->callers.is_known);
    assert_int_equal(fixture->callers.caller_count, 0);
}

static void names_are_as_reports_show_them(void **state)
{
    (void)state;
    assert_true(callers_matches("ns::Journal::append(Entry const&)", "ns::Journal::append(Entry const&)"));
    assert_true(callers_matches("ns::Journal::append(Entry const&)", "ns::Journal::append"));
    assert_true(callers_matches("ns::Journal::append(Entry const&)", "append"));
    assert_true(callers_matches("std::map<int, Row>::find(int const&)", "map<>::find"));
    assert_true(callers_matches("JS:*handle /srv/app/server.js:2:21", "handle server.js:2"));
    assert_false(callers_matches("ns::Journal::append(Entry const&)", "Journal"));
    assert_false(callers_matches("planted_mutex", "mutex"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(callers_and_callees_add_up, setup, teardown),
        cmocka_unit_test_setup_teardown(a_recursion_counts_once, setup, teardown),
        cmocka_unit_test_setup_teardown(functions_of_one_name_are_one, setup, teardown),
        cmocka_unit_test_setup_teardown(a_thread_may_begin_in_it, setup, teardown),
        cmocka_unit_test_setup_teardown(an_inlined_function_has_callers, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_not_known, setup, teardown),
        cmocka_unit_test(names_are_as_reports_show_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
