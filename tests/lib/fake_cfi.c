#include "fake_cfi.h"

#include <string.h>

void cfi_put(struct table *table, const void *data, size_t bytes)
{
    assert_true(table->used + bytes <= TABLE_BYTES);
    memcpy(table->bytes + table->used, data, bytes);
    table->used += bytes;
}

static void cfi_put_u32(struct table *table, uint32_t value)
{
    cfi_put(table, &value, sizeof(value));
}

uint64_t cfi_base(const struct table *table)
{
    return (uint64_t)(uintptr_t)table->bytes;
}

void cfi_patch_u32(struct table *table, size_t at, uint32_t value)
{
    memcpy(table->bytes + at, &value, sizeof(value));
}

/* x86_64's usual CIE: CFA = sp + 8, return address at CFA - 8, code align 1, data align -8. */
const uint8_t usual_instructions[5] = {0x0c, SP, 8, CFA_OFFSET | RA, 1};

void cfi_add_cie(struct table *table, const char *augmentation, const void *instructions, size_t bytes)
{
    size_t start = table->used;
    table->cie_at = start;
    cfi_put_u32(table, 0); /* length, patched below */
    cfi_put_u32(table, 0); /* CIE id */
    cfi_put(table, "\1", 1);
    cfi_put(table, augmentation, strlen(augmentation) + 1);
    cfi_put(table, (const uint8_t[]){1, 0x78, RA},
            3); /* code align 1, data align -8, return address column */
    if (augmentation[0] == 'z')
        cfi_put(table, "\1\x1b", 2); /* one byte of data: FDE pointers are pcrel sdata4 */
    cfi_put(table, instructions, bytes);
    while ((table->used - start) % 8 != 4)
        cfi_put(table, "\0", 1); /* DW_CFA_nop */
    cfi_patch_u32(table, start, (uint32_t)(table->used - start - 4));
}

uint64_t cfi_function_pc(const struct table *table, uint32_t index)
{
    return cfi_base(table) + FUNCTION_PC + (uint64_t)index * FUNCTION_BYTES;
}

void cfi_add_fde(struct table *table, const void *instructions, size_t bytes)
{
    size_t start = table->used;
    uint64_t pc = cfi_function_pc(table, table->fde_count);
    cfi_put_u32(table, 0);
    cfi_put_u32(table, (uint32_t)(table->used - table->cie_at));
    cfi_put_u32(table, (uint32_t)(pc - (cfi_base(table) + table->used)));
    cfi_put_u32(table, FUNCTION_BYTES);
    cfi_put(table, "\0", 1); /* no augmentation data */
    cfi_put(table, instructions, bytes);
    while ((table->used - start) % 8 != 4)
        cfi_put(table, "\0", 1);
    cfi_patch_u32(table, start, (uint32_t)(table->used - start - 4));
    cfi_patch_u32(table, 12 + 8 * table->fde_count, (uint32_t)(pc - cfi_base(table)));
    cfi_patch_u32(table, 16 + 8 * table->fde_count, (uint32_t)start);
    table->fde_count++;
    cfi_patch_u32(table, 8, table->fde_count);
}

void cfi_begin(struct table *table)
{
    static const uint8_t header[] = {1, 0x1b, 0x03, 0x3b};
    memset(table, 0, sizeof(*table));
    cfi_put(table, header, sizeof(header));
    cfi_put_u32(table, FRAME_AT - 4);
    table->used = FRAME_AT;
    table->module = (struct sig_module){.start_pc = cfi_base(table) + FUNCTION_PC,
                                        .end_pc = cfi_base(table) + FUNCTION_PC + FUNCTIONS * FUNCTION_BYTES,
                                        .eh_frame_hdr = cfi_base(table),
                                        .cfi_low = cfi_base(table),
                                        .cfi_high = cfi_base(table) + TABLE_BYTES};
}

void cfi_one_function(struct table *table, const void *instructions, size_t bytes)
{
    cfi_begin(table);
    cfi_add_cie(table, "zR", usual_instructions, sizeof(usual_instructions));
    cfi_add_fde(table, instructions, bytes);
}

struct sig_rule frame_rule(uint8_t cfa_register, int32_t cfa_offset, int32_t fp_offset)
{
    struct sig_rule rule = {.kind = SIG_RULE_FRAME, .cfa_register = cfa_register, .cfa_offset = cfa_offset};
    rule.ra = (struct sig_saved){.kind = SIG_SAVED_AT_CFA, .offset = -8};
    if (SIG_RA_IN_EXTRA)
        rule.extra = rule.ra;
    if (fp_offset)
        rule.fp = (struct sig_saved){.kind = SIG_SAVED_AT_CFA, .offset = fp_offset};
    return rule;
}
