/*
 * Frames in the middle of stacks whose unwind rules are rare: each needs an expression of its own kind, or a
 * register that only its callees have saved. A thread for each, named like its function, which spins below it
 * for the seconds given.
 *
 * Every one of them is called by frame_by_rbp, which is lost without the rbp that its callee has, and calls
 * clobber_registers, which saves and overwrites whatever a callee may.
 */
/* test: not-aarch64 */
#include "target.h"

#include <pthread.h>
#include <stdlib.h>

#if !defined(__x86_64__)
#error "assembly for x86_64"
#endif

static uint64_t deadline_ns;

__attribute__((noinline, used)) void spin(void)
{
    while (now_ns() < deadline_ns) {
        for (volatile int i = 0; i < 10000; i++)
            ;
    }
}

/* Opcodes: DWARF 5 7.7.1 and 7.24. Data alignment is -8: the factored offset -2 is +16. */
#define FUNCTION(name) ".type " #name ", @function\n" #name ":\n.cfi_startproc\n"
#define END(name)      "ret\n.cfi_endproc\n.size " #name ", . - " #name "\n"

__asm__(
    ".text\n" /* frame_by_rbp(function): the function's CFA is our rbp - 16 */
    FUNCTION(
        frame_by_rbp) "push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n"
                      "mov %rsp, %rbp\n .cfi_def_cfa_register rbp\n"
                      "sub $16, %rsp\n"
                      "call *%rdi\n"
                      "leave\n .cfi_def_cfa rsp, 8\n" END(frame_by_rbp)

                          FUNCTION(
                              clobber_registers) "push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n"
                                                 "push %rbx\n .cfi_def_cfa_offset 24\n .cfi_offset rbx, -24\n"
                                                 "push %r12\n .cfi_def_cfa_offset 32\n .cfi_offset r12, -32\n"
                                                 "push %r13\n .cfi_def_cfa_offset 40\n .cfi_offset r13, -40\n"
                                                 "push %r14\n .cfi_def_cfa_offset 48\n .cfi_offset r14, -48\n"
                                                 "push %r15\n .cfi_def_cfa_offset 56\n .cfi_offset r15, -56\n"
                                                 "sub $8, %rsp\n .cfi_def_cfa_offset 64\n"
                                                 "mov $1, %ebp\n mov $2, %ebx\n mov $3, %r12d\n mov $4, "
                                                 "%r13d\n mov $5, %r14d\n mov $6, %r15d\n"
                                                 "call spin\n"
                                                 "add $8, %rsp\n .cfi_def_cfa_offset 56\n"
                                                 "pop %r15\n .cfi_def_cfa_offset 48\n pop %r14\n "
                                                 ".cfi_def_cfa_offset 40\n"
                                                 "pop %r13\n .cfi_def_cfa_offset 32\n pop %r12\n "
                                                 ".cfi_def_cfa_offset 24\n"
                                                 "pop %rbx\n .cfi_def_cfa_offset 16\n pop %rbp\n "
                                                 ".cfi_def_cfa_offset 8\n" END(clobber_registers)

                                                     FUNCTION(rbp_val_offset) /* rbp = CFA + 16 */
    "sub $8, %rsp\n .cfi_def_cfa_offset 16\n"
    "xor %ebp, %ebp\n .cfi_escape 0x15, 6, 0x7e\n"
    "call clobber_registers\n"
    "lea 32(%rsp), %rbp\n .cfi_same_value rbp\n"
    "add $8, %rsp\n .cfi_def_cfa_offset 8\n" END(rbp_val_offset)

        FUNCTION(rbp_val_expr) /* rbp = CFA + 16: lit16, plus */
    "sub $8, %rsp\n .cfi_def_cfa_offset 16\n"
    "xor %ebp, %ebp\n .cfi_escape 0x16, 6, 2, 0x40, 0x22\n"
    "call clobber_registers\n"
    "lea 32(%rsp), %rbp\n .cfi_same_value rbp\n"
    "add $8, %rsp\n .cfi_def_cfa_offset 8\n" END(rbp_val_expr)

        FUNCTION(
            rbp_expression) /* rbp saved at (CFA & -64) - 64, as icc does: const1s -64, and, const1s, plus */
    "push %rbx\n .cfi_def_cfa_offset 16\n .cfi_offset rbx, -16\n"
    "lea 16(%rsp), %rbx\n .cfi_def_cfa rbx, 0\n"
    "and $-64, %rsp\n"
    "sub $64, %rsp\n"
    "mov %rbp, (%rsp)\n .cfi_escape 0x10, 6, 6, 0x09, 0xc0, 0x1a, 0x09, 0xc0, 0x22\n"
    "xor %ebp, %ebp\n"
    "call clobber_registers\n"
    "mov (%rsp), %rbp\n .cfi_same_value rbp\n"
    "lea -16(%rbx), %rsp\n .cfi_def_cfa rsp, 16\n"
    "pop %rbx\n .cfi_def_cfa_offset 8\n" END(rbp_expression)

        FUNCTION(rbp_in_r12) "push %r12\n .cfi_def_cfa_offset 16\n .cfi_offset r12, -16\n"
                             "mov %rbp, %r12\n .cfi_register rbp, r12\n"
                             "xor %ebp, %ebp\n"
                             "call clobber_registers\n"
                             "mov %r12, %rbp\n .cfi_same_value rbp\n"
                             "pop %r12\n .cfi_def_cfa_offset 8\n" END(rbp_in_r12)

                                 FUNCTION(cfa_in_r12) /* the stack realigned, as icc's vector functions have
                                                         it with r13 */
    "push %r12\n .cfi_def_cfa_offset 16\n .cfi_offset r12, -16\n"
    "lea 16(%rsp), %r12\n .cfi_def_cfa r12, 0\n"
    "and $-64, %rsp\n"
    "call clobber_registers\n"
    "lea -16(%r12), %rsp\n .cfi_def_cfa rsp, 16\n"
    "pop %r12\n .cfi_def_cfa_offset 8\n" END(cfa_in_r12)

        FUNCTION(cfa_deref_twice) /* CFA = **rsp */
    "sub $24, %rsp\n .cfi_def_cfa_offset 32\n"
    "lea 32(%rsp), %rax\n mov %rax, 8(%rsp)\n"
    "lea 8(%rsp), %rax\n mov %rax, (%rsp)\n .cfi_escape 0x0f, 4, 0x77, 0, 0x06, 0x06\n"
    "call clobber_registers\n .cfi_def_cfa rsp, 32\n"
    "add $24, %rsp\n .cfi_def_cfa_offset 8\n" END(cfa_deref_twice)

        FUNCTION(cfa_multiplied) /* CFA = rsp + *rsp * 8, as OpenSSL has it */
    "sub $24, %rsp\n .cfi_def_cfa_offset 32\n"
    "movq $4, (%rsp)\n .cfi_escape 0x0f, 8, 0x77, 0, 0x77, 0, 0x06, 0x38, 0x1e, 0x22\n"
    "call clobber_registers\n .cfi_def_cfa rsp, 32\n"
    "add $24, %rsp\n .cfi_def_cfa_offset 8\n" END(cfa_multiplied)

        FUNCTION(ra_in_r13) "push %r13\n .cfi_def_cfa_offset 16\n .cfi_offset r13, -16\n"
                            "mov 8(%rsp), %r13\n .cfi_register rip, r13\n"
                            "movq $0, 8(%rsp)\n"
                            "call clobber_registers\n"
                            "mov %r13, 8(%rsp)\n .cfi_offset rip, -8\n"
                            "pop %r13\n .cfi_def_cfa_offset 8\n" END(ra_in_r13));

