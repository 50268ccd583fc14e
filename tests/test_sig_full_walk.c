/*
 * The walk with every register, over tables and stacks made by hand: what each instruction says of the
 * caller's registers, where the walk ends, and what it leaves of the fast walk's result.
 */
#include "unit.h"
#include "fake_cfi.h"
#include "sig_full_frame.h"
#include "sig_full_walk.h"
#include "sig_rules.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15, RIP };
enum { WORDS = 512, CAPACITY = 64, SP_WORD = 10 };

/* A fixed stack, and a table that each test fills. */
static uint64_t *stack;
static struct table table;
static struct sig_full_scratch scratch;
static uint64_t addresses[CAPACITY];
static ucontext_t context;
static size_t depth, fast_depth;
static enum sig_unwind_end end, fast_end;

static int setup_group(void **state)
{
    (void)state;
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
    static const uint8_t greg_of[SIG_DWARF_COUNT] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
    };
    (void)state;
    memset(stack, 0, WORDS * sizeof(*stack));
    memset(&context, 0, sizeof(context));
    memset(&scratch, 0xa5, sizeof(scratch)); /* its content is nobody's */
    for (unsigned i = 0; i < SIG_DWARF_COUNT; i++)
        context.uc_mcontext.gregs[greg_of[i]] = (greg_t)(1000000 + i);
    context.uc_mcontext.gregs[REG_RSP] = (greg_t)address_of(SP_WORD);
    sig_rules_clear();
    begin(&table);
    add_cie(&table, "zR", usual_instructions, sizeof(usual_instructions));
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
    struct sig_cie cie;
    struct sig_fde fde;
    struct sig_row_request request = {
        .module = &table.module, .cie = &cie, .fde = &fde, .lookup_pc = function_pc(&table, 0)};
    assert_true(sig_eh_frame_find(request.module, request.lookup_pc, false, &cie, &fde));
    return sig_full_frame_caller(&request, &evaluation, scratch.rows, &callee, &caller, &cfa);
}

/* One function of these instructions; its callers' return address is in place. */
static enum sig_full_frame_result step_by(const void *instructions, size_t bytes)
{
    setup(NULL);
    add_fde(&table, instructions, bytes);
    callee = (struct sig_registers){.pc = function_pc(&table, 0)};
    for (unsigned i = 0; i < SIG_DWARF_COUNT; i++)
        sig_registers_set(&callee, i, 1000000 + i);
    sig_registers_set(&callee, RSP, address_of(SP_WORD));
    sig_registers_set(&callee, RIP, callee.pc);
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
    (void)state;
    STEP_BY(0);
    assert_int_equal(cfa, address_of(SP_WORD + 1));
    assert_int_equal(caller.pc, 5000 + SP_WORD);
    for (unsigned i = 0; i < SIG_DWARF_COUNT; i++) {
        if (i != RSP && i != RIP)
            assert_register(i, 1000000 + i);
    }
    assert_register(RSP, cfa);
    assert_register(RIP, caller.pc);
}

/* CFA = rsp + 32, so that CFA - 8 n is word 14 - n. */
#define CFA_32 0x0e, 32

static void registers_in_memory(void **state)
{
    (void)state;
    STEP_BY(CFA_32, 0x80 | R12, 2, 0x05, R13, 3, 0x11, R14, 0x7e, 0x2f, R15, 4);
    assert_int_equal(cfa, address_of(14));
    assert_int_equal(caller.pc, 5013);
    assert_register(R12, 5012);
    assert_register(R13, 5011);
    assert_register(R14, 5016); /* offset_extended_sf -2: above the CFA */
    assert_register(R15, 5018); /* GNU_negative_offset_extended */
}

static void registers_by_their_value(void **state)
{
    (void)state;
    STEP_BY(CFA_32, 0x14, RBP, 2, 0x15, R12, 0x7e, 0x15, RBX, 2);
    assert_register(RBP, address_of(12)); /* val_offset 2 * -8 */
    assert_register(R12, address_of(16)); /* val_offset_sf -2 * -8 */
    assert_register(RBX, address_of(12));
}

static void registers_in_registers(void **state)
{
    (void)state;
    STEP_BY(0x09, RBP, R10, 0x09, R10, RBP, 0x09, RIP, RDX, 0x08, R12, 0x07, R13, 0x09, R14, 60);
    assert_register(RBP, 1000000 + R10);
    assert_register(R10, 1000000 + RBP);
    assert_int_equal(caller.pc, 1000000 + RDX);
    assert_register(R12, 1000000 + R12);
    assert_unknown(R13);
    assert_unknown(R14); /* in one that there is not */
}

