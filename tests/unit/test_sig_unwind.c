/*
 * The walk over stacks made by hand: rules put into the cache, a stack in an array, registers in a ucontext.
 * Whatever the stack holds, the walk ends, and says how.
 */
#include "lib/unit.h"
#include "lib/fake_cfi.h"
#include "lib/arch.h"
#include "sig/walk/sig_rules.h"
#include "sig/walk/sig_unwind.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORDS = 512, CAPACITY = 64 };

/* Addresses in the first page: in no module, never read. */
enum {
    LEAF = 0x100,
    MIDDLE = 0x200,
    OUTER = 0x300,
    BY_FP = 0x400,
    BY_DEREF = 0x500,
    TRAMPOLINE = 0x600,
    NOWHERE = 0x700,
    LANDING = 0xa00
};

/* Where a module without tables begins: readable, for machines that read its code. There is a call in it. */
#if defined(__x86_64__)
static const uint8_t bare_code[0x100] = {[0x3b] = 0xe8, 1, 2, 3, 4};
#else
static const _Alignas(uint32_t) uint8_t bare_code[0x100] = {[0x3c] = 0x23, 1, 0, 0x94};
#endif
#define BARE ((uint64_t)(uintptr_t)bare_code)
enum { BARE_CALL_END = 0x40 };

/* Generated code, in a page of its own: offsets. */
enum {
#if defined(__x86_64__)
    CALL_END = 0x15,          /* after call rel32 */
    INDIRECT_CALL_END = 0x25, /* after call *8(%rax) */
    CHECKS = 0x40,            /* some instructions, push %rbp; mov %rsp,%rbp, a body, ret */
    PUSH = CHECKS + 4,
    MOV = CHECKS + 5,
    BODY = CHECKS + 8,
    RETURN = CHECKS + 12,
    INIT = 0x80, /* as crti.o has it: sub $8,%rsp; a call; add $8,%rsp; ret */
    INIT_BODY = INIT + 4,
#else
    CALL_END = 0x14,          /* after bl */
    INDIRECT_CALL_END = 0x24, /* after blr x1 */
    CHECKS = 0x40,            /* some instructions, stp x29,x30,[sp,#-32]!; mov x29,sp, a body, ret */
    PUSH = CHECKS + 8,
    MOV = CHECKS + 12,
    BODY = CHECKS + 16,
    RETURN = CHECKS + 24,
#endif
};
static const uint8_t *code;

static uint64_t *stack; /* before a page that cannot be read: what a probe finds readable is read */
static uint64_t addresses[CAPACITY];
static ucontext_t context;
static size_t depth;
static enum sig_unwind_end end;

static uint64_t address_of(size_t word)
{
    return (uint64_t)(uintptr_t)&stack[word];
}

static void keep_rule(uint64_t lookup_pc, struct sig_rule rule)
{
    sig_rules_insert(lookup_pc, &rule);
}

#if defined(__x86_64__)
static const uint8_t filler[] = {0x90}, direct_call[] = {0xe8, 1, 2, 3, 4}, indirect_call[] = {0xff, 0x50, 8};
static const uint8_t function[] = {0x48, 0x85, 0xc0, 0x90, 0x55, 0x48, 0x89,
                                   0xe5, 0x31, 0xc0, 0x90, 0x5d, 0xc3};
#else
static const uint32_t filler[] = {0xd503201f}, direct_call[] = {0x94000123}, indirect_call[] = {0xd63f0020};
static const uint32_t function[] = {0xf100001f, 0xd503201f, 0xa9be7bfd, 0x910003fd,
                                    0xd2800000, 0xa8c27bfd, 0xd65f03c0};
#endif

