/*
 * Distances of frame pointers: what the table keeps and never forgets, which walks cfi_put something in, and
 * what a walk of another thread makes of it.
 */
/* test: tsan */
#include "lib/unit.h"
#include "lib/arch.h"
#include "lib/fake_cfi.h"
#include "sig/walk/sig_fp_offset_cache.h"
#include "sig/walk/sig_rules.h"
#include "sig/walk/sig_unwind.h"

#include <pthread.h>
#include <string.h>

enum {
    CAPACITY = 64,
    WORDS = 1024,
    LOWER_WORDS = 1024,
    AT = 10 /* the stack pointer's word */,
    MANY = 100000
};

/* ---- the table ---- */

static const uint64_t some_pc = 0x7f1234567890, some_sp = 0x7ffdeadbee00;

static uint64_t found_fp(uint64_t pc, uint64_t sp)
{
    uint64_t fp = 0;
    return sig_fp_offset_find(pc, sp, &fp) == SIG_FP_OFFSET_KNOWN ? fp : 0;
}

static int clear(void **state)
{
    sig_fp_offset_clear();
    return 0;
}

static void a_distance_is_of_its_address(void **state)
{
    assert_int_equal(found_fp(some_pc, some_sp), 0);
    sig_fp_offset_learn(some_pc, some_sp, some_sp + 48);
    sig_fp_offset_learn(some_pc, some_sp - 8000, some_sp - 8000 + 48);
    assert_int_equal(found_fp(some_pc, some_sp + 16), some_sp + 64);
    assert_int_equal(found_fp(some_pc + 1, some_sp), 0);
    sig_fp_offset_learn(some_pc + 1, some_sp, some_sp);
    assert_int_equal(found_fp(some_pc + 1, some_sp), some_sp);
    sig_fp_offset_clear();
    assert_int_equal(found_fp(some_pc, some_sp), 0);
}

static void two_distances_are_none(void **state)
{
    sig_fp_offset_learn(some_pc, some_sp, some_sp + 48);
    sig_fp_offset_learn(some_pc, some_sp, some_sp + 56);
    assert_int_equal(found_fp(some_pc, some_sp), 0);
    for (int i = 0; i < 10; i++)
        sig_fp_offset_learn(some_pc, some_sp, some_sp + 48);
    assert_int_equal(found_fp(some_pc, some_sp), 0);
    sig_fp_offset_clear();
    sig_fp_offset_learn(some_pc, some_sp, some_sp + 48);
    assert_int_equal(found_fp(some_pc, some_sp), some_sp + 48);
}

/* Too far, below the stack pointer, between two words: of such an address there is none. */
static void what_does_not_fit_is_none(void **state)
{
    static const int64_t distances[] = {8 * 0xffff, 1LL << 40, -8, 12};
    for (uint64_t i = 0; i < sizeof(distances) / sizeof(distances[0]); i++) {
        sig_fp_offset_learn(some_pc + i, some_sp, some_sp + (uint64_t)distances[i]);
        assert_int_equal(found_fp(some_pc + i, some_sp), 0);
        sig_fp_offset_learn(some_pc + i, some_sp, some_sp + 16);
        assert_int_equal(found_fp(some_pc + i, some_sp), 0);
    }
    sig_fp_offset_learn(some_pc + 9, some_sp, some_sp + 8 * 0xfffe);
    assert_int_equal(found_fp(some_pc + 9, some_sp), some_sp + 8 * 0xfffe);
    sig_fp_offset_learn(some_pc | 1ULL << 47, some_sp, some_sp + 8);
    assert_int_equal(found_fp(some_pc | 1ULL << 47, some_sp), 0);
    sig_fp_offset_learn(0, some_sp, some_sp + 8);
    assert_int_equal(found_fp(0, some_sp), 0);
}

static uint64_t distance_of(uint64_t pc)
{
    return 8 * (pc * 7 % 1000);
}

