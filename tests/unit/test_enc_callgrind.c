/* What is written of small profiles made by hand, to the letter, and what readers make of it. */
#include "encode/version.h"
#include "lib/fake_letters.h"
#include "base/random.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define HEADER                                                                                               \
    "# callgrind format\n"                                                                                   \
    "version: 1\n"                                                                                           \
    "creator: wallprof " WALLPROF_VERSION "\n"                                                               \
    "cmd: app --flag\n"                                                                                      \
    "positions: line\n"                                                                                      \
    "event: wall : Wall time (ns)\n"                                                                         \
    "event: samples : Samples\n"                                                                             \
    "event: cpu : CPU time (ns)\n"                                                                           \
    "event: offcpu : Time off the CPU (ns)\n"                                                                \
    "events: wall samples cpu offcpu\n"

/* ---- to the letter ---- */

static void functions_lines_and_calls(void **state)
{
    struct fake_letters *fake = *state;
    arena_ref root = fake_thread(fake, 7, "main");
    fake_name(fake, 'm', "main", "/src/m.c", 10);
    fake_name(fake, 'f', "f(int)", "/src/f.cc", 20);
    fake_name(fake, 'W', "wait", NULL, 0);
    fake_weigh(fake, root, "m1f2", (struct values){3, 300, 0, 10});
    fake_weigh(fake, root, "m1f3W", (struct values){2, 0, 0, 200});
    fake_weigh(fake, root, "m4W", (struct values){1, 5, 0, 96});
    fake_weigh(fake, root, "m4", (struct values){1, 10, 0, 0});
    assert_written(fake, FORMAT_CALLGRIND,
                   HEADER "summary: 621 7 315 306\n"
                          "\n"
                          "ob=(1) ???\n"
                          "fl=(1) ???\n"
                          "fn=(1) [thread main]\n"
                          "cob=(2) /bin/app\n"
                          "cfi=(2) /src/m.c\n"
                          "cfn=(2) main\n"
                          "calls=4 10\n"
                          "0 621 7 315 306\n"
                          "\n"
                          "ob=(2)\n"
                          "fl=(2)\n"
                          "fn=(2)\n"
                          "cob=(2)\n"
                          "cfi=(3) /src/f.cc\n"
                          "cfn=(4) f(int)\n"
                          "calls=2 20\n"
                          "11 510 5 300 210\n"
                          "14 10 1 10 0\n"
                          "cob=(3) /lib/lib.so\n"
                          "cfi=(1)\n"
                          "cfn=(3) wait\n"
                          "calls=1 0\n"
                          "14 101 1 5 96\n"
                          "\n"
                          "ob=(3)\n"
                          "fl=(1)\n"
                          "fn=(3)\n"
                          "0 301 3 5 296\n"
                          "\n"
                          "ob=(2)\n"
                          "fl=(3)\n"
                          "fn=(4)\n"
                          "22 310 3 300 10\n"
                          "cob=(3)\n"
                          "cfi=(1)\n"
                          "cfn=(3)\n"
                          "calls=1 0\n"
                          "23 200 2 0 200\n"
                          "\n"
                          "totals: 621 7 315 306\n");
}

