/* From a row of the unwind table to the rule that a walk steps by, as far as a rule can express it. */
#include "sig_cfi.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_memory.h"
#include "sig/ground/sig_reader.h"
#include "sig_expression.h"

static struct sig_saved saved_by(const struct sig_row_request *request, struct sig_reader *reader,
                                 const struct sig_column *column)
{
    struct sig_symbol address;
    switch (column->kind) {
    case SIG_COLUMN_UNSPECIFIED:
    case SIG_COLUMN_SAME:
        return (struct sig_saved){.kind = SIG_SAVED_SAME};
    case SIG_COLUMN_UNDEFINED:
        return (struct sig_saved){.kind = SIG_SAVED_UNDEFINED};
    case SIG_COLUMN_AT_CFA:
        return (struct sig_saved){.kind = SIG_SAVED_AT_CFA, .offset = column->offset};
    case SIG_COLUMN_IN_REGISTER:
        return (struct sig_saved){.kind = SIG_SAVED_IN_REGISTER, .dwarf_register = column->dwarf_register};
    case SIG_COLUMN_AT_EXPRESSION:
        if (sig_expression_evaluate(reader, sig_column_block(request->module, column), request->lookup_pc,
                                    &address) &&
            address.kind == SIG_SYMBOL_REGISTER)
            return (struct sig_saved){.kind = SIG_SAVED_AT_REGISTER,
                                      .dwarf_register = address.dwarf_register,
                                      .offset = (int32_t)address.offset};
        break;
    default:
        break;
    }
    return (struct sig_saved){.kind = SIG_SAVED_UNKNOWN};
}

/* See SIG_PLT_PUSHES_BYTES. */
static void mend_low_cfa(struct sig_rule *rule)
{
    if (rule->kind != SIG_RULE_FRAME || rule->cfa_register != SIG_DWARF_SP || rule->cfa_deref ||
        rule->ra.kind != SIG_SAVED_AT_CFA || rule->ra.offset != SIG_RA_IN_PUSHED)
        return;
    rule->cfa_offset += SIG_PLT_PUSHES_BYTES;
    rule->ra.offset -= SIG_PLT_PUSHES_BYTES;
    rule->extra = rule->ra;
    if (rule->fp.kind == SIG_SAVED_AT_CFA)
        rule->fp.offset -= SIG_PLT_PUSHES_BYTES;
}

/* Not inline, to save stack: of the three stages search, row and rule, no two need their memory at once. */
__attribute__((noinline)) static void rule_from_row(const struct sig_row_request *request,
                                                    const struct sig_cfa *found,
                                                    const struct sig_column *columns, struct sig_rule *ret)
{
    struct sig_symbol cfa = {.kind = SIG_SYMBOL_REGISTER,
                             .dwarf_register = (uint8_t)found->dwarf_register,
                             .offset = found->offset};
    struct sig_reader reader;
    sig_reader_init(&reader, request->module, request->module->cfi_low, request->careful_reads);
    if (found->expression && !sig_expression_evaluate(&reader, found->expression, request->lookup_pc, &cfa))
        return;
    ret->ra = saved_by(request, &reader, &columns[SIG_FEW_RA]);
    if (ret->ra.kind == SIG_SAVED_UNKNOWN)
        return;
    if (columns[SIG_FEW_SP].kind != SIG_COLUMN_UNSPECIFIED)
        return; /* longjmp, setcontext: the caller's stack pointer is not the CFA */
    if (cfa.kind == SIG_SYMBOL_CONSTANT || cfa.dwarf_register == SIG_CFA_UNKNOWN)
        return;
    ret->cfa_register = cfa.dwarf_register;
    ret->cfa_deref = cfa.kind == SIG_SYMBOL_DEREF;
    ret->cfa_offset = (int32_t)cfa.offset;
    ret->cfa_offset_after = (int32_t)cfa.offset_after;
    ret->fp = saved_by(request, &reader, &columns[SIG_FEW_FP]);
    ret->extra = SIG_RA_IN_EXTRA ? ret->ra : saved_by(request, &reader, &columns[SIG_FEW_EXTRA]);
    ret->may_land = SIG_DECODES_CALLS && columns[SIG_FEW_LANDING].kind == SIG_COLUMN_AT_CFA;
    ret->kind = ret->ra.kind == SIG_SAVED_UNDEFINED ? SIG_RULE_ROOT : SIG_RULE_FRAME;
    if (SIG_RA_IN_EXTRA)
        mend_low_cfa(ret);
}

/* The trampoline's table begins an instruction or a byte early, for lookups of return address - 1. */
bool sig_cfi_is_trampoline(const struct sig_row_request *row)
{
    uint8_t code[SIG_TRAMPOLINE_BYTES + SIG_CODE_ALIGN];
    uint64_t start_pc = row->fde.start_pc;
    if (!row->cie.is_signal_frame || start_pc < row->module->start_pc ||
        start_pc + sizeof(code) > row->module->end_pc)
        return false;
    if (row->careful_reads && !sig_memory_copy(code, start_pc, sizeof(code)))
        return false;
    const uint8_t *bytes = row->careful_reads ? code : (const uint8_t *)(uintptr_t)start_pc;
    return sig_is_trampoline(bytes) || sig_is_trampoline(bytes + SIG_CODE_ALIGN);
}

bool sig_cfi_find(const struct sig_module *module, uint64_t lookup_pc, bool careful_reads,
                  struct sig_row_request *ret)
{
    ret->module = module;
    ret->lookup_pc = lookup_pc;
    ret->careful_reads = careful_reads;
    return sig_eh_frame_find(module, lookup_pc, careful_reads, &ret->cie, &ret->fde);
}

void sig_cfi_rule_in(struct sig_column *memory, const struct sig_module *module, uint64_t lookup_pc,
                     bool careful_reads, struct sig_rule *ret)
{
    struct sig_row_request request;
    struct sig_cfa cfa;
    *ret = (struct sig_rule){.kind = SIG_RULE_NONE};
    if (!sig_cfi_find(module, lookup_pc, careful_reads, &request))
        return;
    bool is_trampoline = sig_cfi_is_trampoline(&request);
    ret->kind = is_trampoline ? SIG_RULE_SIGNAL : SIG_RULE_UNSUPPORTED;
    if (!is_trampoline && sig_cfi_row(&request, SIG_FEW_COUNT, memory, &cfa))
        rule_from_row(&request, &cfa, memory, ret);
}

void sig_cfi_rule(const struct sig_module *module, uint64_t lookup_pc, bool careful_reads,
                  struct sig_rule *ret)
{
    struct sig_column memory[SIG_ROW_COPIES * SIG_FEW_COUNT];
    sig_cfi_rule_in(memory, module, lookup_pc, careful_reads, ret);
}
