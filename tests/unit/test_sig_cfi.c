/*
 * The CFI evaluator, fed tables written by hand (DWARF 5 section 6.4, LSB 5.0 Core chapter 10), with every
 * rule known.
 */
#include "lib/unit.h"
#include "lib/arch.h"
#include "lib/fake_cfi.h"
#include "sig/cfi/sig_cfi.h"

#include <stdlib.h>
#include <string.h>

static struct sig_rule rule_at(const struct table *table, uint64_t pc)
{
    struct sig_rule direct, careful;
    sig_cfi_rule(&table->module, pc, false, &direct);
    sig_cfi_rule(&table->module, pc, true, &careful);
    if (!kernel_copies_memory())
        return direct;
    assert_int_equal(direct.kind, careful.kind); /* both ways of reading give one rule */
    assert_int_equal(direct.cfa_offset, careful.cfa_offset);
    assert_int_equal(direct.fp.offset, careful.fp.offset);
    return direct;
}

static void assert_cfa(const struct sig_rule *rule, unsigned dwarf_register, int offset)
{
    assert_int_equal(rule->kind, SIG_RULE_FRAME);
    assert_false(rule->cfa_deref);
    assert_int_equal(rule->cfa_register, dwarf_register);
    assert_int_equal(rule->cfa_offset, offset);
    assert_int_equal(rule->ra.kind, SIG_SAVED_AT_CFA);
    assert_int_equal(rule->ra.offset, -8);
}

/* push fp; mov sp,fp; ...; pop fp; ret: the row changes exactly at the instruction after each. */
static void test_frame_pointer_prologue(void **state)
{
    /* clang-format off: a row a line */
    static const uint8_t code[] = {
        0x41, 0x0e, 16,   CFA_OFFSET | FP,
        2,              /* +1: CFA offset 16, fp at CFA-16 */
        0x43, 0x0d, FP, /* +3: CFA register fp */
        0x02, 0xa0, 0x0c, SP,
        8, /* +160: CFA = sp + 8 */
    };
    /* clang-format on */
    struct table table;
    cfi_one_function(&table, code, sizeof(code));
    uint64_t pc = cfi_function_pc(&table, 0);
    struct sig_rule rule = rule_at(&table, pc);
    assert_cfa(&rule, SIG_DWARF_SP, 8);
    assert_int_equal(rule.fp.kind, SIG_SAVED_SAME);
    rule = rule_at(&table, pc + 1);
    assert_cfa(&rule, SIG_DWARF_SP, 16);
    assert_int_equal(rule.fp.kind, SIG_SAVED_AT_CFA);
    assert_int_equal(rule.fp.offset, -16);
    rule = rule_at(&table, pc + 3);
    assert_cfa(&rule, SIG_DWARF_SP, 16);
    rule = rule_at(&table, pc + 4);
    assert_cfa(&rule, SIG_DWARF_FP, 16);
    rule = rule_at(&table, pc + 163);
    assert_cfa(&rule, SIG_DWARF_FP, 16);
    rule = rule_at(&table, pc + 164);
    assert_cfa(&rule, SIG_DWARF_SP, 8);
}

static void test_addresses_outside(void **state)
{
    struct table table;
    cfi_one_function(&table, "", 0);
    uint64_t pc = cfi_function_pc(&table, 0);
    assert_int_equal(rule_at(&table, pc - 1).kind, SIG_RULE_NONE);
    assert_int_equal(rule_at(&table, pc + FUNCTION_BYTES - 1).kind, SIG_RULE_FRAME);
    assert_int_equal(rule_at(&table, pc + FUNCTION_BYTES).kind, SIG_RULE_NONE);
    if (kernel_copies_memory())
        assert_int_equal(sig_eh_frame_function_start(&table.module, pc + 17), pc);
    assert_int_equal(sig_eh_frame_function_start(&table.module, pc + FUNCTION_BYTES), 0);
}