static void what_is_inlined_is_called_at_its_line(void **state)
{
    struct fake_letters *fake = *state;
    arena_ref root = fake_thread(fake, 7, "main");
    fake->profile.labels = LABELS_NONE;
    fake->profile.command = "";
    fake_name(fake, 'm', "main", "/src/m.c", 10);
    fake_name(fake, 'i', "outer", "/src/i.h", 20);
    fake_name(fake, 'j', "inner", "/src/j.h", 30);
    fake->inlined['m'] = "ij"; /* at m9: main, in it outer, in that inner */
    fake_weigh(fake, root, "m9", fake_wall(5));
    fake_weigh(fake, root, "m9W", fake_wall(6));
    struct fake_bytes file = fake_letters_written(fake, FORMAT_CALLGRIND);
    assert_non_null(strstr((const char *)file.bytes, "\nsummary: 11 2 0 11\n"
                                                     "\n"
                                                     "ob=(1) ???\n"
                                                     "fl=(1) ???\n"
                                                     "fn=(1) [threads]\n"
                                                     "cob=(2) /bin/app\n"
                                                     "cfi=(2) /src/m.c\n"
                                                     "cfn=(2) main\n"
                                                     "calls=2 10\n"
                                                     "0 11 2 0 11\n"
                                                     "\n"
                                                     "ob=(2)\n"
                                                     "fl=(2)\n"
                                                     "fn=(2)\n"
                                                     "cob=(2)\n"
                                                     "cfi=(3) /src/i.h\n"
                                                     "cfn=(3) outer\n"
                                                     "calls=2 20\n"
                                                     "19 11 2 0 11\n"
                                                     "\n"
                                                     "ob=(2)\n"
                                                     "fl=(3)\n"
                                                     "fn=(3)\n"
                                                     "cob=(2)\n"
                                                     "cfi=(4) /src/j.h\n"
                                                     "cfn=(4) inner\n"
                                                     "calls=2 30\n"
                                                     "20 11 2 0 11\n"
                                                     "\n"
                                                     "ob=(2)\n"
                                                     "fl=(4)\n"
                                                     "fn=(4)\n"
                                                     "30 5 1 0 5\n"
                                                     "cob=(3) /lib/lib.so\n"
                                                     "cfi=(5) a.c\n"
                                                     "cfn=(5) W\n"
                                                     "calls=1 0\n"
                                                     "30 6 1 0 6\n"));
    fake_bytes_free(&file);
}

static void names_are_one_line_and_never_empty(void **state)
{
    struct fake_letters *fake = *state;
    arena_ref root = fake_thread(fake, 7, "a\nb");
    fake->profile.command = "sh -c 'a\nb'\t";
    fake_name(fake, 'm', "", "/a\r\n/b", 0);
    fake_name(fake, 'n', "  ", " ", 0);
    fake_name(fake, 'o', "(2) \x7f\xff(3)", "(4)", 0);
    fake_weigh(fake, root, "mno", fake_wall(1));
    struct fake_bytes file = fake_letters_written(fake, FORMAT_CALLGRIND);
    static const char *const lines[] = {"\ncmd: sh -c 'a?b'?\n", "fn=(1) [thread a?b]\n", "fn=(2) ???\n",
                                        "cfi=(2) /a?\?/b\n",     "fn=(3) ???\n",          "cfi=(3) ???\n",
                                        "cfi=(4) (4)\n",         "fn=(4) (2) ?\?(3)\n"};
    for (size_t i = 0; i < COUNT(lines); i++) {
        if (!strstr((const char *)file.bytes, lines[i]))
            fail_msg("no %s in\n%s", lines[i], (const char *)file.bytes);
    }
    fake_bytes_free(&file);
}

/* ---- read back ---- */

enum { READ_MAX = 64 };

/* Names by number; costs of lines added up. */
struct read_call {
    uint32_t caller, callee;
    uint64_t calls, wall, samples;
};
struct read_profile {
    char names[READ_MAX][64];
    uint64_t self[READ_MAX], self_samples[READ_MAX];
    struct read_call calls[READ_MAX];
    size_t call_count;
    uint64_t total, summary;
};

static struct read_call *read_call_of(struct read_profile *read, uint32_t caller, uint32_t callee)
{
    for (size_t i = 0; i < read->call_count; i++) {
        if (read->calls[i].caller == caller && read->calls[i].callee == callee)
            return &read->calls[i];
    }
    assert_true(read->call_count < READ_MAX);
    read->calls[read->call_count] = (struct read_call){.caller = caller, .callee = callee};
    return &read->calls[read->call_count++];
}

static uint32_t read_name(struct read_profile *read, const char *text)
{
    unsigned number;
    int end = 0;
    assert_int_equal(sscanf(text, "(%u)%n", &number, &end), 1);
    assert_in_range(number, 1, READ_MAX - 1);
    if (text[end] == ' ') {
        assert_string_equal(read->names[number], ""); /* once */
        snprintf(read->names[number], sizeof *read->names, "%s", text + end + 1);
    }
    assert_string_not_equal(read->names[number], "");
    return number;
}

