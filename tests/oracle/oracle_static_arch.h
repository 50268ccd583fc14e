/*
 * What the static oracle must know of the machine: libunwind's header and names, and a function whose rules
 * are known. Four rows of one instruction each; the last one has no caller.
 */
#ifndef WALLPROF_ORACLE_STATIC_ARCH_H
#define WALLPROF_ORACLE_STATIC_ARCH_H

#include "sig/sys/sig_arch.h"
#include "sig/cfi/sig_cfi.h"

#include <elf.h>

#define KNOWN_FUNCTION_BEGIN                                                                                 \
    ".pushsection .text\n"                                                                                   \
    ".balign 4\n"                                                                                            \
    ".type oracle_known_function, %function\n"                                                               \
    "oracle_known_function:\n"                                                                               \
    ".cfi_startproc\n"                                                                                       \
    "nop\n"
#define KNOWN_FUNCTION_END                                                                                   \
    "nop\n"                                                                                                  \
    ".cfi_endproc\n"                                                                                         \
    ".size oracle_known_function, . - oracle_known_function\n"                                               \
    ".popsection\n"
extern const char oracle_known_function[];

#if defined(__x86_64__)

#include <libunwind-x86_64.h>

enum {
    ORACLE_MACHINE = EM_X86_64,
    THEIR_SP = UNW_X86_64_RSP,
    THEIR_RA = UNW_X86_64_RIP,
    THEIR_FP = UNW_X86_64_RBP,
    THEIR_EXTRA = UNW_X86_64_RBX,
};

#define KNOWN_FUNCTION                                                                                       \
    KNOWN_FUNCTION_BEGIN                                                                                     \
    ".cfi_def_cfa_offset 32\n"                                                                               \
    ".cfi_offset rbx, -24\n"                                                                                 \
    "nop\n"                                                                                                  \
    ".cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06\n" /* CFA = *(rbp - 8) */                                      \
    ".cfi_register rbp, r10\n"                                                                               \
    "nop\n"                                                                                                  \
    ".cfi_def_cfa rsp, 8\n"                                                                                  \
    ".cfi_undefined rip\n" KNOWN_FUNCTION_END

static const struct sig_rule known_rules[] = {
    {.kind = SIG_RULE_FRAME, .cfa_register = 7, .cfa_offset = 8, .ra = {SIG_SAVED_AT_CFA, 0, -8}},
    {.kind = SIG_RULE_FRAME,
     .cfa_register = 7,
     .cfa_offset = 32,
     .ra = {SIG_SAVED_AT_CFA, 0, -8},
     .extra = {SIG_SAVED_AT_CFA, 0, -24}},
    {.kind = SIG_RULE_FRAME,
     .cfa_register = 6,
     .cfa_deref = true,
     .cfa_offset = -8,
     .ra = {SIG_SAVED_AT_CFA, 0, -8},
     .fp = {SIG_SAVED_IN_REGISTER, 10, 0},
     .extra = {SIG_SAVED_AT_CFA, 0, -24}},
    {.kind = SIG_RULE_ROOT},
};

#else

#include <libunwind-aarch64.h>

enum {
    ORACLE_MACHINE = EM_AARCH64,
    THEIR_SP = UNW_AARCH64_SP,
    THEIR_RA = UNW_AARCH64_X30,
    THEIR_FP = UNW_AARCH64_X29,
    THEIR_EXTRA = UNW_AARCH64_X30,
};

#define KNOWN_FUNCTION                                                                                       \
    KNOWN_FUNCTION_BEGIN                                                                                     \
    ".cfi_def_cfa_offset 32\n"                                                                               \
    ".cfi_offset x29, -32\n"                                                                                 \
    ".cfi_offset x30, -24\n"                                                                                 \
    "nop\n"                                                                                                  \
    ".cfi_escape 0x0f, 0x03, 0x8d, 0x78, 0x06\n" /* CFA = *(x29 - 8) */                                      \
    ".cfi_register x29, x10\n"                                                                               \
    "nop\n"                                                                                                  \
    ".cfi_def_cfa sp, 0\n"                                                                                   \
    ".cfi_undefined x30\n" KNOWN_FUNCTION_END

static const struct sig_rule known_rules[] = {
    {.kind = SIG_RULE_FRAME, .cfa_register = 31, .cfa_offset = 0},
    {.kind = SIG_RULE_FRAME,
     .cfa_register = 31,
     .cfa_offset = 32,
     .ra = {SIG_SAVED_AT_CFA, 0, -24},
     .fp = {SIG_SAVED_AT_CFA, 0, -32},
     .extra = {SIG_SAVED_AT_CFA, 0, -24}},
    {.kind = SIG_RULE_FRAME,
     .cfa_register = 29,
     .cfa_deref = true,
     .cfa_offset = -8,
     .ra = {SIG_SAVED_AT_CFA, 0, -24},
     .fp = {SIG_SAVED_IN_REGISTER, 10, 0},
     .extra = {SIG_SAVED_AT_CFA, 0, -24}},
    {.kind = SIG_RULE_ROOT},
};

#endif

#endif