/* A full table learns nothing new, and keeps what it has: that an address varies above all. */
static void nothing_is_forgotten(void **state)
{
    uint64_t found = 0, fp;
    sig_fp_offset_learn(some_pc, some_sp, some_sp + 48);
    sig_fp_offset_learn(some_pc, some_sp, some_sp + 56);
    for (uint64_t pc = 1; pc <= MANY; pc++)
        sig_fp_offset_learn(pc * 16, some_sp, some_sp + distance_of(pc));
    sig_fp_offset_learn(some_pc, some_sp, some_sp + 48);
    assert_int_equal(found_fp(some_pc, some_sp), 0);
    for (uint64_t pc = 1; pc <= MANY; pc++) {
        if (sig_fp_offset_find(pc * 16, some_sp, &fp) != SIG_FP_OFFSET_KNOWN)
            continue;
        assert_int_equal(fp, some_sp + distance_of(pc));
        found++;
    }
    assert_in_range(found, 4000, 4096);
}

/* Half of the addresses vary: each thread has a distance of its own for these. */
static void *hammer(void *argument)
{
    const uint64_t own = (uint64_t)(uintptr_t)argument, sp = some_sp - own * 8192;
    uint64_t fp;
    for (int round = 0; round < 20; round++) {
        for (uint64_t pc = 1; pc <= 3000; pc++) {
            uint64_t distance = pc % 2 ? 8 * own : distance_of(pc);
            sig_fp_offset_learn(pc, sp, sp + distance);
            if (sig_fp_offset_find(pc, sp, &fp) == SIG_FP_OFFSET_KNOWN && pc % 2 == 0 && fp != sp + distance)
                return argument;
        }
    }
    return NULL;
}

static void threads_agree(void **state)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    for (uint64_t pc = 1; pc <= 3000; pc += 2)
        assert_int_equal(found_fp(pc, some_sp), 0); /* it varies, or was never learned */
}

/* ---- walks ---- */

/* The functions, and where they are left by calls. */
enum { LEAF, BY_FP, OTHER, ROOT, MIDDLE };
enum { PLACE = 0x40, CALLS_BY_FP = 0x60, CALLS_OTHER = 0x80, CALLS_SOMEWHERE = 0xa0, CALLS_NOTHING = 0xc0 };

static struct table table;
static _Alignas(
    struct sig_module) char modules_memory[sizeof(struct sig_modules_table) + sizeof(struct sig_module)];
static struct sig_modules_table *const modules = (struct sig_modules_table *)(void *)modules_memory;
static uint64_t two_stacks[LOWER_WORDS + WORDS], *const stack = two_stacks + LOWER_WORDS;
static uint64_t addresses[CAPACITY];
static ucontext_t context;
static size_t depth;
static struct sig_unwind_course course;

static uint64_t address_of(size_t word)
{
    return (uint64_t)(uintptr_t)&stack[word];
}

/* After the call at a place in a function. */
static uint64_t returns_to(uint32_t function, uint64_t place)
{
    return cfi_function_pc(&table, function) + place;
}

static void put_code(uint32_t function, uint64_t end, const void *code, size_t bytes)
{
    memcpy(table.bytes + FUNCTION_PC + function * FUNCTION_BYTES + end - bytes, code, bytes);
}

static void put_calls(uint32_t function)
{
#if defined(__x86_64__)
    for (uint32_t called = BY_FP; called <= OTHER; called++) {
        uint64_t end = called == BY_FP ? CALLS_BY_FP : CALLS_OTHER;
        uint32_t distance = (uint32_t)(cfi_function_pc(&table, called) - returns_to(function, end));
        uint8_t call[5] = {0xe8};
        memcpy(call + 1, &distance, sizeof(distance));
        put_code(function, end, call, sizeof(call));
    }
    put_code(function, CALLS_SOMEWHERE, "\xff\xd0", 2);
    put_code(function, PLACE, "\x0f\x05", 2);
#else
    for (uint64_t end = CALLS_BY_FP; end <= CALLS_SOMEWHERE; end += CALLS_OTHER - CALLS_BY_FP)
        put_code(function, end, "\x00\x00\x3f\xd6", 4);
    put_code(function, PLACE, "\x01\x00\x00\xd4", 4);
#endif
}

