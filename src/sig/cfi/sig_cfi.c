/*
 * The instructions of the CIE and the FDE, run up to the pc, give the row of the unwind table. This takes 0.2
 * to 1 us, so sig_rules.h caches what the fast walk makes of it.
 */
#include "sig_cfi.h"
#include "sig/sys/sig_arch.h"
#include "sig/ground/sig_reader.h"

enum { MAX_INSTRUCTIONS = 32768 /* per CIE or FDE; the most seen are 13,361, in cc1plus */ };

/* An extra register that is the return address has no column of its own. */
static const uint8_t few_columns[SIG_DWARF_COUNT + 1] = {
    [SIG_DWARF_FP] = SIG_FEW_FP,
    [SIG_RA_IN_EXTRA ? SIG_DWARF_COUNT : SIG_DWARF_EXTRA] = SIG_FEW_EXTRA,
    [SIG_DWARF_SP] = SIG_FEW_SP,
    [SIG_DWARF_RA] = SIG_FEW_RA,
    [SIG_DWARF_LANDING] = SIG_FEW_LANDING};

struct cfi_machine {
    struct sig_reader reader;
    const struct sig_row_request *request;
    uint64_t pc; /* where the current row begins */
    struct sig_cfa cfa;
    struct sig_cfa remembered_cfas[SIG_ROW_REMEMBERED];
    unsigned remembered_count;
    unsigned column_count;
    struct sig_column *columns;    /* of the current row */
    struct sig_column *initial;    /* the row after the CIE's instructions */
    struct sig_column *remembered; /* rows, one after the other */
    bool failed;
};

/* Word by word: the compiler may make a call of memcpy from a struct assignment or a plain loop. */
static void copy_columns(struct sig_column *to, const struct sig_column *from, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        to[i] = from[i];
        __asm__ volatile("" ::: "memory");
    }
}

static void clear_columns(struct sig_column *columns, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        columns[i] = (struct sig_column){.kind = SIG_COLUMN_UNSPECIFIED};
        __asm__ volatile("" ::: "memory");
    }
}

/* The column of a register. Registers that no rule needs share one. */
static unsigned column_index(const struct cfi_machine *machine, uint64_t dwarf_register)
{
    bool has_all = machine->column_count == SIG_ROW_ALL;
    if (dwarf_register >= SIG_DWARF_COUNT)
        return has_all ? SIG_DWARF_COUNT : SIG_FEW_REST;
    return has_all ? (unsigned)dwarf_register : few_columns[dwarf_register];
}

static void set_column(struct cfi_machine *machine, uint64_t dwarf_register, enum sig_column_kind kind,
                       uint64_t other, int64_t offset)
{
    struct sig_column *column = &machine->columns[column_index(machine, dwarf_register)];
    bool fits = offset >= INT32_MIN && offset <= INT32_MAX && other < 256;
    column->kind = (uint8_t)(fits ? kind : SIG_COLUMN_UNKNOWN);
    column->dwarf_register = (uint8_t)other;
    column->offset = (int32_t)offset;
}

static void restore_column(struct cfi_machine *machine, uint64_t dwarf_register)
{
    unsigned index = column_index(machine, dwarf_register);
    machine->columns[index] = machine->initial[index];
}

static void skip_block(struct sig_reader *reader)
{
    uint64_t bytes = sig_read_uleb128(reader);
    if (bytes > reader->end - reader->at)
        reader->failed = true;
    else
        reader->at += bytes;
}

/* Sets a column to the expression block at the reader. */
static void set_column_by_expression(struct cfi_machine *machine, uint64_t dwarf_register,
                                     enum sig_column_kind kind)
{
    uint64_t block = machine->reader.at;
    skip_block(&machine->reader);
    set_column(machine, dwarf_register, kind, 0, (int64_t)(block - machine->request->module->cfi_low));
}

