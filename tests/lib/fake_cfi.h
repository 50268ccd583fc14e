/* Unwind tables written by hand: a module of functions whose CFA instructions a test gives. */
#ifndef WALLPROF_TESTS_FAKE_CFI_H
#define WALLPROF_TESTS_FAKE_CFI_H

#include "unit.h"
#include "sig/sys/sig_arch.h"
#include "sig/ground/sig_modules.h"

#include <string.h>

/* The registers' numbers, as short as they must be in the tables. */
enum { SP = SIG_DWARF_SP, FP = SIG_DWARF_FP, EXTRA = SIG_DWARF_EXTRA, RA = SIG_DWARF_RA };
enum { CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0, BREG = 0x70 }; /* with a register's number added */

enum { FUNCTION_PC = 0x1000, FUNCTION_BYTES = 0x100, FUNCTIONS = 16, TABLE_BYTES = 4096, FRAME_AT = 64 };

/* One module: .eh_frame_hdr at the start of `bytes`, .eh_frame at FRAME_AT, the functions at FUNCTION_PC. */
struct table {
    _Alignas(8) uint8_t bytes[FUNCTION_PC + FUNCTIONS * FUNCTION_BYTES];
    size_t used;
    size_t cie_at;
    uint32_t fde_count;
    struct sig_module module;
};

static inline void put(struct table *table, const void *data, size_t bytes)
{
    assert_true(table->used + bytes <= TABLE_BYTES);
    memcpy(table->bytes + table->used, data, bytes);
    table->used += bytes;
}

static inline void put_u32(struct table *table, uint32_t value)
{
    put(table, &value, sizeof(value));
}

static inline uint64_t base_of(const struct table *table)
{
    return (uint64_t)(uintptr_t)table->bytes;
}

static inline void patch_u32(struct table *table, size_t at, uint32_t value)
{
    memcpy(table->bytes + at, &value, sizeof(value));
}

/* x86_64's usual CIE: CFA = sp + 8, return address at CFA - 8, code align 1, data align -8. */
static const uint8_t usual_instructions[] = {0x0c, SP, 8, CFA_OFFSET | RA, 1};

static inline void add_cie(struct table *table, const char *augmentation, const void *instructions,
                           size_t bytes)
{
    size_t start = table->used;
    table->cie_at = start;
    put_u32(table, 0); /* length, patched below */
    put_u32(table, 0); /* CIE id */
    put(table, "\1", 1);
    put(table, augmentation, strlen(augmentation) + 1);
    put(table, (const uint8_t[]){1, 0x78, RA}, 3); /* code align 1, data align -8, return address column */
    if (augmentation[0] == 'z')
        put(table, "\1\x1b", 2); /* one byte of data: FDE pointers are pcrel sdata4 */
    put(table, instructions, bytes);
    while ((table->used - start) % 8 != 4)
        put(table, "\0", 1); /* DW_CFA_nop */
    patch_u32(table, start, (uint32_t)(table->used - start - 4));
}

static inline uint64_t function_pc(const struct table *table, uint32_t index)
{
    return base_of(table) + FUNCTION_PC + (uint64_t)index * FUNCTION_BYTES;
}

static inline void add_fde(struct table *table, const void *instructions, size_t bytes)
{
    size_t start = table->used;
    uint64_t pc = function_pc(table, table->fde_count);
    put_u32(table, 0);
    put_u32(table, (uint32_t)(table->used - table->cie_at));
    put_u32(table, (uint32_t)(pc - (base_of(table) + table->used)));
    put_u32(table, FUNCTION_BYTES);
    put(table, "\0", 1); /* no augmentation data */
    put(table, instructions, bytes);
    while ((table->used - start) % 8 != 4)
        put(table, "\0", 1);
    patch_u32(table, start, (uint32_t)(table->used - start - 4));
    patch_u32(table, 12 + 8 * table->fde_count, (uint32_t)(pc - base_of(table)));
    patch_u32(table, 16 + 8 * table->fde_count, (uint32_t)start);
    table->fde_count++;
    patch_u32(table, 8, table->fde_count);
}

static inline void begin(struct table *table)
{
    static const uint8_t header[] = {1, 0x1b, 0x03, 0x3b};
    memset(table, 0, sizeof(*table));
    put(table, header, sizeof(header));
    put_u32(table, FRAME_AT - 4);
    table->used = FRAME_AT;
    table->module = (struct sig_module){.start_pc = base_of(table) + FUNCTION_PC,
                                        .end_pc = base_of(table) + FUNCTION_PC + FUNCTIONS * FUNCTION_BYTES,
                                        .eh_frame_hdr = base_of(table),
                                        .cfi_low = base_of(table),
                                        .cfi_high = base_of(table) + TABLE_BYTES};
}

/* A table with one function, whose FDE has these instructions. */
static inline void one_function(struct table *table, const void *instructions, size_t bytes)
{
    begin(table);
    add_cie(table, "zR", usual_instructions, sizeof(usual_instructions));
    add_fde(table, instructions, bytes);
}

#endif