static int setup(void **state)
{
    static const uint8_t by_fp[] = {0x0c, FP, 16, CFA_OFFSET | FP, 2, CFA_OFFSET | RA, 1};
    static const uint8_t leaf[] = {0x0e, 8, CFA_OFFSET | RA, 1}, root[] = {0x07, RA};
    static const uint8_t middle[] = {0x0e, 32, CFA_OFFSET | RA, 1};
    cfi_begin(&table);
    cfi_add_cie(&table, "zR", usual_instructions, sizeof(usual_instructions));
    cfi_add_fde(&table, leaf, sizeof(leaf));
    cfi_add_fde(&table, by_fp, sizeof(by_fp));
    cfi_add_fde(&table, by_fp, sizeof(by_fp));
    cfi_add_fde(&table, root, sizeof(root));
    cfi_add_fde(&table, middle, sizeof(middle));
    for (uint32_t i = LEAF; i <= MIDDLE; i++)
        put_calls(i);
    modules->count = 1;
    modules->modules[0] = table.module;
    modules->modules[0].is_permanent = true;
    memset(two_stacks, 0, sizeof(two_stacks));
    memset(&context, 0, sizeof(context));
    sig_rules_clear();
    return clear(state);
}

static struct sig_unwind_request request_of(bool use_cache)
{
    return (struct sig_unwind_request){.modules = modules,
                                       .stack_low = address_of(0),
                                       .stack_high = address_of(WORDS),
                                       .use_cache = use_cache,
                                       .addresses = addresses,
                                       .capacity = CAPACITY};
}

static enum sig_unwind_end walk_self(bool learns)
{
    enum sig_unwind_end end;
    struct sig_unwind_request request = request_of(true);
    request.learns = learns;
    depth = sig_unwind(&request, &context, &end);
    return end;
}

static void walk_other_with(bool use_cache, size_t capacity, uint64_t pc, uint64_t sp)
{
    static uint64_t words[SIG_STACK_COPY_BYTES_MIN / sizeof(uint64_t)];
    static struct sig_stack_copy copy = {
        .words = words, .capacity_bytes = sizeof(words), .mem_descriptor = -1};
    struct sig_unwind_request request = request_of(use_cache);
    struct sig_blocked_regs place = {.pc = pc, .sp = sp};
    request.copy = &copy;
    request.capacity = capacity;
    if (!kernel_copies_memory())
        skip();
    depth = sig_unwind_remote(&request, &place, &course);
}

static void walk_other(size_t word)
{
    walk_other_with(true, CAPACITY, cfi_function_pc(&table, LEAF), address_of(word));
}

/* LEAF, called by BY_FP, whose frame pointer lies `distance` words above the leaf's frame. */
static void put_frames(size_t word, size_t distance, uint64_t return_address)
{
    stack[word] = returns_to(BY_FP, CALLS_SOMEWHERE);
    stack[word + 1 + distance] = 0;
    stack[word + 2 + distance] = return_address;
    set_registers(&context, cfi_function_pc(&table, LEAF), address_of(word), address_of(word + 1 + distance));
    set_register(&context, SIG_DWARF_RA == SIG_DWARF_PC ? SIG_DWARF_EXTRA : SIG_DWARF_RA, 0);
}

static void learn_five_words(void)
{
    put_frames(AT, 5, returns_to(ROOT, CALLS_BY_FP));
    assert_int_equal(walk_self(true), SIG_UNWIND_ROOT);
    assert_int_equal(depth, 3);
}

static void assert_whole(void)
{
    assert_int_equal(course.end, SIG_UNWIND_ROOT);
    assert_true(course.by_distance);
    assert_int_equal(depth, 3);
    assert_int_equal(addresses[0], cfi_function_pc(&table, LEAF));
    assert_int_equal(addresses[1], returns_to(BY_FP, CALLS_SOMEWHERE) - 1);
}

/* What lies beyond the frame pointer is not said. */
static void assert_cut(void)
{
    assert_int_equal(course.end, SIG_UNWIND_INEXPRESSIBLE);
    assert_false(course.by_distance);
    assert_int_equal(depth, 2);
    assert_int_equal(addresses[1], returns_to(BY_FP, CALLS_SOMEWHERE) - 1);
}

static void what_one_walk_learns_another_uses(void **state)
{
    put_frames(AT, 5, returns_to(ROOT, CALLS_BY_FP));
    assert_int_equal(walk_self(false), SIG_UNWIND_ROOT);
    walk_other(AT);
    assert_cut();
    learn_five_words();
    assert_int_equal(found_fp(returns_to(BY_FP, CALLS_SOMEWHERE) - 1, 8), 8 + 5 * 8);
    put_frames(AT + 100, 5, returns_to(ROOT, CALLS_BY_FP)); /* elsewhere */
    walk_other(AT + 100);
    assert_whole();
    put_frames(AT, 5, returns_to(ROOT, CALLS_SOMEWHERE));
    walk_other(AT);
    assert_whole();
    walk_other_with(false, CAPACITY, cfi_function_pc(&table, LEAF),
                    address_of(AT)); /* what is where is not known */
    assert_cut();
}

