/* From addresses to locations: ours are left out, [truncated] comes last,
 * and no address means what it once meant. */
#include "lib/arch.h"
#include "account/locate.h"

#include "lib/fake_stacks.h"

#include <stdbool.h>
#include <string.h>

enum { MODULES_MAX = 4, SNAPSHOT = 7 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct fixture {
    struct arena arena;
    struct tree tree;
    struct modules modules;
    struct modules_entry entries[MODULES_MAX];
    struct locate locate;
    arena_ref program, own, library;
};

/* Modules are added in ascending order. */
static arena_ref add_module(struct fixture *fixture, uint64_t start_pc, uint64_t end_pc)
{
    arena_ref ref = arena_alloc(&fixture->arena, sizeof(struct module));
    struct module *module = arena_at(&fixture->arena, ref);
    module->start_pc = start_pc;
    module->end_pc = end_pc;
    module->is_loaded = 1;
    fixture->entries[fixture->modules.now.count++] =
        (struct modules_entry){.start_pc = start_pc, .end_pc = end_pc, .record = ref};
    return ref;
}

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof(fixture));
    assert_int_equal(arena_init(&fixture.arena, 1 << 16), 0);
    assert_int_equal(tree_init(&fixture.tree, &fixture.arena), 0);
    fixture.modules = (struct modules){.list.arena = &fixture.arena,
                                       .now = {.number = SNAPSHOT, .entries = fixture.entries}};
    fixture.program = add_module(&fixture, 0x1000, 0x2000);
    fixture.own = add_module(&fixture, 0x5000, 0x6000);
    fixture.library = add_module(&fixture, 0x6000, 0x9000);
    ((struct module *)arena_at(&fixture.arena, fixture.own))->is_own = 1;
    locate_init(&fixture.locate, &fixture.tree, &fixture.modules);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    tree_deinit(&fixture->tree);
    arena_deinit(&fixture->arena);
    return 0;
}

/* A stack that was requested after the last snapshot. */
static size_t locate(struct fixture *fixture, const uint64_t *addresses, size_t depth, bool is_truncated,
                     arena_ref *path)
{
    struct locate_stack stack = {addresses, depth, is_truncated, {.snapshot = SNAPSHOT}, NULL, NULL};
    return locate_path(&fixture->locate, &stack, path);
}

static arena_ref locate_one(struct fixture *fixture, uint64_t address)
{
    arena_ref path[2];
    assert_int_equal(locate(fixture, &address, 1, false, path), 1);
    return path[0];
}

static void assert_location(const struct fixture *fixture, arena_ref ref, arena_ref module, uint64_t address)
{
    assert_int_not_equal(ref, 0);
    const struct location *location = tree_location_at(&fixture->tree, ref);
    assert_int_equal(location->module, module);
    assert_int_equal(location->address, address);
    assert_int_equal(location->pseudo, 0);
}

static void a_stack_keeps_its_order_and_its_modules(void **state)
{
    static const uint64_t addresses[] = {0x6000, 0x1fff, 0x2000, 0x8fff, 0x1000, 0x6000, 0};
    struct fixture *fixture = *state;
    const arena_ref modules[] = {fixture->library, fixture->program, 0, fixture->library,
                                 fixture->program, fixture->library, 0};
    arena_ref path[COUNT(addresses) + 1];
    assert_int_equal(locate(fixture, addresses, COUNT(addresses), false, path), COUNT(addresses));
    for (size_t i = 0; i < COUNT(addresses); i++)
        assert_location(fixture, path[i], modules[i], addresses[i]);
    assert_int_equal(path[0], path[5]);
    assert_int_equal(fixture->tree.location_count, PSEUDO_COUNT + 6);
}

struct strip_case {
    const char *name;
    uint64_t addresses[5];
    size_t depth;
    uint64_t expected[5];
    size_t count;
};

static void a_module_knows_that_it_was_sampled(void **state)
{
    struct fixture *fixture = *state;
    const struct module *library = arena_at(&fixture->arena, fixture->library),
                        *program = arena_at(&fixture->arena, fixture->program);
    locate_one(fixture, 0x6100);
    assert_true(library->is_sampled);
    assert_false(program->is_sampled);
}