static void test_binary_search_finds_each_function(void **state)
{
    struct table table;
    cfi_begin(&table);
    /* The search table grows upwards from 12: space for six entries before FRAME_AT. */
    cfi_add_cie(&table, "zR", usual_instructions, sizeof(usual_instructions));
    for (uint8_t i = 0; i < 6; i++) {
        uint8_t code[] = {0x0e, (uint8_t)(16 + 8 * i)};
        cfi_add_fde(&table, code, sizeof(code));
    }
    for (uint32_t i = 0; i < 6; i++) {
        struct sig_rule rule = rule_at(&table, cfi_function_pc(&table, i) + 5);
        assert_cfa(&rule, SIG_DWARF_SP, 16 + 8 * (int)i);
        if (kernel_copies_memory())
            assert_int_equal(sig_eh_frame_function_start(&table.module, cfi_function_pc(&table, i) + 5),
                             cfi_function_pc(&table, i));
    }
}

static void test_remember_and_restore(void **state)
{
    static const uint8_t code[] = {0x0e, 32, CFA_OFFSET | FP,  4,    0x0a, 0x44, 0x0c,
                                   SP,   8,  CFA_RESTORE | FP, 0x44, 0x0b};
    struct table table;
    cfi_one_function(&table, code, sizeof(code));
    uint64_t pc = cfi_function_pc(&table, 0);
    struct sig_rule rule = rule_at(&table, pc + 4);
    assert_cfa(&rule, SIG_DWARF_SP, 8);
    assert_int_equal(rule.fp.kind, SIG_SAVED_SAME); /* DW_CFA_restore: as the CIE has it */
    rule = rule_at(&table, pc + 8);
    assert_cfa(&rule, SIG_DWARF_SP, 32);
    assert_int_equal(rule.fp.kind, SIG_SAVED_AT_CFA);
    assert_int_equal(rule.fp.offset, -32);
}