/* Walks learn the same with a cache that has all the rules as with none. */
static void ordinary_frames_are_learned_too(void **state)
{
    put_frames(AT, 5, returns_to(ROOT, CALLS_BY_FP));
    walk_self(false);
    sig_fp_offset_clear();
    walk_self(true);
    assert_int_equal(found_fp(returns_to(BY_FP, CALLS_SOMEWHERE) - 1, 8), 8 + 5 * 8);
}

static void frames_that_vary_are_not_found(void **state)
{
    learn_five_words();
    put_frames(AT, 6, returns_to(ROOT, CALLS_BY_FP));
    assert_int_equal(walk_self(true), SIG_UNWIND_ROOT);
    walk_other(AT);
    assert_cut();
    put_frames(AT, 5, returns_to(ROOT, CALLS_BY_FP));
    walk_other(AT);
    assert_cut();
}

static void what_is_no_return_address_is_not_followed(void **state)
{
    learn_five_words();
    stack[AT + 2 + 5] = returns_to(ROOT, CALLS_NOTHING);
    walk_other(AT);
    assert_cut();
    stack[AT + 2 + 5] = 0;
    walk_other(AT);
    assert_cut();
    stack[AT + 2 + 5] = returns_to(ROOT, CALLS_OTHER); /* of another function */
    walk_other(AT);
    if (SIG_DECODES_CALLS)
        assert_cut();
    stack[AT + 2 + 5] = returns_to(ROOT, CALLS_BY_FP);
    walk_other(AT);
    assert_whole();
}

/* From the frame that was found by a distance the root must be reached. */
static void what_leads_nowhere_is_dropped(void **state)
{
    learn_five_words();
    put_frames(AT, 5, returns_to(MIDDLE, CALLS_BY_FP)); /* words 18 to 21, the last one its return address */
    stack[21] = returns_to(ROOT, CALLS_NOTHING);
    walk_other(AT);
    assert_int_equal(course.end, SIG_UNWIND_ROOT);
    assert_int_equal(depth, 4);
    stack[21] = 0x1234; /* no code */
    walk_other(AT);
    assert_cut();
    stack[21] = 0; /* in a handler's walk the end of the stack, but any word may be 0 */
    assert_int_equal(walk_self(false), SIG_UNWIND_ROOT);
    walk_other(AT);
    assert_cut();
    walk_other_with(true, 3, cfi_function_pc(&table, LEAF), address_of(AT)); /* nor the result's end */
    assert_cut();
}

/* To a stack further down only a frame pointer leads that is known. */
static void no_other_stack_is_gone_to(void **state)
{
    learn_five_words();
    put_frames(AT, 5, returns_to(OTHER, CALLS_BY_FP));
    stack[AT + 1 + 5] = (uint64_t)(uintptr_t)&two_stacks[8];
    two_stacks[9] = returns_to(ROOT, CALLS_OTHER);
    assert_int_equal(walk_self(false), SIG_UNWIND_ROOT);
    assert_int_equal(depth, 4);
    walk_other(AT);
    assert_cut();
    stack[AT + 1 + 5] = address_of(60);
    stack[61] = returns_to(ROOT, CALLS_OTHER);
    walk_other(AT);
    assert_int_equal(course.end, SIG_UNWIND_ROOT);
    assert_int_equal(depth, 4);
}

static void put_rule(uint64_t lookup_pc, struct sig_rule rule)
{
    sig_rules_insert(lookup_pc, &rule);
}