static void own_frames_are_left_out(void **state)
{
    static const struct strip_case cases[] = {
        {"innermost", {0x5000, 0x5fff, 0x1000}, 3, {0x1000}, 1},
        {"in the midst", {0x1000, 0x5500, 0x1004}, 3, {0x1000, 0x1004}, 2},
        {"outermost", {0x1000, 0x6000, 0x5500}, 3, {0x1000, 0x6000}, 2},
        {"all", {0x5000, 0x5001, 0x5002}, 3, {0}, 0},
        {"none", {0x4fff, 0x6000}, 2, {0x4fff, 0x6000}, 2},
        {"no frame", {0}, 0, {0}, 0},
    };
    struct fixture *fixture = *state;
    for (int round = 0; round < 4; round++) { /* the second time from the cache; then truncated as well */
        bool is_truncated = round >= 2;
        for (size_t i = 0; i < COUNT(cases); i++) {
            arena_ref path[6];
            size_t count = locate(fixture, cases[i].addresses, cases[i].depth, is_truncated, path);
            if (count != cases[i].count + is_truncated)
                fail_msg("%s: %zu frames", cases[i].name, count);
            for (size_t j = 0; j < cases[i].count; j++)
                assert_int_equal(tree_location_at(&fixture->tree, path[j])->address, cases[i].expected[j]);
            if (is_truncated)
                assert_int_equal(path[count - 1], fixture->tree.pseudo[PSEUDO_TRUNCATED]);
        }
    }
    assert_int_equal(tree_find_location(&fixture->tree, fixture->own, 0x5500), 0);
}

static void the_cache_is_not_searched_twice(void **state)
{
    struct fixture *fixture = *state;
    arena_ref before = locate_one(fixture, 0x1234), own[2];
    const uint64_t own_address = 0x5500;
    assert_int_equal(locate(fixture, &own_address, 1, false, own), 0);
    fixture->modules.now.count = 0; /* must not be used now */
    assert_int_equal(locate_one(fixture, 0x1234), before);
    assert_int_equal(locate(fixture, &own_address, 1, false, own), 0);
}

/* Once forgotten, an address means what is mapped there now, and what it meant before keeps its location. */
static void what_was_mapped_before_is_forgotten(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t own_address = 0x5500;
    arena_ref before = locate_one(fixture, 0x6100), path[2];
    locate(fixture, &own_address, 1, false, path);
    fixture->modules.now.count = 1;
    arena_ref other = add_module(fixture, 0x5000, 0x7000);
    locate_forget(&fixture->locate);
    arena_ref now = locate_one(fixture, 0x6100);
    assert_location(fixture, now, other, 0x6100);
    assert_location(fixture, before, fixture->library, 0x6100);
    assert_location(fixture, locate_one(fixture, own_address), other, own_address);
    fixture->modules.now.count = 1;
    locate_forget(&fixture->locate);
    assert_location(fixture, locate_one(fixture, 0x6100), 0, 0x6100); /* unmapped */
}

/* One library gave way to another since the request was sent, and which of them it was is not known. */
static void a_library_that_gave_way_is_not_named(void **state)
{
    struct fixture *fixture = *state;
    static const uint64_t addresses[] = {0x6000, 0x6100, 0x5500, 0x1000, 0x6200, 0x1004};
    static const uint32_t expected_inner[] = {0, 0, 1,
                                              1, 2, 3}; /* 0x5500 is ours: what calls it stands for it */
    uint32_t inner[COUNT(addresses)];
    struct locate_stack stack = {addresses, COUNT(addresses), true, {.snapshot = SNAPSHOT - 1}, inner, NULL};
    arena_ref path[COUNT(addresses) + 1], known = locate_one(fixture, 0x6000);
    fixture->modules.last_unload = fixture->modules.last_unseen_unload = SNAPSHOT;
    for (int i = 0; i < 2; i++)
        fixture->entries[i].is_permanent = true;
    assert_int_equal(locate_path(&fixture->locate, &stack, path), 5);
    arena_ref unloaded = fixture->tree.pseudo[PSEUDO_UNLOADED];
    assert_memory_equal(inner, expected_inner, sizeof(inner));
    assert_int_equal(path[0], unloaded); /* two frames, one name */
    assert_location(fixture, path[1], fixture->program, 0x1000);
    assert_int_equal(path[2], unloaded);
    assert_location(fixture, path[3], fixture->program, 0x1004);
    assert_int_equal(path[4], fixture->tree.pseudo[PSEUDO_TRUNCATED]);
    assert_int_equal(locate_one(fixture, 0x6000), known); /* and others are named as before */
    stack.moment.snapshot = SNAPSHOT;
    assert_int_equal(locate_path(&fixture->locate, &stack, path), COUNT(addresses));
    assert_int_equal(path[0], known);
}