/* Expressions find the CFA on their stack. */
static void registers_by_expression(void **state)
{
    (void)state;
    STEP_BY(CFA_32, 0x16, RBP, 2, 0x48, 0x22,   /* val_expression: lit24 plus */
            0x16, RBX, 3, 0x7c, 5, 0x1c,        /* CFA - (r12 + 5) */
            0x10, R12, 2, 0x48, 0x1c,           /* expression: saved at CFA - 24 */
            0x10, R13, 4, 0x13, 0x77, 16, 0x96, /* drop, breg7 16: saved at rsp + 16 */
            0x10, R14, 2, 0x31, 0x22,           /* CFA + 1: not aligned */
            0x16, R15, 1, 0xff,                 /* no operator */
            0x10, RDI, 1, 0x30);                /* at 0 */
    assert_register(RBP, address_of(17));
    assert_register(RBX, address_of(14) - (1000000 + R12 + 5));
    assert_register(R12, 5011);
    assert_register(R13, 5012);
    assert_unknown(R14);
    assert_unknown(R15);
    assert_unknown(RDI);
}

static void any_register_holds_the_cfa(void **state)
{
    (void)state;
    setup(NULL);
    LOST_BY(0x0c, R12, 8); /* 1000012 + 8 is no address of memory */
    add_fde(&table, "", 0);
    sig_registers_set(&callee, R12, address_of(30));
    assert_int_equal(step(), SIG_FULL_FRAME_CALLER);
    assert_int_equal(cfa, address_of(31));
    assert_int_equal(caller.pc, 5030);
    callee.known &= ~((uint64_t)1 << R12);
    assert_int_equal(step(), SIG_FULL_FRAME_LOST);
}

static void the_cfa_by_expression(void **state)
{
    (void)state;
    STEP_BY(0x0f, 7, 0x77, 0x80, 0x02, 0x13, 0x77, 0xf0, 0x01); /* drop; rsp + 240 = word 40 */
    assert_int_equal(cfa, address_of(40));
    STEP_BY(0x0f, 4, 0x77, 0xf0, 0x01, 0x06);
    assert_int_equal(cfa, address_of(50));
    STEP_BY(0x0f, 5, 0x77, 0xf0, 0x01, 0x06, 0x06); /* *(*(rsp + 240)) */
    assert_int_equal(cfa, address_of(60));
    STEP_BY(0x0f, 10, 0x77, 8, 0x7c, 0xb6, 0xfb, 0x42, 0x38, 0x1e, 0x22,
            0x96); /* rsp + 8 + (r12 - 1000010) * 8 */
    assert_int_equal(cfa, address_of(SP_WORD + 1 + 2));
    LOST_BY(0x0f, 1, 0x22); /* the CFA is not on the stack of its own expression */
    LOST_BY(0x0f, 3, 0x2f, 0xfd, 0xff);
}

/* The C library's longjmp: CFA = rdi, rsp in r8, rbp in r9, rip in rdx. */
static void the_stack_pointer_may_not_be_the_cfa(void **state)
{
    (void)state;
    STEP_BY(0x0c, RDI, 0, 0x09, RSP, R8, 0x09, RBP, R9, 0x09, RIP, RDX, 0x11, R12, 0x7e);
    assert_int_equal(cfa, 1000000 + RDI);
    assert_register(RSP, 1000000 + R8);
    assert_register(RBP, 1000000 + R9);
    assert_int_equal(caller.pc, 1000000 + RDX);
    assert_unknown(R12); /* at rdi + 16, which is no memory here */
    LOST_BY(0x07, RSP);
    LOST_BY(0x09, RSP, 60);
}

static void return_addresses(void **state)
{
    (void)state;
    assert_int_equal(step_by(BYTES(0x07, RIP)), SIG_FULL_FRAME_ROOT);
    STEP_BY(0x16, RIP, 3, 0x13, 0x78, 0); /* val_expression: r8 */
    assert_int_equal(caller.pc, 1000000 + R8);
    STEP_BY(CFA_32, 0x11, RIP, 0x7f); /* above the CFA */
    assert_int_equal(caller.pc, 5015);
    LOST_BY(0x08, RIP); /* its own */
    LOST_BY(0x16, RIP, 1, 0x18);
}

