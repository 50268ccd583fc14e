/*
 * .eh_frame_hdr leads by binary search to the one FDE that covers the pc; its CIE and the FDE's instructions up to
 * the pc give the row of the unwind table. Only the columns a walk needs are kept: CFA, return address, frame
 * pointer and one extra base register. 0.2-1 us, which is why sig_rules caches the result.
 *
 * CFA expressions are evaluated symbolically to register + constant or *(register + constant): that covers the PLT
 * (whose expression depends on the pc only, and the pc is known here) and functions that realign their stack.
 */
#include "sig_cfi.h"
#include "sig_arch.h"
#include "sig_memory.h"

#include <stddef.h>

enum {
    MAX_INSTRUCTIONS = 4096,  /* per CIE or FDE; real ones have fewer than 1,000 */
    MAX_REMEMBERED_ROWS = 8,  /* nesting of DW_CFA_remember_state; real code nests once or twice */
    MAX_EXPRESSION_OPS = 32,
    MAX_EXPRESSION_STACK = 8,
    MAX_SEARCH_STEPS = 40,    /* more than log2 of any table */
    COPY_WINDOW_BYTES = 64,
};

/* LSB 5.0 Core 10.5.1: DWARF exception header encoding. */
enum {
    PE_ABSPTR = 0x00,
    PE_ULEB128 = 0x01,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SLEB128 = 0x09,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_FORMAT_MASK = 0x0f,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
    PE_APPLICATION_MASK = 0x70,
    PE_INDIRECT = 0x80,
    PE_OMIT = 0xff,
};

/* A bounded reader. Reads past the end give 0 and set failed; the caller looks once, at the end. */
struct reader {
    uint64_t at, end;
    bool failed;
    bool careful;
    uint64_t window_at; /* first address held in the window, valid when careful and window_bytes > 0 */
    uint32_t window_bytes;
    uint8_t window[COPY_WINDOW_BYTES];
};

static void reader_init(struct reader *reader, const struct sig_module *module, uint64_t at, bool careful)
{
    reader->at = at;
    reader->end = module->cfi_high;
    reader->failed = at < module->cfi_low || at > module->cfi_high;
    reader->careful = careful;
    reader->window_bytes = 0;
}

static bool window_fill(struct reader *reader)
{
    uint64_t left = reader->end - reader->at;
    uint32_t bytes = left < COPY_WINDOW_BYTES ? (uint32_t)left : COPY_WINDOW_BYTES;
    reader->window_bytes = 0;
    if (!sig_memory_copy(reader->window, reader->at, bytes))
        return false;
    reader->window_at = reader->at;
    reader->window_bytes = bytes;
    return true;
}

static uint8_t read_u8(struct reader *reader)
{
    if (reader->failed || reader->at >= reader->end) {
        reader->failed = true;
        return 0;
    }
    if (!reader->careful)
        return *(const uint8_t *)(uintptr_t)reader->at++;
    bool held = reader->window_bytes > 0 && reader->at >= reader->window_at &&
                reader->at < reader->window_at + reader->window_bytes;
    if (!held && !window_fill(reader)) {
        reader->failed = true;
        return 0;
    }
    return reader->window[reader->at++ - reader->window_at];
}

static uint64_t read_fixed(struct reader *reader, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)read_u8(reader) << (8 * i);
    return value;
}

static uint64_t read_uleb128(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = read_u8(reader);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    reader->failed = true;
    return 0;
}

static int64_t read_sleb128(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = read_u8(reader);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            if ((byte & 0x40) && shift + 7 < 64)
                value |= ~(uint64_t)0 << (shift + 7);
            return (int64_t)value;
        }
    }
    reader->failed = true;
    return 0;
}