/* Where a frame pointer may be another frame's, leads nowhere, or was only found in a signal frame. */
static void doubtful_frame_pointers_teach_nothing(void **state)
{
    const uint64_t lookup_pc = returns_to(BY_FP, CALLS_SOMEWHERE) - 1;
    if (SIG_RA_IN_EXTRA)
        skip();
    struct sig_rule landing = {.kind = SIG_RULE_FRAME, .cfa_register = SP, .cfa_offset = 8, .may_land = true};
    landing.ra = (struct sig_saved){.kind = SIG_SAVED_AT_CFA, .offset = -8};
    put_rule(cfi_function_pc(&table, LEAF), landing);
    put_frames(AT, 5, returns_to(ROOT, CALLS_BY_FP));
    assert_int_equal(walk_self(true), SIG_UNWIND_ROOT);
    assert_int_equal(found_fp(lookup_pc, 8), 0);

    sig_rules_clear();
    set_register(&context, FP, (uint64_t)1 << 46);
    assert_int_equal(walk_self(true), SIG_UNWIND_TRUNCATED);
    assert_int_equal(found_fp(lookup_pc, 8), 0);
    learn_five_words(); /* nor that it varies */
    assert_int_equal(found_fp(lookup_pc, 8), 8 + 5 * 8);
}

static void frames_below_a_trampoline_teach_nothing(void **state)
{
    const uint64_t place = cfi_function_pc(&table, BY_FP) + PLACE;
    ucontext_t *inner = (ucontext_t *)(void *)((char *)&stack[AT + 1] + SIG_UCONTEXT_OFFSET);
    put_rule(returns_to(OTHER, PLACE) - 1, (struct sig_rule){.kind = SIG_RULE_SIGNAL});
    put_frames(AT, 5, 0);
    stack[AT] = returns_to(OTHER, PLACE);
    set_registers(inner, place, address_of(800), address_of(805));
    set_register(inner, 0, (uint64_t)-EINTR);
    stack[806] = returns_to(ROOT, CALLS_BY_FP);
    assert_int_equal(walk_self(true), SIG_UNWIND_ROOT);
    assert_int_equal(depth, 4);
    assert_int_equal(found_fp(place, 8), 0);
}

/* A handler finds the pc after the system call, or on it, the kernel always shows the former. */
static void an_interrupted_frame_is_learned_after_its_system_call(void **state)
{
    const uint64_t after = cfi_function_pc(&table, BY_FP) + PLACE;
    const uint64_t on = after - (SIG_CODE_ALIGN == 1 ? 2 : SIG_CODE_ALIGN);
    for (int is_restarted = 0; is_restarted < 2; is_restarted++) {
        sig_fp_offset_clear();
        put_frames(AT, 5, returns_to(ROOT, CALLS_BY_FP));
        set_registers(&context, is_restarted ? on : after, address_of(AT + 1), address_of(AT + 6));
        set_register(&context, 0, is_restarted ? 0 : (uint64_t)-EINTR);
        assert_int_equal(walk_self(true), SIG_UNWIND_ROOT);
        assert_int_equal(found_fp(after, 8), 8 + 5 * 8);
        assert_int_equal(found_fp(on, 8), 0);
        walk_other_with(true, CAPACITY, after, address_of(AT + 1));
        assert_int_equal(course.end, SIG_UNWIND_ROOT);
        assert_int_equal(depth, 2);
    }
    sig_fp_offset_clear(); /* and elsewhere it was running */
    set_registers(&context, cfi_function_pc(&table, BY_FP) + 8, address_of(AT + 1), address_of(AT + 6));
    assert_int_equal(walk_self(true), SIG_UNWIND_ROOT);
    assert_int_equal(found_fp(cfi_function_pc(&table, BY_FP) + 8, 8), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_distance_is_of_its_address, clear),
        cmocka_unit_test_setup(two_distances_are_none, clear),
        cmocka_unit_test_setup(what_does_not_fit_is_none, clear),
        cmocka_unit_test_setup(nothing_is_forgotten, clear),
        cmocka_unit_test_setup(threads_agree, clear),
        cmocka_unit_test_setup(what_one_walk_learns_another_uses, setup),
        cmocka_unit_test_setup(ordinary_frames_are_learned_too, setup),
        cmocka_unit_test_setup(frames_that_vary_are_not_found, setup),
        cmocka_unit_test_setup(what_is_no_return_address_is_not_followed, setup),
        cmocka_unit_test_setup(what_leads_nowhere_is_dropped, setup),
        cmocka_unit_test_setup(no_other_stack_is_gone_to, setup),
        cmocka_unit_test_setup(doubtful_frame_pointers_teach_nothing, setup),
        cmocka_unit_test_setup(frames_below_a_trampoline_teach_nothing, setup),
        cmocka_unit_test_setup(an_interrupted_frame_is_learned_after_its_system_call, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
