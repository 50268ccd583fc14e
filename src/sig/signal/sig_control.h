/*
 * The signal that starts and stops the recording (WALLPROF_CONTROL_SIGNAL): a handler that counts, and wakes
 * the sampler. It is no handler of the program's, so calls that it cuts short go on where hooks see to that.
 */
#ifndef WALLPROF_SIG_CONTROL_H
#define WALLPROF_SIG_CONTROL_H

#include "sig_action.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The thread that starts the session, before sig_setup_install: the handler is set, unless the number has
 * another action than the default one already; false then. real: the C library's own. A forked child has the
 * handler from its parent.
 */
bool sig_control_install(int number, sig_sigaction_fn *real);

/* In the process that is recorded from now on: the word to be counted up and woken (a shared futex); NULL:
 * none.
 */
void sig_control_wake(uint32_t *word);

/* In a child that is not recorded: the number's action is the default one again. */
void sig_control_uninstall(void);

/* How often it has come, in all. */
uint32_t sig_control_count(void);

/* Hooks: the program sets an action of its own for this number, which it has from now on. The sampler:
 * whether that has been. */
void sig_control_give_back(int number);
bool sig_control_is_given_back(void);

/* Hooks: what the program reads where our handler is, is the default action. */
void sig_control_hide(int number, struct sigaction *action);

#endif
