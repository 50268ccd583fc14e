/* Stacks of Haskell threads, as GHC lays them out: frames of each kind, and words that are no frames. */
/* test: not-aarch64 */
#include "lib/unit.h"
#include "sig/code/sig_ghc_stack.h"
#include "sig/walk/sig_unwind.h"

#include <string.h>
#include <sys/mman.h>

enum { CODE_WORDS = 512, STACK_WORDS = 256, CAPACITY = 64, PAGE_BYTES = 4096 };
enum { RET_SMALL = 30, RET_BIG, RET_FUN, UPDATE_FRAME, CATCH_FRAME, UNDERFLOW_FRAME, STOP_FRAME };

static uint64_t code[CODE_WORDS], stack[STACK_WORDS], addresses[CAPACITY];
static union {
    struct sig_modules_table table;
    uint8_t bytes[sizeof(struct sig_modules_table) + sizeof(struct sig_module)];
} modules;
static size_t code_used, stack_used;
static bool is_whole;

static uint64_t address_of(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

static int set_up(void **state)
{
    memset(code, 0, sizeof code);
    memset(stack, 0, sizeof stack);
    memset(&modules, 0, sizeof modules);
    modules.table.count = 1;
    modules.table.modules[0] = (struct sig_module){
        .start_pc = address_of(code), .end_pc = address_of(code + CODE_WORDS), .is_permanent = true};
    code_used = stack_used = 0;
    return 0;
}

/* Code that a frame returns to, below its description: another one at each call. */
static uint64_t code_after(uint32_t kind, uint64_t layout)
{
    code[code_used] = layout;
    code[code_used + 1] = (uint64_t)0xabcd << 32 | kind; /* the upper half is another thing */
    code_used += 4;
    return address_of(code + code_used - 2);
}

/* A frame with `words` words beside its address, which may look like anything. */
static uint64_t push(uint32_t kind, uint64_t layout, size_t words)
{
    uint64_t returns_to = code_after(kind, layout);
    stack[stack_used] = returns_to;
    memset(stack + stack_used + 1, 0x11, words * sizeof *stack);
    stack_used += 1 + words;
    return returns_to;
}

static size_t walk_from(const uint64_t *sp, size_t capacity)
{
    return sig_ghc_stack_walk(&modules.table, address_of(sp), addresses, capacity, &is_whole);
}

static void each_kind_of_frame_has_its_size(void **state)
{
    code[CODE_WORDS - 1] = 70; /* the size of a big frame, which its layout leads to */
    uint64_t small = push(RET_SMALL, (uint64_t)0x5 << 6 | 3, 3);
    uint64_t update = push(UPDATE_FRAME, 1, 1), caught = push(CATCH_FRAME, (uint64_t)1 << 6 | 2, 2);
    uint64_t at = address_of(code + code_used + 2);
    uint64_t big = push(RET_BIG, (uint32_t)(address_of(code + CODE_WORDS - 1) - at), 70);
    uint64_t last = push(STOP_FRAME, 0, 0);
    const uint64_t expected[] = {small, update, caught, big, last};
    assert_int_equal(walk_from(stack, CAPACITY), 5);
    assert_memory_equal(addresses, expected, sizeof expected);
    assert_true(is_whole);
}

static void arguments_may_come_first(void **state)
{
    memset(stack, 0x22, 5 * sizeof *stack);
    stack_used = 5;
    uint64_t first = push(RET_SMALL, 0, 0);
    push(STOP_FRAME, 0, 0);
    assert_int_equal(walk_from(stack, CAPACITY), 2);
    assert_int_equal(addresses[0], first);
}

static void a_stack_goes_on_in_its_next_piece(void **state)
{
    uint64_t first = push(RET_SMALL, 0, 0);
    push(UNDERFLOW_FRAME, 1, 0);
    uint64_t *piece = stack + STACK_WORDS / 2;
    stack[stack_used] = address_of(piece);
    piece[2] = address_of(piece + 5);
    stack_used = (size_t)(piece + 5 - stack);
    uint64_t next = push(RET_SMALL, 0, 0), last = push(STOP_FRAME, 0, 0);
    assert_int_equal(walk_from(stack, CAPACITY), 3);
    assert_int_equal(addresses[0], first);
    assert_int_equal(addresses[1], next);
    assert_int_equal(addresses[2], last);
}

static void pieces_in_a_circle_end(void **state)
{
    push(UNDERFLOW_FRAME, 1, 1);
    stack[1] = address_of(stack + 8);
    stack[8 + 2] = address_of(stack);
    assert_int_equal(walk_from(stack, CAPACITY), 0);
}

static void what_does_not_lead_to_the_end_is_no_stack(void **state)
{
    push(RET_SMALL, 2, 2);
    push(RET_SMALL, 2, 2);
    assert_int_equal(walk_from(stack, CAPACITY), 0);
    push(RET_FUN, 0, 0);
    push(STOP_FRAME, 0, 0);
    assert_int_equal(walk_from(stack, CAPACITY), 0);
    assert_int_equal(walk_from(stack + STACK_WORDS - 8, 0), 0);
}

static void many_frames_fill_the_room(void **state)
{
    for (int i = 0; i < 40; i++)
        push(RET_SMALL, 1, 1);
    push(STOP_FRAME, 0, 0);
    assert_int_equal(walk_from(stack, 20), 20);
    assert_false(is_whole);
    assert_int_equal(walk_from(stack, 4), 0);
    assert_int_equal(walk_from(stack, CAPACITY), 41);
}

static void a_library_that_can_go_away_is_not_read(void **state)
{
    push(STOP_FRAME, 0, 0);
    assert_int_equal(walk_from(stack, CAPACITY), 1);
    modules.table.modules[0].is_permanent = false;
    assert_int_equal(walk_from(stack, CAPACITY), 0);
}

static void memory_that_is_not_there_is_no_fault(void **state)
{
    uint64_t *page = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    uint64_t *last = page + PAGE_BYTES / sizeof *page - 1;
    *last = code_after(RET_SMALL, 0);
    assert_int_equal(mprotect(page + PAGE_BYTES / sizeof *page, PAGE_BYTES, PROT_NONE), 0);
    assert_int_equal(walk_from(last, CAPACITY), 0);
    assert_int_equal(walk_from((uint64_t *)((uintptr_t)last + 1), CAPACITY), 0);
    assert_int_equal(walk_from(NULL, CAPACITY), 0);
    assert_int_equal(walk_from((uint64_t *)UINTPTR_MAX, CAPACITY), 0);
    munmap(page, 2 * PAGE_BYTES);
}

/* The code has no table, and the C stack has no return address. */
static void a_walk_goes_on_there(void **state)
{
    static uint64_t c_stack[STACK_WORDS];
    ucontext_t context = {0};
    enum sig_unwind_end end;
    uint64_t first = push(RET_SMALL, 0, 0), last = push(STOP_FRAME, 0, 0), here = code_after(0, 0);
    context.uc_mcontext.gregs[REG_RIP] = (greg_t)here;
    context.uc_mcontext.gregs[REG_RSP] = (greg_t)address_of(c_stack);
    context.uc_mcontext.gregs[REG_RBP] = (greg_t)address_of(stack);
    const struct sig_unwind_request request = {.modules = &modules.table,
                                               .stack_low = address_of(c_stack),
                                               .stack_high = address_of(c_stack + STACK_WORDS),
                                               .addresses = addresses,
                                               .capacity = CAPACITY};
    assert_int_equal(sig_unwind(&request, &context, &end), 3);
    assert_int_equal(end, SIG_UNWIND_ROOT);
    assert_int_equal(addresses[0], here);
    assert_int_equal(addresses[1], first);
    assert_int_equal(addresses[2], last);
    context.uc_mcontext.gregs[REG_RBP] = 0x1000;
    assert_int_equal(sig_unwind(&request, &context, &end), 1);
    assert_int_equal(end, SIG_UNWIND_TRUNCATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_kind_of_frame_has_its_size, set_up),
        cmocka_unit_test_setup(arguments_may_come_first, set_up),
        cmocka_unit_test_setup(a_stack_goes_on_in_its_next_piece, set_up),
        cmocka_unit_test_setup(pieces_in_a_circle_end, set_up),
        cmocka_unit_test_setup(what_does_not_lead_to_the_end_is_no_stack, set_up),
        cmocka_unit_test_setup(many_frames_fill_the_room, set_up),
        cmocka_unit_test_setup(a_library_that_can_go_away_is_not_read, set_up),
        cmocka_unit_test_setup(memory_that_is_not_there_is_no_fault, set_up),
        cmocka_unit_test_setup(a_walk_goes_on_there, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
