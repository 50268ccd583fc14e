/* Records are apart, aligned, zeroed and never move; the end of the region is kept for what must not fail. */
#include "lib/unit.h"
#include "lib/arch.h"
#include "base/arena.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void the_size_is_rounded_up_to_pages(void **state)
{
    static const size_t cases[][2] = {{1, PAGE}, {PAGE - 1, PAGE}, {PAGE, PAGE}, {PAGE + 1, 2 * PAGE}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct arena arena;
        assert_int_equal(arena_init(&arena, cases[i][0]), 0);
        assert_int_equal(arena.size_bytes, cases[i][1]);
        assert_int_equal(arena.used_bytes, 8);
        assert_int_equal((uintptr_t)arena.base % PAGE, 0);
        arena_deinit(&arena);
        assert_null(arena.base);
    }
}

static void no_region_is_larger_than_its_references_reach(void **state)
{
    struct arena arena;
    int status = arena_init(&arena, SIZE_MAX);
    if (status < 0) { /* a system that does not overcommit */
        assert_int_equal(status, -ENOMEM);
        assert_null(arena.base);
        return;
    }
    assert_int_equal(arena.size_bytes, (size_t)32 << 30);
    assert_int_equal(arena_alloc_reserved(&arena, arena.size_bytes - 16), 1);
    arena_ref last = arena_alloc_reserved(&arena, 8);
    assert_int_equal(last, UINT32_MAX);
    memset(arena_at(&arena, last), 1, 8);
    assert_int_equal(arena_alloc_reserved(&arena, 8), 0);
    arena_deinit(&arena);
}

static void records_are_apart_aligned_and_zeroed(void **state)
{
    static const size_t sizes[] = {1, 8, 7, 64, 9, 24, 1000, 3};
    struct arena arena;
    size_t expected = 8;
    assert_int_equal(arena_init(&arena, 1 << 16), 0);
    for (int round = 0; round < 10; round++) {
        for (size_t i = 0; i < COUNT(sizes); i++) {
            arena_ref ref = arena_alloc(&arena, sizes[i]);
            unsigned char *record = arena_at(&arena, ref);
            assert_int_equal((size_t)ref * 8, expected);
            assert_ptr_equal(record, arena.base + expected);
            for (size_t byte = 0; byte < sizes[i]; byte++)
                assert_int_equal(record[byte], 0);
            memset(record, 0xff, sizes[i]);
            expected += (sizes[i] + 7) / 8 * 8;
            assert_int_equal(arena.used_bytes, expected);
        }
    }
    arena_deinit(&arena);
}

static void the_last_sixteenth_is_kept(void **state)
{
    struct arena arena;
    assert_int_equal(arena_init(&arena, 16 * PAGE), 0);
    assert_int_equal(arena_alloc(&arena, 15 * PAGE - 7), 0); /* 8 are used already */
    assert_int_equal(arena.used_bytes, 8);
    assert_int_equal(arena_alloc(&arena, 15 * PAGE - 16), 1);
    assert_int_equal(arena_alloc(&arena, 8), (15 * PAGE - 8) / 8);
    assert_int_equal(arena_alloc(&arena, 1), 0);
    assert_int_equal(arena_alloc_reserved(&arena, PAGE + 1), 0);
    assert_int_equal(arena_alloc_reserved(&arena, 16), 15 * PAGE / 8);
    assert_int_equal(arena_alloc(&arena, 1), 0);
    assert_int_equal(arena_alloc_reserved(&arena, PAGE - 16), 15 * PAGE / 8 + 2);
    assert_int_equal(arena_alloc_reserved(&arena, 1), 0);
    assert_int_equal(arena.used_bytes, arena.size_bytes);
    arena_deinit(&arena);
}

static void sizes_beyond_reason_are_refused(void **state)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX - 8, SIZE_MAX / 2, PAGE, PAGE - 7};
    struct arena arena;
    assert_int_equal(arena_init(&arena, PAGE), 0);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        assert_int_equal(arena_alloc_reserved(&arena, sizes[i]), 0);
        assert_int_equal(arena.used_bytes, 8);
    }
    arena_deinit(&arena);
}

static void strings_are_copied_whole_or_not_at_all(void **state)
{
    struct arena arena;
    char text[2 * PAGE], seven[] = "seven..";
    assert_int_equal(arena_init(&arena, PAGE), 0);
    arena_ref ref = arena_strdup(&arena, seven), empty = arena_strdup(&arena, ""),
              eight = arena_strdup(&arena, "eight...");
    seven[0] = 'S';
    assert_string_equal(arena_at(&arena, ref), "seven..");
    assert_string_equal(arena_at(&arena, empty), "");
    assert_string_equal(arena_at(&arena, eight), "eight...");
    assert_int_equal(arena.used_bytes, 8 + 8 + 8 + 16);
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(arena_strdup(&arena, text), 0);
    assert_int_equal(arena.used_bytes, 8 + 8 + 8 + 16);
    arena_deinit(&arena);
}