/* The linker's PLT: CFA = rsp + 8 + ((rip & 15) >= 11) * 8. */
static void test_plt_expression(void **state)
{
    static const uint8_t code[] = {0x0f, 11, BREG + SP, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    struct table table;
    if (SIG_DWARF_PC > 31)
        skip(); /* no expression can name the pc */
    cfi_one_function(&table, code, sizeof(code));
    uint64_t pc = cfi_function_pc(&table, 0);
    for (uint64_t i = 0; i < 32; i++) {
        struct sig_rule rule = rule_at(&table, pc + i);
        assert_cfa(&rule, SIG_DWARF_SP, ((pc + i) & 15) >= 11 ? 16 : 8);
    }
}

/* A function that realigns its stack: CFA = *(fp - 8), fp saved at fp + 0, extra at fp - 24. */
static void test_realigned_stack(void **state)
{
    static const uint8_t code[] = {0x0f,      3, BREG + FP, 0x78,  0x06, 0x10,      FP,  2,
                                   BREG + FP, 0, 0x10,      EXTRA, 2,    BREG + FP, 0x68};
    struct table table;
    cfi_one_function(&table, code, sizeof(code));
    struct sig_rule rule = rule_at(&table, cfi_function_pc(&table, 0));
    assert_int_equal(rule.kind, SIG_RULE_FRAME);
    assert_true(rule.cfa_deref);
    assert_int_equal(rule.cfa_register, SIG_DWARF_FP);
    assert_int_equal(rule.cfa_offset, -8);
    assert_int_equal(rule.fp.kind, SIG_SAVED_AT_REGISTER);
    assert_int_equal(rule.fp.dwarf_register, SIG_DWARF_FP);
    assert_int_equal(rule.fp.offset, 0);
    assert_int_equal(rule.extra.kind, SIG_SAVED_AT_REGISTER);
    assert_int_equal(rule.extra.offset, -24);
}

/* OpenSSL's assembly: CFA = *(sp + 152) + 8. */
static void test_stack_pointer_kept_on_the_stack(void **state)
{
    static const uint8_t code[] = {0x0f, 6, BREG + SP, 0x98, 0x01, 0x06, 0x23, 8};
    struct table table;
    cfi_one_function(&table, code, sizeof(code));
    struct sig_rule rule = rule_at(&table, cfi_function_pc(&table, 0));
    assert_int_equal(rule.kind, SIG_RULE_FRAME);
    assert_true(rule.cfa_deref);
    assert_int_equal(rule.cfa_register, SIG_DWARF_SP);
    assert_int_equal(rule.cfa_offset, 152);
    assert_int_equal(rule.cfa_offset_after, 8);
}

/* What hands an exception to a handler, and nobody else, saves the register it is handed in. */
static void test_a_function_that_may_land(void **state)
{
    static const uint8_t code[] = {
        CFA_OFFSET | 0, 2, 0x40 + 4, CFA_OFFSET | SIG_DWARF_LANDING, 3, 0x40 + 4, 0x0a, 0x0e, 40};
    struct table table;
    cfi_one_function(&table, code, sizeof(code));
    uint64_t pc = cfi_function_pc(&table, 0);
    assert_false(rule_at(&table, pc).may_land);
    assert_int_equal(rule_at(&table, pc + 4).may_land, SIG_DECODES_CALLS);
    assert_int_equal(rule_at(&table, pc + 8).may_land, SIG_DECODES_CALLS);
}

static void test_undefined_return_address_is_the_root(void **state)
{
    static const uint8_t code[] = {0x07, RA};
    struct table table;
    cfi_one_function(&table, code, sizeof(code));
    assert_int_equal(rule_at(&table, cfi_function_pc(&table, 0)).kind, SIG_RULE_ROOT);
}

/* Not known is not the same as not there. */
static void test_return_address_by_expression_is_no_root(void **state)
{
    static const uint8_t code[] = {0x16, RA, 3, BREG + SP, 0, 0x06};
    struct table table;
    cfi_one_function(&table, code, sizeof(code));
    assert_int_equal(rule_at(&table, cfi_function_pc(&table, 0)).kind, SIG_RULE_UNSUPPORTED);
}

/* vfork of the C library keeps its return address in rdi. */
static void test_return_address_in_register(void **state)
{
    static const uint8_t code[] = {0x41, 0x0e, 0, 0x09, RA, 5};
    struct table table;
    cfi_one_function(&table, code, sizeof(code));
    struct sig_rule rule = rule_at(&table, cfi_function_pc(&table, 0) + 1);
    assert_int_equal(rule.kind, SIG_RULE_FRAME);
    assert_int_equal(rule.cfa_offset, 0);
    assert_int_equal(rule.ra.kind, SIG_SAVED_IN_REGISTER);
    assert_int_equal(rule.ra.dwarf_register, 5);
}

/* The C library's longjmp, while it loads the registers: CFA = rdi, rsp in r8, rbp in r9, rip in rdx. */
static void test_stack_pointer_that_is_not_the_cfa(void **state)
{
    static const uint8_t code[] = {0x0c, 5, 0, 0x09, FP, 9, 0x09, RA, 1, 0x41, 0x09, SP, 8};
    struct table table;
    cfi_one_function(&table, code, sizeof(code));
    assert_int_equal(rule_at(&table, cfi_function_pc(&table, 0)).kind, SIG_RULE_FRAME);
    assert_int_equal(rule_at(&table, cfi_function_pc(&table, 0) + 1).kind, SIG_RULE_UNSUPPORTED);
}

static void test_signal_frame(void **state)
{
    struct table table;
    cfi_begin(&table);
    cfi_add_cie(&table, "zRS", usual_instructions, sizeof(usual_instructions));
    cfi_add_fde(&table, "", 0);
    assert_int_equal(rule_at(&table, cfi_function_pc(&table, 0)).kind,
                     SIG_RULE_FRAME); /* marked so, but no trampoline */
    memcpy(table.bytes + FUNCTION_PC + SIG_CODE_ALIGN, trampoline_code, sizeof(trampoline_code));
    uint64_t trampoline = cfi_function_pc(&table, 0) + SIG_CODE_ALIGN;
    assert_int_equal(rule_at(&table, trampoline - 1).kind, SIG_RULE_SIGNAL); /* return address - 1 */
    assert_int_equal(rule_at(&table, trampoline).kind, SIG_RULE_SIGNAL);
    assert_int_equal(rule_at(&table, trampoline + SIG_TRAMPOLINE_BYTES - 1).kind, SIG_RULE_SIGNAL);
}

static void test_signed_and_extended_forms(void **state)
{
    /* clang-format off: an instruction a line */
    static const uint8_t code[] = {
        0x12, SP,    0x7c,                     /* def_cfa_sf sp, -4 * -8 = 32 */
        0x05, FP,    3,                        /* offset_extended fp, CFA-24 */
        0x11, EXTRA, 0x04,                     /* offset_extended_sf extra, 4 * -8 = -32 */
        0x2e, 16,                              /* GNU_args_size */
        0x41, 0x13,  0x7b,                     /* +1: def_cfa_offset_sf 40 */
        0x08, FP,    0x06, EXTRA,              /* same_value fp, restore_extended extra */
        0x41, 0x16,  FP,   2,     BREG + SP, 0 /* +1: val_expression fp */
    };
    /* clang-format on */
    struct table table;
    cfi_one_function(&table, code, sizeof(code));
    uint64_t pc = cfi_function_pc(&table, 0);
    struct sig_rule rule = rule_at(&table, pc);
    assert_int_equal(rule.cfa_register, SIG_DWARF_SP);
    assert_int_equal(rule.cfa_offset, 32);
    assert_int_equal(rule.fp.offset, -24);
    assert_int_equal(rule.extra.offset, -32);
    rule = rule_at(&table, pc + 1);
    assert_cfa(&rule, SIG_DWARF_SP, 40);
    assert_int_equal(rule.fp.kind, SIG_SAVED_SAME);
    assert_int_equal(rule.extra.kind, SIG_RA_IN_EXTRA ? SIG_SAVED_AT_CFA : SIG_SAVED_SAME); /* as the CIE */
    assert_int_equal(rule_at(&table, pc + 2).fp.kind, SIG_SAVED_UNKNOWN);
}

/* Fills the stack below the caller's frame. */
static __attribute__((noinline)) void scribble(void)
{
    volatile uint8_t garbage[4096];
    for (size_t i = 0; i < sizeof(garbage); i++)
        garbage[i] = 0xa5;
}

/* There is no row yet that DW_CFA_restore could mean: the register is as it was. */
static void test_restore_in_the_cie(void **state)
{
    static const uint8_t code[] = {0x0c, SP, 8, CFA_RESTORE | FP, 0x06, EXTRA, CFA_OFFSET | RA, 1};
    struct table table;
    struct sig_rule rule;
    cfi_begin(&table);
    cfi_add_cie(&table, "zR", code, sizeof(code));
    cfi_add_fde(&table, "", 0);
    uint64_t pc = cfi_function_pc(&table, 0);
    scribble();
    sig_cfi_rule(&table.module, pc, false, &rule);
    assert_cfa(&rule, SIG_DWARF_SP, 8);
    assert_int_equal(rule.fp.kind, SIG_SAVED_SAME);
    assert_int_equal(rule.extra.kind, SIG_RA_IN_EXTRA ? SIG_SAVED_AT_CFA : SIG_SAVED_SAME);
}

#define EIGHT(byte) byte, byte, byte, byte, byte, byte, byte, byte

/* Factored offsets that leave 64 bits are not known, and a CFA by one is refused. */
static void test_huge_factored_offsets(void **state)
{
    enum { OTHER = SIG_RA_IN_EXTRA ? FP : EXTRA }; /* not the return address */
    /* clang-format off: an instruction a line */
    static const uint8_t code[] = {
        CFA_OFFSET | FP,
        EIGHT(0xff),
        0x7f, /* offset fp */
        0x41, /* +1 */
        0x05,
        OTHER,
        EIGHT(0xff),
        0x7f, /* offset_extended */
        0x11,
        OTHER,
        EIGHT(0xff),
        0x3f, /* offset_extended_sf */
        0x2f,
        FP,
        EIGHT(0x80),
        0x80,
        0x01, /* GNU_negative_offset_extended fp */
        0x41, /* +2 */
        0x12,
        SP,
        EIGHT(0xff),
        0x3f, /* def_cfa_sf */
        0x41, /* +3 */
        0x0c,
        SP,
        8, /* def_cfa */
        0x13,
        EIGHT(0xff),
        0x3f, /* def_cfa_offset_sf */
    };
    /* clang-format on */
    struct table table;
    cfi_one_function(&table, code, sizeof(code));
    uint64_t pc = cfi_function_pc(&table, 0);
    assert_int_equal(rule_at(&table, pc).fp.kind, SIG_SAVED_UNKNOWN);
    assert_int_equal(rule_at(&table, pc + 1).fp.kind, SIG_SAVED_UNKNOWN);
    assert_int_equal(rule_at(&table, pc + 1).extra.kind,
                     SIG_RA_IN_EXTRA ? SIG_SAVED_AT_CFA : SIG_SAVED_UNKNOWN);
    assert_int_equal(rule_at(&table, pc + 2).kind, SIG_RULE_UNSUPPORTED);
    assert_int_equal(rule_at(&table, pc + 3).kind, SIG_RULE_UNSUPPORTED);
}

/* A leaf of aarch64: nothing is on the stack, the return address is where calls leave it. */
static void test_return_address_in_link_register(void **state)
{
    static const uint8_t leaf[] = {0x0c, SP, 0};
    static const uint8_t code[] = {0x41, 0x0e, 48, CFA_OFFSET | FP, 6, CFA_OFFSET | RA, 5};
    struct table table;
    if (!SIG_RA_IN_EXTRA)
        skip();
    cfi_begin(&table);
    cfi_add_cie(&table, "zR", leaf, sizeof(leaf));
    cfi_add_fde(&table, code, sizeof(code));
    struct sig_rule rule = rule_at(&table, cfi_function_pc(&table, 0));
    assert_int_equal(rule.kind, SIG_RULE_FRAME);
    assert_int_equal(rule.cfa_offset, 0);
    assert_int_equal(rule.ra.kind, SIG_SAVED_SAME);
    assert_int_equal(rule.extra.kind, SIG_SAVED_SAME);
    rule = rule_at(&table, cfi_function_pc(&table, 0) + 1);
    assert_int_equal(rule.ra.offset, -40);
    assert_int_equal(rule.extra.kind, SIG_SAVED_AT_CFA);
    assert_int_equal(rule.extra.offset, -40);
    assert_int_equal(rule.fp.offset, -48);
}

/* _dl_runtime_resolve: what the PLT has pushed belongs to the frame, whatever its table says. */
static void test_pushed_by_the_plt(void **state)
{
    static const uint8_t code[] = {0x0e, 0xd0, 0x01, CFA_OFFSET | FP, 2, 0x11, RA, 0x7f}; /* ra at CFA + 8 */
    static const uint8_t by_fp[] = {0x0c, FP, 0, 0x11, RA, 0x7f};
    struct table table;
    if (!SIG_RA_IN_EXTRA)
        skip();
    cfi_one_function(&table, code, sizeof(code));
    struct sig_rule rule = rule_at(&table, cfi_function_pc(&table, 0));
    assert_cfa(&rule, SIG_DWARF_SP, 208 + 16);
    assert_int_equal(rule.fp.offset, -16 - 16);
    assert_int_equal(rule.extra.offset, -8);
    cfi_one_function(&table, by_fp, sizeof(by_fp)); /* as it says */
    rule = rule_at(&table, cfi_function_pc(&table, 0));
    assert_int_equal(rule.cfa_offset, 0);
    assert_int_equal(rule.ra.offset, 8);
}

static void assert_refused(const void *code, size_t bytes)
{
    struct table table;
    cfi_one_function(&table, code, bytes);
    assert_int_equal(rule_at(&table, cfi_function_pc(&table, 0) + 8).kind, SIG_RULE_UNSUPPORTED);
}

/* Signed return addresses (AADWARF64 4.4); on other machines the same numbers are unknown instructions. */
static void test_negate_ra_state(void **state)
{
    static const uint8_t code[] = {0x2d, 0x41, 0x0e, 32, 0x2c, 0x41, 0x0e, 48, 0x2d};
    struct table table;
    if (!SIG_HAS_NEGATE_RA_STATE) {
        assert_refused(code, sizeof(code));
        return;
    }
    cfi_one_function(&table, code, sizeof(code));
    struct sig_rule rule = rule_at(&table, cfi_function_pc(&table, 0) + 1);
    assert_cfa(&rule, SIG_DWARF_SP, 32);
    rule = rule_at(&table, cfi_function_pc(&table, 0) + 2);
    assert_cfa(&rule, SIG_DWARF_SP, 48);
}

static void test_bad_instructions_are_refused(void **state)
{
    static const uint8_t unknown[] = {0x3f}, pop_empty[] = {0x0b}, long_block[] = {0x0f, 0xff, 0x7f};
    static const uint8_t deep[] = {0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a};
    static const uint8_t unknown_operator[] = {0x0f, 2, BREG + SP, 0xff};
    static const uint8_t underflow[] = {0x0f, 1, 0x22}, constant_cfa[] = {0x0f, 1, 0x31};
    static const uint8_t huge_offset[] = {0x0c, SP, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
    assert_refused(unknown, sizeof(unknown));
    assert_refused(pop_empty, sizeof(pop_empty));
    assert_refused(long_block, sizeof(long_block));
    assert_refused(deep, sizeof(deep));
    assert_refused(unknown_operator, sizeof(unknown_operator));
    assert_refused(underflow, sizeof(underflow));
    assert_refused(constant_cfa, sizeof(constant_cfa));
    assert_refused(huge_offset, sizeof(huge_offset));
}

static void test_bad_headers_give_nothing(void **state)
{
    struct table table;
    cfi_one_function(&table, "", 0);
    uint64_t pc = cfi_function_pc(&table, 0);
    table.bytes[0] = 2; /* version */
    assert_int_equal(rule_at(&table, pc).kind, SIG_RULE_NONE);
    table.bytes[0] = 1;
    table.bytes[3] = 0xff; /* no search table */
    assert_int_equal(rule_at(&table, pc).kind, SIG_RULE_NONE);
    table.bytes[3] = 0x3b;
    cfi_patch_u32(&table, 8, 0x7fffffff); /* more entries than the segment holds */
    assert_int_equal(rule_at(&table, pc).kind, SIG_RULE_NONE);
    cfi_patch_u32(&table, 8, 1);
    cfi_patch_u32(&table, 16, 0x7ffffff0); /* an FDE outside of the segment */
    assert_int_equal(rule_at(&table, pc).kind, SIG_RULE_NONE);
    table.module.eh_frame_hdr = 0;
    assert_int_equal(rule_at(&table, pc).kind, SIG_RULE_NONE);
}

/* Whatever the bytes are, evaluation ends and reads nothing outside (the sanitizer build would tell). */
static void test_random_corruption_is_harmless(void **state)
{
    static const uint8_t code[] = {0x41, 0x0e, 16, CFA_OFFSET | FP, 2,    0x43, 0x0d,
                                   FP,   0x0f, 3,  BREG + FP,       0x78, 0x06};
    srand(1);
    for (int round = 0; round < 20000; round++) {
        /* On the heap, so that the sanitizer sees the ends. */
        struct table *table = aligned_alloc(_Alignof(struct table), sizeof(*table));
        struct sig_rule rule;
        cfi_one_function(table, code, sizeof(code));
        table->module.cfi_high = cfi_base(table) + table->used;
        for (int i = rand() % 8; i >= 0; i--)
            table->bytes[(size_t)rand() % table->used] = (uint8_t)rand();
        sig_cfi_rule(&table->module, cfi_function_pc(table, 0) + (uint64_t)(rand() % 300), false, &rule);
        sig_eh_frame_function_start(&table->module, cfi_function_pc(table, 0));
        free(table);
    }
}

/* One instruction more than is run. */
static void test_instructions_are_counted(void **state)
{
    enum { MAX_INSTRUCTIONS = 32768, INSTRUCTIONS_AT = 17 };
    struct table table;
    uint32_t fde_at;
    cfi_one_function(&table, "", 0);
    memcpy(&fde_at, table.bytes + 16, sizeof(fde_at));
    for (size_t count = MAX_INSTRUCTIONS; count <= MAX_INSTRUCTIONS + 1; count++) {
        size_t bytes = fde_at + INSTRUCTIONS_AT + count;
        uint8_t *longer = calloc(1, bytes); /* DW_CFA_nop */
        uint32_t length = (uint32_t)(bytes - fde_at - 4);
        memcpy(longer, table.bytes, fde_at + INSTRUCTIONS_AT);
        memcpy(longer + fde_at, &length, sizeof(length));
        struct sig_module module = table.module;
        struct sig_rule rule;
        module.eh_frame_hdr = module.cfi_low = (uint64_t)(uintptr_t)longer;
        module.cfi_high = module.cfi_low + bytes;
        sig_cfi_rule(&module, module.cfi_low + FUNCTION_PC, false, &rule);
        assert_int_equal(rule.kind, count == MAX_INSTRUCTIONS ? SIG_RULE_FRAME : SIG_RULE_UNSUPPORTED);
        free(longer);
    }
}

/* A table cut off at any byte gives a rule or none, and nothing beyond the cut is read. */
static void test_every_truncation(void **state)
{
    static const uint8_t code[] = {0x41, 0x0e, 16, CFA_OFFSET | FP, 2, 0x43, 0x0d, FP};
    struct table whole;
    cfi_one_function(&whole, code, sizeof(code));
    for (size_t length = 0; length <= whole.used; length++) {
        uint8_t *cut = malloc(length ? length : 1);
        struct sig_rule rule;
        memcpy(cut, whole.bytes, length);
        struct sig_module module = whole.module;
        module.eh_frame_hdr = module.cfi_low = (uint64_t)(uintptr_t)cut;
        module.cfi_high = module.cfi_low + length;
        sig_cfi_rule(&module, module.cfi_low + FUNCTION_PC + 4, false, &rule);
        if (length < whole.used - 8)
            assert_true(rule.kind != SIG_RULE_FRAME);
        free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frame_pointer_prologue),
        cmocka_unit_test(test_addresses_outside),
        cmocka_unit_test(test_binary_search_finds_each_function),
        cmocka_unit_test(test_remember_and_restore),
        cmocka_unit_test(test_plt_expression),
        cmocka_unit_test(test_realigned_stack),
        cmocka_unit_test(test_stack_pointer_kept_on_the_stack),
        cmocka_unit_test(test_a_function_that_may_land),
        cmocka_unit_test(test_undefined_return_address_is_the_root),
        cmocka_unit_test(test_return_address_by_expression_is_no_root),
        cmocka_unit_test(test_return_address_in_register),
        cmocka_unit_test(test_stack_pointer_that_is_not_the_cfa),
        cmocka_unit_test(test_signal_frame),
        cmocka_unit_test(test_signed_and_extended_forms),
        cmocka_unit_test(test_restore_in_the_cie),
        cmocka_unit_test(test_huge_factored_offsets),
        cmocka_unit_test(test_return_address_in_link_register),
        cmocka_unit_test(test_pushed_by_the_plt),
        cmocka_unit_test(test_negate_ra_state),
        cmocka_unit_test(test_bad_instructions_are_refused),
        cmocka_unit_test(test_bad_headers_give_nothing),
        cmocka_unit_test(test_random_corruption_is_harmless),
        cmocka_unit_test(test_instructions_are_counted),
        cmocka_unit_test(test_every_truncation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
