/* A profile says what did not fit into its memory, and only then. */
#include "encode/profile_notes.h"

#include "lib/small_profile.h"
#include "lib/unit.h"

#include <string.h>

struct fixture {
    struct small_profile small;
    char notes[8192]; /* each with a line's end */
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    small_profile_create(&fixture.small);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    small_profile_destroy(&fixture->small);
    return 0;
}

static void add_note(void *context, const char *text)
{
    struct fixture *fixture = context;
    strcat(strcat(fixture->notes, text), "\n");
}

static const char *notes_of(struct fixture *fixture)
{
    *fixture->notes = '\0';
    profile_notes_write(&fixture->small.profile, add_note, fixture);
    return fixture->notes;
}

static void merged_threads_are_counted(void **state)
{
    struct fixture *fixture = *state;
    struct small_profile *small = &fixture->small;
    assert_null(strstr(notes_of(fixture), "memory: full"));
    for (uint32_t number = 1; number <= 2; number++) {
        struct thread_record *thread = arena_at(&small->arena, small->thread_of_number[number]);
        thread->merged_threads = 20 * number;
    }
    assert_non_null(
        strstr(notes_of(fixture), "memory: full, so 60 threads that had ended were merged into "));
}

static void keys_with_other_values_are_named(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->small.tree;
    assert_int_not_equal(tree_label(tree, "phase", "other"), 0);
    assert_null(strstr(notes_of(fixture), "labels: "));
    tree_label(tree, "request", LABELS_OTHER);
    assert_non_null(strstr(notes_of(fixture), "labels: request had too many values: the rest is [other]\n"));
    static const char *const more[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++)
        tree_label(tree, more[i], LABELS_OTHER);
    assert_non_null(strstr(notes_of(fixture), "labels: d, c, b, a, ... had too many values"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(merged_threads_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(keys_with_other_values_are_named, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