static void read_callgrind(struct fake_bytes *file, struct read_profile *ret)
{
    uint32_t function = 0, callee = 0;
    uint64_t calls = 0;
    char *rest;
    memset(ret, 0, sizeof *ret);
    for (char *line = strtok_r((char *)file->bytes, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        unsigned long long at, wall_ns, samples;
        if (strncmp(line, "fn=", 3) == 0)
            function = read_name(ret, line + 3);
        else if (strncmp(line, "cfn=", 4) == 0)
            callee = read_name(ret, line + 4);
        else if (sscanf(line, "summary: %llu", &wall_ns) == 1)
            ret->summary = wall_ns;
        else if (sscanf(line, "totals: %llu", &wall_ns) == 1)
            ret->total = wall_ns;
        else if (sscanf(line, "calls=%llu", &at) == 1) {
            calls = at;
            assert_int_not_equal(calls, 0);
        } else if (sscanf(line, "%llu %llu %llu", &at, &wall_ns, &samples) == 3) {
            if (calls == 0) {
                ret->self[function] += wall_ns;
                ret->self_samples[function] += samples;
                continue;
            }
            struct read_call *call = read_call_of(ret, function, callee);
            call->calls += calls;
            call->wall += wall_ns;
            call->samples += samples;
            calls = 0;
        }
    }
    fake_bytes_free(file);
}

static uint32_t named(const struct read_profile *read, const char *name)
{
    for (uint32_t i = 0; i < READ_MAX; i++) {
        if (strcmp(read->names[i], name) == 0)
            return i;
    }
    fail_msg("there is no %s", name);
    return 0;
}

static void assert_self(const struct read_profile *read, const char *name, uint64_t samples)
{
    assert_int_equal(read->self_samples[named(read, name)], samples);
}

static void assert_call(struct read_profile *read, const char *caller, const char *callee, uint64_t calls,
                        uint64_t samples)
{
    size_t count = read->call_count;
    const struct read_call *call = read_call_of(read, named(read, caller), named(read, callee));
    assert_int_equal(read->call_count, count); /* it was there */
    assert_int_equal(call->calls, calls);
    assert_int_equal(call->samples, samples);
}

/* As callgrind_annotate and KCachegrind have it: all calls to it. */
static uint64_t inclusive(const struct read_profile *read, const char *name)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < read->call_count; i++) {
        if (read->calls[i].callee == named(read, name))
            sum += read->calls[i].wall;
    }
    return sum;
}

/* ---- what is counted ---- */

static void observe(struct fake_letters *fake, struct fold *fold, struct fold_thread *thread,
                    const char *stack)
{
    struct fake_path path = fake_path(&fake->tree, stack);
    struct fold_observation observation = {
        .time_ns = thread->time_ns + 10, .path = path.locations, .depth = path.depth};
    fold_observe(fold, thread, &observation);
}

/* What is written of successive stacks of one thread, ten nanoseconds each. */
static void read_stacks(struct fake_letters *fake, const char *const *stacks, size_t count,
                        struct read_profile *ret)
{
    struct fold fold = {.tree = &fake->tree, .period_ns = 10};
    struct fold_thread thread;
    fold_thread_begin(&thread, fake_thread(fake, 7, "ruby"), &(struct fold_clocks){1000, 0, FOLD_NO_DELAY});
    for (size_t i = 0; i < count; i++)
        observe(fake, &fold, &thread, stacks[i]);
    struct fake_bytes file = fake_letters_written(fake, FORMAT_CALLGRIND);
    read_callgrind(&file, ret);
}

/* The six stacks of the test in rbspy's callgrind.rs, and the figures it has for them. */
static void calls_of_six_successive_stacks(void **state)
{
    static const char *const stacks[] = {"a", "abc", "ab", "ac", "ab", "axc"};
    struct read_profile read;
    read_stacks(*state, stacks, COUNT(stacks), &read);
    assert_self(&read, "a", 1);
    assert_self(&read, "b", 2);
    assert_self(&read, "c", 3);
    assert_self(&read, "x", 0);
    assert_call(&read, "a", "b", 2, 3);
    assert_call(&read, "a", "c", 1, 1);
    assert_call(&read, "a", "x", 1, 1);
    assert_call(&read, "b", "c", 1, 1);
    assert_call(&read, "x", "c", 1, 1);
    assert_call(&read, "[thread ruby]", "a", 1, 6);
    assert_int_equal(read.call_count, 6);
    assert_int_equal(read.total, 60);
    assert_int_equal(read.summary, 60);
}

