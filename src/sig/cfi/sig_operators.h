/*
 * The operators of DWARF expressions (DWARF 5 7.7.1, table 7.9), and those that act alike on symbols
 * (sig_expression.h) and on values (sig_full_expression.h).
 *
 * Left out are operators that name a location instead of a value, and those that call frame instructions may
 * not use (DWARF 5 6.4.2). Pure.
 */
#ifndef WALLPROF_SIG_OPERATORS_H
#define WALLPROF_SIG_OPERATORS_H

#include "sig/ground/sig_reader.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    OP_ADDR = 0x03,
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S = 0x09,
    OP_CONST2U = 0x0a,
    OP_CONST2S = 0x0b,
    OP_CONST4U = 0x0c,
    OP_CONST4S = 0x0d,
    OP_CONST8U = 0x0e,
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_DUP = 0x12,
    OP_DROP = 0x13,
    OP_OVER = 0x14,
    OP_PICK = 0x15,
    OP_SWAP = 0x16,
    OP_ROT = 0x17,
    OP_ABS = 0x19,
    OP_AND = 0x1a,
    OP_DIV = 0x1b,
    OP_MINUS = 0x1c,
    OP_MOD = 0x1d,
    OP_MUL = 0x1e,
    OP_NEG = 0x1f,
    OP_NOT = 0x20,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_SHR = 0x25,
    OP_SHRA = 0x26,
    OP_XOR = 0x27,
    OP_BRA = 0x28,
    OP_EQ = 0x29,
    OP_GE = 0x2a,
    OP_GT = 0x2b,
    OP_LE = 0x2c,
    OP_LT = 0x2d,
    OP_NE = 0x2e,
    OP_SKIP = 0x2f,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96,
};

/* Whether an operator is a literal (2.5.1.1). */
static inline bool sig_operator_is_literal(uint8_t op)
{
    return op == OP_ADDR || (op >= OP_CONST1U && op <= OP_CONSTS) || (op >= OP_LIT0 && op <= OP_LIT31);
}

/* The value of a literal, at whose operand the reader is. Inline, as a walk has little stack. */
static inline uint64_t sig_operator_read_literal(struct sig_reader *reader, uint8_t op)
{
    switch (op) {
    case OP_CONST1U:
        return sig_read_u8(reader);
    case OP_CONST1S:
        return (uint64_t)(int8_t)sig_read_u8(reader);
    case OP_CONST2U:
        return sig_read_fixed(reader, 2);
    case OP_CONST2S:
        return (uint64_t)(int16_t)sig_read_fixed(reader, 2);
    case OP_CONST4U:
        return sig_read_fixed(reader, 4);
    case OP_CONST4S:
        return (uint64_t)(int32_t)sig_read_fixed(reader, 4);
    case OP_ADDR:
    case OP_CONST8U:
    case OP_CONST8S:
        return sig_read_fixed(reader, 8);
    case OP_CONSTU:
        return sig_read_uleb128(reader);
    case OP_CONSTS:
        return (uint64_t)sig_read_sleb128(reader);
    default:
        return op - OP_LIT0;
    }
}

/* Whether an operator combines the two values on top of the stack (2.5.1.4, and comparisons of 2.5.1.5). */
bool sig_operator_is_binary(uint8_t op);

static inline bool sig_operator_divides_by_zero(uint8_t op, uint64_t top)
{
    return top == 0 && (op == OP_DIV || op == OP_MOD);
}

/* The result of such an operator on the top and the value below it, unless it divides by zero. */
uint64_t sig_operator_combine(uint8_t op, uint64_t below, uint64_t top);

#endif
