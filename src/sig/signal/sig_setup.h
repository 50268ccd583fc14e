/* Which signal numbers are ours, in the kernel and for the hooks: taking them and giving them back. */
#ifndef WALLPROF_SIG_SETUP_H
#define WALLPROF_SIG_SETUP_H

#include "sig_action.h"
#include "sig_slots.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Chooses the numbers (sig_numbers.h), signal_number first if it is free (0: no wish), installs the handler
 * and connects it to the slots. Returns 0 or -EINVAL. The actions that were in place become the program's.
 * Called by a process's first thread, with NULL for the slots, since no request is sent yet. real_sigaction
 * is the C library's own, not its hook.
 */
int sig_setup_install(int signal_number, struct sig_slots *slots, uint32_t cookie,
                      sig_sigaction_fn *real_sigaction);

/* Sampler, before it sends: its slots. Also in a forked child, which has its parent's numbers and actions. */
void sig_setup_connect(struct sig_slots *slots, uint32_t cookie);

/* From now on no signal is ours: hooks leave all to the C library, and the kernel calls the program's
 * handlers. The calling thread's mask becomes what the program means; other masks lack what was ours. */
void sig_setup_retire(void);

/* The same in a child of fork that is not profiled, after sig_setup_forget_parent; the mask stays. */
void sig_setup_uninstall(void);

/*
 * Hooks, any thread: the program uses these numbers itself. blocked: a mask that must treat alike those that
 * take their place (sig_numbers_choose). After this no request is sent with one of the numbers; some may be
 * on the way.
 */
void sig_setup_give_back(uint64_t numbers, uint64_t blocked);

/* Sampler, before it sends: gives back the numbers that handlers have found to be the program's, and those
 * that the program has taken by a system call of its own. Returns the latter. */
uint64_t sig_setup_settle_numbers(void);

/*
 * Around the start of another program: while shown, a signal that the program ignores is ignored in the
 * kernel too, as that is inherited. show returns whether to call hide. In a child of vfork, which has actions
 * of its own, it does so unless the child has set another action.
 */
bool sig_setup_show_ignored(void);
void sig_setup_hide_ignored(void);

/* In the child of fork, first thing: forgets what the parent's threads were doing. */
void sig_setup_forget_parent(void);

#endif
