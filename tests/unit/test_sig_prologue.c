/*
 * Functions with frame pointers, as this compiler makes them: what their prologues tell must hold the
 * distance that a function they call finds.
 */
/* test: not-aarch64 */
#include "lib/unit.h"
#include "base/arena.h"
#include "modules/modules.h"
#include "sig/code/sig_prologue.h"

#include <string.h>

#ifdef __clang__
#define FRAMED __attribute__((noinline))
#else
#define FRAMED __attribute__((noinline, noclone, optimize("no-omit-frame-pointer", "O2")))
#endif

static struct arena arena;
static struct modules modules;
static const struct sig_modules_table *table;
static volatile uint64_t sink, not_constant = 77;
static bool was_found;
static size_t guess_count;

/* Its caller's frame pointer and stack pointer, from its own frame record. */
FRAMED static void probe(const void *unused)
{
    static struct sig_column rows[SIG_ROW_COPIES * SIG_ROW_ALL];
    const uint64_t *record = __builtin_frame_address(0);
    uint32_t guesses[SIG_PROLOGUE_GUESSES];
    uint64_t pc = record[1] - 1, sp = (uint64_t)(uintptr_t)(record + 2);
    const struct sig_module *module = sig_modules_find(table, pc);
    assert_non_null(module);
    guess_count = sig_prologue_distances(module, pc, rows, guesses);
    was_found = false;
    for (size_t i = 0; i < guess_count; i++)
        was_found |= sp + 8 * (uint64_t)guesses[i] == record[0];
    sink += (uint64_t)(uintptr_t)unused;
}

FRAMED static uint64_t with_nothing(uint64_t a)
{
    probe(NULL);
    return a + sink;
}

FRAMED static uint64_t with_registers(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    uint64_t f = sink, g = sink + a;
    probe(NULL);
    return a + b * c - d * e + f * g;
}

FRAMED static uint64_t with_locals(uint64_t a)
{
    uint64_t local[5] = {a, sink};
    probe(local);
    return local[1] + local[a % 5];
}

FRAMED static uint64_t with_registers_and_locals(uint64_t a, uint64_t b, uint64_t c)
{
    char local[3000];
    memset(local, (int)a, sizeof(local));
    probe(local);
    return (uint64_t)local[b % 3000] + a * b * c + sink;
}

FRAMED static uint64_t with_a_moving_stack(uint64_t a)
{
    char *local = __builtin_alloca(a * 100 + 16);
    memset(local, 1, a * 100);
    probe(local);
    return (uint64_t)local[a];
}

static void found_in_the_guesses(void **state)
{
    with_nothing(1);
    assert_true(was_found);
    with_registers(1, 2, 3, 4, 5);
    assert_true(was_found);
    with_locals(3);
    assert_true(was_found);
    with_registers_and_locals(1, 2, 3);
    assert_true(was_found);
}

static void guesses_are_few(void **state)
{
    with_registers_and_locals(1, 2, 3);
    assert_in_range(guess_count, 1, 3);
}

static void a_moved_stack_is_not_found(void **state)
{
    with_a_moving_stack(not_constant);
    assert_false(was_found);
}

static void code_without_a_table_tells_nothing(void **state)
{
    static struct sig_column rows[SIG_ROW_COPIES * SIG_ROW_ALL];
    uint32_t guesses[SIG_PROLOGUE_GUESSES];
    struct sig_module bare = *sig_modules_find(table, (uint64_t)(uintptr_t)with_nothing);
    bare.eh_frame_hdr = 0;
    assert_int_equal(sig_prologue_distances(&bare, (uint64_t)(uintptr_t)with_nothing + 8, rows, guesses), 0);
}

static int set_up(void **state)
{
    if (arena_init(&arena, 4 << 20) < 0 || modules_init(&modules, &arena) < 0)
        return -1;
    table = modules_table(&modules);
    return table ? 0 : -1;
}

static int tear_down(void **state)
{
    modules_deinit(&modules);
    arena_deinit(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_in_the_guesses),
        cmocka_unit_test(guesses_are_few),
        cmocka_unit_test(a_moved_stack_is_not_found),
        cmocka_unit_test(code_without_a_table_tells_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
