/*
 * Which signal numbers are ours, in the kernel and for the hooks: taking them, giving them back, and the end.
 */
#ifndef WALLPROF_SIG_SETUP_H
#define WALLPROF_SIG_SETUP_H

#include "sig_action.h"
#include "sig_slots.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Chooses the numbers (sig_numbers.h), signal_number first if it is free (0: no wish), installs the handler
 * and connects it to the slots. Returns 0 or -EINVAL. The actions that were in place become the program's.
 * Called once per process, by its first thread, and once more in a forked child, there with the child's
 * slots. real_sigaction is the C library's own, not a hook of it.
 */
int sig_setup_install(int signal_number, struct sig_slots *slots, uint32_t cookie,
                      sig_sigaction_fn *real_sigaction);

/*
 * No signal is ours any more: hooks leave all to the C library, and the kernel calls the program's handlers.
 * What still arrives is the program's, or late. The calling thread's mask becomes what the program means it
 * to be; other threads' masks lack what was ours.
 */
void sig_setup_retire(void);

/*
 * In the child of fork that is not to be profiled, its one thread, after sig_setup_forget_parent: the
 * program's actions are the kernel's again, and the hooks are as if they were not there.
 */
void sig_setup_uninstall(void);

/*
 * Hooks, any thread: the program uses these numbers itself. blocked: a mask that must treat alike those which
 * take their place (sig_numbers_choose). When this returns, no request with one of the numbers is sent any
 * more; some may be on their way.
 */
void sig_setup_give_back(uint64_t numbers, uint64_t blocked);

/*
 * Sampler, before it sends: gives back what handlers have found to be the program's, and what somebody has
 * taken away by a system call of its own; returns the latter.
 */
uint64_t sig_setup_settle_numbers(void);

/*
 * Around what starts another program: while shown, a signal that the program ignores is ignored in the kernel
 * too, as that is inherited. show returns whether hide is to be called. In a process that is not ours (a
 * child of vfork, whose actions are its own) it does so unless the child has set another action itself.
 */
bool sig_setup_show_ignored(void);
void sig_setup_hide_ignored(void);

/* In the child of fork, first thing: nothing that threads of the parent were in the middle of goes on. */
void sig_setup_forget_parent(void);

#endif
