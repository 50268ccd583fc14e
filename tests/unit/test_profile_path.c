/* Where a process's profile goes. */
#include "lib/unit.h"

#include "export/profile_path.h"

static void assert_chosen(const char *pattern, bool is_child, const char *directory, const char *name)
{
    struct profile_path path;
    assert_int_equal(profile_path_choose(&path, pattern, 42, -1, 0, is_child), 0);
    assert_string_equal(path.directory, directory);
    assert_string_equal(path.name, name);
}

static void a_childs_name_has_its_pid(void **state)
{
    (void)state;
    assert_chosen("/some/app.pb.gz", false, "/some", "app.pb.gz");
    assert_chosen("/some/app.pb.gz", true, "/some", "app.42.pb.gz");
    assert_chosen("/some/%p.pb.gz", true, "/some", "42.pb.gz");
}

static void the_null_device_takes_all(void **state)
{
    (void)state;
    assert_chosen("/dev/null", false, "/dev", "null");
    assert_chosen("/dev/null", true, "/dev", "null");
}

/* Names without one are worth a file also for a process that ends before its first tick. */
static void a_directory_stands_for_a_name_with_the_pid(void **state)
{
    (void)state;
    assert_true(profile_path_has_pid(""));
    assert_true(profile_path_has_pid("/some/"));
    assert_true(profile_path_has_pid("/some/%p.pb.gz"));
    assert_false(profile_path_has_pid("/some/%%p/%n.pb.gz"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_childs_name_has_its_pid),
        cmocka_unit_test(a_directory_stands_for_a_name_with_the_pid),
        cmocka_unit_test(the_null_device_takes_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