static void set_cfa(struct cfi_machine *machine, uint64_t dwarf_register, int64_t offset)
{
    bool fits = offset >= INT32_MIN && offset <= INT32_MAX && dwarf_register < SIG_CFA_UNKNOWN;
    machine->cfa = (struct sig_cfa){.dwarf_register = fits ? (uint32_t)dwarf_register : SIG_CFA_UNKNOWN,
                                    .offset = fits ? (int32_t)offset : 0};
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
    CFA_NEGATE_RA_STATE_WITH_PC = 0x2c, /* these two AADWARF64 4.4 only */
    CFA_NEGATE_RA_STATE = 0x2d,
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    CFA_ADVANCE_LOC = 0x40, /* the three with an operand in the low six bits */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
};

/* Reads an operand in units of the CIE's data alignment. On overflow it gives an offset that is refused. */
static int64_t read_factored(struct cfi_machine *machine, uint8_t op)
{
    bool is_signed = op == CFA_DEF_CFA_SF || op == CFA_DEF_CFA_OFFSET_SF || op == CFA_OFFSET_EXTENDED_SF ||
                     op == CFA_VAL_OFFSET_SF;
    uint64_t operand =
        is_signed ? (uint64_t)sig_read_sleb128(&machine->reader) : sig_read_uleb128(&machine->reader);
    operand = op == CFA_GNU_NEGATIVE_OFFSET_EXTENDED ? 0 - operand : operand;
    int64_t bytes;
    bool overflows = __builtin_mul_overflow((int64_t)operand, machine->request->cie.data_align, &bytes);
    return overflows ? INT64_MAX : bytes;
}

static struct sig_column *remembered_row(const struct cfi_machine *machine, unsigned index)
{
    return machine->remembered + (size_t)index * machine->column_count;
}

static void push_row(struct cfi_machine *machine)
{
    if (machine->remembered_count == SIG_ROW_REMEMBERED) {
        machine->failed = true;
        return;
    }
    unsigned index = machine->remembered_count++;
    machine->remembered_cfas[index] = machine->cfa;
    copy_columns(remembered_row(machine, index), machine->columns, machine->column_count);
}

static void pop_row(struct cfi_machine *machine)
{
    if (machine->remembered_count == 0) {
        machine->failed = true;
        return;
    }
    unsigned index = --machine->remembered_count;
    machine->cfa = machine->remembered_cfas[index];
    copy_columns(machine->columns, remembered_row(machine, index), machine->column_count);
}

/* Return addresses are signed from here on, or no longer. sig_plain_return_address need not know. */
static bool is_negate_ra_state(uint8_t op)
{
    return SIG_HAS_NEGATE_RA_STATE && (op == CFA_NEGATE_RA_STATE || op == CFA_NEGATE_RA_STATE_WITH_PC);
}

/* Instructions that define the CFA. */
static bool step_cfa(struct cfi_machine *machine, uint8_t op)
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
        set_cfa(machine, dwarf_register, read_factored(machine, op));
        return true;
    case CFA_DEF_CFA_REGISTER:
        set_cfa(machine, sig_read_uleb128(reader), machine->cfa.offset);
        return true;
    case CFA_DEF_CFA_OFFSET:
        set_cfa(machine, machine->cfa.dwarf_register, (int64_t)sig_read_uleb128(reader));
        return true;
    case CFA_DEF_CFA_OFFSET_SF:
        set_cfa(machine, machine->cfa.dwarf_register, read_factored(machine, op));
        return true;
    case CFA_DEF_CFA_EXPRESSION:
        machine->cfa.expression = reader->at;
        skip_block(reader);
        return true;
    default:
        return false;
    }
}