extern void frame_by_rbp(void (*function)(void));

#define CASES(X)                                                                                             \
    X(rbp_val_offset)                                                                                        \
    X(rbp_val_expr)                                                                                          \
    X(rbp_expression)                                                                                        \
    X(rbp_in_r12)                                                                                            \
    X(cfa_in_r12)                                                                                            \
    X(cfa_deref_twice)                                                                                       \
    X(cfa_multiplied)                                                                                        \
    X(ra_in_r13)

#define DECLARE(name) extern void name(void);
CASES(DECLARE)

struct rare {
    const char *name;
    void (*function)(void);
};

#define ENTRY(name) {#name, name},
static const struct rare cases[] = {CASES(ENTRY)};
enum { CASE_COUNT = sizeof(cases) / sizeof(cases[0]) };

static void *run(void *arg)
{
    const struct rare *rare = arg;
    pthread_setname_np(pthread_self(), rare->name);
    frame_by_rbp(rare->function);
    __asm__ volatile("" ::: "memory"); /* not a tail call */
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[CASE_COUNT];
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
    deadline_ns = now_ns() + (uint64_t)(seconds * 1e9);
    for (int i = 0; i < CASE_COUNT; i++)
        pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)&cases[i]);
    for (int i = 0; i < CASE_COUNT; i++) {
        pthread_join(threads[i], NULL);
        puts(cases[i].name);
    }
    return 0;
}
