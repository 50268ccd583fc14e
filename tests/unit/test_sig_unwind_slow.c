/*
 * The walk with every register, over tables and stacks made by hand: what each instruction says of the
 * caller's registers, where the walk ends, and what it leaves of the fast walk's result.
 */
#include "lib/unit.h"
#include "lib/arch.h"
#include "lib/fake_cfi.h"
#include "sig/cfi/sig_full_frame.h"
#include "sig/walk/sig_unwind_slow.h"
#include "sig/walk/sig_rules.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Registers that no machine has a special use for, by DWARF number. */
enum { X0, X1, X3 = 3, X5 = 5, X8 = 8, X9, X10, X12 = 12, X13, X14, X15 };
enum { WORDS = 512, CAPACITY = 64, SP_WORD = 10 };

/* A fixed stack, and a table that each test fills. */
static uint64_t *stack;
static struct table table;
static struct sig_unwind_slow_scratch scratch;
static uint64_t addresses[CAPACITY];
static ucontext_t context;
static size_t depth, fast_depth;
static enum sig_unwind_end end, fast_end;

static int setup_group(void **state)
{
    stack = mmap(NULL, WORDS * sizeof(*stack), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return stack == MAP_FAILED ? -1 : 0;
}

static uint64_t address_of(size_t word)
{
    return (uint64_t)(uintptr_t)&stack[word];
}

/* Registers 1000000 + number, the stack pointer at SP_WORD. */
static int setup(void **state)
{
    memset(stack, 0, WORDS * sizeof(*stack));
    memset(&context, 0, sizeof(context));
    memset(&scratch, 0xa5, sizeof(scratch)); /* its content is nobody's */
    for (unsigned i = 0; i < SIG_DWARF_COUNT; i++)
        set_register(&context, i, 1000000 + i);
    set_register(&context, SP, address_of(SP_WORD));
    sig_rules_clear();
    cfi_begin(&table);
    cfi_add_cie(&table, "zR", usual_instructions, sizeof(usual_instructions));
    return 0;
}

/* ---- one frame ---- */

static struct sig_registers callee, caller;
static uint64_t cfa;

/* The caller of the first function, interrupted at its start. */
static enum sig_full_frame_result step(void)
{
    struct sig_stack window = {.low = 0};
    struct sig_evaluation evaluation = {.stack = &window, .values = scratch.values, .operators_left = 1000};
    struct sig_row_request request;
    assert_true(sig_cfi_find(&table.module, cfi_function_pc(&table, 0), false, &request));
    return sig_full_frame_caller(&request, &evaluation, scratch.rows, &callee, &caller, &cfa);
}

/* One function of these instructions; its callers' return address is in place. */
static enum sig_full_frame_result step_by(const void *instructions, size_t bytes)
{
    setup(NULL);
    cfi_add_fde(&table, instructions, bytes);
    callee = (struct sig_registers){.pc = cfi_function_pc(&table, 0)};
    for (unsigned i = 0; i < SIG_DWARF_COUNT; i++)
        sig_registers_set(&callee, i, 1000000 + i);
    sig_registers_set(&callee, SP, address_of(SP_WORD));
    sig_registers_set(&callee, SIG_DWARF_PC, callee.pc);
    for (size_t i = 0; i < WORDS; i++)
        stack[i] = 5000 + i;
    stack[40] = address_of(50);
    stack[50] = address_of(60);
    return step();
}

#define BYTES(...)   ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})
#define STEP_BY(...) assert_int_equal(step_by(BYTES(__VA_ARGS__)), SIG_FULL_FRAME_CALLER)
#define LOST_BY(...) assert_int_equal(step_by(BYTES(__VA_ARGS__)), SIG_FULL_FRAME_LOST)

static void assert_register(unsigned number, uint64_t expected)
{
    uint64_t value;
    assert_true(sig_registers_get(&caller, number, &value));
    assert_int_equal(value, expected);
}

static void assert_unknown(unsigned number)
{
    uint64_t value;
    assert_false(sig_registers_get(&caller, number, &value));
}

static void what_no_rule_speaks_of_is_kept(void **state)
{
    STEP_BY(0);
    assert_int_equal(cfa, address_of(SP_WORD + 1));
    assert_int_equal(caller.pc, 5000 + SP_WORD);
    for (unsigned i = 0; i < SIG_DWARF_COUNT; i++) {
        if (i != SP && i != RA && i != SIG_DWARF_PC)
            assert_register(i, 1000000 + i);
    }
    assert_register(SP, cfa);
    assert_register(RA, caller.pc);
    assert_register(SIG_DWARF_PC, caller.pc);
}

/* CFA = sp + 32, so that CFA - 8 n is word 14 - n. */
#define CFA_32 0x0e, 32

static void registers_in_memory(void **state)
{
    STEP_BY(CFA_32, 0x80 | X12, 2, 0x05, X13, 3, 0x11, X14, 0x7e, 0x2f, X15, 4);
    assert_int_equal(cfa, address_of(14));
    assert_int_equal(caller.pc, 5013);
    assert_register(X12, 5012);
    assert_register(X13, 5011);
    assert_register(X14, 5016); /* offset_extended_sf -2: above the CFA */
    assert_register(X15, 5018); /* GNU_negative_offset_extended */
}

static void registers_by_their_value(void **state)
{
    STEP_BY(CFA_32, 0x14, FP, 2, 0x15, X12, 0x7e, 0x15, X3, 2);
    assert_register(FP, address_of(12));  /* val_offset 2 * -8 */
    assert_register(X12, address_of(16)); /* val_offset_sf -2 * -8 */
    assert_register(X3, address_of(12));
}

static void registers_in_registers(void **state)
{
    STEP_BY(0x09, FP, X10, 0x09, X10, FP, 0x09, RA, X1, 0x08, X12, 0x07, X13, 0x09, X14, 60);
    assert_register(FP, 1000000 + X10);
    assert_register(X10, 1000000 + FP);
    assert_int_equal(caller.pc, 1000000 + X1);
    assert_register(X12, 1000000 + X12);
    assert_unknown(X13);
    assert_unknown(X14); /* in one that there is not */
}

/* Expressions find the CFA on their stack. */
static void registers_by_expression(void **state)
{
    STEP_BY(CFA_32, 0x16, FP, 2, 0x48, 0x22,         /* val_expression: lit24 plus */
            0x16, X3, 3, BREG + X12, 5, 0x1c,        /* CFA - (x12 + 5) */
            0x10, X12, 2, 0x48, 0x1c,                /* expression: saved at CFA - 24 */
            0x10, X13, 4, 0x13, BREG + SP, 16, 0x96, /* drop, breg 16: saved at sp + 16 */
            0x10, X14, 2, 0x31, 0x22,                /* CFA + 1: not aligned */
            0x16, X15, 1, 0xff,                      /* no operator */
            0x10, X5, 1, 0x30);                      /* at 0 */
    assert_register(FP, address_of(17));
    assert_register(X3, address_of(14) - (1000000 + X12 + 5));
    assert_register(X12, 5011);
    assert_register(X13, 5012);
    assert_unknown(X14);
    assert_unknown(X15);
    assert_unknown(X5);
}

static void any_register_holds_the_cfa(void **state)
{
    setup(NULL);
    LOST_BY(0x0c, X12, 8); /* 1000012 + 8 is no address of memory */
    cfi_add_fde(&table, "", 0);
    sig_registers_set(&callee, X12, address_of(30));
    assert_int_equal(step(), SIG_FULL_FRAME_CALLER);
    assert_int_equal(cfa, address_of(31));
    assert_int_equal(caller.pc, 5030);
    callee.known &= ~((uint64_t)1 << X12);
    assert_int_equal(step(), SIG_FULL_FRAME_LOST);
}

static void the_cfa_by_expression(void **state)
{
    STEP_BY(0x0f, 7, BREG + SP, 0x80, 0x02, 0x13, BREG + SP, 0xf0, 0x01); /* drop; sp + 240 = word 40 */
    assert_int_equal(cfa, address_of(40));
    STEP_BY(0x0f, 4, BREG + SP, 0xf0, 0x01, 0x06);
    assert_int_equal(cfa, address_of(50));
    STEP_BY(0x0f, 5, BREG + SP, 0xf0, 0x01, 0x06, 0x06); /* *(*(sp + 240)) */
    assert_int_equal(cfa, address_of(60));
    STEP_BY(0x0f, 10, BREG + SP, 8, BREG + X12, 0xb6, 0xfb, 0x42, 0x38, 0x1e, 0x22,
            0x96); /* sp + 8 + (x12 - 1000010) * 8 */
    assert_int_equal(cfa, address_of(SP_WORD + 1 + 2));
    LOST_BY(0x0f, 1, 0x22); /* the CFA is not on the stack of its own expression */
    LOST_BY(0x0f, 3, 0x2f, 0xfd, 0xff);
}

/* x86_64's longjmp in the C library: CFA = rdi, rsp in r8, rbp in r9, rip in rdx. */
static void the_stack_pointer_may_not_be_the_cfa(void **state)
{
    STEP_BY(0x0c, X5, 0, 0x09, SP, X8, 0x09, FP, X9, 0x09, RA, X1, 0x11, X12, 0x7e);
    assert_int_equal(cfa, 1000000 + X5);
    assert_register(SP, 1000000 + X8);
    assert_register(FP, 1000000 + X9);
    assert_int_equal(caller.pc, 1000000 + X1);
    assert_unknown(X12); /* at x5 + 16, which is no memory here */
    LOST_BY(0x07, SP);
    LOST_BY(0x09, SP, 60);
}

static void return_addresses(void **state)
{
    assert_int_equal(step_by(BYTES(0x07, RA)), SIG_FULL_FRAME_ROOT);
    STEP_BY(0x16, RA, 3, 0x13, BREG + X8, 0); /* val_expression: x8 */
    assert_int_equal(caller.pc, 1000000 + X8);
    STEP_BY(CFA_32, 0x11, RA, 0x7f); /* above the CFA */
    assert_int_equal(caller.pc, 5015);
    if (!SIG_RA_IN_EXTRA)
        LOST_BY(0x08, RA); /* its own */
    LOST_BY(0x16, RA, 1, 0x18);
}

static void rows_are_remembered_whole(void **state)
{
    STEP_BY(CFA_32, 0x80 | X12, 2, 0x16, X13, 1, 0x96, 0x0a, 0x0c, FP, 8, 0xc0 | X12, 0x08, X13, 0x80 | X15,
            2, 0x0b);
    assert_int_equal(cfa, address_of(14));
    assert_register(X12, 5012);
    assert_register(X13, address_of(14));
    assert_register(X15, 1000000 + X15);
    STEP_BY(CFA_32, 0x80 | X12, 2, 0x80 | X13, 2, 0xc0 | X12, 0x06, X13);
    assert_register(X12, 1000000 + X12); /* DW_CFA_restore: as the CIE has it */
    assert_register(X13, 1000000 + X13);
    LOST_BY(0x0b);
    LOST_BY(0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a);
}

static void damaged_instructions(void **state)
{
    LOST_BY(0x3f);
    LOST_BY(0x16, FP, 0xff, 0x7f);
    LOST_BY(0x10, FP, 0x80);
    LOST_BY(0x0f, 0xff, 0x7f, BREG + SP);
    STEP_BY(CFA_32, 0x14, X12, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x09, 0x80, 0x80, 0x01, X12, 0x80 | 40, 1);
    assert_unknown(X12); /* out of range */
    assert_int_equal(caller.pc, 5013);
}

/* ---- whole stacks ---- */

static const struct sig_modules_table *modules(bool careful)
{
    static _Alignas(
        struct sig_module) char memory[sizeof(struct sig_modules_table) + sizeof(struct sig_module)];
    struct sig_modules_table *ret = (struct sig_modules_table *)(void *)memory;
    ret->count = 1;
    ret->modules[0] = table.module;
    ret->modules[0].is_permanent = !careful;
    return ret;
}

static uint64_t in_function(uint32_t index)
{
    return cfi_function_pc(&table, index) + 0x10;
}

/* The fast walk, and where it left the full one, with the stack known or every page probed. */
static void walk_with(uint64_t stack_low, uint64_t stack_high, bool careful, size_t capacity)
{
    struct sig_unwind_request request = {.modules = modules(careful),
                                         .stack_low = stack_low,
                                         .stack_high = stack_high,
                                         .addresses = addresses,
                                         .capacity = capacity};
    memset(addresses, 0, sizeof(addresses));
    fast_depth = sig_unwind(&request, &context, &fast_end);
    depth = sig_unwind_slow(&request, &context, &scratch, fast_depth, &end);
}

static void walk(void)
{
    uint64_t kept[CAPACITY];
    walk_with(address_of(0), address_of(WORDS), false, CAPACITY);
    size_t kept_depth = depth;
    enum sig_unwind_end kept_end = end;
    memcpy(kept, addresses, sizeof(kept));
    for (int i = kernel_copies_memory() ? 0 : 1; i < 2; i++) {
        walk_with(0, 0, i == 0, CAPACITY);
        assert_int_equal(depth, kept_depth);
        assert_int_equal(end, kept_end);
        assert_memory_equal(addresses, kept, depth * sizeof(*kept));
    }
}

static void assert_walk(enum sig_unwind_end expected_end, size_t count, const uint64_t *expected)
{
    assert_int_equal(end, expected_end);
    assert_int_equal(depth, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(addresses[i], expected[i]);
}

#define ASSERT_WALK(end, ...)                                                                                \
    assert_walk(end, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})

static void interrupted_at(uint64_t pc)
{
    set_register(&context, SIG_DWARF_PC, pc);
}

#define ADD_FUNCTION(...) cfi_add_fde(&table, BYTES(__VA_ARGS__))

/* Function 0 saves x12 at CFA - 16; 1 has its CFA in x12; 2 is a root. */
static void three_functions(void)
{
    ADD_FUNCTION(0x0e, 16, 0x80 | X12, 2);
    ADD_FUNCTION(0x0c, X12, 16, 0x80 | X12, 2);
    ADD_FUNCTION(0x07, RA);
    interrupted_at(in_function(0));
    stack[10] = address_of(30); /* x12 */
    stack[11] = in_function(1) + 1;
    stack[30] = address_of(40);
    stack[31] = in_function(1) + 1;
    stack[40] = 0;
    stack[41] = in_function(2) + 1;
}

static void a_register_is_carried_to_where_it_is_needed(void **state)
{
    three_functions();
    walk();
    assert_int_equal(fast_end, SIG_UNWIND_INEXPRESSIBLE);
    assert_int_equal(fast_depth, 2);
    ASSERT_WALK(SIG_UNWIND_ROOT, in_function(0), in_function(1), in_function(1), in_function(2));
}

static void only_what_is_new_is_written(void **state)
{
    three_functions();
    struct sig_unwind_request request = {
        .modules = modules(false), .addresses = addresses, .capacity = CAPACITY};
    for (size_t i = 0; i < 3; i++) {
        addresses[0] = in_function(0);
        addresses[1] = in_function(1);
        addresses[2] = in_function(1);
        addresses[i]++; /* the other walk was elsewhere */
        assert_int_equal(sig_unwind_slow(&request, &context, &scratch, 3, &end), 3);
        assert_int_equal(end, SIG_UNWIND_TRUNCATED);
    }
}

static void a_full_result_ends_the_walk(void **state)
{
    three_functions();
    walk_with(0, 0, false, 3);
    ASSERT_WALK(SIG_UNWIND_DEPTH, in_function(0), in_function(1), in_function(1));
    assert_int_equal(addresses[3], 0);
    walk_with(0, 0, false, 4);
    assert_int_equal(depth, 4);
    assert_int_equal(end, SIG_UNWIND_ROOT);
}

/* The last frame may be known, and only that it is the last one is not. */
static void a_root_may_be_all_that_is_gained(void **state)
{
    ADD_FUNCTION(0x0f, 1, 0x18, 0x07, RA);
    interrupted_at(in_function(0));
    walk();
    assert_int_equal(fast_end, SIG_UNWIND_INEXPRESSIBLE);
    ASSERT_WALK(SIG_UNWIND_ROOT, in_function(0));
}

static void a_frame_below_a_trampoline_has_all_registers(void **state)
{
    ucontext_t *inner = (ucontext_t *)(void *)((char *)&stack[20] + SIG_UCONTEXT_OFFSET);
    cfi_add_cie(&table, "zRS", usual_instructions, sizeof(usual_instructions));
    ADD_FUNCTION(0);
    memcpy(table.bytes + FUNCTION_PC + SIG_CODE_ALIGN, trampoline_code, sizeof(trampoline_code));
    cfi_add_cie(&table, "zR", usual_instructions, sizeof(usual_instructions));
    ADD_FUNCTION(0x0c, X10, 8, 0x09, X15, X0); /* 1: CFA = x10 + 8 */
    ADD_FUNCTION(0x0c, X15, 8);                /* 2: CFA = x15 + 8 */
    ADD_FUNCTION(0x07, RA);
    interrupted_at(cfi_function_pc(&table, 0) + SIG_CODE_ALIGN);
    set_register(&context, SP, address_of(20));
    set_registers(inner, cfi_function_pc(&table, 1), address_of(200), 0);
    set_register(inner, X10, address_of(210));
    set_register(inner, X0, address_of(220));
    stack[210] = in_function(2) + 1;
    stack[220] = in_function(3) + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, cfi_function_pc(&table, 0) + SIG_CODE_ALIGN, cfi_function_pc(&table, 1),
                in_function(2), in_function(3));
    assert_int_equal(fast_depth, 3);
}