static void rows_are_remembered_whole(void **state)
{
    (void)state;
    STEP_BY(CFA_32, 0x80 | R12, 2, 0x16, R13, 1, 0x96, 0x0a, 0x0c, RBP, 8, 0xc0 | R12, 0x08, R13, 0x80 | R15,
            2, 0x0b);
    assert_int_equal(cfa, address_of(14));
    assert_register(R12, 5012);
    assert_register(R13, address_of(14));
    assert_register(R15, 1000000 + R15);
    STEP_BY(CFA_32, 0x80 | R12, 2, 0x80 | R13, 2, 0xc0 | R12, 0x06, R13);
    assert_register(R12, 1000000 + R12); /* DW_CFA_restore: as the CIE has it */
    assert_register(R13, 1000000 + R13);
    LOST_BY(0x0b);
    LOST_BY(0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a);
}

static void damaged_instructions(void **state)
{
    (void)state;
    LOST_BY(0x3f);
    LOST_BY(0x16, RBP, 0xff, 0x7f);
    LOST_BY(0x10, RBP, 0x80);
    LOST_BY(0x0f, 0xff, 0x7f, 0x77);
    STEP_BY(CFA_32, 0x14, R12, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x09, 0x80, 0x80, 0x01, R12, 0x80 | 40, 1);
    assert_unknown(R12); /* out of range */
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
    return function_pc(&table, index) + 0x10;
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
    depth = sig_full_walk(&request, &context, &scratch, fast_depth, &end);
}

