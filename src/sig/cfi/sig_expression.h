/*
 * DWARF expressions, evaluated symbolically to register + constant or *(register + constant) + constant.
 *
 * These cover the PLT, whose expression depends on the pc only, functions that realign their stack, and
 * assembly that keeps the old stack pointer on the stack (OpenSSL). Called from: signal handlers and the
 * sampler thread. Pure and bounded. Standard: DWARF 5 sections 2.5 and 7.7.1.
 */
#ifndef WALLPROF_SIG_EXPRESSION_H
#define WALLPROF_SIG_EXPRESSION_H

#include "sig/ground/sig_reader.h"

#include <stdbool.h>
#include <stdint.h>

/* A symbolic value: constant, register + constant, or *(register + constant) + another constant. */
struct sig_symbol {
    enum { SIG_SYMBOL_CONSTANT, SIG_SYMBOL_REGISTER, SIG_SYMBOL_DEREF } kind;
    uint8_t dwarf_register;
    int64_t offset;       /* the constant; for SIG_SYMBOL_DEREF the one inside */
    int64_t offset_after; /* for SIG_SYMBOL_DEREF the one outside, else 0 */
};

/* The value of the expression block at run-time address `at` (a ULEB128 length, then operators), within the
 * bounds of the reader, which is left as it was. pc is the value of SIG_DWARF_PC. False if there is none. */
bool sig_expression_evaluate(struct sig_reader *reader, uint64_t at, uint64_t pc, struct sig_symbol *ret);

#endif