/* ---- machines with a link register ---- */

static const uint8_t leaf_instructions[] = {0x0c, SP, 0};

/* What has saved nothing returns to where the link register says; further out it says nothing. */
static void the_link_register_is_the_leafs(void **state)
{
    if (!SIG_RA_IN_EXTRA)
        skip();
    STEP_BY(0x08, RA);
    assert_int_equal(caller.pc, 1000000 + RA);
    sig_registers_set(&callee, RA, callee.pc);
    assert_int_equal(step(), SIG_FULL_FRAME_LOST);

    setup(NULL);
    cfi_add_cie(&table, "zR", leaf_instructions, sizeof(leaf_instructions));
    ADD_FUNCTION(0);                          /* 0: a leaf */
    ADD_FUNCTION(0x0e, 16, 0x80 | RA, 2);     /* 1 */
    ADD_FUNCTION(0x0c, X12, 8, 0x80 | RA, 1); /* 2: for the full walk only, when it has been called */
    ADD_FUNCTION(0x07, RA);
    interrupted_at(in_function(0));
    set_register(&context, RA, in_function(1) + 1);
    set_register(&context, X12, address_of(30));
    stack[10] = in_function(2) + 1;
    stack[30] = in_function(3) + 1;
    walk();
    assert_int_equal(fast_depth, 3);
    ASSERT_WALK(SIG_UNWIND_ROOT, in_function(0), in_function(1), in_function(2), in_function(3));
    stack[30] = in_function(0) + 1; /* a leaf that has made a call */
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, in_function(0), in_function(1), in_function(2), in_function(0));
}