/* More addresses than entries: whoever is pushed out is found again as the same location. */
static void a_crowded_cache_is_still_right(void **state)
{
    enum { ADDRESSES = 1000, STEP = 2 };
    struct fixture *fixture = *state;
    arena_ref refs[ADDRESSES];
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < ADDRESSES; i++) {
            uint64_t address = 0x6000 + STEP * i;
            arena_ref ref = locate_one(fixture, address);
            assert_location(fixture, ref, fixture->library, address);
            if (round > 0)
                assert_int_equal(ref, refs[i]);
            refs[i] = ref;
        }
        for (uint64_t i = 0; round == 0 && i < ADDRESSES; i++) { /* the same slots, for others */
            uint64_t victim = 0x6000 + STEP * i, inverse = UINT64_C(0xf1de83e19937733d);
            assert_int_equal(inverse * UINT64_C(0x9e3779b97f4a7c15), 1);
            uint64_t rival = (victim * UINT64_C(0x9e3779b97f4a7c15) ^ 1) * inverse;
            assert_location(fixture, locate_one(fixture, rival), 0, rival);
            i += 7;
        }
    }
}

static void a_full_arena_gives_no_location(void **state)
{
    struct fixture *fixture = *state;
    static const uint64_t addresses[] = {0x1000, 0x1001, 0x5000, 0x1000};
    arena_ref path[COUNT(addresses) + 1], known = locate_one(fixture, 0x1000);
    while (arena_alloc(&fixture->arena, 8))
        ;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(locate(fixture, addresses, COUNT(addresses), true, path), 4);
        assert_int_equal(path[0], known);
        assert_int_equal(path[1], 0);
        assert_int_equal(path[2], known);
        assert_int_equal(path[3], fixture->tree.pseudo[PSEUDO_TRUNCATED]);
    }
}

__attribute__((noinline)) static int some_function(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x * 3;
}

/* With the modules of this process: every address in a function has its start. */
static void a_location_knows_where_its_function_starts(void **state)
{
    struct fixture *fixture = *state;
    uint64_t start = (uintptr_t)some_function;
    struct modules modules = {0};
    assert_int_equal(some_function(1), 3);
    assert_int_equal(modules_init(&modules, &fixture->arena), 0);
    ((struct module *)arena_at(&fixture->arena, modules_find(&modules, start)))->is_own =
        0; /* a test links us in */
    locate_init(&fixture->locate, &fixture->tree, &modules);
    for (uint64_t offset = 0; offset < 3; offset++) {
        const struct location *location =
            tree_location_at(&fixture->tree, locate_one(fixture, start + offset));
        assert_int_equal(location->address, start + offset);
        assert_int_equal(location->function_start, start);
        assert_int_equal(location->module, modules_find(&modules, start));
        assert_int_not_equal(location->module, 0);
    }
    modules_deinit(&modules);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_stack_keeps_its_order_and_its_modules),
        TEST(a_module_knows_that_it_was_sampled),
        TEST(own_frames_are_left_out),
        TEST(the_cache_is_not_searched_twice),
        TEST(what_was_mapped_before_is_forgotten),
        TEST(a_library_that_gave_way_is_not_named),
        TEST(a_crowded_cache_is_still_right),
        TEST(a_full_arena_gives_no_location),
        TEST(a_location_knows_where_its_function_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
