/*
 * Masks and other sets of signals. The kernel's masks never block our signals, and the program reads what it
 * set (sig_numbers.h).
 */
#include "hook_mask.h"
#include "hook.h"
#include "hook_argument.h"
#include "base/raw_calls.h"
#include "sig/signal/sig_action.h"
#include "sig/sys/sig_arch.h"
#include "sig/signal/sig_setup.h"
#include "sig/signal/sig_numbers.h"
#include "sig/signal/sig_process.h"
#include "sig/signal/sig_altstack.h"

#include <stddef.h>
#include <stdint.h>

/* The calling thread's mask, by a system call that meets no hook. errno stays as it is. */
static uint64_t kernel_mask(void)
{
    uint64_t mask = 0;
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, 0, (long)&mask, sizeof(mask));
    return mask;
}

void hook_mask_renew(void)
{
    if (sig_numbers_current() == 0)
        return;
    uint64_t mask = kernel_mask(), renewed = sig_numbers_renew(mask);
    if (renewed != mask)
        raw_set_mask(renewed);
}

uint64_t hook_mask_meant(void)
{
    return sig_numbers_current() ? sig_numbers_to_program(kernel_mask()) : 0;
}

uint64_t hook_mask_show(void)
{
    if (sig_numbers_current() == 0)
        return 0;
    uint64_t mask = kernel_mask(), shown = sig_numbers_to_program(mask);
    if (shown == mask || !sig_process_is_this())
        return 0;
    raw_set_mask(shown);
    return mask;
}

void hook_mask_hide(uint64_t mask)
{
    if (mask)
        raw_set_mask(mask);
}

/* A vfork child has a mask and actions of its own, but its parent's memory. */
void hook_mask_give_back_number(int number)
{
    if (number <= 0 || !(sig_numbers_all() & sig_numbers_bit(number)) || !sig_process_is_this())
        return;
    sig_setup_give_back(sig_numbers_bit(number), 0);
    hook_mask_renew();
}

/*
 * Whether the kernel can be given a set unchanged: the set has none of our signals, or the caller is a child
 * of vfork or _Fork, whose sets are the kernel's own, or we have no signal any more.
 */
static bool is_kernels_own(uint64_t set)
{
    return sig_numbers_is_plain(set) || sig_numbers_current() == 0 || !sig_process_is_this();
}

/* Gives signals back to the program until the set treats all of ours alike, or none is left to give back. */
uint64_t hook_mask_to_kernel(uint64_t set)
{
    uint64_t before = 0, numbers;
    if (is_kernels_own(set))
        return set;
    sig_numbers_note(set);
    while ((numbers = sig_numbers_singled_out(set)) != 0 && numbers != before) {
        sig_setup_give_back(numbers, set);
        before = numbers;
    }
    if (before)
        hook_mask_renew();
    return sig_numbers_to_kernel(set);
}

const sigset_t *hook_mask_for_kernel(const sigset_t *set, sigset_t *ret)
{
    uint64_t bits;
    if (!set || !hook_argument_read(&bits, set, sizeof(bits)))
        return set;
    sig_set_assign(ret, hook_mask_to_kernel(bits));
    return ret;
}

typedef int sigmask_fn(int how, const sigset_t *set, sigset_t *old);

/* The program's form of a mask of the kernel. */
static uint64_t to_program(uint64_t mask)
{
    bool is_kernels = !(mask & sig_numbers_all()) || !sig_process_is_this();
    return is_kernels ? mask : sig_numbers_to_program(mask);
}

/* Before the change: renews the mask if it was made when other numbers were ours, or for a small stack that
 * the thread has left by a jump. */
static void renew_and_change(sigmask_fn *real, int how, const sigset_t *change, uint64_t mask)
{
    uint64_t renewed = sig_numbers_renew(mask);
    if (sig_numbers_is_held_for_stack(mask) && !sig_altstack_is_here())
        renewed = sig_numbers_to_program(mask);
    if (renewed != mask && how != SIG_SETMASK && sig_process_is_this()) {
        raw_set_mask(renewed);
        real(how, change, NULL);
    }
}

/* As hook_mask_for_kernel, for a set that the C library reads too. */
static const sigset_t *set_for_kernel(const sigset_t *set, sigset_t *ret)
{
    if (!set || sig_numbers_is_plain(sig_set_bits(set)))
        return set;
    sig_set_assign(ret, hook_mask_to_kernel(sig_set_bits(set)));
    return ret;
}

/* Returns what the real function returns: -1 with errno, or an error number. The old mask is read only where
 * it is needed. */
static int change_mask(sigmask_fn *real, int how, const sigset_t *set, sigset_t *old)
{
    sigset_t kernels, unused;
    sigset_t *was = old || !sig_numbers_has_masks_to_change() ? old : &unused;
    const sigset_t *change = set_for_kernel(set, &kernels);
    uint64_t bits = change ? sig_set_bits(change) : 0; /* old may be the same object */
    int status = real(how, change, was);
    if (status != 0 || !was ||
        !(sig_set_bits(was) & sig_numbers_all())) /* most masks have none of our signals */
        return status;
    uint64_t mask = sig_set_bits(was);
    sig_set_assign(&kernels, bits);
    renew_and_change(real, how, change ? &kernels : NULL, mask);
    if (old)
        sig_set_assign(old, to_program(mask));
    return 0;
}

WALLPROF_HOOK int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    return change_mask(libc()->sigprocmask, how, set, old);
}

WALLPROF_HOOK int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    return change_mask(libc()->pthread_sigmask, how, set, old);
}

/* The new thread renews what was made when other numbers were ours (hook_thread.c). */
WALLPROF_HOOK int pthread_attr_setsigmask_np(pthread_attr_t *attributes, const sigset_t *set)
{
    sigset_t for_kernel = {0};
    return libc()->pthread_attr_setsigmask_np(attributes, set_for_kernel(set, &for_kernel));
}

WALLPROF_HOOK int pthread_attr_getsigmask_np(const pthread_attr_t *attributes, sigset_t *ret)
{
    int status = libc()->pthread_attr_getsigmask_np(attributes, ret);
    if (status == 0)
        sig_set_assign(ret, to_program(sig_set_bits(ret)));
    return status;
}

/* ---- older names of these ---- */

static int change_low_mask(int how, int bits)
{
    sigset_t set = {0}, old = {0};
    sig_set_assign(&set, (uint32_t)bits);
    return sigprocmask(how, &set, &old) < 0 ? -1 : (int)(uint32_t)sig_set_bits(&old);
}

WALLPROF_HOOK int sigblock(int bits)
{
    return change_low_mask(SIG_BLOCK, bits);
}

WALLPROF_HOOK int sigsetmask(int bits)
{
    return change_low_mask(SIG_SETMASK, bits);
}

WALLPROF_HOOK int siggetmask(void)
{
    return change_low_mask(SIG_BLOCK, 0);
}

static int change_one_signal(int how, int number)
{
    sigset_t set;
    sigemptyset(&set);
    return sigaddset(&set, number) < 0 ? -1 : sigprocmask(how, &set, NULL);
}

WALLPROF_HOOK int sighold(int number)
{
    return change_one_signal(SIG_BLOCK, number);
}

WALLPROF_HOOK int sigrelse(int number)
{
    return change_one_signal(SIG_UNBLOCK, number);
}