static const uint8_t *make_code(void)
{
#if defined(__x86_64__)
    static const uint8_t init[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
#endif
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return page;
    for (size_t i = 0; i < 4096; i += sizeof(filler))
        memcpy(page + i, filler, sizeof(filler));
    memcpy(page + CALL_END - sizeof(direct_call), direct_call, sizeof(direct_call));
    memcpy(page + INDIRECT_CALL_END - sizeof(indirect_call), indirect_call, sizeof(indirect_call));
    memcpy(page + CHECKS, function, sizeof(function));
#if defined(__x86_64__)
    memcpy(page + INIT, init, sizeof(init));
#endif
    return page;
}

static int setup_group(void **state)
{
    const size_t bytes = WORDS * sizeof(*stack), guard_bytes = 4096;
    stack = mmap(NULL, bytes + guard_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    code = make_code();
    bool failed =
        stack == MAP_FAILED || code == MAP_FAILED || mprotect(stack, bytes, PROT_READ | PROT_WRITE) != 0;
    return failed ? -1 : 0;
}

static uint64_t at_code(size_t offset)
{
    return (uint64_t)(uintptr_t)code + offset;
}

static int setup(void **state)
{
    struct sig_rule deref = frame_rule(SIG_DWARF_SP, 0, 0);
    deref.cfa_deref = true;
    deref.cfa_offset_after = 8;
    memset(stack, 0, WORDS * sizeof(*stack));
    memset(&context, 0, sizeof(context));
    sig_rules_clear();
    keep_rule(LEAF, frame_rule(SIG_DWARF_SP, 8, 0));
    keep_rule(MIDDLE, frame_rule(SIG_DWARF_SP, 32, -16));
    keep_rule(OUTER, (struct sig_rule){.kind = SIG_RULE_ROOT});
    keep_rule(BY_FP, frame_rule(SIG_DWARF_FP, 16, -16));
    keep_rule(BY_DEREF, deref);
    keep_rule(TRAMPOLINE, (struct sig_rule){.kind = SIG_RULE_SIGNAL});
    return 0;
}

static void registers(uint64_t pc, uint64_t sp, uint64_t fp)
{
    set_registers(&context, pc, sp, fp);
}

/* Nothing where there is none. */
static void set_link_register(uint64_t value)
{
#if defined(__aarch64__)
    context.uc_mcontext.regs[SIG_DWARF_RA] = value;
#else
    (void)value;
#endif
}

/* Code without tables, in a module. */
static const struct sig_modules_table *bare_module(void)
{
    static _Alignas(
        struct sig_module) char memory[sizeof(struct sig_modules_table) + sizeof(struct sig_module)];
    struct sig_modules_table *table = (struct sig_modules_table *)(void *)memory;
    table->count = 1;
    table->modules[0] = (struct sig_module){.start_pc = BARE, .end_pc = BARE + sizeof(bare_code)};
    return table;
}

static void walk_with(uint64_t stack_low, uint64_t stack_high, size_t capacity)
{
    struct sig_unwind_request request = {.stack_low = stack_low,
                                         .stack_high = stack_high,
                                         .use_cache = true,
                                         .modules = bare_module(),
                                         .addresses = addresses,
                                         .capacity = capacity};
    depth = sig_unwind(&request, &context, &end);
}

/* ---- the walk from outside ---- */

static uint64_t other_addresses[CAPACITY];
static size_t other_depth;
static struct sig_unwind_course other;
static uint64_t arguments[6];

/* With nothing but the stack pointer and pc of the registers. */
static void walk_other(uint64_t stack_low, uint64_t stack_high, size_t capacity)
{
    static uint64_t words[SIG_STACK_COPY_BYTES_MIN / sizeof(uint64_t)];
    static struct sig_stack_copy copy = {
        .words = words, .capacity_bytes = sizeof(words), .mem_descriptor = -1};
    struct sig_unwind_request request = {.stack_low = stack_low,
                                         .stack_high = stack_high,
                                         .use_cache = true,
                                         .modules = bare_module(),
                                         .copy = &copy,
                                         .addresses = other_addresses,
                                         .capacity = capacity};
    struct sig_regs regs;
    sig_regs_from_context(&regs, &context);
    struct sig_blocked_regs place = {.pc = regs.pc, .sp = regs.sp, .arguments = arguments};
    other_depth = sig_unwind_remote(&request, &place, &other);
}

/* It comes as far as it can without the other registers, on the same way. */
static void assert_other_agrees(void)
{
    if (!kernel_copies_memory())
        return;
    assert_in_range(other_depth, 1, depth);
    assert_memory_equal(other_addresses, addresses, other_depth * sizeof(uint64_t));
    if (other.end == SIG_UNWIND_ROOT || other.end == SIG_UNWIND_DEPTH)
        assert_int_equal(other_depth, depth);
    if (other.end != SIG_UNWIND_INEXPRESSIBLE)
        assert_int_equal(other.end, end);
}

/* Both with the stack known and with every page of it probed, by the thread itself and by another one. */
static void walk(void)
{
    walk_with(address_of(0), address_of(WORDS), CAPACITY);
    walk_other(address_of(0), address_of(WORDS), CAPACITY);
    assert_other_agrees();
    size_t known_depth = depth, known_other_depth = other_depth;
    enum sig_unwind_end known_end = end, known_other_end = other.end;
    walk_with(0, 0, CAPACITY);
    walk_other(0, 0, CAPACITY);
    assert_int_equal(depth, known_depth);
    assert_int_equal(end, known_end);
    assert_int_equal(other_depth, known_other_depth);
    assert_int_equal(other.end, known_other_end);
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

static void to_the_root(void **state)
{
    registers(LEAF, address_of(10), 0);
    stack[10] = MIDDLE + 1;
    stack[14] = OUTER + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, LEAF, MIDDLE, OUTER);
}

static void the_frame_pointer_is_carried(void **state)
{
    registers(LEAF, address_of(10), 99);
    stack[10] = MIDDLE + 1;
    stack[13] = address_of(40); /* MIDDLE saved it at CFA - 16 */
    stack[14] = BY_FP + 1;
    stack[40] = 0;
    stack[41] = OUTER + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, LEAF, MIDDLE, BY_FP, OUTER);
}

static void assert_other(enum sig_unwind_end expected_end, size_t count, size_t bytes)
{
    if (!kernel_copies_memory())
        skip();
    assert_int_equal(other.end, expected_end);
    assert_int_equal(other_depth, count);
    assert_int_equal(other.bytes, bytes);
}

/* Of another thread it becomes known where a callee has saved it. */
static void an_unknown_frame_pointer_ends_the_walk(void **state)
{
    registers(LEAF, address_of(10), address_of(40));
    stack[10] = MIDDLE + 1;
    stack[13] = address_of(40);
    stack[14] = BY_FP + 1;
    stack[41] = OUTER + 1;
    walk();
    assert_other(SIG_UNWIND_ROOT, 4, 32 * 8);
    stack[10] = BY_FP + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, LEAF, BY_FP, OUTER);
    assert_other(SIG_UNWIND_INEXPRESSIBLE, 2, 8);
    registers(BY_FP, address_of(10), address_of(40));
    walk();
    assert_other(SIG_UNWIND_INEXPRESSIBLE, 1, 0);
    registers(NOWHERE, address_of(10), address_of(40)); /* nor is there a step by frame pointer */
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, NOWHERE, OUTER);
    assert_other(SIG_UNWIND_INEXPRESSIBLE, 1, 0);
    registers(LEAF, address_of(10), 0); /* nor a root by a frame pointer of 0 */
    stack[10] = BARE + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, LEAF, BARE);
    assert_other(SIG_UNWIND_INEXPRESSIBLE, 2, 8);
}

