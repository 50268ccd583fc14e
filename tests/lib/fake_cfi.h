/* Unwind tables written by hand: a module of functions whose CFA instructions a test gives. */
#ifndef WALLPROF_FAKE_CFI_H
#define WALLPROF_FAKE_CFI_H

#include "unit.h"
#include "sig/sys/sig_arch.h"
#include "sig/cfi/sig_cfi.h"
#include "sig/ground/sig_modules.h"

/* The registers' numbers, as short as they must be in the tables. */
enum { SP = SIG_DWARF_SP, FP = SIG_DWARF_FP, EXTRA = SIG_DWARF_EXTRA, RA = SIG_DWARF_RA };
enum { CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0, BREG = 0x70 }; /* with a register's number added */

enum { FUNCTION_PC = 0x1000, FUNCTION_BYTES = 0x100, FUNCTIONS = 16, TABLE_BYTES = 4096, FRAME_AT = 64 };

/* One module: .eh_frame_hdr at the start of `bytes`, .eh_frame at FRAME_AT, the functions at FUNCTION_PC. A
 * page begins where it begins: instructions that lie across two pages are not read. */
struct table {
    _Alignas(4096) uint8_t bytes[FUNCTION_PC + FUNCTIONS * FUNCTION_BYTES];
    size_t used;
    size_t cie_at;
    uint32_t fde_count;
    struct sig_module module;
};

void cfi_put(struct table *table, const void *data, size_t bytes);
uint64_t cfi_base(const struct table *table);
void cfi_patch_u32(struct table *table, size_t at, uint32_t value);

extern const uint8_t usual_instructions[5];

void cfi_add_cie(struct table *table, const char *augmentation, const void *instructions, size_t bytes);
uint64_t cfi_function_pc(const struct table *table, uint32_t index);
void cfi_add_fde(struct table *table, const void *instructions, size_t bytes);
void cfi_begin(struct table *table);

/* A table with one function, whose FDE has these instructions. */
void cfi_one_function(struct table *table, const void *instructions, size_t bytes);

/* As most tables give it: the return address below the CFA, and with an fp_offset the frame pointer. */
struct sig_rule frame_rule(uint8_t cfa_register, int32_t cfa_offset, int32_t fp_offset);

#endif
