/*
 * The program's actions for the signals that we hold: those whose handler in the kernel is ours.
 *
 * What the program sets and reads for such a signal is kept here, and its signals are passed to its handler
 * as the kernel would do. A number is held from when it is chosen (sig_numbers.h), also after it was given
 * back, as a request may be on the way. Then the kernel has the program's SA_RESTART, SA_ONSTACK and SIG_IGN.
 *
 * Safe in handlers; any thread.
 */
#ifndef WALLPROF_SIG_ACTION_H
#define WALLPROF_SIG_ACTION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* What the kernel sends where a stack has no room. Our handler begins without blocking them (sig_handler.c).
 */
#define SIG_ACTION_FAULTS (1ULL << (SIGSEGV - 1) | 1ULL << (SIGBUS - 1))

/* What the kernel reads and writes (the system call rt_sigaction). */
struct sig_kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

typedef int sig_sigaction_fn(int signal_number, const struct sigaction *action, struct sigaction *old);
typedef void sig_handle_fn(int signal_number, siginfo_t *info, void *context);

/* Before anything else: our handler, and the C library's own sigaction, not its hook. */
void sig_action_init(sig_handle_fn *handle, sig_sigaction_fn *real);

/* Writers of the actions and of the numbers exclude each other. Every signal is blocked in between, because a
 * handler that interrupted this thread would wait for ever. Returns the mask that unlock is to restore. */
uint64_t sig_action_lock(void);
void sig_action_unlock(uint64_t mask);

/* Under the lock: installs our handler, unless it is; the action that was in place becomes the program's.
 * False if that fails. */
bool sig_action_hold(int number);
bool sig_action_is_held(int number);

/* Under the lock: brings the kernel's actions and masks up to date. */
void sig_action_settle(void);

/* Whether the kernel's action of a number is the default one; whether it is not what we have set. */
bool sig_action_is_default(int number);
bool sig_action_is_taken_away(int number);

/* For a number that is held: changes an action as the C library does before the kernel stores it. */
void sig_action_complete(int number, struct sigaction *action);

/* For a number that is held: gets the program's own action, and sets another. Each may be NULL. */
void sig_action_swap(int number, const struct sigaction *action, struct sigaction *old);

/* In a process that is not ours (such as a child of vfork, which has actions of its own): if an action that
 * was read from the kernel is our handler, changes it to what the program had set. Else false. */
bool sig_action_translate(int number, struct sigaction *action);

/* If the program ignores a number that we share with it, because no other is free: ignores it in the kernel
 * too until sig_action_settle. Else false, also if the kernel has another action. No lock, as children of
 * vfork call it. */
bool sig_action_show_ignored(int number);

/* Under the lock, before sig_numbers_stop: gives all actions in the kernel back to the program; nothing is
 * held then. may_be_late: a request may still arrive, so our handler stays where it would end the program. */
void sig_action_release_all(bool may_be_late);

/*
 * Whether our handler runs on signal stacks (sig_altstack_flag). note: the program has set an action. True if
 * follow is to be called, while no request is outstanding, as a thread's signal stack may be too small for it
 * (observe_overdue.h).
 */
bool sig_action_note_stack(int number, const struct sigaction *action);
void sig_action_follow_stack(void);
bool sig_action_is_on_signal_stack(void);

/* In our handler: does with a signal of the program what the kernel would do under this mask. False if that
 * is nothing. */
bool sig_action_pass(int number, siginfo_t *info, ucontext_t *context, uint64_t mask);

/* In our handler: makes a signal that the program means to block pending again. *mask, which will be in
 * force, blocks it then. */
void sig_action_hold_back(int number, siginfo_t *info, uint64_t *mask);

/*
 * Sends a signal to a thread of this process, with the content of info. If the kernel refuses
 * rt_tgsigqueueinfo, or after send_plainly, it is sent without: it arrives as SI_TKILL, from this process. 0
 * or -errno. Any thread.
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

/* What the C library's sigaction reads and writes of one. A compiler may copy whole structs by memcpy, which
 * a handler does not call. */
static inline void sig_action_copy(struct sigaction *to, const struct sigaction *from)
{
    to->sa_handler = from->sa_handler;
    to->sa_flags = from->sa_flags;
    to->sa_restorer = from->sa_restorer;
    sig_set_assign(&to->sa_mask, sig_set_bits(&from->sa_mask));
}

#endif