/* _dl_runtime_resolve: the stack pointer is above what the PLT has pushed, whatever the table says. */
static void what_the_plt_has_pushed_is_taken_off(void **state)
{
    if (!SIG_RA_IN_EXTRA)
        skip();
    STEP_BY(CFA_32, 0x80 | FP, 2, 0x11, RA, 0x7f);
    assert_int_equal(caller.pc, 5015);
    assert_register(FP, 5012);
    assert_register(SP, address_of(16));
    STEP_BY(0x0c, FP, 0, 0x08, FP, 0x09, RA, X1); /* as it says */
    assert_register(SP, 1000000 + FP);
}

/* Where the linker's trampolines have no tables, their instructions tell. */
static void code_that_tells_needs_no_table(void **state)
{
    static const uint32_t entry[] = {0x90000010, 0xf9400211, 0x91000210, 0xd61f0220};
    uint64_t plt = cfi_function_pc(&table, 8), after_plt = cfi_function_pc(&table, 9);
    if (!SIG_CODE_TELLS_RULES)
        skip();
    ADD_FUNCTION(0x0c, X12, 8); /* 0 */
    ADD_FUNCTION(0x07, RA);
    memcpy(table.bytes + FUNCTION_PC + 8 * FUNCTION_BYTES, entry, sizeof(entry));
    memcpy(table.bytes + FUNCTION_PC + 9 * FUNCTION_BYTES, trampoline_code, sizeof(trampoline_code));
    ucontext_t *inner = (ucontext_t *)(void *)((char *)&stack[20] + SIG_UCONTEXT_OFFSET);
    interrupted_at(after_plt);
    set_register(&context, SP, address_of(20));
    set_registers(inner, plt + 4, address_of(200), 0);
    set_register(inner, RA, in_function(0) + 1);
    set_register(inner, X12, address_of(210));
    stack[210] = in_function(1) + 1;
    walk();
    assert_int_equal(fast_end, SIG_UNWIND_INEXPRESSIBLE);
    ASSERT_WALK(SIG_UNWIND_ROOT, after_plt, plt + 4, in_function(0), in_function(1));
}

