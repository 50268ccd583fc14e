#include "sig_control.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "sig_handler.h"
#include "sig_process.h"

#include <linux/futex.h>
#include <stddef.h>

static struct {
    int number;             /* atomic: 0 without */
    uint32_t count;         /* atomic */
    uint32_t is_given_back; /* atomic */
    uint32_t *word;         /* atomic: the sampler's */
    sig_sigaction_fn *real;
} sig_control;

static void handle_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    uint32_t *word = sig_load_acquire(&sig_control.word); /* partner: the release in sig_control_wake */
    if (!word || !sig_process_is_this())
        return;
    sig_handler_spare_wait(context);
    sig_add_seq_cst(&sig_control.count, 1);
    sig_add_seq_cst(word, 1);
    sig_syscall4(SYS_futex, (long)word, FUTEX_WAKE, INT32_MAX, 0);
}

bool sig_control_install(int number, sig_sigaction_fn *real)
{
    struct sigaction old, action; /* a compiler may copy an initialiser by memcpy */
    action.sa_sigaction = handle_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sig_set_assign(&action.sa_mask, ~(uint64_t)0);
    if (real(number, NULL, &old) < 0 || (old.sa_flags & SA_SIGINFO) || old.sa_handler != SIG_DFL)
        return false;
    sig_control.real = real;
    sig_store_relaxed(&sig_control.number, number);
    return real(number, &action, NULL) == 0;
}

void sig_control_wake(uint32_t *word)
{
    sig_store_release(&sig_control.word, word); /* partner: the acquire in handle_signal */
}

void sig_control_uninstall(void)
{
    int number = sig_load_relaxed(&sig_control.number);
    struct sigaction action = {.sa_handler = SIG_DFL};
    sig_control_wake(NULL);
    if (number && !sig_control_is_given_back())
        sig_control.real(number, &action, NULL);
    sig_store_relaxed(&sig_control.number, 0);
}

uint32_t sig_control_count(void)
{
    return sig_load_seq_cst(&sig_control.count);
}

void sig_control_give_back(int number)
{
    if (number && number == sig_load_relaxed(&sig_control.number))
        sig_store_relaxed(&sig_control.is_given_back, 1);
}

bool sig_control_is_given_back(void)
{
    return sig_load_relaxed(&sig_control.is_given_back) != 0;
}

void sig_control_hide(int number, struct sigaction *action)
{
    static const struct sigaction none = {.sa_handler = SIG_DFL};
    bool is_ours = number == sig_load_relaxed(&sig_control.number) && (action->sa_flags & SA_SIGINFO) &&
                   action->sa_sigaction == handle_signal;
    if (is_ours)
        sig_action_copy(action, &none);
}
