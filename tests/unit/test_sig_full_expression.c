/* The stack machine of DWARF expressions, operator by operator, on registers and memory made by hand; and
 * blocks that mean harm. */
#include "lib/unit.h"
#include "lib/arch.h"
#include "sig/cfi/sig_full_expression.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { OPERATORS = 1000, PAGE = 4096 };

static uint64_t *memory; /* of mmap: a page, and an unmapped one after it */
static uint64_t values[SIG_EVALUATION_VALUES];
static struct sig_registers registers;
static struct sig_stack stack;
static struct sig_evaluation evaluation;

static int setup_group(void **state)
{
    void *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || munmap((char *)pages + PAGE, PAGE) != 0)
        return -1;
    memory = pages;
    memory[0] = 0x8877665544332211;
    memory[1] = 0xffeeddccbbaa9900;
    memory[2] = (uint64_t)(uintptr_t)&memory[1];
    return 0;
}

/* rdi (5) points to the memory, r15 is not known, and the others are a million and their number. */
static int setup(void **state)
{
    registers.known = 0;
    for (unsigned i = 0; i < SIG_DWARF_COUNT; i++) {
        if (i != 15)
            sig_registers_set(&registers, i, 1000000 + i);
    }
    sig_registers_set(&registers, 5, (uint64_t)(uintptr_t)memory);
    stack = (struct sig_stack){.low = 0};
    evaluation = (struct sig_evaluation){.stack = &stack, .values = values, .operators_left = OPERATORS};
    return 0;
}

/* A block of at most 127 bytes, both read at once and through the kernel. */
static bool evaluate(const void *operators, size_t bytes, const uint64_t *cfa, uint64_t *ret)
{
    uint8_t *block = malloc(bytes + 1); /* so that the sanitizer sees the end */
    uint64_t at = (uint64_t)(uintptr_t)block, careful = 0;
    const struct sig_module module = {.cfi_low = at, .cfi_high = at + bytes + 1};
    struct sig_evaluation again = evaluation;
    struct sig_reader reader;
    assert_in_range(bytes, 0, 127);
    block[0] = (uint8_t)bytes;
    memcpy(block + 1, operators, bytes);
    *ret = 0;
    sig_reader_init(&reader, &module, at, false);
    bool is_known = sig_full_expression(&evaluation, &registers, &reader, at, cfa, ret);
    sig_reader_init(&reader, &module, at, true);
    bool careful_known = sig_full_expression(&again, &registers, &reader, at, cfa, &careful);
    if (kernel_copies_memory()) {
        assert_int_equal(careful_known, is_known);
        assert_int_equal(careful, is_known ? *ret : 0);
    }
    free(block);
    return is_known;
}

static void check_value(const void *operators, size_t bytes, uint64_t expected)
{
    uint64_t value;
    assert_true(evaluate(operators, bytes, NULL, &value));
    assert_int_equal(value, expected);
}

static void check_failure(const void *operators, size_t bytes)
{
    uint64_t value;
    assert_false(evaluate(operators, bytes, NULL, &value));
}

#define BYTES(...)           ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})
#define VALUE(expected, ...) check_value(BYTES(__VA_ARGS__), (uint64_t)(expected))
#define FAILURE(...)         check_failure(BYTES(__VA_ARGS__))
/* -1 as a value, and the least number: lit1, const1u 63, shl. */
#define MINUS_1 0x09, 0xff
#define LEAST   0x31, 0x08, 63, 0x24

static void literals(void **state)
{
    VALUE(0, 0x30);
    VALUE(31, 0x4f);
    VALUE(0xfe, 0x08, 0xfe);
    VALUE(-2, 0x09, 0xfe);
    VALUE(0xfedc, 0x0a, 0xdc, 0xfe);
    VALUE(-0x124, 0x0b, 0xdc, 0xfe);
    VALUE(0xfedcba98, 0x0c, 0x98, 0xba, 0xdc, 0xfe);
    VALUE(-0x1234568, 0x0d, 0x98, 0xba, 0xdc, 0xfe);
    VALUE(0xfedcba9876543210, 0x0e, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe);
    VALUE(0xfedcba9876543210, 0x0f, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe);
    VALUE(0x0807060504030201, 0x03, 1, 2, 3, 4, 5, 6, 7, 8); /* addr */
    VALUE(624485, 0x10, 0xe5, 0x8e, 0x26);
    VALUE(-123456, 0x11, 0xc0, 0xbb, 0x78);
}

