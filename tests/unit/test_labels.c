/*
 * Labels: every pair once, stacks that change in one step, and what a stack says; and in threads and handlers
 * that come between.
 */
#include "lib/unit.h"
#include "account/labels.h"
#include "account/thread_annotations.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct label_table));
    return *state == NULL;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static const struct wallprof_label_t *label(struct label_table *labels, const char *key, const char *value)
{
    const struct wallprof_label_t *ret = NULL;
    assert_int_equal(labels_intern(labels, key, value, &ret), 0);
    assert_non_null(ret);
    return ret;
}

/* What a stack says, as "a=1 b=2". */
static const char *said(const struct label_table *labels, uint32_t number)
{
    static char text[512];
    uint32_t set[LABELS_DEPTH_MAX];
    size_t count = labels_of_stack(labels, number, set), used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%s", i ? " " : "",
                                 labels_key(labels, set[i]), labels_value(labels, set[i]));
    return text;
}

static void a_pair_is_one_label(void **state)
{
    struct label_table *labels = *state;
    const struct wallprof_label_t *one = label(labels, "key", "value");
    assert_ptr_equal(label(labels, "key", "value"), one);
    assert_ptr_not_equal(label(labels, "key", "valu"), one);
    assert_ptr_not_equal(label(labels, "keyv", "alue"), one);
    assert_ptr_equal(label(labels, "key", "value"), one);
    assert_int_equal(labels->count, 3 + 2); /* and [other] of each key */
}

static void texts_are_made_fit_to_be_written(void **state)
{
    struct label_table *labels = *state;
    const struct wallprof_label_t *repaired = label(labels, "k\n", "a\tb\xff\x7f");
    assert_ptr_equal(label(labels, "k?", "a?b??"), repaired);
    assert_ptr_not_equal(label(labels, "k", "gr\xc3\xbc\xc3\x9f"), repaired);
}

static void what_cannot_be_a_label_is_refused(void **state)
{
    static const struct {
        const char *key, *value;
        int error;
    } cases[] = {{NULL, "v", -EINVAL},        {"", "v", -EINVAL},        {"k", NULL, -EINVAL},
                 {"k", "", -EINVAL},          {"a=b", "v", -EINVAL},     {"pid", "v", -EINVAL},
                 {"rank", "v", -EINVAL},      {"wait", "v", -EINVAL},    {"thread", "v", -EINVAL},
                 {"thread_id", "v", -EINVAL}, {"process", "v", -EINVAL}, {"end_timestamp_ns", "1", -EINVAL}};
    struct label_table *labels = *state;
    const struct wallprof_label_t *ret = NULL;
    char text[LABELS_VALUE_BYTES + 1] = "";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(labels_intern(labels, cases[i].key, cases[i].value, &ret), cases[i].error);
    memset(text, 'x', LABELS_KEY_BYTES);
    assert_int_equal(labels_intern(labels, text, "v", &ret), -ENAMETOOLONG);
    text[LABELS_KEY_BYTES - 1] = '\0';
    label(labels, text, "v");
    memset(text, 'x', LABELS_VALUE_BYTES);
    assert_int_equal(labels_intern(labels, "k", text, &ret), -ENAMETOOLONG);
    text[LABELS_VALUE_BYTES - 1] = '\0';
    label(labels, "k", text);
    assert_null(ret);
}

/* How many values of a key are what they are, and not [other]. */
static uint32_t fill_key(struct label_table *labels, const char *key, uint32_t count)
{
    char value[16];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct wallprof_label_t *ret = NULL;
        snprintf(value, sizeof value, "%u", i);
        assert_int_equal(labels_intern(labels, key, value, &ret), 0);
        const char *is = labels_value(labels, (uint32_t)(ret - labels->records));
        assert_true(strcmp(is, value) == 0 || strcmp(is, LABELS_OTHER) == 0);
        kept += strcmp(is, value) == 0;
    }
    return kept;
}

