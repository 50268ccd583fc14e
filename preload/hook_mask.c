/*
 * sigprocmask and pthread_sigmask: a program's mask never holds our signal back, and what it reads is what it
 * set.
 *
 * Worker threads that block every signal are common (xz, jemalloc, libuv); they would never answer. So our
 * signal is taken out of what the kernel is told, and whether the program has it in its mask is remembered
 * per thread. A new thread inherits that as it inherits the mask.
 */
#include "hook_mask.h"
#include "real.h"
#include "sig_handler.h"

#include <stddef.h>

/* initial-exec: a fixed offset from the thread pointer, never allocated lazily. */
static __thread bool program_blocks_our_signal __attribute__((tls_model("initial-exec")));

bool hook_mask_get(void)
{
    return program_blocks_our_signal;
}

void hook_mask_set(bool blocks)
{
    program_blocks_our_signal = blocks;
}

void hook_mask_init(void)
{
    sigset_t ours, old;
    sigemptyset(&ours);
    sigaddset(&ours, sig_handler_signal());
    if (real_functions()->pthread_sigmask(SIG_UNBLOCK, &ours, &old) == 0)
        program_blocks_our_signal |= sigismember(&old, sig_handler_signal()) == 1;
}

/* What is blocked or not in the kernel, past ourselves. */
static void set_kernel(int how, int number)
{
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, number);
    real_functions()->pthread_sigmask(how, &ours, NULL);
}

void hook_mask_give_back(int number)
{
    if (program_blocks_our_signal)
        set_kernel(SIG_BLOCK, number);
    program_blocks_our_signal = false;
}

static bool has_other_mask(void)
{
    return program_blocks_our_signal && sig_handler_is_of_this_process();
}

void hook_mask_show(void)
{
    if (has_other_mask())
        set_kernel(SIG_BLOCK, sig_handler_signal());
}

void hook_mask_hide(void)
{
    if (has_other_mask())
        set_kernel(SIG_UNBLOCK, sig_handler_signal());
}

/*
 * A process of vfork, _Fork or clone has been started with the mask that the program believes in, and has its
 * parent's memory, or a copy that is nobody's any more: its masks are the kernel's.
 */
static bool is_kernels_own(int number, const sigset_t *set)
{
    return number == 0 || ((program_blocks_our_signal || (set && sigismember(set, number) == 1)) &&
                           !sig_handler_is_of_this_process());
}

typedef int sigmask_fn(int how, const sigset_t *set, sigset_t *old);

static void remember(int how, bool is_in_set)
{
    bool now = how == SIG_SETMASK ? is_in_set : is_in_set ? how == SIG_BLOCK : program_blocks_our_signal;
    program_blocks_our_signal = now;
}

/* Returns what the real function returns: -1 with errno or an error number, as the case may be. */
static int change_mask(sigmask_fn *real, int how, const sigset_t *set, sigset_t *old)
{
    int number = sig_handler_signal();
    bool was_blocked = program_blocks_our_signal;
    sigset_t without;
    if (is_kernels_own(number, set))
        return real(how, set, old);
    if (set) {
        without = *set;
        sigdelset(&without, number);
    }
    int status = real(how, set ? &without : NULL, old);
    if (status == 0 && set)
        remember(how, sigismember(set, number) == 1);
    if (status == 0 && old && was_blocked)
        sigaddset(old, number);
    return status;
}

WALLPROF_HOOK int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    return change_mask(real_functions()->sigprocmask, how, set, old);
}

WALLPROF_HOOK int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    return change_mask(real_functions()->pthread_sigmask, how, set, old);
}
