/*
 * sigaction and signal, for our signal only: the program's action is kept and answered, the kernel's stays
 * ours, but for the stack it runs on.
 *
 * Every other signal goes straight through.
 */
#include "real.h"
#include "sig_handler.h"

#include <stdbool.h>

static bool is_ours(int number)
{
    return number != 0 && number == sig_handler_signal() && sig_handler_is_of_this_process();
}

WALLPROF_HOOK int sigaction(int number, const struct sigaction *restrict action,
                            struct sigaction *restrict old)
{
    if (!is_ours(number))
        return real_functions()->sigaction(number, action, old);
    sig_handler_swap_action(action, old);
    if (action)
        sig_handler_follow_action(real_functions()->sigaction);
    return 0;
}

/* signal() of the C library means BSD semantics: restarting, not reset, its own signal blocked meanwhile. */
WALLPROF_HOOK real_handler_fn *signal(int number, real_handler_fn *handler)
{
    if (!is_ours(number) || handler == SIG_ERR)
        return real_functions()->signal(number, handler);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, number);
    sig_handler_swap_action(&action, &old);
    sig_handler_follow_action(real_functions()->sigaction);
    return old.sa_handler;
}