static void the_cfa_may_lie_on_the_stack(void **state)
{
    registers(BY_DEREF, address_of(10), 0);
    stack[10] = address_of(20); /* CFA = address_of(20) + 8, return address below it */
    stack[20] = OUTER + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, BY_DEREF, OUTER);
}

static void a_frame_below_a_trampoline_is_exact(void **state)
{
    ucontext_t *inner = (ucontext_t *)(void *)((char *)&stack[20] + SIG_UCONTEXT_OFFSET);
    registers(LEAF, address_of(19), 0);
    stack[19] = TRAMPOLINE + 1;
    set_registers(inner, LEAF, address_of(300), 0);
    stack[300] = OUTER + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, LEAF, TRAMPOLINE, LEAF, OUTER);
}

/* ---- machines with a link register ---- */

static const struct sig_rule leaf_rule = {
    .kind = SIG_RULE_FRAME, .cfa_register = SIG_DWARF_SP, .cfa_offset = 16};

/* A function that has saved nothing returns to where the link register says; further out it says nothing. */
static void the_link_register_is_the_leafs(void **state)
{
    if (!SIG_RA_IN_EXTRA)
        skip();
    keep_rule(NOWHERE, leaf_rule);
    registers(NOWHERE, address_of(10), 0);
    set_link_register(MIDDLE + 1);
    stack[15] = OUTER + 1; /* MIDDLE's CFA is 32 above */
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, NOWHERE, MIDDLE, OUTER);
    stack[15] = NOWHERE + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, NOWHERE, MIDDLE, NOWHERE);
}

