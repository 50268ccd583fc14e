#include "sig_prologue.h"
#include "sig/sys/sig_memory.h"

#include <stdbool.h>

#if defined(__x86_64__)

enum {
    WORD_BYTES = 8,
    PROLOGUE_BYTES_MAX = 192,
    FRAME_RECORD_BYTES = 16, /* the return address and the caller's frame pointer, right below the CFA */
    SUB_SHORT_BYTES = 4,     /* 48 83 ec ib */
    SUB_LONG_BYTES = 7,      /* 48 81 ec id */
};

/* The offset after mov %rsp,%rbp, or 0. */
static size_t after_set_up(const uint8_t *code, size_t bytes)
{
    enum { MOV_BYTES = 3 };
    for (size_t i = 0; i + MOV_BYTES <= bytes; i++) {
        if (sig_sets_up_frame(code + i))
            return i + MOV_BYTES;
    }
    return 0;
}

/* N of sub $N,%rsp, or 0. */
static uint32_t taken_by_sub(const uint8_t *code, size_t bytes)
{
    if (bytes < SUB_SHORT_BYTES || code[0] != 0x48 || code[2] != 0xec)
        return 0;
    if (code[1] == 0x83)
        return code[3] < 0x80 ? code[3] : 0;
    if (code[1] != 0x81 || bytes < SUB_LONG_BYTES)
        return 0;
    return sig_little_endian_32(code + 3);
}

/* How many bytes of registers were pushed below the frame record, by the row. */
static uint32_t pushed_bytes(const struct sig_column *row)
{
    int32_t lowest = -FRAME_RECORD_BYTES;
    for (int i = 0; i < SIG_DWARF_COUNT; i++) {
        if (row[i].kind == SIG_COLUMN_AT_CFA && row[i].offset < lowest)
            lowest = row[i].offset;
    }
    return (uint32_t)(-FRAME_RECORD_BYTES - lowest);
}

static size_t add_guess(uint32_t *guesses, size_t count, uint32_t bytes)
{
    if (bytes % WORD_BYTES != 0 || count == SIG_PROLOGUE_GUESSES)
        return count;
    for (size_t i = 0; i < count; i++) {
        if (guesses[i] == bytes / WORD_BYTES)
            return count;
    }
    guesses[count] = bytes / WORD_BYTES;
    return count + 1;
}

size_t sig_prologue_distances(const struct sig_module *module, uint64_t lookup_pc, struct sig_column *rows,
                              uint32_t ret[SIG_PROLOGUE_GUESSES])
{
    struct sig_row_request request;
    struct sig_cfa cfa;
    uint8_t code[PROLOGUE_BYTES_MAX];
    size_t count = 0;
    if (!sig_cfi_find(module, lookup_pc, true, &request))
        return 0;
    uint64_t start_pc = request.fde.start_pc, bytes = lookup_pc - start_pc;
    bytes = bytes < sizeof(code) ? bytes : sizeof(code);
    if (!sig_cfi_row(&request, SIG_ROW_ALL, rows, &cfa) || cfa.expression ||
        cfa.dwarf_register != SIG_DWARF_FP || cfa.offset != FRAME_RECORD_BYTES ||
        !sig_memory_copy(code, start_pc, bytes))
        return 0;
    uint32_t pushed = pushed_bytes(rows);
    size_t at = after_set_up(code, bytes);
    for (size_t i = at; at > 0 && i < bytes; i++) {
        uint32_t taken = taken_by_sub(code + i, bytes - i);
        if (taken > 0)
            count = add_guess(ret, add_guess(ret, count, pushed + taken), taken);
    }
    return at > 0 ? add_guess(ret, count, pushed) : 0;
}

#endif
