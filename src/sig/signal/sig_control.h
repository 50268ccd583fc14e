/*
 * The signal that starts and stops the recording (WALLPROF_CONTROL_SIGNAL). Its handler counts, and wakes the
 * sampler. As it is no handler of the program, hooks make the waits again that it cuts short.
 */
#ifndef WALLPROF_SIG_CONTROL_H
#define WALLPROF_SIG_CONTROL_H

#include "sig_action.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* The thread that starts the session, before sig_setup_install: sets the handler. False if the number's
 * action is not the default one. real: the C library's own. A forked child inherits the handler. */
bool sig_control_install(int number, sig_sigaction_fn *real);

/* In the process that is recorded from now on: the word to increment and wake (a shared futex), or NULL. */
void sig_control_wake(uint32_t *word);

/* In a child that is not recorded: sets the number's action to the default one. */
void sig_control_uninstall(void);

/* How often the signal has come. */
uint32_t sig_control_count(void);

/* Hooks: the program sets an action of its own for this number, which is the program's from now on. The
 * sampler reads whether that has happened. */
void sig_control_give_back(int number);
bool sig_control_is_given_back(void);

/* Hooks: shows the program the default action instead of our handler. */
void sig_control_hide(int number, struct sigaction *action);

#endif
