/*
 * How to step from a frame to its caller at an exact pc, from the module's own .eh_frame, evaluated in place.
 *
 * Called from: signal handlers and the sampler thread. Pure: reads mapped memory, keeps nothing.
 * Bounded: every read stays inside the segment that holds the tables, and every loop is counted. Hostile or
 * truncated tables give SIG_RULE_NONE or SIG_RULE_UNSUPPORTED.
 *
 * Standards: DWARF 5 section 6.4 (call frame information) and 7.24 (its encoding); LSB 5.0 Core, chapter 10
 * (.eh_frame and .eh_frame_hdr, pointer encodings); System V ABI AMD64 supplement 3.7 and 4.2.4.
 */
#ifndef WALLPROF_SIG_CFI_H
#define WALLPROF_SIG_CFI_H

#include "sig/sys/sig_arch.h"
#include "sig_eh_frame.h"
#include "sig/ground/sig_modules.h"

#include <stdbool.h>
#include <stdint.h>

enum sig_rule_kind {
    SIG_RULE_NONE,        /* no unwind information at this pc */
    SIG_RULE_FRAME,       /* an ordinary frame: the fields below say where the caller's registers are */
    SIG_RULE_SIGNAL,      /* a signal trampoline: the interrupted registers are in the ucontext at sp */
    SIG_RULE_ROOT,        /* the return address is undefined: the outermost frame of the thread */
    SIG_RULE_UNSUPPORTED, /* there is information, but none that a rule can express */
};

/* Where the caller's value of a register is. */
enum sig_saved_kind {
    SIG_SAVED_SAME,        /* unchanged in the register */
    SIG_SAVED_AT_CFA,      /* in memory at CFA + offset */
    SIG_SAVED_AT_REGISTER, /* in memory at this frame's register + offset */
    SIG_SAVED_IN_REGISTER, /* in another register; known in the interrupted frame only */
    SIG_SAVED_UNDEFINED,   /* nowhere, as the table says; for the return address: there is no caller */
    SIG_SAVED_UNKNOWN,     /* where a rule cannot express it */
};

struct sig_saved {
    uint8_t kind;           /* enum sig_saved_kind */
    uint8_t dwarf_register; /* for the two register kinds */
    int32_t offset;         /* bytes */
};

struct sig_rule {
    uint8_t kind;         /* enum sig_rule_kind */
    uint8_t cfa_register; /* DWARF number */
    bool not_called;      /* SIG_RULE_NONE: no call stands before the return address (sig_fp_chain.h) */
    bool starts_here;   /* SIG_RULE_ROOT: the return address is the start of a function that nobody called */
    bool may_land;      /* another frame's return address may have replaced this one (sig_eh_landing.h) */
    bool cfa_deref;     /* CFA = *(register + offset) + offset_after instead of register + offset */
    int32_t cfa_offset; /* bytes */
    int32_t cfa_offset_after;
    struct sig_saved ra, fp, extra;
};

/* The rule at lookup_pc, an address inside an instruction (for a caller: return address - 1). With
 * careful_reads the tables are read through the kernel, as is needed for a module that can be unmapped. */
void sig_cfi_rule(const struct sig_module *module, uint64_t lookup_pc, bool careful_reads,
                  struct sig_rule *ret);

/* ---- rows: what a rule is made of, with every register and every way of saving one ---- */

/* What a row says of a register: DWARF 5 6.4.1. */
enum sig_column_kind {
    SIG_COLUMN_UNSPECIFIED,   /* nothing: for the stack pointer the CFA, for others the same value */
    SIG_COLUMN_SAME,          /* same value */
    SIG_COLUMN_UNDEFINED,     /* undefined */
    SIG_COLUMN_AT_CFA,        /* offset(N): in memory at CFA + N */
    SIG_COLUMN_IS_CFA,        /* val_offset(N): CFA + N itself */
    SIG_COLUMN_IN_REGISTER,   /* register(R) */
    SIG_COLUMN_AT_EXPRESSION, /* expression(E): in memory at E */
    SIG_COLUMN_IS_EXPRESSION, /* val_expression(E): E itself */
    SIG_COLUMN_UNKNOWN,       /* out of range */
};

struct sig_column {
    uint8_t kind;           /* enum sig_column_kind */
    uint8_t dwarf_register; /* R */
    int32_t offset;         /* N in bytes; for an expression see sig_column_block */
};

struct sig_cfa {
    uint64_t expression;     /* run-time address of the block that gives the CFA instead, 0 for none */
    int32_t offset;          /* bytes */
    uint32_t dwarf_register; /* SIG_CFA_UNKNOWN: out of range */
};

enum { SIG_CFA_UNKNOWN = 255 }; /* higher than any register's number */

enum {
    SIG_ROW_REMEMBERED = 8,            /* nesting of DW_CFA_remember_state; real code nests once or twice */
    SIG_ROW_ALL = SIG_DWARF_COUNT + 1, /* by DWARF number; the last one is for all higher numbers */
    SIG_ROW_COPIES = 2 + SIG_ROW_REMEMBERED,
};

struct sig_row_request {
    const struct sig_module *module;
    uint64_t lookup_pc;
    bool careful_reads;
    struct sig_cie cie;
    struct sig_fde fde;
};

/* The request for the row at lookup_pc. False when there is no such row, or the tables are damaged. */
bool sig_cfi_find(const struct sig_module *module, uint64_t lookup_pc, bool careful_reads,
                  struct sig_row_request *ret);

/* sig_cfi_rule for a caller with little stack: memory is SIG_ROW_COPIES rows of SIG_FEW_COUNT columns. */
void sig_cfi_rule_in(struct sig_column *memory, const struct sig_module *module, uint64_t lookup_pc,
                     bool careful_reads, struct sig_rule *ret);

/* The columns that a rule is made of; the first one is for all other registers. */
enum { SIG_FEW_REST, SIG_FEW_RA, SIG_FEW_FP, SIG_FEW_EXTRA, SIG_FEW_SP, SIG_FEW_LANDING, SIG_FEW_COUNT };

/* Works out a row of column_count columns: SIG_ROW_ALL, by DWARF number, or SIG_FEW_COUNT. memory is
 * SIG_ROW_COPIES such rows, of which the first is the result. False when the table is damaged. */
bool sig_cfi_row(const struct sig_row_request *request, unsigned column_count, struct sig_column *memory,
                 struct sig_cfa *ret);

/* Run-time address of the expression block of a column. */
static inline uint64_t sig_column_block(const struct sig_module *module, const struct sig_column *column)
{
    return module->cfi_low + (uint64_t)(int64_t)column->offset;
}

/*
 * aarch64's _dl_runtime_resolve: the PLT has pushed 16 bytes, with the return address in them, but the table
 * counts from below these. So it puts the return address above the CFA, where no other code saves it. Rows
 * that count from another register than sp (longjmp's, from its argument) are right.
 */
enum { SIG_PLT_PUSHES_BYTES = 16, SIG_RA_IN_PUSHED = 8 };

/* Whether the function of a row is the trampoline that signal handlers return to. */
bool sig_cfi_is_trampoline(const struct sig_row_request *row);

#endif
