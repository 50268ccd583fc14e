/*
 * Unwind tables out of a fuzzer's input: well-formed where that is what it takes to be read any further,
 * hostile otherwise. Standards as in src/sig/cfi/sig_cfi.h.
 *
 * Layout: .eh_frame_hdr, one CIE, its FDEs. Code addresses are relative to the tables, at FUZZ_CODE_DISTANCE.
 */
#ifndef WALLPROF_FUZZ_TABLES_H
#define WALLPROF_FUZZ_TABLES_H

#include "fuzz.h"
#include "sig/ground/sig_reader.h"

#include <string.h>

enum {
    FUZZ_TABLES_MAX_BYTES = 16 * 1024,
    FUZZ_CODE_DISTANCE = 0x20000, /* from the first byte of the tables to the first of the code */
    FUZZ_FUNCTIONS_MAX = 4,
};

/* Bytes are collected here and copied to where they are to lie: at `base`. */
struct fuzz_tables {
    uint64_t base;
    size_t used;
    uint8_t bytes[FUZZ_TABLES_MAX_BYTES];
};

/* ---- bytes ---- */

/* What does not fit is cut off: truncated tables are welcome. */
static inline void put_bytes(struct fuzz_tables *tables, const void *bytes, size_t count)
{
    size_t room = sizeof(tables->bytes) - tables->used;
    count = count < room ? count : room;
    memcpy(tables->bytes + tables->used, bytes, count);
    tables->used += count;
}

static inline void put_u8(struct fuzz_tables *tables, uint64_t value)
{
    uint8_t byte = (uint8_t)value;
    put_bytes(tables, &byte, 1);
}

static inline void put_fixed(struct fuzz_tables *tables, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        put_u8(tables, value >> (8 * i));
}