/* Above a frame without tables only the frame pointer is known; the caller's own frame record leads on. */
static void a_frame_record_gives_the_stack_pointer(void **state)
{
    if (!SIG_FP_STEP_HIDES_SP)
        skip();
    registers(NOWHERE, address_of(10), address_of(12));
    stack[12] = address_of(42); /* MIDDLE's record: at its CFA - 16 */
    stack[13] = MIDDLE + 1;
    stack[42] = 0;
    stack[43] = OUTER + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, NOWHERE, MIDDLE, OUTER);
    stack[13] = LEAF + 1; /* which keeps none: there is no way on, and none is guessed */
    stack[14] = OUTER + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, NOWHERE, LEAF);
    stack[13] = BY_FP + 1; /* whose CFA needs no stack pointer */
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, NOWHERE, BY_FP, OUTER);
    stack[12] = address_of(3); /* a record below its callee's */
    stack[13] = MIDDLE + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, NOWHERE, MIDDLE);
}

#if defined(__aarch64__)
/* A return address as paciasp leaves it on the stack; without the extension it is not signed. */
static uint64_t signed_address(uint64_t address, uint64_t sp)
{
    register uint64_t x17 __asm__("x17") = address;
    register uint64_t x16 __asm__("x16") = sp;
    __asm__("hint #8" : "+r"(x17) : "r"(x16)); /* pacia1716 */
    return x17;
}

static void signatures_are_taken_off(void **state)
{
    uint64_t address = signed_address(MIDDLE + 1, address_of(11));
    if (address == MIDDLE + 1)
        skip();
    registers(LEAF, address_of(10), 0);
    stack[10] = address;
    stack[14] = signed_address(OUTER + 1, address_of(15));
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, LEAF, MIDDLE, OUTER);
    keep_rule(NOWHERE, leaf_rule);
    registers(NOWHERE, address_of(9), 0);
    set_link_register(address);
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, NOWHERE, MIDDLE, OUTER);
    registers(NOWHERE + 8, address_of(8), address_of(9)); /* without a table */
    stack[9] = 0;
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, NOWHERE + 8, MIDDLE);
}
#endif

static void code_without_tables_goes_by_frame_pointer(void **state)
{
    registers(NOWHERE, address_of(10), address_of(12));
    stack[12] = address_of(30);
    stack[13] = at_code(CALL_END);
    stack[30] = address_of(50);
    stack[31] = at_code(INDIRECT_CALL_END);
    stack[50] = 0;
    stack[51] = OUTER + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, NOWHERE, at_code(CALL_END) - 1, at_code(INDIRECT_CALL_END) - 1, OUTER);
}

/* The second word of a frame that keeps no convention may be anything. */
static void generated_code_is_returned_to_after_a_call_only(void **state)
{
    registers(NOWHERE, address_of(10), address_of(12));
    stack[12] = address_of(30);
    stack[13] = at_code(CALL_END) + 1;
    stack[31] = OUTER + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, NOWHERE);
    stack[13] = 8; /* in the first page: nothing to read before it */
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, NOWHERE);
}

