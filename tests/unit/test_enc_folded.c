/* What is written of small profiles made by hand, to the letter. */
#include "lib/fake_letters.h"

enum { MS = 1000000 };

static void stacks_in_milliseconds(void **state)
{
    struct fake_letters *fake = *state;
    arena_ref root = fake_thread(fake, 7, "main");
    fake_name(fake, 'm', "main", "/src/m.c", 10);
    fake_weigh(fake, root, "mf", fake_wall(30 * MS));
    fake_weigh(fake, root, "mfW", fake_wall(4000 * (uint64_t)MS));
    fake_weigh(fake, root, "mg", (struct values){.samples = 9, .cpu_ns = 9}); /* no time */
    fake_weigh(fake, root, "m", fake_wall(2 * MS));
    assert_written(fake, FORMAT_FOLDED,
                   "[main tid=7];main 2\n"
                   "[main tid=7];main;f 30\n"
                   "[main tid=7];main;f;W 4000\n");
}

static void a_stack_of_names_is_one_line(void **state)
{
    struct fake_letters *fake = *state;
    arena_ref root = fake_thread(fake, 7, "main");
    fake->inlined['m'] = "ij";
    fake_name(fake, 'k', "j", "other.c", 1);
    fake_weigh(fake, root, "m1f", fake_wall(1 * MS));
    fake_weigh(fake, root, "m2f3", fake_wall(10 * MS)); /* other call sites */
    fake_weigh(fake, root, "m9", fake_wall(100 * MS));
    fake_weigh(fake, root, "m8i1k", fake_wall(1000 * MS)); /* called, where it is inlined elsewhere */
    assert_written(fake, FORMAT_FOLDED,
                   "[main tid=7];m;f 11\n"
                   "[main tid=7];m;i;j 1100\n");
}

static void threads_are_the_first_frame_by_their_labels(void **state)
{
    struct fake_letters *fake = *state;
    fake_weigh(fake, fake_thread(fake, 7, "main"), "m", fake_wall(1 * MS));
    fake_weigh(fake, fake_thread(fake, 8, "pool"), "s", fake_wall(2 * MS));
    fake_weigh(fake, fake_thread(fake, 9, "pool"), "s", fake_wall(3 * MS));
    fake_weigh(fake, fake_thread(fake, 10, ""), "s", fake_wall(4 * MS));
    assert_written(fake, FORMAT_FOLDED,
                   "[main tid=7];m 1\n"
                   "[pool tid=8];s 2\n"
                   "[pool tid=9];s 3\n"
                   "[[nameless] tid=10];s 4\n");
    fake->profile.labels = LABELS_NAME;
    assert_written(fake, FORMAT_FOLDED,
                   "[main];m 1\n"
                   "[pool];s 5\n"
                   "[[nameless]];s 4\n");
    fake->profile.labels = LABELS_NONE;
    assert_written(fake, FORMAT_FOLDED,
                   "m 1\n"
                   "s 9\n");
}

/* Nine stacks of 0.3 ms are 2.7 ms. */
static void rounding_loses_nothing(void **state)
{
    struct fake_letters *fake = *state;
    arena_ref root = fake_thread(fake, 7, "main");
    const char *stacks[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    fake->profile.labels = LABELS_NONE;
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        fake_weigh(fake, root, stacks[i], fake_wall(3 * MS / 10));
    assert_written(fake, FORMAT_FOLDED, "b 1\ne 1\ni 1\n");
}

static void what_would_end_a_frame_or_a_line_is_replaced(void **state)
{
    struct fake_letters *fake = *state;
    arena_ref root = fake_thread(fake, 7, "a;b\n");
    fake_name(fake, 'm', "main(int; char\n\t\x7f\xff)", NULL, 0);
    fake_name(fake, 'n', "x;y", NULL, 0);
    fake_name(fake, 'o', "x:y", NULL, 0);
    fake_name(fake, 'p', "", NULL, 0);
    fake_weigh(fake, root, "mn", fake_wall(1 * MS));
    fake_weigh(fake, root, "mo", fake_wall(2 * MS));
    fake_weigh(fake, root, "mop", fake_wall(4 * MS));
    fake_weigh(fake, root, "p", fake_wall(8 * MS));
    assert_written(fake, FORMAT_FOLDED,
                   "[a:b? tid=7];main(int: char?\?\?\?);x:y 3\n"
                   "[a:b? tid=7];main(int: char?\?\?\?);x:y;[unknown] 4\n"
                   "[a:b? tid=7];[unknown] 8\n");
}

static void time_without_a_stack_is_there(void **state)
{
    struct fake_letters *fake = *state;
    arena_ref root = fake_thread(fake, 7, "main");
    tree_node(&fake->tree, tree_pseudo_child(&fake->tree, root, PSEUDO_UNSAMPLED))->self = fake_wall(1 * MS);
    tree_node(&fake->tree, root)->self = fake_wall(2 * MS); /* when there was no memory for a pseudo-frame */
    tree_node(&fake->tree, fake->tree.spare_root)->self = fake_wall(4 * MS);
    assert_written(fake, FORMAT_FOLDED,
                   "[overflow] 4\n"
                   "[main tid=7];[unsampled] 1\n"
                   "[main tid=7];[overflow] 2\n");
}

static void a_profile_of_nothing(void **state)
{
    assert_written(*state, FORMAT_FOLDED, "");
}

static void without_memory_there_is_an_error(void **state)
{
    assert_error_without_memory(*state, FORMAT_FOLDED);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        FAKE_LETTERS_TEST(stacks_in_milliseconds),
        FAKE_LETTERS_TEST(a_stack_of_names_is_one_line),
        FAKE_LETTERS_TEST(threads_are_the_first_frame_by_their_labels),
        FAKE_LETTERS_TEST(rounding_loses_nothing),
        FAKE_LETTERS_TEST(what_would_end_a_frame_or_a_line_is_replaced),
        FAKE_LETTERS_TEST(time_without_a_stack_is_there),
        FAKE_LETTERS_TEST(a_profile_of_nothing),
        FAKE_LETTERS_TEST(without_memory_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
