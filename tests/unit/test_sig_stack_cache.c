/*
 * The stack cache of the last stack: whatever happens between two walks, a walk with a stack cache finds what
 * a walk without one finds; and what has not changed is not walked again.
 *
 * The stacks are made by hand: function n's frame is n + 2 words of 8 bytes, its rule is in the cache.
 */
#include "lib/unit.h"
#include "lib/arch.h"
#include "sig/walk/sig_stack_cache.h"
#include "sig/walk/sig_rules.h"
#include "sig/walk/sig_unwind.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { WORDS = 4096, CAPACITY = 512, FUNCTIONS = 9, SITES = 4, ROOT = 0x90000, LEAF = 0x80000 };

static uint64_t *stack; /* of mmap, before a guard page: what is found readable is read */
static uint64_t with[CAPACITY], without[CAPACITY];
static struct sig_stack_cache *stack_cache;
static struct sig_modules_table table;
static ucontext_t context;

/* What the program has called: from the top of the memory downwards. */
static struct {
    size_t function, site;
} calls[CAPACITY];
static size_t depth;

static uint64_t return_address(size_t function, size_t site)
{
    return 0x10000 + function * 0x1000 + site * 16;
}

/* Functions 6.. keep a frame pointer, 3..5 save it and use it for something else; 5 has its CFA in the extra
 * register; or where that is the return address none of the latter. */
static bool uses_fp(size_t function)
{
    return function >= 6;
}

static bool saves_extra(size_t function)
{
    return !SIG_RA_IN_EXTRA && (function == 2 || function == 5 || function == 8);
}

static void keep_rules(void)
{
    sig_rules_clear();
    for (size_t function = 0; function < FUNCTIONS; function++) {
        struct sig_rule rule = {.kind = SIG_RULE_FRAME, .cfa_register = SIG_DWARF_SP};
        rule.cfa_offset = (int32_t)(function + 2) * 8;
        if (uses_fp(function)) {
            rule.cfa_register = SIG_DWARF_FP;
            rule.cfa_offset = 16;
        }
        rule.ra = (struct sig_saved){.kind = SIG_SAVED_AT_CFA, .offset = -8};
        if (function >= 3)
            rule.fp = (struct sig_saved){.kind = SIG_SAVED_AT_CFA, .offset = -16};
        if (saves_extra(function))
            rule.extra = (struct sig_saved){.kind = SIG_SAVED_AT_CFA, .offset = function == 2 ? -16 : -24};
        if (SIG_RA_IN_EXTRA)
            rule.extra = rule.ra;
        else if (function == 5) {
            rule.cfa_register = SIG_DWARF_EXTRA;
            rule.cfa_offset = 0;
        }
        for (size_t site = 0; site < SITES; site++)
            sig_rules_insert(return_address(function, site) - 1, &rule);
    }
    sig_rules_insert(ROOT - 1, &(struct sig_rule){.kind = SIG_RULE_ROOT});
    struct sig_rule leaf = {.kind = SIG_RULE_FRAME, .cfa_register = SIG_DWARF_SP};
    if (!SIG_RA_IN_EXTRA) {
        leaf.cfa_offset = 8;
        leaf.ra = (struct sig_saved){.kind = SIG_SAVED_AT_CFA, .offset = -8};
    }
    sig_rules_insert(LEAF, &leaf);
}

/*
 * Writes the frames of `calls` as the machine would have, and the registers of a leaf called by the last of
 * them. Returns the registers' words it ends with.
 */