/* The stacks of its description. */
static void a_function_that_calls_itself(void **state)
{
    static const char *const stacks[] = {"abcddgx", "abcdd", "abcd", "abcdd", "abefg"};
    struct read_profile read;
    read_stacks(*state, stacks, COUNT(stacks), &read);
    assert_self(&read, "d", 3);
    assert_call(&read, "c", "d", 1, 4);
    assert_call(&read, "d", "d", 2, 0); /* it was in d before: no time is d's twice */
    assert_call(&read, "d", "g", 1, 1);
    assert_call(&read, "g", "x", 1, 1);
    assert_call(&read, "f", "g", 1, 1);
    assert_call(&read, "b", "c", 1, 4);
    assert_call(&read, "b", "e", 1, 1);
    assert_int_equal(inclusive(&read, "d"), 40);
    assert_int_equal(inclusive(&read, "g"), 20);
}

static void time_counts_once_for_a_function_however_often_it_is_on_the_stack(void **state)
{
    struct fake_letters *fake = *state;
    struct read_profile read;
    arena_ref root = fake_thread(fake, 7, "main");
    fake_weigh(fake, root, "mabab", fake_wall(1));
    fake_weigh(fake, root, "mbab", fake_wall(10));
    fake_weigh(fake, root, "mbaabc", fake_wall(100));
    fake_weigh(fake, root, "ma1a2a1a3", fake_wall(1000));
    struct fake_bytes file = fake_letters_written(fake, FORMAT_CALLGRIND);
    read_callgrind(&file, &read);
    assert_int_equal(inclusive(&read, "m"), 1111);
    assert_int_equal(inclusive(&read, "a"), 1111);
    assert_int_equal(inclusive(&read, "b"), 111);
    assert_int_equal(inclusive(&read, "c"), 100);
    assert_call(&read, "m", "a", 2, 2);
    assert_call(&read, "m", "b", 2, 2);
    assert_call(&read, "a", "b", 4, 1);
    assert_call(&read, "b", "a", 3, 2);
    assert_call(&read, "a", "a", 4, 0);
}

/* Random stacks of few functions: each sample counts once for each function that is on its stack, and each
 * call is there. */
static void inclusive_costs_of_random_stacks_are_those_of_the_samples(void **state)
{
    struct fake_letters *fake = *state;
    struct read_profile read;
    struct random_state random;
    uint64_t expected['f' + 1] = {0}, total = 0;
    arena_ref root = fake_thread(fake, 7, "main");
    random_init(&random, 1);
    for (uint64_t weight = 1; weight < 5000; weight++) {
        char stack[2 * 12 + 1], name[2] = "";
        int depth = 1 + (int)(random_next(&random) % 12);
        for (int i = 0; i < depth; i++) {
            stack[2 * i] = (char)('a' + random_next(&random) % 6);
            stack[2 * i + 1] = (char)('0' + random_next(&random) % 3);
        }
        stack[2 * depth] = '\0';
        fake_weigh(fake, root, stack, fake_wall(weight));
        total += weight;
        for (name[0] = 'a'; name[0] <= 'f'; name[0]++)
            expected[(int)name[0]] += strstr(stack, name) ? weight : 0;
    }
    struct fake_bytes file = fake_letters_written(fake, FORMAT_CALLGRIND);
    read_callgrind(&file, &read);
    assert_int_equal(read.total, total);
    for (char name[2] = "a"; name[0] <= 'f'; name[0]++)
        assert_int_equal(inclusive(&read, name), expected[(int)name[0]]);
    assert_int_equal(read.call_count, 6 * 6 + 6); /* each by each, and by the thread */
}

