/*
 * fork, vfork, _Fork, daemon and forkpty. The sampler is paused around a fork, for two reasons. The child's
 * copy of our memory is consistent. No signal restarts the fork (each did before Linux 4.19).
 *
 * Signals are blocked while the C library forks. Because of our thread it takes its locks, those of malloc
 * among them, and releases them in the child after signals can be delivered there (glibc's fork.c, _Fork). A
 * handler that allocates would wait for ever. In a program of one thread it would not without us.
 *
 * A child of vfork or _Fork is never touched. It has the mask that the program believes it has, and its hooks
 * only call the C library.
 */
#include "hook_process.h"
#include "hook_mask.h"
#include "hook.h"
#include "base/raw_calls.h"
#include "session/session.h"
#include "sig/signal/sig_numbers.h"
#include "sig/signal/sig_process.h"
#include "sig/signal/sig_wait.h"

#include <errno.h>
#include <pty.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* ---- signals during a fork ---- */

/* Between prepare and the restoring. initial-exec: nothing is allocated at the first use. */
static __thread uint64_t mask_before_fork __attribute__((tls_model("initial-exec")));
static __thread bool is_blocked_for_fork __attribute__((tls_model("initial-exec")));

static void restore_mask_after_fork(void)
{
    if (!is_blocked_for_fork)
        return;
    is_blocked_for_fork = false;
    raw_set_mask(mask_before_fork);
}

/*
 * The handlers are registered before the program's, so prepare runs last and the others run first, at which
 * point the C library has released malloc's locks. Before glibc 2.36 it still holds that of the list of fork
 * handlers: a pending signal's handler that forks would wait for ever (BZ #24595).
 *
 * Faults are not blocked, since handlers of libraries that were initialised before us run between the two.
 */
void hook_fork_prepare(void)
{
    bool has_signal = sig_numbers_current() != 0; /* else a filter may not allow a call of ours */
    if (has_signal && !is_blocked_for_fork) {
        mask_before_fork = raw_set_mask(~SIG_WAIT_NEVER_BLOCKED);
        is_blocked_for_fork = true;
    }
    session_hold_for_fork();
}

void hook_fork_parent(void)
{
    session_release();
    restore_mask_after_fork();
}

void hook_fork_child(void)
{
    restore_mask_after_fork();
}

/* ---- the hooks ---- */

/*
 * Called after all handlers of pthread_atfork, which run in the order of their registration. A session
 * creates a thread, and the program's malloc may be unusable before its own handler has run.
 */
static void restart_in_child(void)
{
    uint64_t meant = hook_mask_meant();
    session_restart_in_child();
    if (sig_process_is_this())
        hook_mask_renew();
    else /* left alone */
        hook_mask_hide(meant);
}

WALLPROF_HOOK pid_t fork(void)
{
    pid_t pid = libc()->fork();
    if (pid == 0)
        restart_in_child();
    return pid;
}

WALLPROF_ALSO(__fork, fork);

/* These fork inside the C library, without our hook of fork. */
WALLPROF_HOOK int daemon(int keep_directory, int keep_streams)
{
    pid_t before = getpid();
    session_note_daemon();
    int status = libc()->daemon(keep_directory, keep_streams);
    if (getpid() != before)
        restart_in_child();
    else
        session_cancel_exit_note();
    return status;
}

WALLPROF_HOOK pid_t forkpty(int *primary, char *name, const struct termios *termios,
                            const struct winsize *size)
{
    pid_t pid = libc_apart()->forkpty(primary, name, termios, size);
    if (pid == 0)
        restart_in_child();
    return pid;
}

WALLPROF_HOOK pid_t _Fork(void)
{
    uint64_t mask = hook_mask_show();
    pid_t pid = libc()->_Fork();
    if (pid != 0)
        hook_mask_hide(mask);
    return pid;
}

/*
 * The child of vfork returns on the caller's stack, before its parent does, and overwrites the return address
 * there. So the return address and the parent's mask are kept in registers that the system call does not
 * change, as the C library does.
 */
__attribute__((visibility("hidden"), used)) uint64_t hook_vfork_begin(void)
{
    uint64_t mask = hook_mask_show();
    sig_wait_here.lent_to_children++; /* the child runs from here on */
    return mask;
}

__attribute__((visibility("hidden"), used)) long hook_vfork_end(long result, uint64_t mask)
{
    sig_wait_here.lent_to_children--;
    if (sig_wait_here.filter_of_child > sig_wait_here.lent_to_children)
        sig_wait_here.filter_of_child = 0;
    hook_mask_hide(mask);
    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".globl vfork\n"
        ".type vfork, @function\n"
        "vfork:\n"
        "    .cfi_startproc\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    call hook_vfork_begin\n"
        "    addq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    .cfi_register %rip, %rdi\n"
        "    movq %rax, %rsi\n" /* the mask */
        "    movl $58, %eax\n"  /* SYS_vfork */
        "    syscall\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset %rip, 0\n"
        "    testq %rax, %rax\n"
        "    je 1f\n"
        "    movq %rax, %rdi\n"
        "    jmp hook_vfork_end\n"
        "1:  ret\n"
        "    .cfi_endproc\n"
        ".size vfork, . - vfork\n"
        ".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
        ".globl vfork\n"
        ".type vfork, %function\n"
        "vfork:\n"
        "    .cfi_startproc\n"
        "    stp x29, x30, [sp, #-16]!\n"
        "    .cfi_adjust_cfa_offset 16\n"
        "    .cfi_rel_offset x30, 8\n"
        "    bl hook_vfork_begin\n"
        "    ldp x29, x30, [sp], #16\n"
        "    .cfi_adjust_cfa_offset -16\n"
        "    .cfi_restore x30\n"
        "    mov x5, x0\n"      /* the mask */
        "    mov x0, #0x4111\n" /* CLONE_VM | CLONE_VFORK | SIGCHLD */
        "    mov x1, #0\n"
        "    mov x2, #0\n"
        "    mov x3, #0\n"
        "    mov x4, #0\n"
        "    mov x8, #220\n" /* SYS_clone */
        "    svc #0\n"
        "    cbz x0, 1f\n"
        "    mov x1, x5\n"
        "    b hook_vfork_end\n"
        "1:  ret\n"
        "    .cfi_endproc\n"
        ".size vfork, . - vfork\n"
        ".popsection\n");
#endif
