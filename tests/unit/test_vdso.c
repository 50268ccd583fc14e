/* The vDSO's clock against the C library's, and objects that have no such function. */
/* test: not-emulated */
#include "lib/unit.h"
#include "base/clock.h"
#include "elf/vdso.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static uint64_t libc_ns(clockid_t clock)
{
    struct timespec now;
    assert_int_equal(clock_gettime(clock, &now), 0);
    return clock_timespec_ns(&now);
}

static void assert_same_clocks(void)
{
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_THREAD_CPUTIME_ID};
    for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
        uint64_t before = libc_ns(clocks[i]), ours = clock_read_ns(clocks[i]), after = libc_ns(clocks[i]);
        assert_in_range(ours, before, after);
    }
    assert_int_equal(clock_read_ns(clock_of_thread(getpid() + (1 << 22))), 0);
}

static void test_clocks(void **state)
{
    assert_same_clocks(); /* by the system call */
    errno = 77;
    sig_clock_use(vdso_clock_gettime());
    assert_same_clocks();
    sig_clock_use(NULL);
    assert_int_equal(errno, 77);
}

static void test_objects(void **state)
{
    const Elf64_Ehdr *vdso = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    Elf64_Ehdr broken = {0};
    assert_int_equal(vdso_function(&broken, "__vdso_clock_gettime"), 0);
    memcpy(broken.e_ident, ELFMAG, SELFMAG);
    broken.e_ident[EI_CLASS] = ELFCLASS64;
    assert_int_equal(vdso_function(&broken, "__vdso_clock_gettime"), 0);
    if (!vdso)
        skip();
    assert_int_equal(vdso_function(vdso, "clock"), 0); /* the end of another name is no name */
    assert_int_equal(vdso_function(vdso, "no_such_function"), 0);
    assert_non_null(vdso_clock_gettime());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