static void registers_with_offsets(void **state)
{
    VALUE(1000000, 0x70, 0);
    VALUE(1000014 + 8, 0x70 + 14, 8);
    VALUE(1000016 - 128, 0x80, 0x80, 0x7f);
    VALUE(1000012 - 1, 0x92, 12, 0x7f); /* bregx */
    FAILURE(0x7f, 0);                   /* r15 */
    FAILURE(0x92, SIG_DWARF_COUNT, 0);  /* there is none of this number */
    FAILURE(0x92, 0x80, 0x80, 0x01, 0);
    if (SIG_DWARF_COUNT == 17)
        FAILURE(0x81, 0);
}

static void moving_values(void **state)
{
    VALUE(3 + 3, 0x33, 0x12, 0x22);               /* dup */
    VALUE(1, 0x31, 0x32, 0x13);                   /* drop */
    VALUE(1, 0x31, 0x32, 0x14);                   /* over */
    VALUE(3, 0x33, 0x32, 0x31, 0x15, 2);          /* pick */
    VALUE(1, 0x33, 0x32, 0x31, 0x15, 0);          /* the top itself */
    VALUE(2 - 1, 0x31, 0x32, 0x16, 0x1c);         /* swap */
    VALUE(2, 0x31, 0x32, 0x33, 0x17);             /* rot: 1 2 3 -> 3 1 2 */
    VALUE(1, 0x31, 0x32, 0x33, 0x17, 0x13);       /* below it */
    VALUE(3, 0x31, 0x32, 0x33, 0x17, 0x13, 0x13); /* and at the bottom */
    VALUE(5, 0x96, 0x35, 0x96);                   /* nop */
}

static void reading_memory(void **state)
{
    VALUE(memory[0], 0x75, 0, 0x06);
    VALUE(memory[1], 0x75, 16, 0x06, 0x06); /* twice */
    VALUE(0x0088776655443322, 0x75, 1, 0x94, 8);
    VALUE(0x2211, 0x75, 0, 0x94, 2);
    VALUE(0x66, 0x75, 5, 0x94, 1);
    VALUE(0x99008877, 0x75, 6, 0x94, 4); /* across two words */
    FAILURE(0x75, 0, 0x94, 0);
    FAILURE(0x75, 0, 0x94, 9);
    FAILURE(0x75, 0x80, 0x20, 0x06); /* + 4096: not mapped */
    FAILURE(0x75, 0xfc, 0x1f, 0x06); /* + 4092: half of it is not */
    VALUE(0, 0x75, 0xfc, 0x1f, 0x94, 4);
    FAILURE(0x30, 0x06);
    FAILURE(MINUS_1, 0x06);
}

