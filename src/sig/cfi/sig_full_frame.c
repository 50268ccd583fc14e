#include "sig_full_frame.h"

struct evaluated_frame {
    const struct sig_row_request *request;
    struct sig_evaluation *evaluation;
    struct sig_reader reader; /* for expressions */
    const struct sig_registers *registers;
    uint64_t cfa;
};

/* After a step by frame pointer sp may be only a lower bound. The CFA follows from the frame record all the
 * same, as in settle_sp() of sig_walk_nocfi.c. */
static bool find_cfa_by_record(struct evaluated_frame *frame, const struct sig_cfa *rule,
                               const struct sig_column *columns)
{
    const struct sig_column *fp = &columns[SIG_DWARF_FP], *ra = &columns[SIG_DWARF_RA];
    if (rule->dwarf_register != SIG_DWARF_SP || fp->kind != SIG_COLUMN_AT_CFA ||
        ra->kind != SIG_COLUMN_AT_CFA || ra->offset != fp->offset + SIG_STACK_WORD_BYTES ||
        !sig_registers_get(frame->registers, SIG_DWARF_FP, &frame->cfa))
        return false;
    frame->cfa -= (uint64_t)(int64_t)fp->offset;
    return frame->cfa - (uint64_t)(int64_t)rule->offset >= frame->registers->value[SIG_DWARF_SP];
}

static bool find_cfa(struct evaluated_frame *frame, const struct sig_cfa *rule,
                     const struct sig_column *columns)
{
    if (rule->expression)
        return sig_full_expression(frame->evaluation, frame->registers, &frame->reader, rule->expression,
                                   NULL, &frame->cfa);
    if (!sig_registers_get(frame->registers, rule->dwarf_register, &frame->cfa))
        return SIG_FP_STEP_HIDES_SP && find_cfa_by_record(frame, rule, columns);
    frame->cfa += (uint64_t)(int64_t)rule->offset;
    return true;
}

/* Registers are saved aligned; a misaligned address was made from garbage. */
static bool read_saved(struct evaluated_frame *frame, uint64_t address, uint64_t *ret)
{
    return address % SIG_STACK_WORD_BYTES == 0 &&
           sig_stack_read_bytes(frame->evaluation->stack, address, SIG_STACK_WORD_BYTES, ret);
}

static bool evaluate(struct evaluated_frame *frame, const struct sig_column *column, uint64_t *ret)
{
    return sig_full_expression(frame->evaluation, frame->registers, &frame->reader,
                               sig_column_block(frame->request->module, column), &frame->cfa, ret);
}

/* The caller's value of a register; false if it cannot be known. */
static bool value_of(struct evaluated_frame *frame, unsigned dwarf_register, const struct sig_column *column,
                     uint64_t *ret)
{
    uint64_t address, offset = (uint64_t)(int64_t)column->offset;
    switch (column->kind) {
    case SIG_COLUMN_UNSPECIFIED: /* as libgcc does: callees keep a register that code relies on */
    case SIG_COLUMN_SAME:
        return sig_registers_get(frame->registers, dwarf_register, ret);
    case SIG_COLUMN_AT_CFA:
        return read_saved(frame, frame->cfa + offset, ret);
    case SIG_COLUMN_IS_CFA:
        *ret = frame->cfa + offset;
        return true;
    case SIG_COLUMN_IN_REGISTER:
        return sig_registers_get(frame->registers, column->dwarf_register, ret);
    case SIG_COLUMN_AT_EXPRESSION:
        return evaluate(frame, column, &address) && read_saved(frame, address, ret);
    case SIG_COLUMN_IS_EXPRESSION:
        return evaluate(frame, column, ret);
    default: /* SIG_COLUMN_UNDEFINED, SIG_COLUMN_UNKNOWN */
        return false;
    }
}

/* See SIG_PLT_PUSHES_BYTES. */
static bool has_low_cfa(const struct sig_cfa *rule, const struct sig_column *ra)
{
    return SIG_RA_IN_EXTRA && !rule->expression && rule->dwarf_register == SIG_DWARF_SP &&
           ra->kind == SIG_COLUMN_AT_CFA && ra->offset == SIG_RA_IN_PUSHED;
}

/* The CFA is by definition the stack pointer at the call (6.4), unless the table says otherwise. */
static bool find_stack_pointer(struct evaluated_frame *frame, const struct sig_cfa *rule,
                               const struct sig_column *columns, uint64_t *ret)
{
    *ret = frame->cfa + (has_low_cfa(rule, &columns[SIG_DWARF_RA]) ? SIG_PLT_PUSHES_BYTES : 0);
    return columns[SIG_DWARF_SP].kind == SIG_COLUMN_UNSPECIFIED ||
           value_of(frame, SIG_DWARF_SP, &columns[SIG_DWARF_SP], ret);
}

/* Whether an unchanged return address leads to this very frame: always on x86_64, where it is a register of
 * its own; on aarch64 in a frame that has made a call. */
static bool is_own_address(const struct evaluated_frame *frame, const struct sig_column *column, uint64_t ra)
{
    return (column->kind == SIG_COLUMN_UNSPECIFIED || column->kind == SIG_COLUMN_SAME) &&
           ra == frame->registers->pc;
}

enum sig_full_frame_result sig_full_frame_caller(const struct sig_row_request *request,
                                                 struct sig_evaluation *evaluation, struct sig_column *memory,
                                                 const struct sig_registers *registers,
                                                 struct sig_registers *ret, uint64_t *ret_cfa)
{
    struct evaluated_frame frame;
    struct sig_cfa rule;
    uint64_t value, sp;
    if (!sig_cfi_row(request, SIG_ROW_ALL, memory, &rule))
        return SIG_FULL_FRAME_LOST;
    if (memory[SIG_DWARF_RA].kind == SIG_COLUMN_UNDEFINED)
        return SIG_FULL_FRAME_ROOT;
    frame.request = request;
    frame.evaluation = evaluation;
    frame.registers = registers;
    sig_reader_init(&frame.reader, request->module, request->module->cfi_low, request->careful_reads);
    if (!find_cfa(&frame, &rule, memory) ||
        !value_of(&frame, SIG_DWARF_RA, &memory[SIG_DWARF_RA], &ret->pc) ||
        is_own_address(&frame, &memory[SIG_DWARF_RA], ret->pc) ||
        !find_stack_pointer(&frame, &rule, memory, &sp))
        return SIG_FULL_FRAME_LOST;
    ret->known = 0;
    for (unsigned i = 0; i < SIG_DWARF_COUNT; i++) {
        if (i != SIG_DWARF_RA && i != SIG_DWARF_PC && i != SIG_DWARF_SP &&
            value_of(&frame, i, &memory[i], &value))
            sig_registers_set(ret, i, value);
    }
    sig_registers_set_pc(ret, sig_plain_return_address(ret->pc));
    sig_registers_set(ret, SIG_DWARF_SP, sp);
    *ret_cfa = frame.cfa;
    return SIG_FULL_FRAME_CALLER;
}
