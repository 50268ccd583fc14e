#include "sig_trampolines.h"
#include "sig/sys/sig_atomic.h"
#include "sig_restart.h"
#include "sig_altstack.h"
#include "sig_numbers.h"
#include "sig_wait.h"

#include <signal.h>
#include <stddef.h>

/* From one entry to the next: .p2align 4 below. */
enum { ENTRY_BYTES = 16 };

/* What is no function is SIG_ERR, which is -1, or small: SIG_DFL 0, SIG_IGN 1, SIG_HOLD 2. */
enum { LEAST_HANDLER = 16 };

/* Entries are laid out by kind, which is a sum of these. Each kind has as many. */
enum { WITHOUT_RESTART = 1, WITH_ONSTACK = 2, KINDS = 4 };

/* Written once each, from 0 to a handler; read by the entry of the same number. */
uintptr_t sig_trampoline_handlers[KINDS * SIG_TRAMPOLINES_MAX]
    __attribute__((visibility("hidden"), section(".bss.tables")));

extern const uint8_t sig_trampoline_entries[] __attribute__((visibility("hidden")));

_Static_assert(SIG_TRAMPOLINES_MAX == 256, "as many entries are below");
_Static_assert(offsetof(struct sig_wait, handled) == 0, "the entries count in the first word");
_Static_assert(sizeof(((struct sig_wait *)NULL)->handled) == 4, "of 32 bits");
_Static_assert(offsetof(struct sig_wait, hold) == 8, "where the entries look for a hold");

/* What entries with SA_ONSTACK call. */
__attribute__((used)) static void on_stack(const ucontext_t *context)
{
    sig_altstack_enter(context, sig_numbers_held_for_stacks());
}

__attribute__((used)) static void on_stack_and_end(ucontext_t *context)
{
    on_stack(context);
    sig_restart_end(context);
}

/*
 * An entry may use the registers that any called function may: on x86_64 rax and r11, on aarch64 x9 to x17.
 * If a signal comes between the load of the count and the store, its increment is lost, but the count has
 * changed all the same. The context is in struct rt_sigframe: after the return address in
 * arch/x86/include/asm/sigframe.h, after the siginfo in arch/arm64/kernel/signal.c.
 */
#if defined(__x86_64__)
#define FUNCTION_TYPE "@function"
#define ENTRY(common)                                                                                        \
    "endbr64\n"                                                                                              \
    "mov $number, %eax\n"                                                                                    \
    "jmp " #common "\n"
#define COUNT_AND_TEST_HOLD /* to 9: if there is none */                                                     \
    "mov sig_wait_here@gottpoff(%rip), %r11\n"                                                               \
    "incl %fs:(%r11)\n"                                                                                      \
    "cmpq $0, %fs:8(%r11)\n"                                                                                 \
    "je 9f\n"
#define GO_ON                                                                                                \
    "lea sig_trampoline_handlers(%rip), %r11\n"                                                              \
    "jmp *(%r11,%rax,8)\n"
#define CALL(function) /* the context lies after the return address */                                       \
    "sub $40, %rsp\n"                                                                                        \
    ".cfi_adjust_cfa_offset 40\n"                                                                            \
    "mov %rdi, (%rsp)\n"                                                                                     \
    "mov %rsi, 8(%rsp)\n"                                                                                    \
    "mov %rdx, 16(%rsp)\n"                                                                                   \
    "mov %rax, 24(%rsp)\n"                                                                                   \
    "lea 48(%rsp), %rdi\n"                                                                                   \
    "call " #function "\n"                                                                                   \
    "mov 24(%rsp), %rax\n"                                                                                   \
    "mov 16(%rsp), %rdx\n"                                                                                   \
    "mov 8(%rsp), %rsi\n"                                                                                    \
    "mov (%rsp), %rdi\n"                                                                                     \
    "add $40, %rsp\n"                                                                                        \
    ".cfi_adjust_cfa_offset -40\n"
#elif defined(__aarch64__)
#define FUNCTION_TYPE "%function"
#define ENTRY(common)                                                                                        \
    "hint #34\n" /* bti c */                                                                                 \
    "mov w9, #number\n"                                                                                      \
    "b " #common "\n"
#define COUNT_AND_TEST_HOLD                                                                                  \
    "adrp x10, :gottprel:sig_wait_here\n"                                                                    \
    "ldr x10, [x10, #:gottprel_lo12:sig_wait_here]\n"                                                        \
    "mrs x11, tpidr_el0\n"                                                                                   \
    "add x10, x10, x11\n"                                                                                    \
    "ldr w11, [x10]\n"                                                                                       \
    "add w11, w11, #1\n"                                                                                     \
    "str w11, [x10]\n"                                                                                       \
    "ldr x11, [x10, #8]\n"                                                                                   \
    "cbz x11, 9f\n"
