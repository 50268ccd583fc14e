/*
 * DWARF expressions, evaluated on the registers and the memory of a frame: the whole stack machine.
 *
 * For the frames that the symbols of sig_expression.h cannot describe. Called from: signal handlers, on the
 * thread whose frame it is. Every read is through the walk's window. Operators and values are counted, so a
 * hostile block ends. Standard: DWARF 5 sections 2.5.1 and 6.4.2. Arithmetic is on 64 bits, wraps, and is
 * unsigned except for comparisons, division and the arithmetic shift.
 */
#ifndef WALLPROF_SIG_FULL_EXPRESSION_H
#define WALLPROF_SIG_FULL_EXPRESSION_H

#include "sig/sys/sig_arch.h"
#include "sig/ground/sig_reader.h"
#include "sig/ground/sig_stack.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIG_EVALUATION_VALUES = 64 }; /* as in libgcc; the deepest expression seen needs 4 */

/* Every register of a frame. */
struct sig_registers {
    uint64_t pc;
    uint64_t known; /* bit n: register n is known */
    uint64_t value[SIG_DWARF_COUNT];
};

/* What a walk's expressions share. */
struct sig_evaluation {
    struct sig_stack *stack;
    uint64_t *values;        /* memory for SIG_EVALUATION_VALUES */
    uint32_t operators_left; /* for all expressions of the walk */
};

/*
 * The value of the expression block at run-time address `at` (a ULEB128 length, then operators), within the
 * bounds of the reader. cfa is the first value on the stack, or NULL for an expression that defines the CFA.
 * False if the block is damaged or too long, divides by zero, or needs a register that is not known or memory
 * that cannot be read.
 */
bool sig_full_expression(struct sig_evaluation *evaluation, const struct sig_registers *registers,
                         const struct sig_reader *from, uint64_t at, const uint64_t *cfa, uint64_t *ret);

/* A register by its DWARF number; false if it is not known. */
static inline bool sig_registers_get(const struct sig_registers *registers, uint64_t dwarf_register,
                                     uint64_t *ret)
{
    if (dwarf_register >= SIG_DWARF_COUNT || !(registers->known >> dwarf_register & 1))
        return false;
    *ret = registers->value[dwarf_register];
    return true;
}

static inline void sig_registers_set(struct sig_registers *registers, unsigned dwarf_register, uint64_t value)
{
    registers->value[dwarf_register] = value;
    registers->known |= (uint64_t)1 << dwarf_register;
}

/* Sets the pc and the registers that have it: after a call the return address is one. */
static inline void sig_registers_set_pc(struct sig_registers *registers, uint64_t pc)
{
    registers->pc = pc;
    sig_registers_set(registers, SIG_DWARF_RA, pc);
    sig_registers_set(registers, SIG_DWARF_PC, pc);
}

#endif
