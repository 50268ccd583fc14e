/*
 * The same made-up frame by the complete evaluator: every register of the caller. Its reads come here instead
 * of to the stack (sig_stack.c is not linked).
 */
#ifndef WALLPROF_ORACLE_STATIC_FULL_H
#define WALLPROF_ORACLE_STATIC_FULL_H

#include "oracle_static_frame.h"
#include "sig/cfi/sig_full_frame.h"

#include <string.h>

/* What a frame's caller is by the complete evaluator. */
struct full_outcome {
    enum sig_full_frame_result result;
    uint64_t cfa;
    bool sp_is_cfa; /* the table does not say otherwise */
    bool is_mended; /* but it is SIG_PLT_PUSHES_BYTES above, by no table (sig_cfi.h) */
    struct sig_registers registers;
};

/* A stack of which nothing can be read but through this file. */
struct fake_stack {
    struct sig_stack stack; /* first: what the evaluator hands back */
    const struct fake_frame *frame;
};

bool sig_stack_read_bytes(struct sig_stack *stack, uint64_t address, unsigned bytes, uint64_t *ret)
{
    const struct fake_frame *frame = ((const struct fake_stack *)(const void *)stack)->frame;
    uint64_t word = read_word(frame, address);
    *ret = 0;
    memcpy(ret, &word, bytes);
    return true;
}

static inline struct full_outcome step_full(const struct fake_frame *frame, bool careful_reads)
{
    static struct sig_column memory[SIG_ROW_COPIES * SIG_ROW_ALL];
    static uint64_t values[SIG_EVALUATION_VALUES];
    struct fake_stack stack = {.frame = frame};
    struct sig_evaluation evaluation = {.stack = &stack.stack, .values = values, .operators_left = 1000};
    struct sig_registers registers = {.pc = frame->pc};
    struct full_outcome ret = {.result = SIG_FULL_FRAME_LOST};
    struct sig_row_request request;
    for (unsigned i = 0; i < SIG_DWARF_COUNT; i++)
        sig_registers_set(&registers, i, register_value(frame, i));
    if (sig_cfi_find(&frame->image->module, frame->pc, careful_reads, &request))
        ret.result =
            sig_full_frame_caller(&request, &evaluation, memory, &registers, &ret.registers, &ret.cfa);
    ret.is_mended = SIG_RA_IN_EXTRA && memory[SIG_DWARF_RA].kind == SIG_COLUMN_AT_CFA &&
                    memory[SIG_DWARF_RA].offset == SIG_RA_IN_PUSHED &&
                    ret.registers.value[SIG_DWARF_SP] == ret.cfa + SIG_PLT_PUSHES_BYTES;
    ret.sp_is_cfa = memory[SIG_DWARF_SP].kind == SIG_COLUMN_UNSPECIFIED;
    return ret;
}

static inline struct value full_value(const struct full_outcome *outcome, unsigned dwarf_register)
{
    struct value ret = {.is_known = false};
    ret.is_known = sig_registers_get(&outcome->registers, dwarf_register, &ret.value);
    return ret;
}

#endif