/* Each key may have half of what is left, so that a key with too many values leaves room for others. */
static void a_key_with_too_many_values_has_others(void **state)
{
    struct label_table *labels = *state;
    const struct wallprof_label_t *first = label(labels, "request", "0");
    assert_int_equal(fill_key(labels, "request", 100000), LABELS_MAX / 2);
    assert_int_equal(fill_key(labels, "user", 100000), LABELS_MAX / 4 - 1);
    assert_int_equal(fill_key(labels, "phase", 10), 10);
    assert_ptr_equal(label(labels, "request", "0"), first);
    assert_ptr_equal(label(labels, "request", "one more"), label(labels, "request", LABELS_OTHER));
    assert_ptr_not_equal(label(labels, "user", "one more"), label(labels, "request", LABELS_OTHER));
}

static void keys_are_not_without_end(void **state)
{
    struct label_table *labels = *state;
    const struct wallprof_label_t *ret = NULL;
    char key[16];
    int made = 0, status = 0;
    for (; status == 0; made += status == 0) {
        snprintf(key, sizeof key, "k%d", made);
        status = labels_intern(labels, key, "v", &ret);
    }
    assert_int_equal(status, -ENOSPC);
    assert_int_equal(made, LABELS_MAX / 2); /* each with [other] */
}

static void texts_take_no_more_than_their_room(void **state)
{
    struct label_table *labels = *state;
    const struct wallprof_label_t *ret = NULL, *other = label(labels, "k", LABELS_OTHER);
    char value[LABELS_VALUE_BYTES];
    int made = 0;
    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    for (; ret != other; made += ret != other) {
        snprintf(value, sizeof value, "%08d", made);
        value[8] = 'x';
        assert_int_equal(labels_intern(labels, "k", value, &ret), 0);
    }
    assert_int_equal(made,
                     (LABELS_TEXT_BYTES - 1 - sizeof "k" - sizeof LABELS_OTHER) / (2 + LABELS_VALUE_BYTES));
}

static void a_stack_says_what_was_put_on_it(void **state)
{
    struct label_table *labels = *state;
    uint32_t number = 0;
    assert_string_equal(said(labels, number), "");
    int outer = labels_push(labels, &number, label(labels, "step", "read"));
    assert_string_equal(said(labels, number), "step=read");
    uint32_t before = number;
    int inner = labels_push(labels, &number, label(labels, "request", "index"));
    assert_string_equal(said(labels, number), "request=index step=read"); /* in the order of keys */
    uint32_t both = number;
    assert_int_equal(labels_pop(labels, &number, inner), 0);
    assert_int_equal(number, before);
    assert_int_equal(labels_push(labels, &number, label(labels, "request", "index")), inner);
    assert_int_equal(number, both); /* the same stack again */
    assert_int_equal(labels_pop(labels, &number, inner), 0);
    assert_int_equal(labels_pop(labels, &number, outer), 0);
    assert_int_equal(number, 0);
    assert_int_equal(labels->stack_count, 2);
}

static void of_one_key_the_last_value_counts(void **state)
{
    struct label_table *labels = *state;
    uint32_t number = 0;
    int first = labels_push(labels, &number, label(labels, "k", "1"));
    int second = labels_push(labels, &number, label(labels, "k", "2"));
    assert_string_equal(said(labels, number), "k=2");
    assert_int_equal(labels_pop(labels, &number, second), 0);
    assert_string_equal(said(labels, number), "k=1");
    second = labels_push(labels, &number, label(labels, "k", "2"));
    assert_int_equal(labels_pop(labels, &number, first), 0);
    assert_string_equal(said(labels, number), "k=2");
    assert_int_equal(labels_pop(labels, &number, second), 0);
    assert_int_equal(number, 0);
}

/* All orders in which four labels can be taken back, and after each step exactly the rest is there. */
static void labels_go_in_any_order(void **state)
{
    static const char *const keys[] = {"a", "b", "c", "d"};
    struct label_table *labels = *state;
    for (int order = 0; order < 256; order++) {
        int tokens[4], is_there[4] = {1, 1, 1, 1};
        uint32_t number = 0;
        for (int i = 0; i < 4; i++)
            tokens[i] = labels_push(labels, &number, label(labels, keys[i], "x"));
        for (int step = 0; step < 4; step++) {
            int which = order >> 2 * step & 3;
            char wanted[32] = "";
            assert_int_equal(labels_pop(labels, &number, tokens[which]), is_there[which] ? 0 : -ENOENT);
            is_there[which] = 0;
            for (int i = 0; i < 4; i++)
                if (is_there[i])
                    sprintf(wanted + strlen(wanted), "%s%s=x", *wanted ? " " : "", keys[i]);
            assert_string_equal(said(labels, number), wanted);
        }
        for (int i = 0; i < 4; i++)
            assert_int_equal(labels_pop(labels, &number, tokens[i]), is_there[i] ? 0 : -ENOENT);
        assert_int_equal(number, 0); /* no holes are left */
    }
}

