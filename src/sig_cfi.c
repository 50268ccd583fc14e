/*
 * The CIE's and the FDE's instructions, run up to the pc, give the row of the unwind table. Only the columns
 * a walk needs are kept: CFA, return address, frame pointer and one extra base register. 0.2-1 us, which is
 * why sig_rules caches the result.
 */
#include "sig_cfi.h"
#include "sig_arch.h"
#include "sig_eh_frame.h"
#include "sig_expression.h"
#include "sig_reader.h"

enum {
    MAX_INSTRUCTIONS = 32768, /* per CIE or FDE; the most met are 13,361, in cc1plus */
    MAX_REMEMBERED_ROWS = 8,  /* nesting of DW_CFA_remember_state; real code nests once or twice */
};

/* One row of the unwind table, for the columns that are kept. */
struct row {
    uint64_t cfa_register;
    int64_t cfa_offset;
    uint64_t cfa_expression; /* run-time address of the block, 0 for register + offset */
    struct sig_saved ra, fp, extra;
};

struct machine {
    struct sig_reader reader;
    const struct sig_cie *cie;
    uint64_t pc;     /* where the current row begins */
    uint64_t lookup; /* the pc in question */
    struct row row, initial;
    struct row remembered[MAX_REMEMBERED_ROWS];
    unsigned remembered_count;
    bool failed;
};

static struct sig_saved *column(struct machine *machine, struct row *row, uint64_t dwarf_register)
{
    if (dwarf_register == machine->cie->ra_register)
        return &row->ra;
    if (dwarf_register == SIG_DWARF_FP)
        return &row->fp;
    if (dwarf_register == SIG_DWARF_EXTRA)
        return &row->extra;
    return NULL;
}

static void set_column(struct machine *machine, uint64_t dwarf_register, enum sig_saved_kind kind,
                       uint64_t other, int64_t offset)
{
    struct sig_saved *saved = column(machine, &machine->row, dwarf_register);
    if (!saved)
        return;
    bool fits = offset >= INT32_MIN && offset <= INT32_MAX && other < 256;
    saved->kind = (uint8_t)(fits ? kind : SIG_SAVED_UNKNOWN);
    saved->dwarf_register = (uint8_t)other;
    saved->offset = (int32_t)offset;
}

static void restore_column(struct machine *machine, uint64_t dwarf_register)
{
    struct sig_saved *saved = column(machine, &machine->row, dwarf_register);
    if (saved)
        *saved = *column(machine, &machine->initial, dwarf_register);
}

/* DW_CFA_expression: the register is saved at the address the expression gives. */
static void set_column_by_expression(struct machine *machine, uint64_t dwarf_register)
{
    struct sig_symbol address;
    if (sig_expression_evaluate(&machine->reader, machine->reader.at, machine->lookup, &address) &&
        address.kind == SIG_SYMBOL_REGISTER)
        set_column(machine, dwarf_register, SIG_SAVED_AT_REGISTER, address.dwarf_register, address.offset);
    else
        set_column(machine, dwarf_register, SIG_SAVED_UNKNOWN, 0, 0);
}

static void skip_block(struct sig_reader *reader)
{
    uint64_t bytes = sig_read_uleb128(reader);
    if (bytes > reader->end - reader->at)
        reader->failed = true;
    else
        reader->at += bytes;
}

static void set_cfa(struct machine *machine, uint64_t dwarf_register, int64_t offset)
{
    machine->row.cfa_register = dwarf_register;
    machine->row.cfa_offset = offset;
    machine->row.cfa_expression = 0;
}

/* DWARF 5 7.24, table 7.29. */
enum {
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    CFA_ADVANCE_LOC = 0x40, /* the three with an operand in the low six bits */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
};

static void remember(struct machine *machine)
{
    if (machine->remembered_count == MAX_REMEMBERED_ROWS)
        machine->failed = true;
    else
        machine->remembered[machine->remembered_count++] = machine->row;
}

static void recall(struct machine *machine)
{
    if (machine->remembered_count == 0)
        machine->failed = true;
    else
        machine->row = machine->remembered[--machine->remembered_count];
}