static void arithmetic(void **state)
{
    VALUE(7, 0x37, 0x19);                       /* abs */
    VALUE(7, 0x09, 0xf9, 0x19);                 /* abs -7 */
    VALUE(INT64_MIN, LEAST, 0x19);              /* which has none */
    VALUE(0x0c, 0x3c, 0x3e, 0x1a);              /* and: 12, 14 */
    VALUE(-2, 0x09, 0xf9, 0x33, 0x1b);          /* div: towards zero */
    VALUE(INT64_MIN, LEAST, MINUS_1, 0x1b);     /* and the quotient that does not fit */
    VALUE(-7, 0x37, 0x3e, 0x1c);                /* minus: 7 - 14 */
    VALUE(1, 0x37, 0x33, 0x1d);                 /* mod */
    VALUE(UINT64_MAX % 7, MINUS_1, 0x37, 0x1d); /* unsigned */
    VALUE(42, 0x36, 0x37, 0x1e);                /* mul */
    VALUE(-42, 0x36, 0x09, 0xf9, 0x1e);
    VALUE(-5, 0x35, 0x1f);                  /* neg */
    VALUE(~(uint64_t)5, 0x35, 0x20);        /* not */
    VALUE(0x0e, 0x3c, 0x36, 0x21);          /* or: 12, 6 */
    VALUE(19, 0x35, 0x3e, 0x22);            /* plus */
    VALUE(5 + 300, 0x35, 0x23, 0xac, 0x02); /* plus_uconst */
    VALUE(0x0a, 0x3c, 0x36, 0x27);          /* xor */
    FAILURE(0x37, 0x30, 0x1b);              /* division by zero */
    FAILURE(0x37, 0x30, 0x1d);
}

static void shifts(void **state)
{
    VALUE(40, 0x35, 0x33, 0x24);                 /* shl */
    VALUE(UINT64_MAX >> 4, MINUS_1, 0x34, 0x25); /* shr */
    VALUE(-1, MINUS_1, 0x34, 0x26);              /* shra */
    VALUE(-2, 0x09, 0xf8, 0x32, 0x26);           /* -8 >> 2 */
    VALUE(-8, 0x09, 0xf8, 0x30, 0x26);           /* by nothing */
    VALUE(3, 0x3f, 0x32, 0x26);                  /* 15 >> 2 */
    VALUE(0, MINUS_1, 0x08, 64, 0x24);           /* by all bits, and more */
    VALUE(0, MINUS_1, MINUS_1, 0x25);
    VALUE(-1, MINUS_1, 0x08, 64, 0x26);
    VALUE(0, 0x37, 0x08, 64, 0x26);
}

static void comparisons_are_signed(void **state)
{
    static const uint8_t eq = 0x29, ge = 0x2a, gt = 0x2b, le = 0x2c, lt = 0x2d, ne = 0x2e;
    VALUE(1, 0x33, 0x33, eq);
    VALUE(0, 0x33, 0x34, eq);
    VALUE(0, 0x33, 0x33, ne);
    VALUE(1, 0x33, 0x34, ne);
    VALUE(1, 0x33, 0x33, ge);
    VALUE(0, MINUS_1, 0x33, ge);
    VALUE(0, 0x33, 0x33, gt);
    VALUE(1, 0x33, MINUS_1, gt);
    VALUE(1, 0x33, 0x33, le);
    VALUE(0, 0x33, MINUS_1, le);
    VALUE(0, 0x33, 0x33, lt);
    VALUE(1, MINUS_1, 0x33, lt);
}

static void branches(void **state)
{
    VALUE(1, 0x31, 0x2f, 1, 0, 0x32);                   /* skip over lit2 */
    VALUE(2, 0x31, 0x30, 0x28, 1, 0, 0x32);             /* bra: not taken */
    VALUE(1, 0x31, 0x35, 0x28, 1, 0, 0x32);             /* taken */
    VALUE(1, 0x31, 0x2f, 0, 0);                         /* to the end */
    VALUE(0, 0x3a, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff); /* 10; do top -= 1 while top != 0 */
    FAILURE(0x31, 0x2f, 1, 0);                          /* beyond it */
    FAILURE(0x31, 0x2f, 0xfb, 0xff);                    /* before the start */
    FAILURE(0x31, 0x2f, 0xff, 0x7f);
    FAILURE(0x31, 0x2f, 0x00, 0x80);
    VALUE(1, 0x31, 0x30, 0x28, 0xff, 0x7f); /* nowhere, and never */
}

static void the_cfa_is_the_first_value(void **state)
{
    static const uint8_t aligned[] = {0x38, 0x1c, 0x0d, 0xe0,
                                      0xff, 0xff, 0xff, 0x1a}; /* lit8 minus -32 and */
    uint64_t cfa = 0x7fff12345678, value;
    assert_true(evaluate(aligned, sizeof(aligned), &cfa, &value));
    assert_int_equal(value, 0x7fff12345660);
    assert_true(evaluate("", 0, &cfa, &value));
    assert_int_equal(value, cfa);
    check_failure("", 0); /* an expression that defines it has none */
}

