/*
 * What differs between machines: registers, system calls, and how code, an interrupted system call and a
 * signal frame look. One header for each machine defines what this one declares.
 *
 * Constants of each machine, known to the compiler, so what only another machine needs costs nothing:
 *
 *   SIG_DWARF_*           DWARF numbers of the registers in struct sig_regs and of the return address column
 *   SIG_DWARF_PC          the number that stands for the pc itself in an expression
 *   SIG_DWARF_COUNT       how many sig_leaf_register knows
 *   SIG_RA_IN_EXTRA       calls leave the return address in the extra register (a link register), and a
 *                         function that makes no calls need not save it
 *   SIG_HAS_NEGATE_RA_STATE  return addresses may be signed, and unwind tables say where
 *   SIG_FP_STEP_HIDES_SP  frame records lie anywhere in their frames, so a step by frame pointer gives only
 *                         a lower bound of the caller's stack pointer
 *   SIG_CODE_ALIGN        instructions lie at multiples of this
 *   SIG_UCONTEXT_OFFSET   where the ucontext lies from the stack pointer at a signal trampoline's entry
 *   SIG_UCONTEXT_BYTES    how much of it sig_regs_from_context and sig_leaf_register read
 *   SIG_SYSTEM_CALL_BYTES see sig_is_system_call
 *   SIG_TRAMPOLINE_BYTES  see sig_is_trampoline
 *   SIG_CALL_BYTES_MAX    length of the longest call instruction
 *   SIG_DWARF_LANDING     a register that is saved only by code that lands an exception (libgcc's unwinder)
 *   SIG_DECODES_CALLS     sig_call.h finds the target of a call
 *   SIG_FP_IS_GHC_SP      the frame pointer is the stack pointer of Haskell threads (sig_ghc_stack.h)
 *   SIG_CODE_TELLS_RULES  the kernel's trampoline and what linkers make have no unwind tables, and are known
 *                         by their code (sig_code.h)
 *   SIG_ACTION_FLAGS      what the C library sets in every signal's action, and shows
 */
#ifndef WALLPROF_SIG_ARCH_H
#define WALLPROF_SIG_ARCH_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>

/* System calls that are newer than the headers of Debian 11. Both machines have the same numbers. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* The registers a walk carries from frame to frame: those that CFAs are computed from. */
struct sig_regs {
    uint64_t pc, sp, fp;
    uint64_t extra;         /* a third register, see SIG_DWARF_EXTRA of the machine */
    const ucontext_t *leaf; /* every register of the interrupted frame; NULL further out */
};

/* The interrupted registers; regs->leaf becomes the context, which must outlive them. */
static inline void sig_regs_from_context(struct sig_regs *regs, const ucontext_t *context);

/* Any register of the interrupted frame by its DWARF number; false where the context does not hold it. */
static inline bool sig_leaf_register(const ucontext_t *context, unsigned dwarf_register, uint64_t *ret);

/* Any register that holds one of the six arguments of a thread's system call; false for other registers. The
 * kernel does not change these registers. */
static inline bool sig_argument_register(const uint64_t *arguments, unsigned dwarf_register, uint64_t *ret);

/* For a context whose pc is on a system call's instruction: the call's number, its argument 0 or 1, and a
 * change of the context to be after the call, which has returned the result. */
static inline long sig_call_number(const ucontext_t *context);
static inline long sig_call_argument(const ucontext_t *context, int which);
static inline void sig_end_call(ucontext_t *context, long result);

/* Whether SIG_SYSTEM_CALL_BYTES of code are a system call's instruction. */
static inline bool sig_is_system_call(const uint8_t *code);

/* A return address without a signature in its unused bits. */
static inline uint64_t sig_plain_return_address(uint64_t address);

/* Whether SIG_CALL_BYTES_MAX bytes of code end in a call instruction. */
static inline bool sig_ends_in_call(const uint8_t *code);

/*
 * How many words lie on top of the return address of a function that uses a frame pointer and was interrupted
 * at code[at]. `bytes` of code are readable; SIG_LOOK_BACK_BYTES before code[at] and SIG_LOOK_AHEAD_BYTES
 * from there on are worth reading.
 *
 * 0 at the function's return, or before the instructions that set up the frame: the return address is on top
 * of the stack, or in the link register. 1 between these instructions. -1 if the code looks like neither.
 */
static inline int sig_words_on_return_address(const uint8_t *code, size_t at, size_t bytes);

/* A raw system call: the C library's wrappers write errno, which a thread made by raw clone may not have. */
static inline long sig_syscall6(long number, long a, long b, long c, long d, long e, long f);

/* Replaces a word that only this thread writes, if it is as expected. A handler that interrupts the thread
 * sees the old word or the new one. Other threads may read the word. */
static inline bool sig_replace_own(uint32_t *word, uint32_t expected, uint32_t desired);

static inline uint32_t sig_little_endian_32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

#if defined(__x86_64__)
#include "sig_arch_x86_64.h"
#elif defined(__aarch64__)
#include "sig_arch_aarch64.h"
#else
#error "wallprof knows x86_64 and aarch64 only"
#endif

/* ---- what follows from these on every machine ---- */

static inline long sig_syscall4(long number, long a, long b, long c, long d)
{
    return sig_syscall6(number, a, b, c, d, 0, 0);
}

/* Whether SIG_TRAMPOLINE_BYTES of code are the trampoline that a signal handler returns to. */
static inline bool sig_is_trampoline(const uint8_t *code)
{
    for (int i = 0; i < SIG_TRAMPOLINE_BYTES; i++) {
        if (code[i] != sig_trampoline_code[i])
            return false;
    }
    return true;
}

/*
 * The address after the system call in which the signal ended a wait, or 0 if it ended none.
 *
 * The kernel has either set -EINTR as the result, or set the pc back onto the instruction, which is then made
 * again. In both cases the instruction is next to the pc. It is readable if it lies on the page of the pc,
 * because the thread has just executed there; on another page it is not looked for.
 */
static inline uint64_t sig_after_system_call(const ucontext_t *context)
{
    enum { RESULT = 0 }; /* DWARF number of the register that returns a result: rax, x0 */
    struct sig_regs regs;
    uint64_t result;
    sig_regs_from_context(&regs, context);
    uint64_t in_page = regs.pc & 4095;
    if (regs.pc < 4096 || regs.pc % SIG_CODE_ALIGN != 0 || in_page < SIG_SYSTEM_CALL_BYTES ||
        in_page > 4096 - SIG_SYSTEM_CALL_BYTES)
        return 0;
    bool has_failed = sig_leaf_register(context, RESULT, &result) && result == (uint64_t)-EINTR;
    uint64_t at = has_failed ? regs.pc - SIG_SYSTEM_CALL_BYTES : regs.pc;
    return sig_is_system_call((const uint8_t *)(uintptr_t)at) ? at + SIG_SYSTEM_CALL_BYTES : 0;
}

/* Whether the instruction before the context's is a system call, which has returned, whatever it returned. */
static inline bool sig_has_made_system_call(const ucontext_t *context)
{
    struct sig_regs regs;
    sig_regs_from_context(&regs, context);
    return regs.pc >= 4096 && regs.pc % SIG_CODE_ALIGN == 0 && (regs.pc & 4095) >= SIG_SYSTEM_CALL_BYTES &&
           sig_is_system_call((const uint8_t *)(uintptr_t)(regs.pc - SIG_SYSTEM_CALL_BYTES));
}

#endif