static uint64_t read_encoded_value(struct reader *reader, uint8_t format)
{
    switch (format) {
    case PE_ABSPTR:
    case PE_UDATA8:
    case PE_SDATA8:
        return read_fixed(reader, 8);
    case PE_ULEB128:
        return read_uleb128(reader);
    case PE_SLEB128:
        return (uint64_t)read_sleb128(reader);
    case PE_UDATA2:
        return read_fixed(reader, 2);
    case PE_SDATA2:
        return (uint64_t)(int64_t)(int16_t)read_fixed(reader, 2);
    case PE_UDATA4:
        return read_fixed(reader, 4);
    case PE_SDATA4:
        return (uint64_t)(int64_t)(int32_t)read_fixed(reader, 4);
    default:
        reader->failed = true;
        return 0;
    }
}

/* A pointer in one of the encodings that occur: absolute, relative to itself, or to data_base. */
static uint64_t read_encoded(struct reader *reader, uint8_t encoding, uint64_t data_base)
{
    if (encoding == PE_OMIT)
        return 0;
    uint64_t self = reader->at;
    uint64_t value = read_encoded_value(reader, encoding & PE_FORMAT_MASK);
    switch (encoding & PE_APPLICATION_MASK) {
    case PE_ABSPTR:
        return value;
    case PE_PCREL:
        return self + value;
    case PE_DATAREL:
        return data_base + value;
    default:
        reader->failed = true;
        return 0;
    }
}

/* ---- .eh_frame_hdr: from pc to FDE ------------------------------------------------------------------------------ */

struct search_table {
    uint64_t base;    /* run-time address of .eh_frame_hdr */
    uint64_t entries; /* run-time address of the first pair */
    uint64_t count;
};

/* LSB 10.6.2. Only the table form every linker writes is searched: pairs of datarel sdata4. */
static bool search_table_open(const struct sig_module *module, bool careful, struct search_table *ret)
{
    struct reader reader;
    reader_init(&reader, module, module->eh_frame_hdr, careful);
    if (!module->eh_frame_hdr || read_u8(&reader) != 1)
        return false;
    uint8_t frame_encoding = read_u8(&reader), count_encoding = read_u8(&reader), table_encoding = read_u8(&reader);
    read_encoded(&reader, frame_encoding, module->eh_frame_hdr);
    if (count_encoding == PE_OMIT || table_encoding != (PE_DATAREL | PE_SDATA4))
        return false;
    ret->base = module->eh_frame_hdr;
    ret->count = read_encoded(&reader, count_encoding, module->eh_frame_hdr);
    ret->entries = reader.at;
    return !reader.failed && ret->count > 0 && ret->count <= (reader.end - reader.at) / 8;
}

static void search_table_entry(const struct sig_module *module, bool careful, const struct search_table *table,
                               uint64_t index, uint64_t *ret_pc, uint64_t *ret_fde)
{
    struct reader reader;
    reader_init(&reader, module, table->entries + index * 8, careful);
    *ret_pc = table->base + (uint64_t)(int64_t)(int32_t)read_fixed(&reader, 4);
    *ret_fde = table->base + (uint64_t)(int64_t)(int32_t)read_fixed(&reader, 4);
}