/* Instructions that define the CFA. */
static bool step_cfa(struct machine *machine, uint8_t op)
{
    struct sig_reader *reader = &machine->reader;
    uint64_t dwarf_register;
    switch (op) {
    case CFA_DEF_CFA:
        dwarf_register = sig_read_uleb128(reader);
        set_cfa(machine, dwarf_register, (int64_t)sig_read_uleb128(reader));
        return true;
    case CFA_DEF_CFA_SF:
        dwarf_register = sig_read_uleb128(reader);
        set_cfa(machine, dwarf_register, sig_read_sleb128(reader) * machine->cie->data_align);
        return true;
    case CFA_DEF_CFA_REGISTER:
        set_cfa(machine, sig_read_uleb128(reader), machine->row.cfa_offset);
        return true;
    case CFA_DEF_CFA_OFFSET:
        set_cfa(machine, machine->row.cfa_register, (int64_t)sig_read_uleb128(reader));
        return true;
    case CFA_DEF_CFA_OFFSET_SF:
        set_cfa(machine, machine->row.cfa_register, sig_read_sleb128(reader) * machine->cie->data_align);
        return true;
    case CFA_DEF_CFA_EXPRESSION:
        machine->row.cfa_expression = reader->at;
        skip_block(reader);
        return true;
    default:
        return false;
    }
}

/* Instructions that say where one register is saved. */
static bool step_register(struct machine *machine, uint8_t op)
{
    struct sig_reader *reader = &machine->reader;
    const int64_t align = machine->cie->data_align;
    if (op < CFA_OFFSET_EXTENDED || op == CFA_REMEMBER_STATE || op == CFA_RESTORE_STATE ||
        op == CFA_GNU_ARGS_SIZE)
        return false;
    uint64_t dwarf_register = sig_read_uleb128(reader);
    switch (op) {
    case CFA_OFFSET_EXTENDED:
        set_column(machine, dwarf_register, SIG_SAVED_AT_CFA, 0, (int64_t)sig_read_uleb128(reader) * align);
        return true;
    case CFA_OFFSET_EXTENDED_SF:
        set_column(machine, dwarf_register, SIG_SAVED_AT_CFA, 0, sig_read_sleb128(reader) * align);
        return true;
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        set_column(machine, dwarf_register, SIG_SAVED_AT_CFA, 0, -(int64_t)sig_read_uleb128(reader) * align);
        return true;
    case CFA_RESTORE_EXTENDED:
        restore_column(machine, dwarf_register);
        return true;
    case CFA_UNDEFINED:
        set_column(machine, dwarf_register, SIG_SAVED_UNDEFINED, 0, 0);
        return true;
    case CFA_SAME_VALUE:
        set_column(machine, dwarf_register, SIG_SAVED_SAME, 0, 0);
        return true;
    case CFA_REGISTER:
        set_column(machine, dwarf_register, SIG_SAVED_IN_REGISTER, sig_read_uleb128(reader), 0);
        return true;
    case CFA_EXPRESSION:
        set_column_by_expression(machine, dwarf_register);
        skip_block(reader);
        return true;
    case CFA_VAL_EXPRESSION:
        set_column(machine, dwarf_register, SIG_SAVED_UNKNOWN, 0, 0);
        skip_block(reader);
        return true;
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF:
        set_column(machine, dwarf_register, SIG_SAVED_UNKNOWN, 0, 0);
        sig_read_uleb128(reader);
        return true;
    default:
        return false;
    }
}

/* Instructions with an opcode of two bits, and those that move the row. Returns false at the end of the row.
 */
static bool step(struct machine *machine)
{
    struct sig_reader *reader = &machine->reader;
    uint8_t op = sig_read_u8(reader);
    uint8_t operand = op & 0x3f;
    uint64_t advance = 0;
    if ((op & 0xc0) == CFA_ADVANCE_LOC)
        advance = operand;
    else if (op == CFA_ADVANCE_LOC1 || op == CFA_ADVANCE_LOC2 || op == CFA_ADVANCE_LOC4)
        advance = sig_read_fixed(reader, op == CFA_ADVANCE_LOC1 ? 1 : op == CFA_ADVANCE_LOC2 ? 2 : 4);
    else if ((op & 0xc0) == CFA_OFFSET)
        set_column(machine, operand, SIG_SAVED_AT_CFA, 0,
                   (int64_t)sig_read_uleb128(reader) * machine->cie->data_align);
    else if ((op & 0xc0) == CFA_RESTORE)
        restore_column(machine, operand);
    else if (op == CFA_REMEMBER_STATE)
        remember(machine);
    else if (op == CFA_RESTORE_STATE)
        recall(machine);
    else if (op == CFA_GNU_ARGS_SIZE)
        sig_read_uleb128(reader);
    else if (op == CFA_SET_LOC)
        machine->pc = sig_read_encoded(reader, machine->cie->fde_encoding, 0);
    else if (op != CFA_NOP && !step_cfa(machine, op) && !step_register(machine, op))
        machine->failed = true;
    machine->pc += advance * machine->cie->code_align;
    return machine->pc <= machine->lookup;
}

