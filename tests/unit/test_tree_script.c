/* Frames of scripts as locations: one for each line of a function, found again by their text. */
#include "lib/unit.h"

#include "profile/tree.h"

#include <string.h>

static struct arena arena;
static struct tree tree;

static int setup(void **state)
{
    assert_int_equal(arena_init(&arena, 1 << 16), 0);
    assert_int_equal(tree_init(&tree, &arena), 0);
    return 0;
}

static int teardown(void **state)
{
    tree_deinit(&tree);
    arena_deinit(&arena);
    return 0;
}

static arena_ref script(const char *function, const char *file, uint32_t first_line, uint32_t line)
{
    const struct tree_script what = {function, file, first_line, line};
    return tree_script(&tree, &what);
}

static void a_frame_is_found_again(void **state)
{
    char name[] = "take", file[] = "/app.py";
    arena_ref location = script(name, file, 10, 12);
    assert_true(location != 0);
    name[0] = 'm'; /* the text was copied */
    assert_int_equal(script("take", "/app.py", 10, 12), location);
}

static void what_differs_is_another_location(void **state)
{
    arena_ref location = script("take", "/app.py", 10, 12);
    assert_true(script("take", "/app.py", 10, 13) != location);
    assert_true(script("take", "/app.py", 11, 12) != location);
    assert_true(script("take", "/other.py", 10, 12) != location);
    assert_true(script("takes", "/app.py", 10, 12) != location);
    assert_true(script("take", "/app.py", 10, 0) != location);
}

static void lines_of_a_function_are_one_function(void **state)
{
    arena_ref root = tree_root(&tree, 1);
    arena_ref a = tree_child(&tree, root, script("f", "/app.py", 1, 2));
    arena_ref b = tree_child(&tree, root, script("f", "/app.py", 1, 3));
    arena_ref c = tree_child(&tree, root, script("g", "/app.py", 1, 3));
    assert_true(tree_same_function(&tree, a, b));
    assert_false(tree_same_function(&tree, b, c));
}

static void a_location_tells_what_it_is(void **state)
{
    const struct location *location = tree_location_at(&tree, script("f", "/app.py", 7, 70000));
    struct tree_script what = tree_script_of(&arena, location);
    assert_true(tree_is_script(location));
    assert_string_equal(what.function, "f");
    assert_string_equal(what.file, "/app.py");
    assert_int_equal(what.first_line, 7);
    assert_int_equal(what.line, 70000);
    assert_false(tree_is_script(tree_location_at(&tree, tree_location(&tree, 0, 0x7fff12345678, 0))));
    assert_false(tree_is_script(tree_location_at(&tree, tree_label(&tree, "key", "value"))));
}

static void texts_are_found_after_indexing_anew(void **state)
{
    arena_ref location = script("f", "/app.py", 7, 8);
    tree_deinit(&tree);
    assert_int_equal(tree_index_all(&tree), 0);
    assert_int_equal(script("f", "/app.py", 7, 8), location);
}

static void without_memory_there_is_none(void **state)
{
    uint32_t made = 0;
    char name[] = "f000000";
    for (; made < 100000; made++) {
        for (uint32_t digit = 6, number = made; digit > 0; digit--, number /= 10)
            name[digit] = (char)('0' + number % 10);
        if (!script(name, "/app.py", 1, 1))
            break;
    }
    assert_in_range(made, 10, 99999);
}

static void only_sound_texts_are_believed(void **state)
{
    struct location *location = tree_location_at(&tree, script("f", "/app.py", 7, 8));
    struct location good = *location;
    assert_true(tree_script_is_sound(&arena, location));
    location->address = TREE_SCRIPT_ADDRESS;
    assert_false(tree_script_is_sound(&arena, location));
    location->address = TREE_SCRIPT_ADDRESS | UINT32_MAX;
    assert_false(tree_script_is_sound(&arena, location));
    *location = good;
    location->function_start++;
    assert_false(tree_script_is_sound(&arena, location));
    *location = good;
    memset(arena.base + (good.address & UINT32_MAX) * ARENA_UNIT_BYTES, 'x',
           arena.used_bytes - (good.address & UINT32_MAX) * ARENA_UNIT_BYTES);
    good.function_start = good.address & (TREE_SCRIPT_ADDRESS | UINT32_MAX);
    assert_false(tree_script_is_sound(&arena, &good));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_frame_is_found_again, setup, teardown),
        cmocka_unit_test_setup_teardown(what_differs_is_another_location, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_of_a_function_are_one_function, setup, teardown),
        cmocka_unit_test_setup_teardown(a_location_tells_what_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_are_found_after_indexing_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_there_is_none, setup, teardown),
        cmocka_unit_test_setup_teardown(only_sound_texts_are_believed, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