/* Unless the frame records above lead to after a call in a module: then an interpreter has pushed it. */
static void an_interpreter_is_known_by_where_its_frames_lead(void **state)
{
    registers(NOWHERE, address_of(10), address_of(12));
    stack[12] = address_of(30);
    stack[13] = at_code(CALL_END) + 4;
    stack[30] = address_of(50);
    stack[31] = at_code(INDIRECT_CALL_END) + 4;
    stack[50] = address_of(60);
    stack[51] = BARE + BARE_CALL_END;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, NOWHERE, at_code(CALL_END) + 3, at_code(INDIRECT_CALL_END) + 3,
                BARE + BARE_CALL_END - 1);
    /* Each link counts, whatever is known of the code by now. */
    stack[51] = BARE + BARE_CALL_END + 4; /* after no call */
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, NOWHERE);
    stack[51] = BARE + BARE_CALL_END;
    stack[30] = address_of(29); /* downwards */
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, NOWHERE);
    stack[30] = 0;
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, NOWHERE);
}

/* For ever is no proof, however orderly. */
static void a_chain_that_leads_nowhere_is_none(void **state)
{
    registers(NOWHERE, address_of(2), address_of(2));
    for (size_t i = 2; i + 3 < WORDS; i += 2) {
        stack[i] = address_of(i + 2);
        stack[i + 1] = at_code(CALL_END) + 4;
    }
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, NOWHERE);
}

/* To have been interrupted somewhere is no proof that it can be returned to right behind,
 * and the other way round. */
static void interruptions_teach_the_cache_nothing_about_returns(void **state)
{
    stack[12] = address_of(30);
    stack[13] = at_code(BODY) + 1;
    stack[31] = OUTER + 1;
    registers(at_code(BODY), address_of(10), address_of(12));
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, at_code(BODY));
    keep_rule(BARE, (struct sig_rule){.kind = SIG_RULE_ROOT,
                                      .starts_here = true}); /* of who returned to BARE + 1 */
    stack[13] = OUTER + 1;
    registers(BARE, address_of(10), address_of(12));
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, BARE, OUTER);
}

/* Where a call has left the return address, with so many words pushed since. */
static void set_return_address(size_t words, uint64_t address)
{
    set_link_register(words == 0 ? address : 0);
    if (!SIG_RA_IN_EXTRA || words > 0)
        stack[10 + words] = address;
}

/* The frame pointer is the caller's still, or again. Its frame: saved one at 30, return address at 31. */
static void generated_code_outside_its_frame_has_its_caller_on_top(void **state)
{
    static const struct {
        size_t pc, words;
    } places[] = {{CHECKS, 0}, {PUSH, 0}, {MOV, 1}, {RETURN, 0}};
    stack[31] = OUTER + 1;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        stack[10] = stack[11] = 0;
        set_return_address(places[i].words, at_code(CALL_END));
        registers(at_code(places[i].pc), address_of(10), address_of(30));
        walk();
        ASSERT_WALK(SIG_UNWIND_ROOT, at_code(places[i].pc), at_code(CALL_END) - 1, OUTER);
    }
#if defined(__x86_64__)
    stack[10] = at_code(CALL_END);
    registers(at_code(INIT), address_of(10), address_of(30));
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, at_code(INIT), at_code(CALL_END) - 1, OUTER);
    stack[10] = 0;
    stack[11] = at_code(CALL_END);
    registers(at_code(INIT_BODY), address_of(10), address_of(30));
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, at_code(INIT_BODY), at_code(CALL_END) - 1, OUTER);
#endif
    registers(at_code(BODY), address_of(10), address_of(30)); /* inside: by frame pointer */
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, at_code(BODY), OUTER);
    set_return_address(0, 4711); /* no return address there */
    registers(at_code(CHECKS), address_of(10), address_of(30));
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, at_code(CHECKS), OUTER);
}

static void a_return_address_of_nothing_is_not_recorded(void **state)
{
    registers(LEAF, address_of(10), 4711);
    stack[10] = 0x123456789; /* some word: no module, no frame pointer to go on with */
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, LEAF);
}

