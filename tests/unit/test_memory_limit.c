/* What limits of memory leave, and our share of it. */
/* test: not-emulated */
#include "session/memory_limit.h"
#include "base/arena.h"
#include "lib/unit.h"

#include <sys/resource.h>

#define MIB ((uint64_t)1 << 20)

static void no_limit_is_much_room(void **state)
{
    const char *limit;
    assert_true(memory_limit_left_bytes(&limit) == UINT64_MAX);
    assert_int_equal(memory_limit_share(64 * MIB, UINT64_MAX), 64 * MIB);
}

static void room_is_what_can_be_mapped(void **state)
{
    const int resources[] = {RLIMIT_AS, RLIMIT_DATA};
    const char *const names[] = {"RLIMIT_AS", "RLIMIT_DATA"};
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its shadow alone is terabytes */
#endif
    for (int i = 0; i < 2; i++) {
        struct rlimit before, tight;
        const char *name;
        getrlimit(resources[i], &before);
        tight = (struct rlimit){1024 * MIB, before.rlim_max};
        setrlimit(resources[i], &tight);
        uint64_t left = memory_limit_left_bytes(&name);
        void *too_much = scratch_alloc(left + MIB), *enough = scratch_alloc(left - MIB);
        scratch_free(enough, left - MIB);
        setrlimit(resources[i], &before);
        assert_in_range(left, 512 * MIB, 1024 * MIB);
        assert_null(too_much);
        assert_non_null(enough);
        assert_string_equal(name, names[i]);
    }
}

static void the_program_keeps_the_most_of_it(void **state)
{
    assert_int_equal(memory_limit_share(64 * MIB, 1024 * MIB), 64 * MIB);
    assert_int_equal(memory_limit_share(64 * MIB, 80 * MIB), 10 * MIB);
    assert_int_equal(memory_limit_share(64 * MIB, 0), MIB); /* with less there is no profile */
    assert_int_equal(memory_limit_share(MIB, 80 * MIB), MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_limit_is_much_room),
        cmocka_unit_test(room_is_what_can_be_mapped),
        cmocka_unit_test(the_program_keeps_the_most_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