#define GO_ON                                                                                                \
    "adrp x10, sig_trampoline_handlers\n"                                                                    \
    "add x10, x10, #:lo12:sig_trampoline_handlers\n"                                                         \
    "ldr x16, [x10, x9, lsl #3]\n"                                                                           \
    "br x16\n"
#define CALL(function) /* the context lies after the siginfo's 128 bytes */                                  \
    "stp x29, x30, [sp, #-48]!\n"                                                                            \
    ".cfi_adjust_cfa_offset 48\n"                                                                            \
    ".cfi_rel_offset x29, 0\n"                                                                               \
    ".cfi_rel_offset x30, 8\n"                                                                               \
    "stp x0, x1, [sp, #16]\n"                                                                                \
    "stp x2, x9, [sp, #32]\n"                                                                                \
    "add x0, sp, #176\n"                                                                                     \
    "bl " #function "\n"                                                                                     \
    "ldp x2, x9, [sp, #32]\n"                                                                                \
    "ldp x0, x1, [sp, #16]\n"                                                                                \
    "ldp x29, x30, [sp], #48\n"                                                                              \
    ".cfi_adjust_cfa_offset -48\n"                                                                           \
    ".cfi_restore x29\n"                                                                                     \
    ".cfi_restore x30\n"
#else
#error "entries are to be written for this machine"
#endif

#define COUNT COUNT_AND_TEST_HOLD CALL(sig_wait_end_hold) "9:\n"

#define ENTRIES(first, common)                                                                               \
    ".set number, " #first "\n"                                                                              \
    ".rept 256\n"                                                                                            \
    ".p2align 4\n" ENTRY(common) ".set number, number + 1\n"                                                 \
                                 ".endr\n"                                                                   \
                                 ".p2align 4\n"

/* Each jumps to the common part of its kind. */
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".hidden sig_trampoline_entries\n"
        ".type sig_trampoline_entries, " FUNCTION_TYPE "\n"
        "sig_trampoline_entries:\n"
        ".cfi_startproc\n" ENTRIES(0, 1f) ENTRIES(256, 2f) ENTRIES(512, 3f)
            ENTRIES(768, 4f) "1:\n" COUNT GO_ON "2:\n" COUNT CALL(sig_restart_end) GO_ON
        "3:\n" COUNT CALL(on_stack) GO_ON "4:\n" COUNT CALL(on_stack_and_end) GO_ON
        ".cfi_endproc\n"
        ".size sig_trampoline_entries, . - sig_trampoline_entries\n"
        ".popsection\n");

uintptr_t sig_trampoline(uintptr_t handler, int flags)
{
    if (handler < LEAST_HANDLER || handler == UINTPTR_MAX)
        return handler;
    size_t kind = (flags & SA_RESTART ? 0U : WITHOUT_RESTART) + (flags & SA_ONSTACK ? WITH_ONSTACK : 0U);
    size_t first = kind * SIG_TRAMPOLINES_MAX;
    for (size_t i = first; i < first + SIG_TRAMPOLINES_MAX; i++) {
        uintptr_t there = sig_load_relaxed(&sig_trampoline_handlers[i]); /* never changes once it is not 0 */
        if (there == 0 && sig_cas_acq_rel(&sig_trampoline_handlers[i], &there, handler))
            there = handler; /* partner: the kernel, which is told of the entry after this */
        if (there == handler)
            return (uintptr_t)sig_trampoline_entries + i * ENTRY_BYTES;
    }
    return handler;
}

/* The index of an entry; too high a number if it is none. */
static size_t index_of(uintptr_t entry)
{
    uintptr_t offset = entry - (uintptr_t)sig_trampoline_entries;
    return offset % ENTRY_BYTES == 0 ? offset / ENTRY_BYTES : SIZE_MAX;
}

uintptr_t sig_trampoline_handler(uintptr_t entry)
{
    size_t index = index_of(entry);
    return index < KINDS * SIG_TRAMPOLINES_MAX ? sig_load_relaxed(&sig_trampoline_handlers[index]) : entry;
}

/* Of each kind the first is used first. */
bool sig_trampoline_some_let_in(void)
{
    const size_t with_restart = WITH_ONSTACK * (size_t)SIG_TRAMPOLINES_MAX,
                 without = (WITH_ONSTACK + WITHOUT_RESTART) * (size_t)SIG_TRAMPOLINES_MAX;
    return sig_load_relaxed(&sig_trampoline_handlers[with_restart]) ||
           sig_load_relaxed(&sig_trampoline_handlers[without]);
}

bool sig_trampoline_lets_in(uintptr_t entry)
{
    size_t index = index_of(entry);
    return index >= WITH_ONSTACK * SIG_TRAMPOLINES_MAX && index < KINDS * SIG_TRAMPOLINES_MAX;
}