/* The last entry that starts at or before pc; false when pc lies before all of them. */
static bool search_table_find(const struct sig_module *module, bool careful, uint64_t pc, uint64_t *ret_start,
                              uint64_t *ret_fde)
{
    struct search_table table;
    if (!search_table_open(module, careful, &table))
        return false;
    uint64_t low = 0, high = table.count;
    for (int step = 0; low < high && step < MAX_SEARCH_STEPS; step++) {
        uint64_t middle = low + (high - low) / 2, start, fde;
        search_table_entry(module, careful, &table, middle, &start, &fde);
        if (start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    search_table_entry(module, careful, &table, low - 1, ret_start, ret_fde);
    return true;
}

/* ---- CIE and FDE ------------------------------------------------------------------------------------------------ */

struct cie {
    uint64_t instructions, instructions_end;
    uint64_t code_align;
    int64_t data_align;
    uint64_t ra_register;
    uint8_t fde_encoding;
    bool has_augmentation_data;
    bool is_signal_frame;
};

struct fde {
    uint64_t start_pc, end_pc;
    uint64_t instructions, instructions_end;
};

/* Length and body of an entry (LSB 10.6.1.1); leaves the reader at its id field, bounded by the entry's end. */
static void enter_entry(struct reader *reader)
{
    uint64_t bytes = read_fixed(reader, 4);
    if (bytes == 0xffffffff)
        bytes = read_fixed(reader, 8);
    if (bytes == 0 || bytes > reader->end - reader->at)
        reader->failed = true;
    else
        reader->end = reader->at + bytes;
}

/* LSB 10.6.1.1.1: 'z' first, then one datum per letter. */
static void read_augmentation(struct reader *reader, uint64_t letters, struct cie *ret)
{
    struct reader letter = *reader;
    letter.at = letters;
    if (read_u8(&letter) != 'z')
        return;
    ret->has_augmentation_data = true;
    uint64_t data_bytes = read_uleb128(reader);
    uint64_t data_end = reader->at + data_bytes;
    if (reader->failed || data_bytes > reader->end - reader->at) {
        reader->failed = true;
        return;
    }
    for (uint8_t c = read_u8(&letter); c && !letter.failed; c = read_u8(&letter)) {
        if (c == 'R')
            ret->fde_encoding = read_u8(reader);
        else if (c == 'S')
            ret->is_signal_frame = true;
        else if (c == 'L')
            read_u8(reader);
        else if (c == 'P')
            read_encoded_value(reader, read_u8(reader) & PE_FORMAT_MASK);
        else if (c != 'B' && c != 'G')
            break; /* unknown letter: the rest of the data is skipped by its length */
    }
    reader->at = data_end;
}

static bool read_cie(const struct sig_module *module, bool careful, uint64_t at, struct cie *ret)
{
    struct reader reader;
    reader_init(&reader, module, at, careful);
    *ret = (struct cie){.fde_encoding = PE_ABSPTR};
    enter_entry(&reader);
    if (read_fixed(&reader, 4) != 0)
        return false;
    uint8_t version = read_u8(&reader);
    if (version != 1 && version != 3 && version != 4)
        return false;
    uint64_t letters = reader.at;
    for (int i = 0; i < 16 && read_u8(&reader); i++)
        ;
    if (version == 4)
        read_fixed(&reader, 2); /* address and segment selector sizes, DWARF 5 6.4.1 */
    ret->code_align = read_uleb128(&reader);
    ret->data_align = read_sleb128(&reader);
    ret->ra_register = version == 1 ? read_u8(&reader) : read_uleb128(&reader);
    read_augmentation(&reader, letters, ret);
    ret->instructions = reader.at;
    ret->instructions_end = reader.end;
    return !reader.failed;
}

static bool read_fde(const struct sig_module *module, bool careful, uint64_t at, struct cie *ret_cie,
                     struct fde *ret)
{
    struct reader reader;
    reader_init(&reader, module, at, careful);
    enter_entry(&reader);
    uint64_t id_at = reader.at;
    uint64_t cie_distance = read_fixed(&reader, 4);
    if (reader.failed || cie_distance == 0 || !read_cie(module, careful, id_at - cie_distance, ret_cie))
        return false;
    ret->start_pc = read_encoded(&reader, ret_cie->fde_encoding, module->eh_frame_hdr);
    ret->end_pc = ret->start_pc + read_encoded_value(&reader, ret_cie->fde_encoding & PE_FORMAT_MASK);
    if (ret_cie->has_augmentation_data) {
        uint64_t skip = read_uleb128(&reader);
        if (reader.failed || skip > reader.end - reader.at)
            return false;
        reader.at += skip;
    }
    ret->instructions = reader.at;
    ret->instructions_end = reader.end;
    return !reader.failed;
}

/* ---- expressions ------------------------------------------------------------------------------------------------ */

/* A symbolic value: constant, register + constant, or *(register + constant). */
struct symbol {
    enum { SYM_CONSTANT, SYM_REGISTER, SYM_DEREF } kind;
    uint8_t dwarf_register;
    int64_t offset;
};

struct symbol_stack {
    struct symbol values[MAX_EXPRESSION_STACK];
    unsigned depth;
    bool failed;
};

static void push(struct symbol_stack *stack, struct symbol value)
{
    if (stack->depth == MAX_EXPRESSION_STACK)
        stack->failed = true;
    else
        stack->values[stack->depth++] = value;
}

static struct symbol pop(struct symbol_stack *stack)
{
    if (stack->depth == 0) {
        stack->failed = true;
        return (struct symbol){.kind = SYM_CONSTANT};
    }
    return stack->values[--stack->depth];
}

static struct symbol constant(int64_t value)
{
    return (struct symbol){.kind = SYM_CONSTANT, .offset = value};
}

/* DWARF 5 7.7.1: the operators that occur in CFA expressions of compilers, linkers and the C library. */
enum {
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S = 0x09,
    OP_CONST2U = 0x0a,
    OP_CONST2S = 0x0b,
    OP_CONST4U = 0x0c,
    OP_CONST4S = 0x0d,
    OP_AND = 0x1a,
    OP_MINUS = 0x1c,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
};

static void apply_binary(struct symbol_stack *stack, uint8_t op)
{
    struct symbol b = pop(stack), a = pop(stack);
    if (op == OP_PLUS && a.kind == SYM_CONSTANT) {
        struct symbol swap = a;
        a = b;
        b = swap;
    }
    bool may_shift_base = op == OP_PLUS || op == OP_MINUS;
    if (b.kind != SYM_CONSTANT || a.kind == SYM_DEREF || (a.kind == SYM_REGISTER && !may_shift_base)) {
        stack->failed = true;
        return;
    }
    uint64_t x = (uint64_t)a.offset, y = (uint64_t)b.offset;
    if (op == OP_PLUS)
        a.offset = (int64_t)(x + y);
    else if (op == OP_MINUS)
        a.offset = (int64_t)(x - y);
    else if (op == OP_AND)
        a.offset = (int64_t)(x & y);
    else if (op == OP_SHL)
        a.offset = y < 64 ? (int64_t)(x << y) : 0;
    else
        a.offset = a.offset >= b.offset;
    push(stack, a);
}

static void push_register(struct symbol_stack *stack, unsigned dwarf_register, int64_t offset, uint64_t pc)
{
    if (dwarf_register == SIG_DWARF_RA)
        push(stack, constant((int64_t)(pc + (uint64_t)offset))); /* the PLT asks for its own pc */
    else
        push(stack, (struct symbol){.kind = SYM_REGISTER, .dwarf_register = (uint8_t)dwarf_register, .offset = offset});
}

static void apply_operator(struct symbol_stack *stack, struct reader *reader, uint8_t op, uint64_t pc)
{
    if (op >= OP_LIT0 && op <= OP_LIT31)
        push(stack, constant(op - OP_LIT0));
    else if (op >= OP_BREG0 && op <= OP_BREG31)
        push_register(stack, op - OP_BREG0, read_sleb128(reader), pc);
    else if (op == OP_CONST1U || op == OP_CONST2U || op == OP_CONST4U)
        push(stack, constant((int64_t)read_fixed(reader, op == OP_CONST1U ? 1 : op == OP_CONST2U ? 2 : 4)));
    else if (op == OP_CONST1S)
        push(stack, constant((int8_t)read_u8(reader)));
    else if (op == OP_CONST2S)
        push(stack, constant((int16_t)read_fixed(reader, 2)));
    else if (op == OP_CONST4S)
        push(stack, constant((int32_t)read_fixed(reader, 4)));
    else if (op == OP_AND || op == OP_PLUS || op == OP_MINUS || op == OP_SHL || op == OP_GE)
        apply_binary(stack, op);
    else if (op == OP_PLUS_UCONST) {
        push(stack, constant((int64_t)read_uleb128(reader)));
        apply_binary(stack, OP_PLUS);
    } else if (op == OP_DEREF) {
        struct symbol address = pop(stack);
        if (address.kind != SYM_REGISTER)
            stack->failed = true;
        address.kind = SYM_DEREF;
        push(stack, address);
    } else {
        stack->failed = true;
    }
}

/* The value of an expression block at `at` (a ULEB128 length, then operators); false when it is not of our kind. */
static bool evaluate(const struct reader *from, uint64_t at, uint64_t pc, struct symbol *ret)
{
    struct reader reader = *from;
    struct symbol_stack stack = {.depth = 0};
    reader.at = at;
    uint64_t bytes = read_uleb128(&reader);
    if (reader.failed || bytes > reader.end - reader.at)
        return false;
    reader.end = reader.at + bytes;
    for (int ops = 0; reader.at < reader.end; ops++) {
        if (ops == MAX_EXPRESSION_OPS || reader.failed || stack.failed)
            return false;
        apply_operator(&stack, &reader, read_u8(&reader), pc);
    }
    *ret = pop(&stack);
    return !reader.failed && !stack.failed && ret->offset >= INT32_MIN && ret->offset <= INT32_MAX;
}

/* ---- instructions ----------------------------------------------------------------------------------------------- */

/* One row of the unwind table, for the columns that are kept. */
struct row {
    uint64_t cfa_register;
    int64_t cfa_offset;
    uint64_t cfa_expression; /* run-time address of the block, 0 for register + offset */
    struct sig_saved ra, fp, extra;
};

struct machine {
    struct reader reader;
    const struct cie *cie;
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

static void set_column(struct machine *machine, uint64_t dwarf_register, enum sig_saved_kind kind, uint64_t other,
                       int64_t offset)
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
    struct symbol address;
    if (evaluate(&machine->reader, machine->reader.at, machine->lookup, &address) && address.kind == SYM_REGISTER)
        set_column(machine, dwarf_register, SIG_SAVED_AT_REGISTER, address.dwarf_register, address.offset);
    else
        set_column(machine, dwarf_register, SIG_SAVED_UNKNOWN, 0, 0);
}

static void skip_block(struct reader *reader)
{
    uint64_t bytes = read_uleb128(reader);
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
    struct reader *reader = &machine->reader;
    uint64_t dwarf_register;
    switch (op) {
    case CFA_DEF_CFA:
        dwarf_register = read_uleb128(reader);
        set_cfa(machine, dwarf_register, (int64_t)read_uleb128(reader));
        return true;
    case CFA_DEF_CFA_SF:
        dwarf_register = read_uleb128(reader);
        set_cfa(machine, dwarf_register, read_sleb128(reader) * machine->cie->data_align);
        return true;
    case CFA_DEF_CFA_REGISTER:
        set_cfa(machine, read_uleb128(reader), machine->row.cfa_offset);
        return true;
    case CFA_DEF_CFA_OFFSET:
        set_cfa(machine, machine->row.cfa_register, (int64_t)read_uleb128(reader));
        return true;
    case CFA_DEF_CFA_OFFSET_SF:
        set_cfa(machine, machine->row.cfa_register, read_sleb128(reader) * machine->cie->data_align);
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
    struct reader *reader = &machine->reader;
    const int64_t align = machine->cie->data_align;
    if (op < CFA_OFFSET_EXTENDED || op == CFA_REMEMBER_STATE || op == CFA_RESTORE_STATE || op == CFA_GNU_ARGS_SIZE)
        return false;
    uint64_t dwarf_register = read_uleb128(reader);
    switch (op) {
    case CFA_OFFSET_EXTENDED:
        set_column(machine, dwarf_register, SIG_SAVED_AT_CFA, 0, (int64_t)read_uleb128(reader) * align);
        return true;
    case CFA_OFFSET_EXTENDED_SF:
        set_column(machine, dwarf_register, SIG_SAVED_AT_CFA, 0, read_sleb128(reader) * align);
        return true;
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        set_column(machine, dwarf_register, SIG_SAVED_AT_CFA, 0, -(int64_t)read_uleb128(reader) * align);
        return true;
    case CFA_RESTORE_EXTENDED:
        restore_column(machine, dwarf_register);
        return true;
    case CFA_UNDEFINED:
        set_column(machine, dwarf_register, SIG_SAVED_UNKNOWN, 0, 0);
        return true;
    case CFA_SAME_VALUE:
        set_column(machine, dwarf_register, SIG_SAVED_SAME, 0, 0);
        return true;
    case CFA_REGISTER:
        set_column(machine, dwarf_register, SIG_SAVED_IN_REGISTER, read_uleb128(reader), 0);
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
        read_uleb128(reader);
        return true;
    default:
        return false;
    }
}

/* Instructions with an opcode of two bits, and those that move the row. Returns false at the end of the row. */
static bool step(struct machine *machine)
{
    struct reader *reader = &machine->reader;
    uint8_t op = read_u8(reader);
    uint8_t operand = op & 0x3f;
    uint64_t advance = 0;
    if ((op & 0xc0) == CFA_ADVANCE_LOC)
        advance = operand;
    else if (op == CFA_ADVANCE_LOC1 || op == CFA_ADVANCE_LOC2 || op == CFA_ADVANCE_LOC4)
        advance = read_fixed(reader, op == CFA_ADVANCE_LOC1 ? 1 : op == CFA_ADVANCE_LOC2 ? 2 : 4);
    else if ((op & 0xc0) == CFA_OFFSET)
        set_column(machine, operand, SIG_SAVED_AT_CFA, 0, (int64_t)read_uleb128(reader) * machine->cie->data_align);
    else if ((op & 0xc0) == CFA_RESTORE)
        restore_column(machine, operand);
    else if (op == CFA_REMEMBER_STATE)
        remember(machine);
    else if (op == CFA_RESTORE_STATE)
        recall(machine);
    else if (op == CFA_GNU_ARGS_SIZE)
        read_uleb128(reader);
    else if (op == CFA_SET_LOC)
        machine->pc = read_encoded(reader, machine->cie->fde_encoding, 0);
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
    struct symbol cfa = {.kind = SYM_REGISTER,
                         .dwarf_register = (uint8_t)row->cfa_register,
                         .offset = row->cfa_offset};
    ret->kind = SIG_RULE_UNSUPPORTED;
    if (row->cfa_expression && !evaluate(&machine->reader, row->cfa_expression, machine->lookup, &cfa))
        return;
    if (cfa.kind == SYM_CONSTANT || row->cfa_register > 255 || cfa.offset < INT32_MIN || cfa.offset > INT32_MAX)
        return;
    ret->cfa_register = cfa.dwarf_register;
    ret->cfa_deref = cfa.kind == SYM_DEREF;
    ret->cfa_offset = (int32_t)cfa.offset;
    ret->ra = row->ra;
    ret->fp = row->fp;
    ret->extra = row->extra;
    ret->kind = row->ra.kind == SIG_SAVED_UNKNOWN ? SIG_RULE_ROOT : SIG_RULE_FRAME;
}

void sig_cfi_rule(const struct sig_module *module, uint64_t lookup_pc, bool careful_reads, struct sig_rule *ret)
{
    uint64_t start, fde_at;
    struct cie cie;
    struct fde fde;
    *ret = (struct sig_rule){.kind = SIG_RULE_NONE};
    if (!search_table_find(module, careful_reads, lookup_pc, &start, &fde_at) ||
        !read_fde(module, careful_reads, fde_at, &cie, &fde) || lookup_pc < fde.start_pc || lookup_pc >= fde.end_pc)
        return;
    if (cie.is_signal_frame) {
        ret->kind = SIG_RULE_SIGNAL;
        return;
    }
    struct machine machine;
    machine.cie = &cie;
    machine.remembered_count = 0;
    machine.failed = false;
    machine.row = (struct row){.cfa_register = SIG_DWARF_SP};
    machine.pc = fde.start_pc;
    machine.lookup = lookup_pc;
    reader_init(&machine.reader, module, cie.instructions, careful_reads);
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
    uint64_t start, fde_at;
    struct cie cie;
    struct fde fde;
    if (!search_table_find(module, false, lookup_pc, &start, &fde_at) ||
        !read_fde(module, false, fde_at, &cie, &fde) || lookup_pc < fde.start_pc || lookup_pc >= fde.end_pc)
        return 0;
    return fde.start_pc;
}
