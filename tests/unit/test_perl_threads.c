/* Where a thread's Perl interpreter is found. */
/* test: not-emulated */
#include "interp/interp_runtime.h"

#include "lib/unit.h"

#include <unistd.h>

/* Until there is one there is no key for it, and the value of key 0 is another library's. */
static void before_the_first_interpreter_no_thread_has_one(void **state)
{
    static uint64_t record[256];
    uint64_t first = 0;
    uint32_t key = 0;
    struct interp_runtime runtime = {.address = (uintptr_t)&first, .key_at = (uintptr_t)&key};
    struct sig_interp_thread other = {.native_id = 1, .thread_id = (uintptr_t)record},
                             own = {.native_id = (uint64_t)getpid(), .thread_id = (uintptr_t)record};
    assert_int_equal(perl_language.find_state(&runtime, NULL, &other), 0);
    assert_int_equal(perl_language.find_state(&runtime, NULL, &own), 0);
    first = 4096;
    const uint64_t at = perl_language.find_state(&runtime, NULL, &other);
    assert_true(at > other.thread_id && at < other.thread_id + sizeof record);
    assert_int_equal(perl_language.find_state(&runtime, NULL, &own), runtime.address);
    *(uint64_t *)(uintptr_t)at = first;
    assert_int_equal(perl_language.find_state(&runtime, NULL, &own), at);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_first_interpreter_no_thread_has_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