/* A function that threads begin with may be called too: a thread is made in clone3, and begins there. */
static void what_a_thread_begins_with_is_called_by_the_thread(void **state)
{
    struct fake_letters *fake = *state;
    struct read_profile read;
    fake_name(fake, 'C', "clone3", NULL, 0);
    fake_weigh(fake, fake_thread(fake, 7, "main"), "mpC", fake_wall(1));
    fake_weigh(fake, fake_thread(fake, 8, "worker"), "Cs", fake_wall(10));
    fake_weigh(fake, fake_thread(fake, 9, "worker"), "Cs", fake_wall(100));
    struct fake_bytes file = fake_letters_written(fake, FORMAT_CALLGRIND);
    read_callgrind(&file, &read);
    assert_int_equal(inclusive(&read, "clone3"), 111);
    assert_int_equal(inclusive(&read, "s"), 110);
    assert_call(&read, "[thread worker]", "clone3", 2, 2);
    assert_call(&read, "p", "clone3", 1, 1);
}

/* Equal names in one file are one function to the readers, unless they are in different objects. */
static void functions_are_told_by_name_file_and_object(void **state)
{
    struct fake_letters *fake = *state;
    struct read_profile read;
    arena_ref root = fake_thread(fake, 7, "main");
    fake_name(fake, 'i', "init", "a.c", 3);
    fake_name(fake, 'j', "init", "a.c", 3);
    fake_name(fake, 'k', "init", "b.c", 3);
    fake_name(fake, 'L', "init", "a.c", 3);
    fake_weigh(fake, root, "mij", fake_wall(1));
    fake_weigh(fake, root, "mk", fake_wall(10));
    fake_weigh(fake, root, "mL", fake_wall(100));
    struct fake_bytes file = fake_letters_written(fake, FORMAT_CALLGRIND);
    int functions = 0;
    for (const char *at = (const char *)file.bytes; (at = strstr(at, ") init\n")); at++)
        functions++;
    assert_int_equal(functions, 3);
    read_callgrind(&file, &read);
    assert_int_equal(read.total, 111);
}

static void time_without_a_stack_is_in_functions_too(void **state)
{
    struct fake_letters *fake = *state;
    struct read_profile read;
    arena_ref root = fake_thread(fake, 7, "main"), unsampled;
    unsampled = tree_pseudo_child(&fake->tree, root, PSEUDO_UNSAMPLED);
    tree_node(&fake->tree, unsampled)->self = fake_wall(5);
    tree_node(&fake->tree, root)->self = fake_wall(7); /* when there was no memory for a pseudo-frame */
    tree_node(&fake->tree, fake->tree.spare_root)->self = fake_wall(11);
    struct fake_bytes file = fake_letters_written(fake, FORMAT_CALLGRIND);
    read_callgrind(&file, &read);
    assert_call(&read, "[thread main]", "[unsampled]", 1, 1);
    assert_call(&read, "[thread main]", "[overflow]", 1, 1);
    assert_call(&read, "[threads]", "[overflow]", 1, 1);
    assert_int_equal(inclusive(&read, "[unsampled]"), 5);
    assert_int_equal(inclusive(&read, "[overflow]"), 18);
    assert_int_equal(read.total, 23);
}

static void a_profile_of_nothing(void **state)
{
    assert_written(*state, FORMAT_CALLGRIND, HEADER "summary: 0 0 0 0\n\ntotals: 0 0 0 0\n");
}

static void without_memory_there_is_an_error(void **state)
{
    assert_error_without_memory(*state, FORMAT_CALLGRIND);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        FAKE_LETTERS_TEST(functions_lines_and_calls),
        FAKE_LETTERS_TEST(what_is_inlined_is_called_at_its_line),
        FAKE_LETTERS_TEST(names_are_one_line_and_never_empty),
        FAKE_LETTERS_TEST(calls_of_six_successive_stacks),
        FAKE_LETTERS_TEST(a_function_that_calls_itself),
        FAKE_LETTERS_TEST(time_counts_once_for_a_function_however_often_it_is_on_the_stack),
        FAKE_LETTERS_TEST(inclusive_costs_of_random_stacks_are_those_of_the_samples),
        FAKE_LETTERS_TEST(what_a_thread_begins_with_is_called_by_the_thread),
        FAKE_LETTERS_TEST(functions_are_told_by_name_file_and_object),
        FAKE_LETTERS_TEST(time_without_a_stack_is_in_functions_too),
        FAKE_LETTERS_TEST(a_profile_of_nothing),
        FAKE_LETTERS_TEST(without_memory_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