/* Instructions about one register. */
static bool step_register(struct cfi_machine *machine, uint8_t op)
{
    struct sig_reader *reader = &machine->reader;
    if (op < CFA_OFFSET_EXTENDED || op == CFA_REMEMBER_STATE || op == CFA_RESTORE_STATE ||
        op == CFA_GNU_ARGS_SIZE)
        return false;
    uint64_t dwarf_register = sig_read_uleb128(reader);
    switch (op) {
    case CFA_OFFSET_EXTENDED:
    case CFA_OFFSET_EXTENDED_SF:
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        set_column(machine, dwarf_register, SIG_COLUMN_AT_CFA, 0, read_factored(machine, op));
        return true;
    case CFA_RESTORE_EXTENDED:
        restore_column(machine, dwarf_register);
        return true;
    case CFA_UNDEFINED:
        set_column(machine, dwarf_register, SIG_COLUMN_UNDEFINED, 0, 0);
        return true;
    case CFA_SAME_VALUE:
        set_column(machine, dwarf_register, SIG_COLUMN_SAME, 0, 0);
        return true;
    case CFA_REGISTER:
        set_column(machine, dwarf_register, SIG_COLUMN_IN_REGISTER, sig_read_uleb128(reader), 0);
        return true;
    case CFA_EXPRESSION:
        set_column_by_expression(machine, dwarf_register, SIG_COLUMN_AT_EXPRESSION);
        return true;
    case CFA_VAL_EXPRESSION:
        set_column_by_expression(machine, dwarf_register, SIG_COLUMN_IS_EXPRESSION);
        return true;
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF:
        set_column(machine, dwarf_register, SIG_COLUMN_IS_CFA, 0, read_factored(machine, op));
        return true;
    default:
        return false;
    }
}

/* Returns false at the end of the row that holds the pc. */
static bool run_instruction(struct cfi_machine *machine)
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
        set_column(machine, operand, SIG_COLUMN_AT_CFA, 0, read_factored(machine, op));
    else if ((op & 0xc0) == CFA_RESTORE)
        restore_column(machine, operand);
    else if (op == CFA_REMEMBER_STATE)
        push_row(machine);
    else if (op == CFA_RESTORE_STATE)
        pop_row(machine);
    else if (op == CFA_GNU_ARGS_SIZE)
        sig_read_uleb128(reader);
    else if (op == CFA_SET_LOC)
        machine->pc = sig_read_encoded(reader, machine->request->cie.fde_encoding, 0);
    else if (op != CFA_NOP && !is_negate_ra_state(op) && !step_cfa(machine, op) &&
             !step_register(machine, op))
        machine->failed = true;
    machine->pc += advance * machine->request->cie.code_align;
    return machine->pc <= machine->request->lookup_pc;
}

static bool run_instructions(struct cfi_machine *machine, uint64_t at, uint64_t end)
{
    machine->reader.at = at;
    machine->reader.end = end;
    for (int i = 0; machine->reader.at < end; i++) {
        if (i == MAX_INSTRUCTIONS)
            return false;
        if (!run_instruction(machine))
            break;
        if (machine->failed || machine->reader.failed)
            return false;
    }
    return !machine->failed && !machine->reader.failed;
}

bool sig_cfi_row(const struct sig_row_request *request, unsigned column_count, struct sig_column *memory,
                 struct sig_cfa *ret)
{
    struct cfi_machine machine; /* not cleared as a whole, which would be a call of memset */
    sig_reader_init(&machine.reader, request->module, request->cie.instructions, request->careful_reads);
    machine.request = request;
    machine.pc = request->fde.start_pc;
    machine.cfa = (struct sig_cfa){.dwarf_register = SIG_DWARF_SP};
    machine.remembered_count = 0;
    machine.column_count = column_count;
    machine.columns = memory;
    machine.initial = memory + column_count;
    machine.remembered = memory + 2 * (size_t)column_count;
    machine.failed = false;
    if (request->cie.ra_register != SIG_DWARF_RA)
        return false; /* the psABI gives it one number */
    clear_columns(machine.columns, column_count);
    clear_columns(machine.initial, column_count); /* DW_CFA_restore in a CIE */
    if (!run_instructions(&machine, request->cie.instructions, request->cie.instructions_end))
        return false;
    copy_columns(machine.initial, machine.columns, column_count);
    if (!run_instructions(&machine, request->fde.instructions, request->fde.instructions_end))
        return false;
    *ret = machine.cfa;
    return true;
}