static void what_is_no_token_is_refused(void **state)
{
    struct label_table *labels = *state;
    const struct wallprof_label_t *one = label(labels, "k", "v");
    uint32_t number = 0;
    int token = labels_push(labels, &number, one);
    static const int wrong[] = {0, -1, -ENOSPC, 1, 5, 0x10000, 17 << 16 | 1, 0x7fffffff, -0x7fffffff - 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(labels_pop(labels, &number, wrong[i]), -EINVAL);
    assert_int_equal(labels_pop(labels, &number, token + 1), -ENOENT);
    assert_int_equal(labels_pop(labels, &number, token + 0x10000), -ENOENT);
    assert_int_equal(labels_push(labels, &number, NULL), -EINVAL);
    assert_int_equal(labels_push(labels, &number, one + 1), -EINVAL);
    assert_int_equal(labels_push(labels, &number, one - 2), -EINVAL);
    assert_int_equal(labels_push(labels, &number, (const void *)((const char *)one + 1)), -EINVAL);
    assert_int_equal(labels_pop(labels, &number, token), 0);
    assert_int_equal(labels_pop(labels, &number, token), -ENOENT);
}

static void a_stack_is_no_deeper_than_sixteen(void **state)
{
    struct label_table *labels = *state;
    const struct wallprof_label_t *one = label(labels, "k", "v");
    uint32_t number = 0;
    int tokens[LABELS_DEPTH_MAX];
    for (int i = 0; i < LABELS_DEPTH_MAX; i++)
        assert_true((tokens[i] = labels_push(labels, &number, one)) > 0);
    uint32_t full = number;
    assert_int_equal(labels_push(labels, &number, one), -ENOSPC);
    assert_int_equal(number, full);
    for (int i = 0; i < LABELS_DEPTH_MAX; i++)
        assert_int_equal(labels_pop(labels, &number, tokens[i]), 0);
    assert_int_equal(number, 0);
}

/* Of 256,000 stacks of two labels there is room for fewer than 49,152. Those that come too late have [other].
 */
static void there_are_no_more_stacks_than_so_many(void **state)
{
    struct label_table *labels = *state;
    uint32_t number = 0, others = 0;
    char value[16];
    const struct wallprof_label_t *first = label(labels, "n", "0");
    for (uint32_t i = 0; i < 1000 * 256; i++) {
        snprintf(value, sizeof value, "%u", i / 256);
        int outer = labels_push(labels, &number, label(labels, "n", value));
        snprintf(value, sizeof value, "%u", i % 256);
        int inner = labels_push(labels, &number, label(labels, "m", value));
        assert_true(outer > 0 && inner > 0);
        uint32_t set[LABELS_DEPTH_MAX];
        assert_int_equal(labels_of_stack(labels, number, set), 2); /* m, and n */
        others += strcmp(labels_value(labels, set[0]), LABELS_OTHER) == 0;
        assert_int_equal(labels_pop(labels, &number, i % 2 ? inner : outer), 0);
        assert_int_equal(labels_pop(labels, &number, i % 2 ? outer : inner), 0);
        assert_int_equal(number, 0);
    }
    assert_in_range(labels->stack_count, LABELS_STACKS_MAX - LABELS_STACKS_KEPT, LABELS_STACKS_MAX - 1);
    assert_true(others > 1000);
    labels->stack_count = LABELS_STACKS_MAX;
    assert_int_equal(labels_push(labels, &number, label(labels, "p", "new")), -ENOSPC);
    assert_true(labels_push(labels, &number, first) > 0); /* one that there has been */
}

/* ---- at the same time ---- */

enum { THREADS = 4, VALUES = 500 };

static void *intern_all(void *argument)
{
    struct label_table *labels = argument;
    const struct wallprof_label_t **ret = calloc(VALUES, sizeof *ret);
    char value[16];
    for (int i = 0; i < VALUES; i++) {
        uint32_t number = 0;
        snprintf(value, sizeof value, "%d", i);
        if (labels_intern(labels, "k", value, &ret[i]) == 0 && labels_push(labels, &number, ret[i]) <= 0)
            ret[i] = NULL;
    }
    return ret;
}

static void threads_find_each_others(void **state)
{
    struct label_table *labels = *state;
    pthread_t threads[THREADS];
    const struct wallprof_label_t **made[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, intern_all, labels), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], (void **)&made[i]);
    for (int i = 0; i < VALUES; i++) {
        assert_non_null(made[0][i]);
        for (int j = 1; j < THREADS; j++)
            assert_ptr_equal(made[j][i], made[0][i]);
    }
    assert_int_equal(labels->stack_count, VALUES);
    for (int i = 0; i < THREADS; i++)
        free(made[i]);
}