static void what_does_not_end_is_ended(void **state)
{
    FAILURE(0x2f, 0xfd, 0xff); /* skip to itself */
    assert_int_equal(evaluation.operators_left, 0);
    FAILURE(0x31); /* nothing is left for the other expressions of the walk */
    setup(NULL);
    VALUE(1, 0x31);
    assert_int_equal(evaluation.operators_left, OPERATORS - 1);
}

static void the_stack_of_values_has_two_ends(void **state)
{
    uint8_t pushes[SIG_EVALUATION_VALUES + 1];
    memset(pushes, 0x34, sizeof(pushes));
    check_value(pushes, SIG_EVALUATION_VALUES, 4);
    check_failure(pushes, sizeof(pushes));
    FAILURE(0x12, 0x2f, 0xfc, 0xff);       /* dup of nothing */
    FAILURE(0x31, 0x12, 0x2f, 0xfc, 0xff); /* dup for ever */
    FAILURE(0x13);
    FAILURE(0x31, 0x13);
    FAILURE(0x31, 0x14);
    FAILURE(0x31, 0x16);
    FAILURE(0x31, 0x32, 0x17);
    FAILURE(0x31, 0x22);
    FAILURE(0x06);
    FAILURE(0x28, 0, 0);
    FAILURE(0x31, 0x15, 1);
    FAILURE(0x31, 0x15, 0xff);
}

static void unknown_operators_are_refused(void **state)
{
    static const uint8_t unknown[] = {0x00, 0x18, 0x50, 0x6f, 0x90, 0x93, 0x97,
                                      0x98, 0x9c, 0x9f, 0xa3, 0xe0, 0xff};
    for (size_t i = 0; i < sizeof(unknown); i++)
        FAILURE(0x31, 0x31, unknown[i], 0, 0);
}

/* Operands that the block's end cuts off. */
static void truncated_operands(void **state)
{
    static const uint8_t wanting[] = {0x03, 0x08, 0x0a, 0x0c, 0x0e, 0x10, 0x11,
                                      0x15, 0x23, 0x28, 0x2f, 0x70, 0x92, 0x94};
    for (size_t i = 0; i < sizeof(wanting); i++)
        FAILURE(0x75, 0, wanting[i]);
    FAILURE(0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
}

static void any_bytes_end(void **state)
{
    srand(3);
    for (int round = 0; round < 100000; round++) {
        uint8_t operators[40];
        uint64_t value;
        size_t bytes = (size_t)rand() % sizeof(operators);
        for (size_t i = 0; i < bytes; i++)
            operators[i] = (uint8_t)(rand() % 4 ? rand() % 0x98 : rand());
        setup(NULL);
        evaluate(operators, bytes, round % 2 ? &memory[2] : NULL, &value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(literals, setup),
        cmocka_unit_test_setup(registers_with_offsets, setup),
        cmocka_unit_test_setup(moving_values, setup),
        cmocka_unit_test_setup(reading_memory, setup),
        cmocka_unit_test_setup(arithmetic, setup),
        cmocka_unit_test_setup(shifts, setup),
        cmocka_unit_test_setup(comparisons_are_signed, setup),
        cmocka_unit_test_setup(branches, setup),
        cmocka_unit_test_setup(the_cfa_is_the_first_value, setup),
        cmocka_unit_test_setup(what_does_not_end_is_ended, setup),
        cmocka_unit_test_setup(the_stack_of_values_has_two_ends, setup),
        cmocka_unit_test_setup(unknown_operators_are_refused, setup),
        cmocka_unit_test_setup(truncated_operands, setup),
        cmocka_unit_test_setup(any_bytes_end, setup),
    };
    return cmocka_run_group_tests(tests, setup_group, NULL);
}
