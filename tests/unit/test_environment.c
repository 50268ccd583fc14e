/* What is ours in an environment: found, taken out, given back, and the rest left as it is. */
#include "config/environment.h"
#include "lib/unit.h"

#include <stdlib.h>
#include <string.h>

#define ENVIRONMENT(...) ((char *[]){__VA_ARGS__, NULL})

static void assert_entries(char *const *environment, const char *const *expected)
{
    size_t i = 0;
    for (; expected[i]; i++) {
        assert_non_null(environment[i]);
        assert_string_equal(environment[i], expected[i]);
    }
    assert_null(environment[i]);
}

#define ASSERT_ENTRIES(environment, ...)                                                                     \
    assert_entries(environment, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* Exactly as much as was asked for, so that a sanitizer sees a byte too many. */
static char **add_ours(const struct environment *ours, char *const *environment)
{
    static void *space;
    free(space);
    space = malloc(environment_bytes(ours, environment));
    return environment_with(ours, environment, space);
}

static void ours_alone_leaves_nothing(void **state)
{
    char **environment = ENVIRONMENT("A=1", "WALLPROF_HZ=10", "LD_PRELOAD=/lib/libwallprof.so", "B=2");
    struct environment *ours = environment_leave(environment, "/usr/lib/libwallprof.so");
    ASSERT_ENTRIES(environment, "A=1", "B=2");
    ASSERT_ENTRIES(add_ours(ours, environment), "A=1", "B=2", "LD_PRELOAD=/lib/libwallprof.so",
                   "WALLPROF_HZ=10");
}

static void other_preloads_stay(void **state)
{
    static const struct {
        char *with, *without;
    } rows[] = {
        {"LD_PRELOAD=libwallprof.so:libc.so.6", "LD_PRELOAD=libc.so.6"},
        {"LD_PRELOAD=libc.so.6:libwallprof.so", "LD_PRELOAD=libc.so.6"},
        {"LD_PRELOAD=a.so  /x/libwallprof.so b.so", "LD_PRELOAD=a.so:b.so"},
        {"LD_PRELOAD=a.so:/x/libwallprof.so:libwallprof.so:b.so", "LD_PRELOAD=a.so:b.so"},
        {"LD_PRELOAD=mylibwallprof.so:$LIB/libwallprof.so", "LD_PRELOAD=mylibwallprof.so"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char **environment = ENVIRONMENT("A=1", rows[i].with);
        struct environment *ours = environment_leave(environment, "libwallprof.so");
        ASSERT_ENTRIES(environment, "A=1", rows[i].without);
        ASSERT_ENTRIES(add_ours(ours, environment), "A=1", rows[i].with);
    }
}

static void what_the_program_sets_itself_stays(void **state)
{
    char *start[] = {"WALLPROF_HZ=10", "WALLPROF_OUT=a", "LD_PRELOAD=libwallprof.so", NULL};
    struct environment *ours = environment_leave(ENVIRONMENT(start[0], start[1], start[2]), "libwallprof.so");
    ASSERT_ENTRIES(add_ours(ours, ENVIRONMENT("WALLPROF_OUT=b", "LD_PRELOAD=mine.so")), "WALLPROF_OUT=b",
                   "LD_PRELOAD=libwallprof.so:mine.so", "WALLPROF_HZ=10");
    ASSERT_ENTRIES(add_ours(ours, ENVIRONMENT("LD_PRELOAD=")), "LD_PRELOAD=libwallprof.so", "WALLPROF_HZ=10",
                   "WALLPROF_OUT=a");
    ASSERT_ENTRIES(add_ours(ours, start), start[0], start[1], start[2]);
    /* What only begins with a name of ours is not ours. */
    char **others = ENVIRONMENT("WALLPROF=1", "LD_PRELOADS=libwallprof.so");
    environment_leave(others, "libwallprof.so");
    ASSERT_ENTRIES(others, "WALLPROF=1", "LD_PRELOADS=libwallprof.so");
}

static void an_empty_environment_is_one(void **state)
{
    char *nothing[] = {NULL};
    struct environment *ours = environment_leave(ENVIRONMENT("LD_PRELOAD=libwallprof.so"), "libwallprof.so");
    ASSERT_ENTRIES(add_ours(ours, NULL), "LD_PRELOAD=libwallprof.so");
    ours = environment_leave(nothing, "libwallprof.so");
    ASSERT_ENTRIES(nothing, );
    ASSERT_ENTRIES(add_ours(ours, NULL), );
}

/* A program may write over what it was given (setproctitle). */
static void the_note_is_a_copy(void **state)
{
    char preload[] = "LD_PRELOAD=libwallprof.so:a.so", hz[] = "WALLPROF_HZ=10";
    struct environment *ours = environment_leave(ENVIRONMENT(preload, hz), "libwallprof.so");
    memset(preload, 'x', sizeof(preload));
    memset(hz, 'x', sizeof(hz));
    ASSERT_ENTRIES(add_ours(ours, ENVIRONMENT("LD_PRELOAD=a.so")), "LD_PRELOAD=libwallprof.so:a.so",
                   "WALLPROF_HZ=10");
}

/* As a library it may be preloaded by other means (/etc/ld.so.preload):
 * then there is nothing to give back. */
static void without_an_element_there_is_none_to_add(void **state)
{
    struct environment *ours =
        environment_leave(ENVIRONMENT("LD_PRELOAD=a.so", "WALLPROF_HZ=1"), "libwallprof.so");
    ASSERT_ENTRIES(add_ours(ours, ENVIRONMENT("LD_PRELOAD=a.so")), "LD_PRELOAD=a.so", "WALLPROF_HZ=1");
}

static void leaving_takes_the_variables_of_ours(void **state)
{
    char **environment = ENVIRONMENT("WALLPROF_OUT=x", "A=1", "WALLPROF_HZ=", "WALLPROFX=2",
                                     "B=WALLPROF_HZ=3", "WALLPROF_FOLLOW=none");
    char *nothing[] = {NULL};
    environment_leave(environment, "/opt/wallprof/lib/libwallprof.so");
    ASSERT_ENTRIES(environment, "A=1", "WALLPROFX=2", "B=WALLPROF_HZ=3");
    environment_leave(nothing, "/opt/wallprof/lib/libwallprof.so");
    assert_null(nothing[0]);
}

static void leaving_keeps_the_other_preloads(void **state)
{
    static const struct {
        char *before, *after; /* NULL: the variable goes */
    } rows[] = {
        {"LD_PRELOAD=/opt/wallprof/lib/libwallprof.so", NULL},
        {"LD_PRELOAD=libwallprof.so", NULL},
        {"LD_PRELOAD=libwallprof.so:", NULL},
        {"LD_PRELOAD= libwallprof.so ", NULL},
        {"LD_PRELOAD=libwallprof.so libwallprof.so", NULL},
        {"LD_PRELOAD=/a/libother.so", "LD_PRELOAD=/a/libother.so"},
        {"LD_PRELOAD=/b/libwallprof.so:/a/libother.so", "LD_PRELOAD=/a/libother.so"},
        {"LD_PRELOAD=/a/libother.so:/b/libwallprof.so", "LD_PRELOAD=/a/libother.so"},
        /* One separator is as good as the other. */
        {"LD_PRELOAD=/a/libother.so /b/libwallprof.so second.so", "LD_PRELOAD=/a/libother.so:second.so"},
        {"LD_PRELOAD=libwallprof.so.1:libwallprof.so:xlibwallprof.so",
         "LD_PRELOAD=libwallprof.so.1:xlibwallprof.so"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char **environment = ENVIRONMENT("A=1", rows[i].before, "Z=2");
        environment_leave(environment, "/opt/wallprof/lib/libwallprof.so");
        if (rows[i].after)
            ASSERT_ENTRIES(environment, "A=1", rows[i].after, "Z=2");
        else
            ASSERT_ENTRIES(environment, "A=1", "Z=2");
    }
}

static char **change(char *const *environment, const char *runtime)
{
    static void *space;
    free(space);
    space = malloc(environment_changed_bytes(environment, runtime));
    return environment_changed(environment, "libwallprof.so", runtime, space);
}

static void the_element_is_found(void **state)
{
    size_t length;
    const char *element = environment_element(ENVIRONMENT("A=1", "LD_PRELOAD=a.so:/x/libwallprof.so b"),
                                              "libwallprof.so", &length);
    assert_int_equal(length, strlen("/x/libwallprof.so"));
    assert_memory_equal(element, "/x/libwallprof.so", length);
    assert_null(environment_element(ENVIRONMENT("LD_PRELOAD=a.so"), "libwallprof.so", &length));
    assert_null(environment_element(NULL, "libwallprof.so", &length));
}

static void without_the_library_the_rest_stays(void **state)
{
    ASSERT_ENTRIES(change(ENVIRONMENT("A=1", "LD_PRELOAD=/x/libwallprof.so", "WALLPROF_HZ=9"), ""), "A=1",
                   "WALLPROF_HZ=9");
    ASSERT_ENTRIES(change(ENVIRONMENT("LD_PRELOAD=a.so:libwallprof.so:b.so", "B=2"), ""),
                   "LD_PRELOAD=a.so:b.so", "B=2");
}

static bool is_runtime(const char *name)
{
    return strncmp(name, "libasan.so", 10) == 0;
}

static void a_runtime_comes_first_and_goes_again(void **state)
{
    char **environment = change(ENVIRONMENT("A=1", "LD_PRELOAD=a.so /x/libwallprof.so"), "libasan.so.8");
    ASSERT_ENTRIES(environment, "A=1", "LD_PRELOAD=libasan.so.8::a.so /x/libwallprof.so");
    environment_take_runtime(environment, is_runtime);
    ASSERT_ENTRIES(environment, "A=1", "LD_PRELOAD=a.so /x/libwallprof.so");
    ASSERT_ENTRIES(change(ENVIRONMENT("LD_PRELOAD=libasan.so.8:libwallprof.so"), "libasan.so.8"),
                   "LD_PRELOAD=libasan.so.8:libwallprof.so");
}

static void what_the_user_wrote_stays(void **state)
{
    static const char *const values[] = {"LD_PRELOAD=libasan.so.8:libwallprof.so", "LD_PRELOAD=a.so::b.so",
                                         "LD_PRELOAD=libasan.so.8:a.so::b.so", "LD_PRELOAD="};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char copy[64];
        char **environment = ENVIRONMENT(strcpy(copy, values[i]));
        environment_take_runtime(environment, is_runtime);
        ASSERT_ENTRIES(environment, values[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ours_alone_leaves_nothing),
        cmocka_unit_test(other_preloads_stay),
        cmocka_unit_test(what_the_program_sets_itself_stays),
        cmocka_unit_test(an_empty_environment_is_one),
        cmocka_unit_test(the_note_is_a_copy),
        cmocka_unit_test(without_an_element_there_is_none_to_add),
        cmocka_unit_test(leaving_takes_the_variables_of_ours),
        cmocka_unit_test(leaving_keeps_the_other_preloads),
        cmocka_unit_test(the_element_is_found),
        cmocka_unit_test(without_the_library_the_rest_stays),
        cmocka_unit_test(a_runtime_comes_first_and_goes_again),
        cmocka_unit_test(what_the_user_wrote_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