/* By frame pointer only a lower bound of the stack pointer is found; the caller's own record leads on. */
static void a_frame_record_gives_the_stack_pointer(void **state)
{
    uint64_t bare = cfi_function_pc(&table, 8);
    if (!SIG_FP_STEP_HIDES_SP)
        skip();
    ADD_FUNCTION(0x15, FP, 0x78);                       /* 0: fp = CFA + 64, for the full walk only */
    ADD_FUNCTION(0x0e, 48, 0x80 | FP, 6, 0x80 | RA, 5); /* 1: its record is on top */
    ADD_FUNCTION(0x0e, 16, 0x80 | RA, 2);               /* 2: without one */
    ADD_FUNCTION(0x07, RA);
    interrupted_at(in_function(0));
    stack[10] = bare + 1;
    stack[19] = address_of(30);
    stack[20] = in_function(1) + 1;
    stack[30] = address_of(40);
    stack[31] = in_function(3) + 1;
    walk();
    assert_int_equal(fast_depth, 2);
    ASSERT_WALK(SIG_UNWIND_ROOT, in_function(0), bare, in_function(1), in_function(3));
    stack[31] = in_function(2) + 1; /* from an exact stack pointer */
    stack[36] = in_function(3) + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, in_function(0), bare, in_function(1), in_function(2), in_function(3));
    stack[20] = in_function(2) + 1; /* there is no way on, and none is guessed */
    stack[21] = in_function(3) + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, in_function(0), bare, in_function(2));
    stack[20] = in_function(1) + 1;
    stack[19] = address_of(17); /* a record below its callee's, in a frame that ends above */
    stack[18] = in_function(3) + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, in_function(0), bare, in_function(1));
}

