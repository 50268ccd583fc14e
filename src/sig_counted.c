#include "sig_counted.h"
#include "sig_atomic.h"
#include "sig_restart.h"
#include "sig_wait.h"

#include <stddef.h>

/* Bytes between two entries; they are laid out by it. */
enum { ENTRY_BYTES = 16 };

/* SIG_ERR is -1, and what is no function is small: SIG_DFL 0, SIG_IGN 1, SIG_HOLD 2. */
enum { LEAST_HANDLER = 16 };

/* Written once each, from 0 to a handler; read by the entry of the same number. Those without SA_RESTART come
 * second. */
uintptr_t sig_counted_handlers[2 * SIG_COUNTED_MAX] __attribute__((visibility("hidden")));

extern const uint8_t sig_counted_entries[] __attribute__((visibility("hidden")));

_Static_assert(SIG_COUNTED_MAX == 256, "as many entries are below");
_Static_assert(offsetof(struct sig_wait, handled) == 0, "the entries count in the first word");
_Static_assert(sizeof(((struct sig_wait *)NULL)->handled) == 4, "of 32 bits");

/*
 * An entry may use what a function that is called may: on x86_64 rax and r11, on aarch64 x9 to x17. A signal
 * that comes between reading the count and writing it adds to it and is forgotten: the count has changed by
 * one all the same. Where the kernel has put the context: struct rt_sigframe, in
 * arch/x86/include/asm/sigframe.h behind the return address, in arch/arm64/kernel/signal.c behind the
 * siginfo.
 */
#if defined(__x86_64__)
#define ENTRIES(first, common)                                                                               \
    ".set number, " #first "\n"                                                                              \
    ".rept 256\n"                                                                                            \
    ".p2align 4\n"                                                                                           \
    "endbr64\n"                                                                                              \
    "mov $number, %eax\n"                                                                                    \
    "jmp " #common "\n"                                                                                      \
    ".set number, number + 1\n"                                                                              \
    ".endr\n"                                                                                                \
    ".p2align 4\n"
#define COUNT                                                                                                \
    "mov sig_wait_here@gottpoff(%rip), %r11\n"                                                               \
    "incl %fs:(%r11)\n"
#define GO_ON                                                                                                \
    "lea sig_counted_handlers(%rip), %r11\n"                                                                 \
    "jmp *(%r11,%rax,8)\n"
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".hidden sig_counted_entries\n"
        ".type sig_counted_entries, @function\n"
        "sig_counted_entries:\n"
        ".cfi_startproc\n" ENTRIES(0, 1f) ENTRIES(256, 2f) /* the jumps are to the two below */
        "1:\n" COUNT GO_ON                                 /* with SA_RESTART */
        "2:\n" COUNT                                       /* without */
        "push %rdi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "push %rsi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "push %rdx\n"
        ".cfi_adjust_cfa_offset 8\n"
        "push %rax\n"
        ".cfi_adjust_cfa_offset 8\n"
        "lea 40(%rsp), %rdi\n"
        "sub $8, %rsp\n"
        ".cfi_adjust_cfa_offset 8\n"
        "call sig_restart_end\n"
        "add $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "pop %rax\n"
        ".cfi_adjust_cfa_offset -8\n"
        "pop %rdx\n"
        ".cfi_adjust_cfa_offset -8\n"
        "pop %rsi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "pop %rdi\n"
        ".cfi_adjust_cfa_offset -8\n" GO_ON ".cfi_endproc\n"
        ".size sig_counted_entries, . - sig_counted_entries\n"
        ".popsection\n");
#elif defined(__aarch64__)
#define ENTRIES(first, common)                                                                               \
    ".set number, " #first "\n"                                                                              \
    ".rept 256\n"                                                                                            \
    ".p2align 4\n"                                                                                           \
    "hint #34\n" /* bti c */                                                                                 \
    "mov w9, #number\n"                                                                                      \
    "b " #common "\n"                                                                                        \
    ".set number, number + 1\n"                                                                              \
    ".endr\n"                                                                                                \
    ".p2align 4\n"
#define COUNT                                                                                                \
    "adrp x10, :gottprel:sig_wait_here\n"                                                                    \
    "ldr x10, [x10, #:gottprel_lo12:sig_wait_here]\n"                                                        \
    "mrs x11, tpidr_el0\n"                                                                                   \
    "add x10, x10, x11\n"                                                                                    \
    "ldr w11, [x10]\n"                                                                                       \
    "add w11, w11, #1\n"                                                                                     \
    "str w11, [x10]\n"
#define GO_ON                                                                                                \
    "adrp x10, sig_counted_handlers\n"                                                                       \
    "add x10, x10, #:lo12:sig_counted_handlers\n"                                                            \
    "ldr x16, [x10, x9, lsl #3]\n"                                                                           \
    "br x16\n"
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".hidden sig_counted_entries\n"
        ".type sig_counted_entries, %function\n"
        "sig_counted_entries:\n"
        ".cfi_startproc\n" ENTRIES(0, 1f) ENTRIES(256, 2f) /* the branches are to the two below */
        "1:\n" COUNT GO_ON                                 /* with SA_RESTART */
        "2:\n" COUNT                                       /* without */
        "stp x29, x30, [sp, #-48]!\n"
        ".cfi_adjust_cfa_offset 48\n"
        ".cfi_rel_offset x29, 0\n"
        ".cfi_rel_offset x30, 8\n"
        "stp x0, x1, [sp, #16]\n"
        "stp x2, x9, [sp, #32]\n"
        "add x0, sp, #176\n" /* 48 and the siginfo's 128 */
        "bl sig_restart_end\n"
        "ldp x2, x9, [sp, #32]\n"
        "ldp x0, x1, [sp, #16]\n"
        "ldp x29, x30, [sp], #48\n"
        ".cfi_adjust_cfa_offset -48\n"
        ".cfi_restore x29\n"
        ".cfi_restore x30\n" GO_ON ".cfi_endproc\n"
        ".size sig_counted_entries, . - sig_counted_entries\n"
        ".popsection\n");
#else
#error "entries are to be written for this machine"
#endif

uintptr_t sig_counted(uintptr_t handler, bool restarts)
{
    if (handler < LEAST_HANDLER || handler == UINTPTR_MAX)
        return handler;
    size_t first = restarts ? 0 : SIG_COUNTED_MAX;
    for (size_t i = first; i < first + SIG_COUNTED_MAX; i++) {
        uintptr_t there = sig_load_relaxed(&sig_counted_handlers[i]); /* never changes once it is not 0 */
        if (there == 0 && sig_cas_acq_rel(&sig_counted_handlers[i], &there, handler))
            there = handler; /* partner: the kernel, which is told of the entry after this */
        if (there == handler)
            return (uintptr_t)sig_counted_entries + i * ENTRY_BYTES;
    }
    return handler;
}

uintptr_t sig_uncounted(uintptr_t entry)
{
    uintptr_t offset = entry - (uintptr_t)sig_counted_entries;
    return offset < sizeof(sig_counted_handlers) / sizeof(sig_counted_handlers[0]) * ENTRY_BYTES &&
                   offset % ENTRY_BYTES == 0
               ? sig_load_relaxed(&sig_counted_handlers[offset / ENTRY_BYTES])
               : entry;
}
