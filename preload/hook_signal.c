/*
 * sigaction and signal, for our signal only: the program's action is kept and answered, the kernel's stays
 * ours, but for the stack it runs on.
 *
 * Every other signal goes straight through, but for its handler, which is counted (sig_counted.h); and so
 * does ours in a child of vfork and its kind, whose actions are its own, where only our handler is not to be
 * seen.
 */
#include "real.h"
#include "sig_counted.h"
#include "sig_handler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static bool is_ours(int number)
{
    return number != 0 && number == sig_handler_signal() && sig_handler_is_of_this_process();
}

static void count(struct sigaction *action)
{
    action->sa_handler =
        (real_handler_fn *)sig_counted((uintptr_t)action->sa_handler, action->sa_flags & SA_RESTART);
}

/* The C library has chosen the flags (siginterrupt); the entry goes with them. */
static void count_again(int number)
{
    struct sigaction action;
    if (real_functions()->sigaction(number, NULL, &action) < 0 || action.sa_flags & SA_RESTART)
        return;
    action.sa_handler = (real_handler_fn *)sig_uncounted((uintptr_t)action.sa_handler);
    count(&action);
    real_functions()->sigaction(number, &action, NULL);
}

/* What the program had set. */
static void reveal(struct sigaction *action)
{
    sig_handler_translate(action);
    action->sa_handler = (real_handler_fn *)sig_uncounted((uintptr_t)action->sa_handler);
}

WALLPROF_HOOK int sigaction(int number, const struct sigaction *restrict action,
                            struct sigaction *restrict old)
{
    if (is_ours(number)) {
        sig_handler_swap_action(action, old);
        if (action)
            sig_handler_follow_action(real_functions()->sigaction);
        return 0;
    }
    struct sigaction counted;
    if (action) {
        counted = *action;
        count(&counted);
    }
    int status = real_functions()->sigaction(number, action ? &counted : NULL, old);
    if (status == 0 && old)
        reveal(old);
    return status;
}

/* signal() of the C library means BSD semantics: restarting, not reset, its own signal blocked meanwhile. */
WALLPROF_HOOK real_handler_fn *signal(int number, real_handler_fn *handler)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old = {0};
    if (!is_ours(number) || handler == SIG_ERR) {
        old.sa_handler =
            real_functions()->signal(number, (real_handler_fn *)sig_counted((uintptr_t)handler, true));
        if (old.sa_handler != SIG_ERR)
            count_again(number);
        reveal(&old);
        return old.sa_handler;
    }
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, number);
    sig_handler_swap_action(&action, &old);
    sig_handler_follow_action(real_functions()->sigaction);
    return old.sa_handler;
}