static inline void patch_u32(struct fuzz_tables *tables, size_t at, uint64_t value)
{
    for (unsigned i = 0; i < 4 && at + i < tables->used; i++)
        tables->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

static inline void put_uleb128(struct fuzz_tables *tables, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put_u8(tables, value | 0x80);
    put_u8(tables, value);
}

static inline void put_sleb128(struct fuzz_tables *tables, int64_t value)
{
    for (; value < -64 || value > 63; value >>= 7)
        put_u8(tables, (uint64_t)value | 0x80);
    put_u8(tables, (uint64_t)value & 0x7f);
}

static inline void put_encoded_value(struct fuzz_tables *tables, uint8_t format, uint64_t value)
{
    switch (format & SIG_PE_FORMAT_MASK) {
    case SIG_PE_ULEB128:
        put_uleb128(tables, value);
        break;
    case SIG_PE_SLEB128:
        put_sleb128(tables, (int64_t)value);
        break;
    case SIG_PE_UDATA2:
    case SIG_PE_SDATA2:
        put_fixed(tables, value, 2);
        break;
    case SIG_PE_UDATA4:
    case SIG_PE_SDATA4:
        put_fixed(tables, value, 4);
        break;
    default:
        put_fixed(tables, value, 8);
    }
}

static inline void put_encoded(struct fuzz_tables *tables, uint8_t encoding, uint64_t address)
{
    if (encoding == SIG_PE_OMIT)
        return;
    uint8_t application = encoding & SIG_PE_APPLICATION_MASK;
    uint64_t origin = application == SIG_PE_PCREL     ? tables->base + tables->used
                      : application == SIG_PE_DATAREL ? tables->base
                                                      : 0;
    put_encoded_value(tables, encoding, address - origin);
}

/* ---- instructions ---- */

/* Mostly the registers that matter: rsp, rbp, rbx, the return address; sometimes any number. */
static inline uint64_t take_register(struct fuzz_input *input)
{
    static const uint8_t usual[] = {7, 6, 3, 16, 5, 10, 0, 17};
    uint8_t choice = take_u8(input);
    return choice < 0xf0 ? usual[choice % sizeof(usual)] : take_number(input);
}

/* The operands of DWARF 5 table 7.9's operators up to OP_skip: bytes, Unsigned, Signed LEB128, or none. */
static inline void put_operands(struct fuzz_tables *tables, struct fuzz_input *input, uint8_t op)
{
    static const char operands_of[] = {
        [0x03] = 8, [0x08] = 1,   [0x09] = 1,   [0x0a] = 2, [0x0b] = 2,   [0x0c] = 4, [0x0d] = 4, [0x0e] = 8,
        [0x0f] = 8, [0x10] = 'U', [0x11] = 'S', [0x15] = 1, [0x23] = 'U', [0x28] = 2, [0x2f] = 2};
    char operand = op < sizeof(operands_of) ? operands_of[op] : op == 0x94 ? 1 : 0;
    if (operand == 'U')
        put_uleb128(tables, take_number(input));
    else if (operand == 'S')
        put_sleb128(tables, (int64_t)take_number(input));
    else if (operand > 0)
        put_fixed(tables, take_number(input), (unsigned)operand);
}

/* Half of them registers and literals; the operators of the linker's PLT more often than others. */
static inline void put_expression_operator(struct fuzz_tables *tables, struct fuzz_input *input)
{
    static const uint8_t usual[] = {0x06, 0x08, 0x1a, 0x1c, 0x22, 0x23, 0x24, 0x2a};
    uint8_t choice = take_u8(input), op;
    if (choice >= 0xf8) {
        put_u8(tables, take_u8(input));
    } else if (choice >= 0xc0) {
        put_u8(tables, 0x30 + choice % 32); /* lit0 to lit31 */
    } else if (choice >= 0x80) {
        bool is_long = choice == 0x80; /* bregx, else breg0 to breg31 */
        put_u8(tables, is_long ? 0x92 : 0x70 + (take_register(input) & 31));
        if (is_long)
            put_uleb128(tables, take_register(input));
        put_sleb128(tables, (int64_t)take_number(input));
    } else {
        op = choice < 0x40   ? usual[choice % sizeof(usual)]
             : choice < 0x70 ? choice - 0x40
             : choice < 0x78 ? 0x94
                             : 0x96;
        put_u8(tables, op);
        put_operands(tables, input, op);
    }
}

static inline void put_expression(struct fuzz_tables *tables, struct fuzz_input *input)
{
    uint8_t count = take_u8(input);
    size_t length_at = tables->used;
    put_u8(tables, 0);
    for (int i = 0; i < count % 48; i++)
        put_expression_operator(tables, input);
    size_t length = tables->used - length_at - 1;
    if (count >= 0xf0)
        length += count - 0xefU; /* runs into what follows */
    if (length_at < tables->used)
        tables->bytes[length_at] = (uint8_t)(length < 127 ? length : 127);
}

/* One instruction of DWARF 5 table 7.29 with operands, sometimes any byte. */
static inline void put_instruction(struct fuzz_tables *tables, struct fuzz_input *input, uint8_t encoding)
{
    static const char operands_of[] = {
        /* by opcode: Register, Unsigned, Signed, eXpression, one to four bytes */
        [0x00] = 0,   [0x01] = 'L', [0x02] = '1', [0x03] = '2', [0x04] = '4', [0x05] = 'u',
        [0x06] = 'r', [0x07] = 'r', [0x08] = 'r', [0x09] = 'R', [0x0a] = 0,   [0x0b] = 0,
        [0x0c] = 'u', [0x0d] = 'r', [0x0e] = 'U', [0x0f] = 'X', [0x10] = 'x', [0x11] = 's',
        [0x12] = 's', [0x13] = 'S', [0x14] = 'u', [0x15] = 's', [0x16] = 'x'};
    uint8_t choice = take_u8(input), op = choice % 0x20;
    if (choice >= 0x80 && choice < 0xf0) {
        static const uint8_t forms[] = {0x40, 0x80, 0xc0, 0x80};
        uint8_t form = forms[choice % 4];
        put_u8(tables, form | (form == 0x40 ? choice % 64 : take_register(input) & 63));
        if (form == 0x80)
            put_uleb128(tables, take_number(input));
        return;
    }
    if (op >= sizeof(operands_of)) {
        op = choice % 2 ? 0x2e : choice % 4 ? 0x2f : take_u8(input);
        put_u8(tables, op);
        if (op == 0x2f)
            put_uleb128(tables, take_register(input));
        put_uleb128(tables, take_number(input));
        return;
    }
    put_u8(tables, op);
    switch (operands_of[op]) {
    case 'L':
        put_encoded(tables, encoding, tables->base + FUZZ_CODE_DISTANCE + take_number(input));
        break;
    case '1':
    case '2':
    case '4':
        put_fixed(tables, take_number(input), (unsigned)(operands_of[op] - '0'));
        break;
    case 'r':
        put_uleb128(tables, take_register(input));
        break;
    case 'R':
        put_uleb128(tables, take_register(input));
        put_uleb128(tables, take_register(input));
        break;
    case 'u':
        put_uleb128(tables, take_register(input));
        put_uleb128(tables, take_number(input));
        break;
    case 'U':
        put_uleb128(tables, take_number(input));
        break;
    case 's':
        put_uleb128(tables, take_register(input));
        put_sleb128(tables, (int64_t)take_number(input));
        break;
    case 'S':
        put_sleb128(tables, (int64_t)take_number(input));
        break;
    case 'x':
        put_uleb128(tables, take_register(input));
        put_expression(tables, input);
        break;
    case 'X':
        put_expression(tables, input);
        break;
    }
}

static inline void put_instructions(struct fuzz_tables *tables, struct fuzz_input *input, uint8_t encoding)
{
    for (int left = take_u8(input) % 32; left > 0; left--)
        put_instruction(tables, input, encoding);
}

/* ---- entries ---- */

/* Padding and length, known at the end only. Every 16th entry claims another length or the 64-bit form. */
static inline void close_entry(struct fuzz_tables *tables, size_t start, uint8_t choice)
{
    while ((tables->used - start) % 8 != 4 && tables->used < sizeof(tables->bytes))
        put_u8(tables, 0);
    patch_u32(tables, start, tables->used - start - 4 + (choice >= 0xf0 ? choice * 8U - 0xf7 * 8U : 0));
}

/* CIE: what the input gives where usual[...] is not chosen. Returns the encoding of its FDEs' addresses. */
static inline uint8_t put_cie(struct fuzz_tables *tables, struct fuzz_input *input, uint8_t *ret_choice)
{
    static const uint8_t versions[] = {1, 1, 3, 4}, encodings[] = {0x1b, 0x1b, 0x0b, 0x3b, 0x00, 0x10,
                                                                   0x01, 0x09, 0x0a, 0x1c, 0x02, 0x31};
    static const char *const augmentations[] = {"zR", "zRS", "zPLR", "", "zRB", "zRGX", "eh", "zLPRSBG"};
    size_t start = tables->used;
    uint8_t choice = *ret_choice = take_u8(input), version = versions[choice % 4];
    const char *augmentation = augmentations[choice / 4 % 8];
    uint8_t encoding_choice = take_u8(input);
    uint8_t encoding =
        encoding_choice < 0xf0 ? encodings[encoding_choice % sizeof(encodings)] : take_u8(input);
    put_fixed(tables, 0, 8);
    put_u8(tables, choice == 0xff ? take_u8(input) : version);
    put_bytes(tables, augmentation, strlen(augmentation) + 1);
    if (version == 4)
        put_fixed(tables, 8, 2);
    put_uleb128(tables, take_number(input));
    put_sleb128(tables, (int64_t)take_number(input));
    put_uleb128(tables, take_register(input));
    if (augmentation[0] == 'z') {
        size_t length_at = tables->used;
        put_u8(tables, 0);
        for (const char *letter = augmentation + 1; *letter; letter++) {
            if (*letter == 'R' || *letter == 'L')
                put_u8(tables, *letter == 'R' ? encoding : 0x1b);
            if (*letter == 'P') {
                put_u8(tables, 0x1b);
                put_fixed(tables, 0, 4);
            }
        }
        tables->bytes[length_at] = (uint8_t)(tables->used - length_at - 1 + (choice >= 0xf8));
    } else {
        encoding = SIG_PE_ABSPTR;
    }
    put_instructions(tables, input, encoding);
    close_entry(tables, start, choice);
    return encoding;
}

/* Returns the distance of the function from the start of the code. */
static inline uint64_t put_fde(struct fuzz_tables *tables, struct fuzz_input *input, size_t cie_at,
                               uint8_t cie_choice, uint8_t encoding, uint64_t distance)
{
    size_t start = tables->used;
    uint8_t choice = take_u8(input);
    put_fixed(tables, 0, 4);
    put_fixed(tables, tables->used - cie_at + (choice == 0xef ? take_number(input) : 0), 4);
    put_encoded(tables, encoding, tables->base + FUZZ_CODE_DISTANCE + distance);
    put_encoded_value(tables, encoding, choice < 0x80 ? 64 : take_number(input));
    if (cie_choice / 4 % 8 != 3 && cie_choice / 4 % 8 != 6)
        put_u8(tables, choice == 0xee ? take_u8(input) : 0);
    put_instructions(tables, input, encoding);
    close_entry(tables, start, choice);
    return start;
}

/* Header and search table, CIE, FDEs; after them the input may have changes of single bytes. */
static inline void fuzz_tables_build(struct fuzz_tables *tables, struct fuzz_input *input, uint64_t base)
{
    static const uint8_t frame_encodings[] = {0x1b, 0xff, 0x00, 0x3b, 0x09, 0x50, 0x1d, 0x02};
    static const uint8_t count_encodings[] = {0x03, 0x0b, 0x01, 0x02, 0x04, 0x00, 0x03, 0xff};
    uint8_t cie_choice, header = take_u8(input), functions = 1 + take_u8(input) % FUZZ_FUNCTIONS_MAX;
    tables->base = base;
    tables->used = 0;
    put_u8(tables, header == 0xff ? 0 : 1);
    put_u8(tables, frame_encodings[header % 8]);
    put_u8(tables, count_encodings[header / 8 % 8]);
    put_u8(tables, header == 0xfe ? 0x1b : 0x3b);
    put_encoded(tables, frame_encodings[header % 8], base);
    put_encoded_value(tables, count_encodings[header / 8 % 8], functions);
    size_t entries_at = tables->used, cie_at = entries_at + 8U * functions;
    put_bytes(tables, (uint8_t[8 * FUZZ_FUNCTIONS_MAX]){0}, 8U * functions);
    uint8_t encoding = put_cie(tables, input, &cie_choice);
    uint64_t distance = 0;
    for (uint8_t i = 0; i < functions; i++) {
        uint64_t fde = put_fde(tables, input, cie_at, cie_choice, encoding, distance);
        patch_u32(tables, entries_at + 8U * i, FUZZ_CODE_DISTANCE + distance);
        patch_u32(tables, entries_at + 8U * i + 4, fde);
        distance += 64;
    }
    for (int changes = take_u8(input) % 8; changes > 0 && tables->used > 0; changes--) {
        uint64_t at = take_fixed(input, 2) % tables->used;
        tables->bytes[at] = take_u8(input);
    }
}

#endif