static void walk(void)
{
    uint64_t kept[CAPACITY];
    walk_with(address_of(0), address_of(WORDS), false, CAPACITY);
    size_t kept_depth = depth;
    enum sig_unwind_end kept_end = end;
    memcpy(kept, addresses, sizeof(kept));
    for (int i = 0; i < 2; i++) {
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
    context.uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
}

#define ADD_FUNCTION(...) add_fde(&table, BYTES(__VA_ARGS__))

/* Function 0 saves r12 at CFA - 16; 1 has its CFA in r12; 2 is a root. */
static void three_functions(void)
{
    ADD_FUNCTION(0x0e, 16, 0x80 | R12, 2);
    ADD_FUNCTION(0x0c, R12, 16, 0x80 | R12, 2);
    ADD_FUNCTION(0x07, RIP);
    interrupted_at(in_function(0));
    stack[10] = address_of(30); /* r12 */
    stack[11] = in_function(1) + 1;
    stack[30] = address_of(40);
    stack[31] = in_function(1) + 1;
    stack[40] = 0;
    stack[41] = in_function(2) + 1;
}

static void a_register_is_carried_to_where_it_is_needed(void **state)
{
    (void)state;
    three_functions();
    walk();
    assert_int_equal(fast_end, SIG_UNWIND_INEXPRESSIBLE);
    assert_int_equal(fast_depth, 2);
    ASSERT_WALK(SIG_UNWIND_ROOT, in_function(0), in_function(1), in_function(1), in_function(2));
}

static void only_what_is_new_is_written(void **state)
{
    (void)state;
    three_functions();
    struct sig_unwind_request request = {
        .modules = modules(false), .addresses = addresses, .capacity = CAPACITY};
    for (size_t i = 0; i < 3; i++) {
        addresses[0] = in_function(0);
        addresses[1] = in_function(1);
        addresses[2] = in_function(1);
        addresses[i]++; /* the other walk was elsewhere */
        assert_int_equal(sig_full_walk(&request, &context, &scratch, 3, &end), 3);
        assert_int_equal(end, SIG_UNWIND_TRUNCATED);
    }
}

static void a_full_result_ends_the_walk(void **state)
{
    (void)state;
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
    (void)state;
    ADD_FUNCTION(0x0f, 1, 0x18, 0x07, RIP);
    interrupted_at(in_function(0));
    walk();
    assert_int_equal(fast_end, SIG_UNWIND_INEXPRESSIBLE);
    ASSERT_WALK(SIG_UNWIND_ROOT, in_function(0));
}

static void a_frame_below_a_trampoline_has_all_registers(void **state)
{
    static const uint8_t trampoline[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    (void)state;
    ucontext_t *inner = (ucontext_t *)&stack[20];
    add_cie(&table, "zRS", usual_instructions, sizeof(usual_instructions));
    ADD_FUNCTION(0);
    memcpy(table.bytes + FUNCTION_PC + 1, trampoline, sizeof(trampoline));
    add_cie(&table, "zR", usual_instructions, sizeof(usual_instructions));
    ADD_FUNCTION(0x0c, R10, 8, 0x09, R15, RAX); /* 1: CFA = r10 + 8 */
    ADD_FUNCTION(0x0c, R15, 8);                 /* 2: CFA = r15 + 8 */
    ADD_FUNCTION(0x07, RIP);
    interrupted_at(function_pc(&table, 0) + 1);
    context.uc_mcontext.gregs[REG_RSP] = (greg_t)address_of(20);
    inner->uc_mcontext.gregs[REG_RIP] = (greg_t)function_pc(&table, 1);
    inner->uc_mcontext.gregs[REG_RSP] = (greg_t)address_of(200);
    inner->uc_mcontext.gregs[REG_R10] = (greg_t)address_of(210);
    inner->uc_mcontext.gregs[REG_RAX] = (greg_t)address_of(220);
    stack[210] = in_function(2) + 1;
    stack[220] = in_function(3) + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, function_pc(&table, 0) + 1, function_pc(&table, 1), in_function(2),
                in_function(3));
    assert_int_equal(fast_depth, 3);
}

/* Behind code without tables only the frame pointer and the stack pointer are known. */
static void code_without_tables_goes_by_frame_pointer(void **state)
{
    static const uint8_t generated[] = {0xe8, 0, 0, 0, 0, 0x90}; /* call; nop: in no module */
    uint64_t bare = function_pc(&table, 8); /* in the module, in no function of its tables */
    uint64_t in_generated = (uintptr_t)generated + 4;
    (void)state;
    ADD_FUNCTION(0x15, RBP, 0x78); /* 0: rbp = CFA + 64 */
    ADD_FUNCTION(0x0c, R12, 8);    /* 1 */
    interrupted_at(in_function(0));
    context.uc_mcontext.gregs[REG_R12] = (greg_t)address_of(50);
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
    uint64_t bare = function_pc(&table, 8);
    (void)state;
    ADD_FUNCTION(0x16, RBP, 2, 0x30, 0x96); /* rbp = 0 */
    interrupted_at(in_function(0));
    stack[10] = bare + 1;
    walk();
    assert_int_equal(fast_end, SIG_UNWIND_INEXPRESSIBLE);
    ASSERT_WALK(SIG_UNWIND_ROOT, in_function(0), bare);
}

static void a_return_address_of_nothing_is_not_recorded(void **state)
{
    (void)state;
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
    (void)state;
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
    (void)state;
    ADD_FUNCTION(0x16, R12, 3, 0x2f, 0xfd, 0xff, 0x16, RBP, 3, 0x2f, 0xfd, 0xff); /* skip to itself */
    ADD_FUNCTION(0x0f, 3, 0x77, 8, 0x96); /* rsp + 8 by an expression */
    interrupted_at(in_function(0));
    stack[10] = in_function(1) + 1;
    stack[11] = in_function(1) + 1;
    struct sig_unwind_request request = {
        .modules = modules(false), .addresses = addresses, .capacity = CAPACITY};
    assert_int_equal(sig_full_walk(&request, &context, &scratch, 0, &end), 2);
    assert_int_equal(end, SIG_UNWIND_TRUNCATED); /* no operator was left for the second function */
}

static void any_table_and_any_stack_end(void **state)
{
    static const uint8_t code[] = {0x0a, 0x0f, 4,   0x77, 8,    0x96, 0x96, 0x16, RBP,
                                   3,    0x77, 16,  0x96, 0x10, R12,  3,    0x48, 0x1c,
                                   0x96, 0x15, R13, 0x7e, 0x41, 0x09, RIP,  RDX,  0x0b};
    (void)state;
    srand(11);
    for (int round = 0; round < 20000; round++) {
        setup(NULL);
        add_fde(&table, code, sizeof(code));
        add_fde(&table, code, sizeof(code));
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
        depth = sig_full_walk(&request, &context, &scratch, 0, &end);
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
        cmocka_unit_test_setup(code_without_tables_goes_by_frame_pointer, setup),
        cmocka_unit_test_setup(an_outermost_frame_without_tables_has_no_frame_pointer, setup),
        cmocka_unit_test_setup(a_return_address_of_nothing_is_not_recorded, setup),
        cmocka_unit_test_setup(the_stack_pointer_grows, setup),
        cmocka_unit_test_setup(endless_expressions_end, setup),
        cmocka_unit_test_setup(any_table_and_any_stack_end, setup),
    };
    return cmocka_run_group_tests(tests, setup_group, NULL);
}
