/* What is ours goes, in every form LD_PRELOAD may have; everything else stays as it is. */
#include "unit.h"
#include "environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char library[] = "/opt/wallprof/lib/libwallprof.so";

/* The environment after, as lines. */
static void leave(const char *const *before, char ret[512])
{
    char *environment[16] = {0}, **kept = environment;
    for (size_t i = 0; before[i]; i++)
        environment[i] = strdup(before[i]);
    char *all[16];
    memcpy(all, environment, sizeof(all));
    environment_leave(environment, library);
    *ret = '\0';
    for (; *kept; kept++)
        strcat(strcat(ret, *kept), "\n");
    for (size_t i = 0; all[i]; i++)
        free(all[i]);
}

static void test_variables_of_ours_go(void **state)
{
    char left[512];
    (void)state;
    leave((const char *const[]){"WALLPROF_OUT=x", "A=1", "WALLPROF_HZ=", "WALLPROFX=2", "B=WALLPROF_HZ=3",
                                "WALLPROF_FOLLOW=none", NULL},
          left);
    assert_string_equal(left, "A=1\nWALLPROFX=2\nB=WALLPROF_HZ=3\n");
    leave((const char *const[]){NULL}, left);
    assert_string_equal(left, "");
}

static void test_preload_keeps_the_others(void **state)
{
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"/opt/wallprof/lib/libwallprof.so", NULL},
        {"libwallprof.so", NULL},
        {"libwallprof.so:", NULL},
        {" libwallprof.so ", NULL},
        {"libwallprof.so libwallprof.so", NULL},
        {"/a/libother.so", "/a/libother.so"},
        {"/b/libwallprof.so:/a/libother.so", "/a/libother.so"},
        {"/a/libother.so:/b/libwallprof.so", "/a/libother.so"},
        {"/a/libother.so /b/libwallprof.so second.so",
         "/a/libother.so:second.so"}, /* one separator is as good as the other */
        {"libwallprof.so.1:libwallprof.so:xlibwallprof.so", "libwallprof.so.1:xlibwallprof.so"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char entry[256], expected[256] = "A=1\nZ=2\n", left[512];
        snprintf(entry, sizeof(entry), "LD_PRELOAD=%s", cases[i].before);
        if (cases[i].after)
            snprintf(expected, sizeof(expected), "A=1\nLD_PRELOAD=%s\nZ=2\n", cases[i].after);
        leave((const char *const[]){"A=1", entry, "Z=2", NULL}, left);
        assert_string_equal(left, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_of_ours_go),
        cmocka_unit_test(test_preload_keeps_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