static void scratch_memory_grows_with_its_content(void **state)
{
    size_t bytes = 0;
    unsigned char *memory = NULL;
    for (size_t larger = 100; larger < 10 << 20; larger *= 3) {
        memory = scratch_grow(memory, bytes, larger);
        assert_non_null(memory);
        for (size_t i = 0; i < larger; i++) {
            if (memory[i] != (i < bytes ? (unsigned char)(i * 7) : 0))
                fail_msg("byte %zu of %zu is %d", i, larger, memory[i]);
            memory[i] = (unsigned char)(i * 7);
        }
        bytes = larger;
    }
    scratch_free(memory, bytes);
    scratch_free(NULL, 1000);
    memory = scratch_alloc(0);
    assert_non_null(memory);
    memory = scratch_grow(memory, 0, 10000);
    assert_non_null(memory);
    memory[9999] = 1;
    scratch_free(memory, 10000);
}

static void memory_there_is_not_is_null(void **state)
{
    assert_null(scratch_alloc((size_t)1 << 60));
    void *memory = scratch_alloc(PAGE);
    assert_null(scratch_grow(memory, PAGE, (size_t)1 << 60)); /* and the old block is released */
}

static void what_was_cleared_is_zeroed_and_begins_anew(void **state)
{
    struct arena arena;
    assert_int_equal(arena_init(&arena, 1 << 20), 0);
    for (int is_locked = 0; is_locked < 2; is_locked++) {
        arena_ref first = arena_alloc(&arena, 100000);
        if (is_locked && mlock(arena.base, arena.open_bytes) < 0)
            break; /* more than is allowed */
        memset(arena_at(&arena, first), 0xff, 100000);
        arena_clear(&arena);
        assert_int_equal(arena.used_bytes, ARENA_UNIT_BYTES);
        assert_int_equal(arena_alloc(&arena, 100000), first);
        const unsigned char *bytes = arena_at(&arena, first);
        for (size_t i = 0; i < 100000; i++)
            assert_int_equal(bytes[i], 0);
        arena_clear(&arena);
    }
    arena_deinit(&arena);
}

enum { HOLE_BYTES = 16 << 20, BLOCKS = 64 };

/* The highest hole that the kernel knows: where it maps next. */
static unsigned char *make_hole(void)
{
    unsigned char *hole = mmap(NULL, HOLE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(hole, MAP_FAILED);
    munmap(hole, HOLE_BYTES);
    return hole;
}

static bool is_in(const unsigned char *hole, const void *block, size_t bytes)
{
    const unsigned char *begin = block;
    return begin + bytes > hole && begin < hole + HOLE_BYTES;
}

static void scratch_memory_leaves_holes_alone(void **state)
{
    void *blocks[BLOCKS];
    (void)state;
    if (!kernel_copies_memory())
        skip();                        /* an emulator chooses addresses itself */
    scratch_free(scratch_alloc(1), 1); /* the first block is where the kernel puts it */
    unsigned char *hole = make_hole();
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t bytes = (i + 1) * 5000;
        blocks[i] = i % 2 ? scratch_alloc_touched(bytes) : scratch_alloc(bytes);
        assert_non_null(blocks[i]);
        assert_false(is_in(hole, blocks[i], bytes));
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t bytes = (i + 1) * 5000;
        memset(blocks[i], (int)i, bytes);
        blocks[i] = scratch_grow(blocks[i], bytes, 4 * bytes);
        assert_false(is_in(hole, blocks[i], 4 * bytes));
        for (size_t byte = 0; byte < 4 * bytes; byte++)
            assert_int_equal(((unsigned char *)blocks[i])[byte], byte < bytes ? i : 0);
    }
    assert_ptr_equal(make_hole(), hole);
    for (size_t i = 0; i < BLOCKS; i++)
        scratch_free(blocks[i], 4 * (i + 1) * 5000);
}

static long resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d %ld", &pages), 1);
    fclose(file);
    return pages * PAGE;
}

/* In a child, because nothing unlocks what mlockall has made resident. */
static void locking_all_memory_locks_only_what_is_used(void **state)
{
    enum { BYTES = 256 << 20, USED_BYTES = 1 << 20, LEFT_OUT = 77 };
    int status = 0;
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct arena arena;
        struct rlimit limit;
        getrlimit(RLIMIT_MEMLOCK, &limit);
        if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
            _exit(LEFT_OUT); /* more than is allowed */
        long before = resident_bytes();
        status = arena_init(&arena, BYTES);
        if (status == -ENOMEM && limit.rlim_cur < BYTES)
            _exit(LEFT_OUT);
        assert_int_equal(status, 0);
        assert_int_equal(mlockall(MCL_CURRENT | MCL_FUTURE), 0);
        memset(arena_at(&arena, arena_alloc(&arena, USED_BYTES)), 1, USED_BYTES);
        long more = resident_bytes() - before;
        _exit(more < USED_BYTES || more > 4 * USED_BYTES);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == LEFT_OUT)
        skip();
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locking_all_memory_locks_only_what_is_used),
        cmocka_unit_test(scratch_memory_leaves_holes_alone),
        cmocka_unit_test(the_size_is_rounded_up_to_pages),
        cmocka_unit_test(no_region_is_larger_than_its_references_reach),
        cmocka_unit_test(records_are_apart_aligned_and_zeroed),
        cmocka_unit_test(the_last_sixteenth_is_kept),
        cmocka_unit_test(what_was_cleared_is_zeroed_and_begins_anew),
        cmocka_unit_test(sizes_beyond_reason_are_refused),
        cmocka_unit_test(strings_are_copied_whole_or_not_at_all),
        cmocka_unit_test(scratch_memory_grows_with_its_content),
        cmocka_unit_test(memory_there_is_not_is_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