/* After code without tables only the frame pointer and the stack pointer are known. */
static void code_without_tables_goes_by_frame_pointer(void **state)
{
    /* A call and a nop, in no module. */
#if defined(__x86_64__)
    static const uint8_t generated[] = {0xe8, 0, 0, 0, 0, 0x90};
    uint64_t in_generated = (uintptr_t)generated + 4;
#else
    static const uint32_t generated[] = {0x94000000, 0xd503201f};
    uint64_t in_generated = (uintptr_t)generated + 3;
#endif
    uint64_t bare = cfi_function_pc(&table, 8); /* in the module, in no function of its tables */
    ADD_FUNCTION(0x15, FP, 0x78);               /* 0: fp = CFA + 64 */
    ADD_FUNCTION(0x0c, X12, 8);                 /* 1 */
    interrupted_at(in_function(0));
    set_register(&context, X12, address_of(50));
    stack[10] = bare + 1;
    stack[19] = address_of(30);
    stack[20] = in_generated + 1;
    stack[30] = 0;
    stack[31] = in_function(1) + 1;
    walk();
    assert_int_equal(fast_depth, 2);
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, in_function(0), bare, in_generated, in_function(1));
}

static void an_outermost_frame_without_tables_has_no_frame_pointer(void **state)
{
    uint64_t bare = cfi_function_pc(&table, 8);
    ADD_FUNCTION(0x16, FP, 2, 0x30, 0x96); /* fp = 0 */
    interrupted_at(in_function(0));
    stack[10] = bare + 1;
    walk();
    assert_int_equal(fast_end, SIG_UNWIND_INEXPRESSIBLE);
    ASSERT_WALK(SIG_UNWIND_ROOT, in_function(0), bare);
}