static void an_outermost_frame_without_tables_has_no_frame_pointer(void **state)
{
    registers(LEAF, address_of(10), 0);
    stack[10] = BARE + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, LEAF, BARE);
    stack[10] = at_code(CALL_END); /* not in generated code, which may use the register for anything */
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, LEAF, at_code(CALL_END) - 1);
}

/* LANDING has overwritten what it saved with what belongs to OUTER's caller MIDDLE: see follow_landing. */
static void a_landing_unwinder_belongs_to_the_frame_it_lands_in(void **state)
{
    if (!SIG_DECODES_CALLS)
        skip();
    struct sig_rule landing = frame_rule(SIG_DWARF_FP, 16, -16);
    landing.may_land = true;
    keep_rule(LANDING, landing);
    registers(LANDING, address_of(10), address_of(20));
    stack[20] = 4711;       /* of MIDDLE now */
    stack[21] = MIDDLE + 1; /* was MIDDLE + 2, of the frame that threw: words 22 to 29 */
    stack[25] = MIDDLE + 2;
    stack[30] = MIDDLE + 1; /* what LANDING's return address is a copy of: MIDDLE's frame is words 31 to 34 */
    stack[33] = 99;
    stack[34] = OUTER + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, LANDING, MIDDLE, OUTER);
    stack[30] = 0; /* no copy: it returns to where it says */
    stack[25] = OUTER + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, LANDING, MIDDLE, OUTER);
    stack[25] = 0;
    landing.may_land = false; /* and a function that only looks like it does so, too */
    keep_rule(LANDING, landing);
    stack[30] = MIDDLE + 1;
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, LANDING, MIDDLE);
}

/* The caller of BY_FP stands on another stack, which lies lower; and back there again. */
static void a_function_may_call_on_another_stack(void **state)
{
    enum { OTHER_BYTES = 65536 };
    char *block = mmap(NULL, OTHER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t *low = (uint64_t *)(void *)block, *high = (uint64_t *)(void *)(block + OTHER_BYTES) - 64;
    assert_true(block != MAP_FAILED);
    registers(BY_FP, (uintptr_t)high, (uintptr_t)(low + 8));
    low[8] = (uintptr_t)(high + 8); /* a fake frame pointer of the first stack again, then none */
    low[9] = BY_FP + 1;
    high[8] = 0;
    high[9] = OUTER + 1;
    walk_with(0, 0, CAPACITY);
    ASSERT_WALK(SIG_UNWIND_ROOT, BY_FP, BY_FP, OUTER);
    high[8] = (uintptr_t)(low + 8); /* for ever */
    high[9] = BY_FP + 1;
    walk_with(0, 0, CAPACITY);
    assert_int_equal(end, SIG_UNWIND_DEPTH);
    uint64_t many[1024];
    struct sig_unwind_request request = {
        .use_cache = true, .modules = bare_module(), .addresses = many, .capacity = 1024};
    assert_in_range(sig_unwind(&request, &context, &end), 100, 200);
    assert_int_equal(end, SIG_UNWIND_TRUNCATED);
    walk_with((uintptr_t)low, (uintptr_t)(high + 64), CAPACITY); /* not when it is one stack */
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, BY_FP);
    munmap(block, OTHER_BYTES);
}

static void a_return_address_of_zero_is_the_end(void **state)
{
    registers(LEAF, address_of(10), 1);
    walk();
    ASSERT_WALK(SIG_UNWIND_ROOT, LEAF);
}

/* Frame pointers that point at each other, at themselves, downwards, or nowhere. */
static void cycles_and_garbage_end(void **state)
{
    registers(NOWHERE, address_of(10), address_of(12));
    stack[12] = address_of(12);
    stack[13] = NOWHERE + 1;
    walk();
    assert_int_equal(end, SIG_UNWIND_TRUNCATED);
    stack[12] = address_of(20);
    stack[20] = address_of(12);
    stack[21] = NOWHERE + 1;
    walk();
    assert_int_equal(end, SIG_UNWIND_TRUNCATED);
    registers(BY_FP, address_of(10), address_of(5)); /* the CFA would lie below the stack pointer */
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, BY_FP);
    registers(BY_FP, address_of(10), address_of(12) + 3); /* misaligned */
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, BY_FP);
    registers(BY_FP, address_of(10), UINT64_MAX - 7); /* wraps */
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, BY_FP);
    registers(LEAF, 0xffff800000000000U, 0); /* not an address of user space */
    walk();
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, LEAF);
}

