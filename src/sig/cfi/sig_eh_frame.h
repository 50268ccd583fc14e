/*
 * From a pc to the unwind table entries that cover it: .eh_frame_hdr's search table, the FDE, its CIE.
 *
 * Called from: signal handlers and the sampler thread. Pure; bounded as sig_reader.h says.
 * Standard: LSB 5.0 Core 10.6 (.eh_frame, .eh_frame_hdr), DWARF 5 section 6.4.1.
 */
#ifndef WALLPROF_SIG_EH_FRAME_H
#define WALLPROF_SIG_EH_FRAME_H

#include "sig/ground/sig_modules.h"

#include <stdbool.h>
#include <stdint.h>

/* What several functions have in common. Instructions are run-time addresses of CFA instructions. */
struct sig_cie {
    uint64_t instructions, instructions_end;
    uint64_t code_align;
    int64_t data_align;
    uint64_t ra_register;
    uint8_t fde_encoding;
    bool has_augmentation_data;
    bool is_signal_frame;
};

/* One function's own. */
struct sig_fde {
    uint64_t start_pc, end_pc;
    uint64_t instructions, instructions_end;
};

/* The search table in .eh_frame_hdr: where its pairs are and how many. False if there is none, or one of
 * another form. *ret_eh_frame is set in any case: the address of .eh_frame by .eh_frame_hdr, or 0. */
bool sig_eh_frame_search_table(const struct sig_module *module, bool careful_reads, uint64_t *ret_entries,
                               uint64_t *ret_count, uint64_t *ret_eh_frame);

/* The address of the entry of .eh_frame after the one at an address, 0 at the end or if the section is
 * damaged; and the entry itself, false if it is no FDE. */
uint64_t sig_eh_frame_next(const struct sig_module *module, uint64_t at, bool careful_reads);
bool sig_eh_frame_read(const struct sig_module *module, uint64_t at, bool careful_reads,
                       struct sig_cie *ret_cie, struct sig_fde *ret_fde);

/* The last entry of the search table that starts at or before pc; false if all start after it. */
bool sig_eh_frame_search(const struct sig_module *module, uint64_t pc, bool careful_reads,
                         uint64_t *ret_start, uint64_t *ret_fde);

/* The CIE and FDE whose function holds lookup_pc; false if there is none or the tables are damaged. */
bool sig_eh_frame_find(const struct sig_module *module, uint64_t lookup_pc, bool careful_reads,
                       struct sig_cie *ret_cie, struct sig_fde *ret_fde);

/* For an address in no function of the tables: the start of the code around it, which is the end of the
 * function before it, or the start of the module. */
uint64_t sig_eh_frame_gap_start(const struct sig_module *module, uint64_t lookup_pc, bool careful_reads);

/* Where the function around an address starts; 0 if the tables do not say. Tables of a module that can be
 * unmapped are read through the kernel. */
uint64_t sig_eh_frame_function_start(const struct sig_module *module, uint64_t lookup_pc);

#endif