static void lay_out(void)
{
    size_t at = WORDS; /* the CFA of the next frame */
    uint64_t fp = 1, extra = 7, ra = ROOT;
    for (size_t i = 0; i < depth; i++) {
        size_t function = calls[i].function;
        uint64_t *cfa = &stack[at];
        cfa[-1] = ra;
        if (function >= 3)
            cfa[-2] = fp;
        if (saves_extra(function))
            cfa[function == 2 ? -2 : -3] = extra;
        if (uses_fp(function))
            fp = (uint64_t)(uintptr_t)(cfa - 2);
        else if (function >= 3)
            fp = i * 8;
        if (saves_extra(function))
            extra = function == 5 ? (uintptr_t)cfa : i;
        at -= function + 2;
        ra = return_address(function, calls[i].site);
    }
    if (SIG_RA_IN_EXTRA)
        extra = ra;
    else
        stack[--at] = ra;
    set_registers(&context, LEAF, (uintptr_t)&stack[at], fp);
    set_register(&context, SIG_DWARF_EXTRA, extra);
}

static size_t walk(struct sig_stack_cache *used, uint64_t *addresses, size_t capacity,
                   enum sig_unwind_end *ret_end)
{
    struct sig_unwind_request request = {.modules = &table,
                                         .stack_low = (uintptr_t)stack,
                                         .stack_high = (uintptr_t)(stack + WORDS),
                                         .use_cache = true,
                                         .stack_cache = used,
                                         .addresses = addresses,
                                         .capacity = capacity};
    return sig_unwind(&request, &context, ret_end);
}

/* Returns how many frames were shared. */
static size_t assert_same_walk(size_t capacity)
{
    enum sig_unwind_end end, end_without;
    size_t count = walk(stack_cache, with, capacity, &end), fresh = count;
    size_t count_without = walk(NULL, without, capacity, &end_without);
    assert_int_equal(end, end_without);
    if (end == SIG_UNWIND_ROOT) {
        assert_true(stack_cache->count == 0 || stack_cache->count == count + stack_cache->shared);
        for (size_t i = stack_cache->shared; i-- > 0;)
            with[count++] = stack_cache->frames[i].address;
        for (size_t i = 0; i < stack_cache->count; i++)
            assert_int_equal(stack_cache->frames[i].address, without[count - 1 - i]);
    } else {
        assert_int_equal(stack_cache->count, 0);
    }
    assert_int_equal(count, count_without);
    assert_memory_equal(with, without, count * sizeof(with[0]));
    return count - fresh;
}

static void call(size_t function, size_t site)
{
    calls[depth].function = function;
    calls[depth++].site = site;
}

/* 50 calls of one function. */
static void lay_out_calls(size_t function)
{
    for (size_t i = 0; i < 50; i++)
        call(function, 0);
    lay_out();
}