static void a_full_result_ends_the_walk(void **state)
{
    keep_rule(LEAF, frame_rule(SIG_DWARF_SP, 8, 0));
    for (size_t i = 0; i < WORDS; i++)
        stack[i] = LEAF + 1;
    registers(LEAF, address_of(0), 0);
    walk_with(address_of(0), address_of(WORDS), CAPACITY);
    assert_int_equal(depth, CAPACITY);
    assert_int_equal(end, SIG_UNWIND_DEPTH);
    walk_with(address_of(0), address_of(WORDS), 1);
    assert_int_equal(depth, 1);
}

/* A stack that ends at an unmapped page: probed, not touched. */
static void the_end_of_the_memory_is_not_crossed(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *block = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    munmap(block + page, page);
    for (uint64_t *word = (uint64_t *)(void *)block; (char *)word < block + page; word++)
        *word = LEAF + 1;
    registers(LEAF, (uint64_t)(uintptr_t)block + page - 64, 0);
    walk_with(0, 0, CAPACITY);
    assert_int_equal(depth, 9);
    assert_int_equal(end, SIG_UNWIND_TRUNCATED);
    munmap(block, page);
}

/* The main thread's stack may grow down to stack_low, but is mapped only as far as it was used. */
static void what_lies_below_the_stack_pointer_is_probed(void **state)
{
    size_t page = 4096;
    char *block = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED && mprotect(block + page, 2 * page, PROT_READ | PROT_WRITE) == 0);
    uint64_t low = (uint64_t)(uintptr_t)block;
    keep_rule(LEAF,
              frame_rule(SIG_DWARF_SP, 0, -16)); /* its return address would lie below the stack pointer */
    registers(LEAF, low + page, 0);
    walk_with(low, low + 3 * page, CAPACITY);
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, LEAF);

    keep_rule(LEAF, frame_rule(SIG_DWARF_SP, 8, 0));
    uint64_t *word = (uint64_t *)(void *)(block + page);
    word[0] = TRAMPOLINE + 1;
    set_registers((ucontext_t *)(void *)((char *)(word + 1) + SIG_UCONTEXT_OFFSET), LEAF, low + page - 64, 0);
    walk_with(low, low + 3 * page, CAPACITY);
    ASSERT_WALK(SIG_UNWIND_TRUNCATED, LEAF, TRAMPOLINE, LEAF);
    munmap(block, 3 * page);
}

