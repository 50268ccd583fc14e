/* What `wallprof run` adds to the options of node and java, so that they write names. */
#include "names/perf_map.h"
#include "tool/run/runtime_names.h"

#include "lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/test_tool_runtime_names.XXXXXX";

static int make_directory(void **state)
{
    return mkdtemp(directory) ? chdir(directory) : -1;
}

static int remove_directory(void **state)
{
    const char *const names[] = {"release", "bin/java", "bin", directory};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove(names[i]);
    return 0;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static const char both_of_node[] = "--perf-basic-prof-only-functions --interpreted-frames-native-stack";
static struct runtime_names names;

/* Whether options are added, for a program with these arguments. */
static const char *added(const char *path, const char *interpreter, const char *one, const char *other)
{
    static char *argv[4];
    argv[0] = "name";
    argv[1] = (char *)one;
    argv[2] = (char *)other;
    assert_int_equal(runtime_names_ask(&names, path, interpreter, argv), 0);
    return names.options;
}

static void node_is_told_to_write_names_by_arguments(void **state)
{
    unsetenv("NODE_OPTIONS");
    assert_string_equal(added("/usr/bin/node", "", "app.js", NULL), both_of_node);
    assert_string_equal(names.where, "");
    assert_string_equal(names.argv[0], "name");
    assert_string_equal(names.argv[1], "--perf-basic-prof-only-functions");
    assert_string_equal(names.argv[2], "--interpreted-frames-native-stack");
    assert_string_equal(names.argv[3], "app.js");
    assert_null(names.argv[4]);
    free(names.argv);
    assert_string_equal(added("nodejs", "", "--perf-basic-prof", "app.js"),
                        "--interpreted-frames-native-stack");
    free(names.argv);
    assert_null(getenv("NODE_OPTIONS"));
}

static void a_script_of_node_is_told_by_its_variable(void **state)
{
    unsetenv("NODE_OPTIONS");
    assert_string_equal(added("/usr/bin/npm", "/usr/bin/node", "start", NULL), both_of_node);
    assert_string_equal(names.where, " to NODE_OPTIONS");
    assert_string_equal(names.argv[1], "start");
    assert_string_equal(getenv("NODE_OPTIONS"), both_of_node);
    assert_string_equal(added("/usr/bin/npm", "/usr/bin/node", "start", NULL), "");
    assert_string_equal(added("/usr/bin/node", "", "app.js", NULL), "");
    setenv("NODE_OPTIONS", "--max-old-space-size=64 --perf-basic-prof", 1);
    assert_string_equal(added("/usr/bin/npm", "/usr/bin/node", "start", NULL),
                        "--interpreted-frames-native-stack");
    assert_string_equal(getenv("NODE_OPTIONS"),
                        "--max-old-space-size=64 --perf-basic-prof --interpreted-frames-native-stack");
    unsetenv("NODE_OPTIONS");
}

static void write_java(const char *release)
{
    mkdir("bin", 0755);
    write_file("bin/java", "");
    write_file("release", release);
}

static void java_is_told_to_write_names_by_arguments(void **state)
{
    write_java("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.15\"\n");
    unsetenv("JAVA_TOOL_OPTIONS");
    assert_string_equal(added("bin/java", "", "-XX:-PreserveFramePointer", "App"),
                        "-XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit");
    assert_string_equal(names.where, "");
    static const char *const argv[] = {"name",
                                       "-XX:+PreserveFramePointer",
                                       "-XX:+UnlockDiagnosticVMOptions",
                                       "-XX:+DumpPerfMapAtExit",
                                       "-XX:-PreserveFramePointer",
                                       "App"};
    for (size_t i = 0; i < sizeof argv / sizeof *argv; i++)
        assert_string_equal(names.argv[i], argv[i]);
    assert_null(names.argv[6]);
    free(names.argv);
    setenv("JAVA_TOOL_OPTIONS", "-XX:+UnlockDiagnosticVMOptions", 1);
    assert_string_equal(added("bin/java", "", "-XX:+DumpPerfMapAtExit", "App"), "-XX:+PreserveFramePointer");
    free(names.argv);
    unsetenv("JAVA_TOOL_OPTIONS");
}

static void a_program_that_would_not_understand_is_left_alone(void **state)
{
    write_java("JAVA_VERSION=\"11.0.2\"\n");
    assert_string_equal(added("bin/java", "", "App", NULL), "");
    assert_string_equal(names.argv[1], "App");
    write_java("nothing");
    assert_string_equal(added("bin/java", "", "App", NULL), "");
    write_java("JAVA_VERSION=\"17\"\n");
    assert_string_equal(added("script", "bin/java", "App", NULL), "");
    assert_string_equal(added("/no/such/java", "", "App", NULL), "");
    assert_string_equal(added("/usr/bin/python3", "", "node", "java"), "");
    assert_null(getenv("NODE_OPTIONS"));
}

static void only_a_list_that_was_asked_for_is_removed(void **state)
{
    char path[PERF_MAP_PATH_BYTES];
    perf_map_path(getpid(), path);
    write_file(path, "x");
    runtime_names_end(&(struct runtime_names){.options = ""}, getpid());
    assert_int_equal(access(path, F_OK), 0);
    runtime_names_end(&(struct runtime_names){.options = "-x"}, getpid());
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_is_told_to_write_names_by_arguments),
        cmocka_unit_test(a_script_of_node_is_told_by_its_variable),
        cmocka_unit_test(java_is_told_to_write_names_by_arguments),
        cmocka_unit_test(a_program_that_would_not_understand_is_left_alone),
        cmocka_unit_test(only_a_list_that_was_asked_for_is_removed),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
