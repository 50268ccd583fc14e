/*
 * The program's actions for the signals that we hold: those whose handler in the kernel is ours.
 *
 * What the program sets and reads for such a signal is kept here, and its signals are passed to its handler
 * as the kernel would have done. A number is held from the moment it is chosen (sig_numbers.h) on, also after
 * it has been given back: one of ours may be on its way still. Then the kernel is told what the program asks
 * for: whether calls go on after the handler, on which stack it runs, and to ignore the signal.
 *
 * Safe in handlers; any thread.
 */
#ifndef WALLPROF_SIG_ACTION_H
#define WALLPROF_SIG_ACTION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef int sig_sigaction_fn(int signal_number, const struct sigaction *action, struct sigaction *old);
typedef void sig_handle_fn(int signal_number, siginfo_t *info, void *context);

/* First of all: the handler of ours, and the C library's own sigaction, not a hook of it. */
void sig_action_init(sig_handle_fn *handle, sig_sigaction_fn *real);

/*
 * Writers, of the actions and of the numbers, exclude each other. Every signal is blocked in between, as a
 * handler of this thread would wait for ever. Returns the mask that unlock is to put back.
 */
uint64_t sig_action_lock(void);
void sig_action_unlock(uint64_t mask);

/* Under the lock: our handler is installed; the action that was in place is the program's. False if it
 * cannot be. Nothing to do for a number that is held. */
bool sig_action_hold(int number);
bool sig_action_is_held(int number);

/* Under the lock: the kernel's actions of all that we hold are what they should be now. */
void sig_action_settle(void);

/* Whether the kernel's action of a number is the default one; whether it is our handler. */
bool sig_action_is_default(int number);
bool sig_action_is_taken_away(int number);

/* The program's own action for a number that is held: the old one in *old, a new one; each may be NULL. */
void sig_action_swap(int number, const struct sigaction *action, struct sigaction *old);

/*
 * In a process that is not ours (a child of vfork and its kind, whose actions are its own): what was read
 * from the kernel, where that is our handler, becomes what the program had set. False where it is not.
 */
bool sig_action_translate(int number, struct sigaction *action);

/*
 * A signal that the program ignores, and that we share with it as no other is free, is ignored in the kernel
 * too until sig_action_settle. False if that is not so, or it has another action there. No lock: children of
 * vfork call it.
 */
bool sig_action_show_ignored(int number);

/* Under the lock, before sig_numbers_stop: all actions in the kernel are the program's own again, and nothing
 * is held. may_be_late: a signal of ours may arrive yet; where it would end the program our handler stays. */
void sig_action_release_all(bool may_be_late);

/*
 * Whether ours run on the thread's signal stack: if and only if the handler would that the program has for
 * such a signal. One that asks for it may run where there is no room for a handler (a goroutine has some KiB
 * of heap), and one that does not may have a signal stack that is too small for ours.
 */
void sig_action_follow_stack(const struct sigaction *action);

/* In our handler: what the kernel would have done where this mask was in force. False if that is nothing: the
 * signal is dropped. */
bool sig_action_pass(int number, siginfo_t *info, ucontext_t *context, uint64_t mask);

/* In our handler: the program means it to be blocked. It is pending again; *mask, which will be in force,
 * blocks it now. */
void sig_action_hold_back(int number, siginfo_t *info, uint64_t *mask);

/*
 * Sends a signal to a thread of this process, with what is in info; where the kernel refuses that
 * (rt_tgsigqueueinfo), or is not to be asked, without: then it arrives as SI_TKILL, from this process. 0 or
 * -errno. Any thread.
 */
long sig_action_queue(long tid, int number, siginfo_t *info);
void sig_action_send_plainly(void);
bool sig_action_sends_plainly(void);

/* In our handler, for a number that is held: whether the program's action is the default one. */
bool sig_action_is_default_of_program(int number);

/* In the child of fork, first thing. */
void sig_action_forget_parent(void);

/* The part of a set that the kernel knows. The C library's functions touch no more of one either. */
static inline uint64_t sig_set_bits(const sigset_t *set)
{
    return *(const uint64_t *)(const void *)set;
}

static inline void sig_set_assign(sigset_t *set, uint64_t bits)
{
    *(uint64_t *)(void *)set = bits;
}

#endif