#if defined(__x86_64__)
/* Code that ends within an instruction: what would be its next byte is not read. */
static void a_call_cut_short_is_none(void **state)
{
    uint8_t *bytes = calloc(1, SIG_CALL_BYTES_MAX); /* so that the sanitizer sees its end */
    bytes[SIG_CALL_BYTES_MAX - 2] = 0xff;
    bytes[SIG_CALL_BYTES_MAX - 1] = 0x14; /* call *(base + index), whose SIB byte would follow */
    assert_false(sig_ends_in_call(bytes));
    bytes[SIG_CALL_BYTES_MAX - 3] = 0xff;
    bytes[SIG_CALL_BYTES_MAX - 2] = 0x14;
    bytes[SIG_CALL_BYTES_MAX - 1] = 0xc3;
    assert_true(sig_ends_in_call(bytes));
    free(bytes);
}
#else
static void calls_are_known(void **state)
{
    /* bl forwards and back, blr x0, blr x30, blraaz x1, blrabz x1, blraa x1,x2, blrab x1,sp */
    static const uint32_t calls[] = {0x94000000, 0x97ffffff, 0xd63f0000, 0xd63f03c0,
                                     0xd63f083f, 0xd63f0c3f, 0xd73f0822, 0xd73f0c3f};
    /* b, br x1, braa x1,x2, ret, retaa, nop, cbz, a word of text */
    static const uint32_t others[] = {0x14000000, 0xd61f0020, 0xd71f0822, 0xd65f03c0,
                                      0xd65f0bff, 0xd503201f, 0xb4000000, 0x64636261};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        assert_true(sig_ends_in_call((const uint8_t *)&calls[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(sig_ends_in_call((const uint8_t *)&others[i]));
}
#endif

static void random_stacks_end(void **state)
{
    static const uint64_t pcs[] = {LEAF, MIDDLE, BY_FP, BY_DEREF, TRAMPOLINE, NOWHERE};
    srand(7);
    for (int round = 0; round < 20000; round++) {
        for (size_t i = 0; i < WORDS; i++) {
            int kind = rand() % 4;
            stack[i] = kind == 0   ? pcs[rand() % 6] + 1
                       : kind == 1 ? address_of((size_t)rand() % WORDS)
                       : kind == 2 ? (uint64_t)rand() << 33 ^ (uint64_t)rand()
                                   : 0;
        }
        registers(pcs[rand() % 6], address_of((size_t)rand() % WORDS), address_of((size_t)rand() % WORDS));
        walk_with(round % 2 ? address_of(0) : 0, round % 2 ? address_of(WORDS) : 0, CAPACITY);
        assert_in_range(depth, 1, CAPACITY);
        walk_other(round % 2 ? address_of(0) : 0, round % 2 ? address_of(WORDS) : 0, CAPACITY);
        assert_other_agrees();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(to_the_root, setup),
        cmocka_unit_test_setup(the_frame_pointer_is_carried, setup),
        cmocka_unit_test_setup(an_unknown_frame_pointer_ends_the_walk, setup),
        cmocka_unit_test_setup(the_cfa_may_lie_on_the_stack, setup),
        cmocka_unit_test_setup(a_frame_below_a_trampoline_is_exact, setup),
        cmocka_unit_test_setup(the_link_register_is_the_leafs, setup),
        cmocka_unit_test_setup(a_frame_record_gives_the_stack_pointer, setup),
#if defined(__aarch64__)
        cmocka_unit_test_setup(signatures_are_taken_off, setup),
#endif
        cmocka_unit_test_setup(code_without_tables_goes_by_frame_pointer, setup),
        cmocka_unit_test_setup(generated_code_is_returned_to_after_a_call_only, setup),
        cmocka_unit_test_setup(an_interpreter_is_known_by_where_its_frames_lead, setup),
        cmocka_unit_test_setup(a_chain_that_leads_nowhere_is_none, setup),
        cmocka_unit_test_setup(interruptions_teach_the_cache_nothing_about_returns, setup),
        cmocka_unit_test_setup(generated_code_outside_its_frame_has_its_caller_on_top, setup),
        cmocka_unit_test_setup(a_return_address_of_nothing_is_not_recorded, setup),
        cmocka_unit_test_setup(an_outermost_frame_without_tables_has_no_frame_pointer, setup),
        cmocka_unit_test_setup(a_landing_unwinder_belongs_to_the_frame_it_lands_in, setup),
        cmocka_unit_test_setup(a_function_may_call_on_another_stack, setup),
        cmocka_unit_test_setup(a_return_address_of_zero_is_the_end, setup),
        cmocka_unit_test_setup(cycles_and_garbage_end, setup),
        cmocka_unit_test_setup(a_full_result_ends_the_walk, setup),
        cmocka_unit_test_setup(the_end_of_the_memory_is_not_crossed, setup),
        cmocka_unit_test_setup(what_lies_below_the_stack_pointer_is_probed, setup),
#if defined(__x86_64__)
        cmocka_unit_test_setup(a_call_cut_short_is_none, setup),
#else
        cmocka_unit_test_setup(calls_are_known, setup),
#endif
        cmocka_unit_test_setup(random_stacks_end, setup),
    };
    return cmocka_run_group_tests(tests, setup_group, NULL);
}