static struct label_table *table;
static uint32_t here;
static const struct wallprof_label_t *of_handler, *outer_of[4], *inner_of[4];
static volatile sig_atomic_t rounds, wrong;

/* Whatever it interrupts: before or after each step; and what it does itself is gone when it returns. */
static void on_signal(int signal)
{
    (void)signal;
    uint32_t set[LABELS_DEPTH_MAX], before = here;
    size_t count = labels_of_stack(table, before, set);
    if (count > 2 || (count > 0 && strcmp(labels_key(table, set[0]), "inner") == 0 && count != 2) ||
        (count == 2 && strcmp(labels_value(table, set[0]), labels_value(table, set[1])) != 0))
        wrong = 1;
    int token = labels_push(table, &here, of_handler);
    if (token <= 0 || labels_pop(table, &here, token) != 0 || here != before)
        wrong = 2;
    rounds = rounds + 1;
}

static void a_handler_finds_it_before_or_after(void **state)
{
    struct itimerval timer = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};
    char value[2] = "0";
    table = *state;
    of_handler = label(table, "zzz", "handler");
    for (int i = 0; i < 4; i++, value[0]++) {
        outer_of[i] = label(table, "outer", value);
        inner_of[i] = label(table, "inner", value);
    }
    struct sigaction action = {.sa_handler = on_signal}, old;
    assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
    setitimer(ITIMER_REAL, &timer, NULL);
    bool is_right = true;
    for (unsigned i = 0; rounds < 2000; i++) {
        int outer = labels_push(table, &here, outer_of[i % 4]);
        int inner = labels_push(table, &here, inner_of[i % 4]);
        is_right &= labels_pop(table, &here, inner) == 0 && labels_pop(table, &here, outer) == 0 && here == 0;
    }
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &old, NULL);
    assert_int_equal(wrong, 0);
    assert_true(is_right);
}

/* ---- names ---- */

static void a_name_is_kept_until_there_is_none(void **state)
{
    struct thread_annotations marks = {0};
    char name[THREAD_NAME_BYTES] = "as it was";
    assert_false(thread_annotations_name(&marks, name));
    assert_string_equal(name, "as it was");
    thread_annotations_set_name(&marks, "worker");
    assert_true(thread_annotations_name(&marks, name));
    assert_string_equal(name, "worker");
    thread_annotations_set_name(&marks, "one that is too long");
    assert_true(thread_annotations_name(&marks, name));
    assert_string_equal(name, "one that is too");
    marks.name_changes++; /* it is being changed */
    assert_false(thread_annotations_name(&marks, name));
    marks.name_changes++;
    thread_annotations_set_name(&marks, "");
    assert_false(thread_annotations_name(&marks, name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_pair_is_one_label, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_are_made_fit_to_be_written, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_a_label_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_key_with_too_many_values_has_others, setup, teardown),
        cmocka_unit_test_setup_teardown(keys_are_not_without_end, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_take_no_more_than_their_room, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stack_says_what_was_put_on_it, setup, teardown),
        cmocka_unit_test_setup_teardown(of_one_key_the_last_value_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(labels_go_in_any_order, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_token_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stack_is_no_deeper_than_sixteen, setup, teardown),
        cmocka_unit_test_setup_teardown(there_are_no_more_stacks_than_so_many, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_find_each_others, setup, teardown),
        cmocka_unit_test_setup_teardown(a_handler_finds_it_before_or_after, setup, teardown),
        cmocka_unit_test(a_name_is_kept_until_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