static int setup_group(void **state)
{
    const size_t bytes = WORDS * sizeof(*stack), guard_bytes = 4096;
    stack = mmap(NULL, bytes + guard_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return stack == MAP_FAILED ? -1 : mprotect(stack, bytes, PROT_READ | PROT_WRITE);
}

static int setup(void **state)
{
    memset(stack, 0, WORDS * sizeof(*stack));
    memset(&context, 0, sizeof(context));
    stack_cache = calloc(1, sizeof(*stack_cache) + 2 * CAPACITY * sizeof(stack_cache->frames[0]));
    stack_cache->capacity = 2 * CAPACITY;
    table.generation = 1;
    depth = 0;
    keep_rules();
    return 0;
}

static int teardown(void **state)
{
    free(stack_cache);
    return 0;
}

static void what_did_not_change_is_shared(void **state)
{
    for (size_t i = 0; i < 100; i++)
        call(i % 5, 0);
    lay_out();
    assert_int_equal(assert_same_walk(CAPACITY), 0);
    assert_int_equal(assert_same_walk(CAPACITY), 101); /* all but the leaf */
    depth = 90;
    call(1, 3);
    lay_out();
    assert_int_equal(assert_same_walk(CAPACITY), 91); /* the caller of the new one has returned and called */
    calls[60].site = 2;
    lay_out();
    assert_int_equal(assert_same_walk(CAPACITY), 61);
}

/* A frame in the middle returns elsewhere, without any change of the ones further in. */
static void a_word_that_changed_ends_the_sharing(void **state)
{
    lay_out_calls(0); /* two words each */
    assert_same_walk(CAPACITY);
    stack[WORDS - 1 - 2 * 20] = return_address(0, 1); /* the return address into number 19 */
    assert_int_equal(assert_same_walk(CAPACITY), 20);
    assert_int_equal(assert_same_walk(CAPACITY), 51);
}

/* A return address of 0 ends a walk, but is a word like any other. */
static void a_stack_that_ends_in_zero_is_not_remembered(void **state)
{
    lay_out_calls(0);
    stack[WORDS - 1] = 0;
    assert_same_walk(CAPACITY);
    stack[WORDS - 1] = ROOT;
    assert_int_equal(assert_same_walk(CAPACITY), 0);
}

static void other_modules_make_it_worthless(void **state)
{
    lay_out_calls(4);
    assert_same_walk(CAPACITY);
    table.generation++;
    assert_int_equal(assert_same_walk(CAPACITY), 0);
    assert_int_equal(assert_same_walk(CAPACITY), 51);
}

static void a_walk_that_does_not_end_is_not_remembered(void **state)
{
    lay_out_calls(4);
    assert_same_walk(CAPACITY);
    stack[WORDS - 1] = 0x123456789; /* where the root was, nothing */
    assert_int_equal(assert_same_walk(CAPACITY), 0);
    stack[WORDS - 1] = ROOT;
    assert_int_equal(assert_same_walk(CAPACITY), 0);
    assert_int_equal(assert_same_walk(CAPACITY), 51);
}

static void a_full_result_is_the_innermost_frames(void **state)
{
    lay_out_calls(4);
    assert_same_walk(CAPACITY);
    for (size_t capacity = 1; capacity <= 52; capacity++) {
        assert_same_walk(CAPACITY);
        assert_same_walk(capacity);
    }
}

static void too_little_memory_is_no_cache(void **state)
{
    lay_out_calls(4);
    stack_cache->capacity = 40;
    enum sig_unwind_end end;
    for (int round = 0; round < 3; round++) {
        assert_int_equal(walk(stack_cache, with, CAPACITY, &end), 52);
        assert_int_equal(end, SIG_UNWIND_ROOT);
        assert_int_equal(stack_cache->count, 0);
        assert_int_equal(stack_cache->shared, 0);
    }
}

static void any_history_gives_the_same_stacks(void **state)
{
    size_t shared = 0, all = 0;
    srand(3);
    for (int round = 0; round < 20000; round++) {
        size_t stays = depth ? depth - (size_t)rand() % (depth < 12 ? depth : 12) : 0;
        if (rand() % 50 == 0 && depth)
            stays = (size_t)rand() % depth;
        depth = stays;
        while (depth < 200 && rand() % 12 != 0)
            call((size_t)rand() % FUNCTIONS, (size_t)rand() % SITES);
        lay_out();
        if (rand() % 4 == 0)
            stack[WORDS - 1 - (size_t)rand() % 400] = rand() % 2
                                                          ? (uintptr_t)&stack[WORDS - rand() % 400]
                                                          : return_address((size_t)rand() % FUNCTIONS, 1);
        if (rand() % 100 == 0)
            sig_rules_clear(), keep_rules();
        shared += assert_same_walk(rand() % 10 ? CAPACITY : 1 + (size_t)rand() % 64);
        all += depth;
    }
    print_message("%zu of %zu frames shared\n", shared, all);
    assert_true(shared > all / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_did_not_change_is_shared, setup, teardown),
        cmocka_unit_test_setup_teardown(a_word_that_changed_ends_the_sharing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stack_that_ends_in_zero_is_not_remembered, setup, teardown),
        cmocka_unit_test_setup_teardown(other_modules_make_it_worthless, setup, teardown),
        cmocka_unit_test_setup_teardown(a_walk_that_does_not_end_is_not_remembered, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_result_is_the_innermost_frames, setup, teardown),
        cmocka_unit_test_setup_teardown(too_little_memory_is_no_cache, setup, teardown),
        cmocka_unit_test_setup_teardown(any_history_gives_the_same_stacks, setup, teardown),
    };
    return cmocka_run_group_tests(tests, setup_group, NULL);
}