static bool run(struct machine *machine, uint64_t at, uint64_t end)
{
    machine->reader.at = at;
    machine->reader.end = end;
    for (int i = 0; machine->reader.at < end; i++) {
        if (i == MAX_INSTRUCTIONS)
            return false;
        if (!step(machine))
            break;
        if (machine->failed || machine->reader.failed)
            return false;
    }
    return !machine->failed && !machine->reader.failed;
}

static void rule_from_row(const struct machine *machine, struct sig_rule *ret)
{
    const struct row *row = &machine->row;
    struct sig_symbol cfa = {
        .kind = SIG_SYMBOL_REGISTER, .dwarf_register = (uint8_t)row->cfa_register, .offset = row->cfa_offset};
    ret->kind = SIG_RULE_UNSUPPORTED;
    if (row->cfa_expression &&
        !sig_expression_evaluate(&machine->reader, row->cfa_expression, machine->lookup, &cfa))
        return;
    if (row->ra.kind == SIG_SAVED_UNKNOWN)
        return;
    if (cfa.kind == SIG_SYMBOL_CONSTANT || row->cfa_register > 255 || cfa.offset < INT32_MIN ||
        cfa.offset > INT32_MAX)
        return;
    ret->cfa_register = cfa.dwarf_register;
    ret->cfa_deref = cfa.kind == SIG_SYMBOL_DEREF;
    ret->cfa_offset = (int32_t)cfa.offset;
    ret->cfa_offset_after = (int32_t)cfa.offset_after;
    ret->ra = row->ra;
    ret->fp = row->fp;
    ret->extra = row->extra;
    ret->kind = row->ra.kind == SIG_SAVED_UNDEFINED ? SIG_RULE_ROOT : SIG_RULE_FRAME;
}

/* The C library lets the trampoline's entry begin one byte early, for those who look up return address - 1.
 */
static bool is_trampoline_at(const struct sig_module *module, uint64_t start_pc, bool careful_reads)
{
    uint8_t code[SIG_TRAMPOLINE_BYTES + 1];
    if (start_pc < module->start_pc || start_pc + sizeof(code) > module->end_pc)
        return false;
    if (careful_reads && !sig_memory_copy(code, start_pc, sizeof(code)))
        return false;
    const uint8_t *bytes = careful_reads ? code : (const uint8_t *)(uintptr_t)start_pc;
    return sig_is_trampoline(bytes) || sig_is_trampoline(bytes + 1);
}

void sig_cfi_rule(const struct sig_module *module, uint64_t lookup_pc, bool careful_reads,
                  struct sig_rule *ret)
{
    struct sig_cie cie;
    struct sig_fde fde;
    *ret = (struct sig_rule){.kind = SIG_RULE_NONE};
    if (!sig_eh_frame_find(module, lookup_pc, careful_reads, &cie, &fde))
        return;
    if (cie.is_signal_frame && is_trampoline_at(module, fde.start_pc, careful_reads)) {
        ret->kind = SIG_RULE_SIGNAL;
        return;
    }
    struct machine machine; /* not cleared: half a KiB of remembered rows */
    machine.cie = &cie;
    machine.remembered_count = 0;
    machine.failed = false;
    machine.row = (struct row){.cfa_register = SIG_DWARF_SP};
    machine.pc = fde.start_pc;
    machine.lookup = lookup_pc;
    sig_reader_init(&machine.reader, module, cie.instructions, careful_reads);
    ret->kind = SIG_RULE_UNSUPPORTED;
    if (!run(&machine, cie.instructions, cie.instructions_end))
        return;
    machine.initial = machine.row;
    if (!run(&machine, fde.instructions, fde.instructions_end))
        return;
    machine.reader.end = module->cfi_high;
    rule_from_row(&machine, ret);
}

uint64_t sig_cfi_function_start(const struct sig_module *module, uint64_t lookup_pc)
{
    struct sig_cie cie;
    struct sig_fde fde;
    return sig_eh_frame_find(module, lookup_pc, true, &cie, &fde) ? fde.start_pc : 0;
}