static void a_return_address_of_nothing_is_not_recorded(void **state)
{
    three_functions();
    stack[31] = 0x123456789;
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, in_function(0), in_function(1));
    stack[31] = 0;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, in_function(0), in_function(1));
}

static void the_stack_pointer_grows(void **state)
{
    three_functions();
    stack[10] = address_of(10); /* the caller's is the callee's */
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, in_function(0), in_function(1));
    stack[10] = address_of(0); /* downwards */
    stack[1] = in_function(2) + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, in_function(0), in_function(1));
    stack[10] = 0xffff800000000000;
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, in_function(0), in_function(1));
}

/* Expressions that do not end cost a walk no more than its operators, however many frames have them. */
static void endless_expressions_end(void **state)
{
    ADD_FUNCTION(0x16, X12, 3, 0x2f, 0xfd, 0xff, 0x16, FP, 3, 0x2f, 0xfd, 0xff); /* skip to itself */
    ADD_FUNCTION(0x0f, 3, BREG + SP, 8, 0x96);                                   /* sp + 8 by an expression */
    interrupted_at(in_function(0));
    stack[10] = in_function(1) + 1;
    stack[11] = in_function(1) + 1;
    struct sig_unwind_request request = {
        .modules = modules(false), .addresses = addresses, .capacity = CAPACITY};
    assert_int_equal(sig_unwind_slow(&request, &context, &scratch, 0, &end), 2);
    assert_int_equal(end, SIG_UNWIND_TRUNCATED); /* no operator was left for the second function */
}

