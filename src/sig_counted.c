#include "sig_counted.h"
#include "sig_atomic.h"
#include "sig_wait.h"

#include <stddef.h>

/* Bytes between two entries; sig_counted_entries is laid out by it. */
enum { ENTRY_BYTES = 16 };

/* SIG_ERR is -1, and what is no function is small: SIG_DFL 0, SIG_IGN 1, SIG_HOLD 2. */
enum { LEAST_HANDLER = 16 };

/* Written once each, from 0 to a handler; read by the entry of the same number. */
uintptr_t sig_counted_handlers[SIG_COUNTED_MAX] __attribute__((visibility("hidden")));

extern const uint8_t sig_counted_entries[] __attribute__((visibility("hidden")));

_Static_assert(SIG_COUNTED_MAX == 256, "as many entries are below");
_Static_assert(offsetof(struct sig_wait, handled) == 0, "the entries count in the first word");
_Static_assert(sizeof(((struct sig_wait *)NULL)->handled) == 4, "of 32 bits");

/*
 * An entry may use what a function that is called may: on x86_64 rax and r11, on aarch64 x9 to x17. A signal
 * that comes between reading the count and writing it adds to it and is forgotten: the count has changed by
 * one all the same.
 */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".hidden sig_counted_entries\n"
        ".type sig_counted_entries, @function\n"
        "sig_counted_entries:\n"
        ".cfi_startproc\n"
        ".set number, 0\n"
        ".rept 256\n"
        ".p2align 4\n"
        "endbr64\n"
        "mov $number, %eax\n"
        "jmp 1f\n"
        ".set number, number + 1\n"
        ".endr\n"
        ".p2align 4\n"
        "1:\n"
        "mov sig_wait_here@gottpoff(%rip), %r11\n"
        "incl %fs:(%r11)\n"
        "lea sig_counted_handlers(%rip), %r11\n"
        "jmp *(%r11,%rax,8)\n"
        ".cfi_endproc\n"
        ".size sig_counted_entries, . - sig_counted_entries\n"
        ".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".hidden sig_counted_entries\n"
        ".type sig_counted_entries, %function\n"
        "sig_counted_entries:\n"
        ".cfi_startproc\n"
        ".set number, 0\n"
        ".rept 256\n"
        ".p2align 4\n"
        "hint #34\n" /* bti c */
        "mov w9, #number\n"
        "b 1f\n"
        ".set number, number + 1\n"
        ".endr\n"
        ".p2align 4\n"
        "1:\n"
        "adrp x10, :gottprel:sig_wait_here\n"
        "ldr x10, [x10, #:gottprel_lo12:sig_wait_here]\n"
        "mrs x11, tpidr_el0\n"
        "add x10, x10, x11\n"
        "ldr w11, [x10]\n"
        "add w11, w11, #1\n"
        "str w11, [x10]\n"
        "adrp x10, sig_counted_handlers\n"
        "add x10, x10, #:lo12:sig_counted_handlers\n"
        "ldr x16, [x10, x9, lsl #3]\n"
        "br x16\n"
        ".cfi_endproc\n"
        ".size sig_counted_entries, . - sig_counted_entries\n"
        ".popsection\n");
#else
#error "entries are to be written for this machine"
#endif

uintptr_t sig_counted(uintptr_t handler)
{
    if (handler < LEAST_HANDLER || handler == UINTPTR_MAX)
        return handler;
    for (size_t i = 0; i < SIG_COUNTED_MAX; i++) {
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
    return offset < SIG_COUNTED_MAX * ENTRY_BYTES && offset % ENTRY_BYTES == 0
               ? sig_load_relaxed(&sig_counted_handlers[offset / ENTRY_BYTES])
               : entry;
}