static void any_table_and_any_stack_end(void **state)
{
    static const uint8_t code[] = {0x0a, 0x0f,      4,   BREG + SP, 8,    0x96, 0x96, 0x16, FP,
                                   3,    BREG + SP, 16,  0x96,      0x10, X12,  3,    0x48, 0x1c,
                                   0x96, 0x15,      X13, 0x7e,      0x41, 0x09, RA,   X1,   0x0b};
    srand(11);
    for (int round = 0; round < 20000; round++) {
        setup(NULL);
        cfi_add_fde(&table, code, sizeof(code));
        cfi_add_fde(&table, code, sizeof(code));
        for (int i = rand() % 6; i > 0; i--)
            table.bytes[FRAME_AT + (size_t)rand() % (table.used - FRAME_AT)] = (uint8_t)rand();
        for (size_t i = 0; i < WORDS; i++)
            stack[i] = rand() % 2 ? in_function((uint32_t)rand() % 3) : address_of((size_t)rand() % WORDS);
        interrupted_at(in_function((uint32_t)rand() % 3));
        struct sig_unwind_request request = {.modules = modules(false),
                                             .stack_low = round % 2 ? address_of(0) : 0,
                                             .stack_high = round % 2 ? address_of(WORDS) : 0,
                                             .addresses = addresses,
                                             .capacity = CAPACITY};
        depth = sig_unwind_slow(&request, &context, &scratch, 0, &end);
        assert_in_range(depth, 1, CAPACITY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_no_rule_speaks_of_is_kept, setup),
        cmocka_unit_test_setup(registers_in_memory, setup),
        cmocka_unit_test_setup(registers_by_their_value, setup),
        cmocka_unit_test_setup(registers_in_registers, setup),
        cmocka_unit_test_setup(registers_by_expression, setup),
        cmocka_unit_test_setup(any_register_holds_the_cfa, setup),
        cmocka_unit_test_setup(the_cfa_by_expression, setup),
        cmocka_unit_test_setup(the_stack_pointer_may_not_be_the_cfa, setup),
        cmocka_unit_test_setup(return_addresses, setup),
        cmocka_unit_test_setup(rows_are_remembered_whole, setup),
        cmocka_unit_test_setup(damaged_instructions, setup),
        cmocka_unit_test_setup(a_register_is_carried_to_where_it_is_needed, setup),
        cmocka_unit_test_setup(only_what_is_new_is_written, setup),
        cmocka_unit_test_setup(a_full_result_ends_the_walk, setup),
        cmocka_unit_test_setup(a_root_may_be_all_that_is_gained, setup),
        cmocka_unit_test_setup(a_frame_below_a_trampoline_has_all_registers, setup),
        cmocka_unit_test_setup(the_link_register_is_the_leafs, setup),
        cmocka_unit_test_setup(what_the_plt_has_pushed_is_taken_off, setup),
        cmocka_unit_test_setup(code_that_tells_needs_no_table, setup),
        cmocka_unit_test_setup(a_frame_record_gives_the_stack_pointer, setup),
        cmocka_unit_test_setup(code_without_tables_goes_by_frame_pointer, setup),
        cmocka_unit_test_setup(an_outermost_frame_without_tables_has_no_frame_pointer, setup),
        cmocka_unit_test_setup(a_return_address_of_nothing_is_not_recorded, setup),
        cmocka_unit_test_setup(the_stack_pointer_grows, setup),
        cmocka_unit_test_setup(endless_expressions_end, setup),
        cmocka_unit_test_setup(any_table_and_any_stack_end, setup),
    };
    return cmocka_run_group_tests(tests, setup_group, NULL);
}
