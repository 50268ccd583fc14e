/*
 * The signal handler, and how the sampler talks to it.
 *
 * A signal of ours is sent by rt_tgsigqueueinfo with SI_QUEUE and a value that holds a cookie of this
 * process, the slot and the slot's generation. Anything else that arrives on our signal number is the
 * program's and is given to the action the program has set, which the hooks keep here
 * (sig_action.h).
 *
 * The same walk, with the same knowledge, serves the sampler for threads that stand still.
 *
 * The handler saves nothing in errno because it never touches it: all its system calls are raw. It reads no
 * thread-local storage, so it runs in threads that have none.
 */
#ifndef WALLPROF_SIG_HANDLER_H
#define WALLPROF_SIG_HANDLER_H

#include "sig_action.h"
#include "sig/ground/sig_modules.h"
#include "sig_slots.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Chooses the numbers (sig_numbers.h), signal_number first if it can be had (0: no wish), installs the
 * handler and connects it to the slots. Returns 0 or -EINVAL. The actions that were in place become the
 * program's. Called once per process, by its first thread, and once more in a forked child, there with the
 * child's slots. real_sigaction is the C library's own, not a hook of it.
 */
int sig_handler_install(int signal_number, struct sig_slots *slots, uint32_t cookie,
                        sig_sigaction_fn *real_sigaction);

/* No signal is ours any more: hooks leave all to the C library, the program's handlers are the kernel's to
 * call, and what still comes is the program's or late. The calling thread's mask is what the program means it
 * to be; others' lack what was ours. */
void sig_handler_retire(void);

/*
 * Hooks, any thread: the program uses these numbers itself. blocked: a mask that those which take their place
 * are to be alike in (sig_numbers_choose). When this returns, no signal of ours with one of the numbers is
 * sent any more; some may be on their way.
 */
void sig_handler_give_back(uint64_t numbers, uint64_t blocked);

/*
 * Sampler, before it sends: gives back what handlers have found to be the program's, and what somebody has
 * taken away by a system call of his own; returns the latter.
 */
uint64_t sig_handler_settle_numbers(void);

/*
 * In the child of fork that is not to be profiled, its one thread, after sig_handler_forget_parent: the
 * program's actions are the kernel's again, and the hooks are as if they were not there.
 */
void sig_handler_uninstall(void);

/* Sends our signal to a thread of this process for an armed slot. 0, or -ESRCH and the like from the kernel.
 */
int sig_handler_send(pid_t tid, uint32_t slot_index, uint64_t generation);

/*
 * Hooks: a thread was given this signal by a call that waits for signals. True, and it is answered with this
 * context, if it is one of ours, which nobody is to see.
 */
bool sig_handler_answer(siginfo_t *info, ucontext_t *context);

/*
 * Another handler of ours, with every signal blocked: it returns to this context. If it has cut a wait of a
 * hook's short, that goes on.
 */
void sig_handler_spare_wait(ucontext_t *context);

/*
 * Around what starts another program: while shown, a signal that the program ignores is ignored in the kernel
 * too, as that is inherited. show returns whether hide is to be called. In a process that is not ours (a
 * child of vfork, whose actions are its own) it does so unless the child has set another action itself.
 */
bool sig_handler_show_ignored(void);
void sig_handler_hide_ignored(void);

/* The number in use, 0 before sig_handler_install. */
int sig_handler_signal(void);

/*
 * Sampler: from now on handlers find this table; returns when no handler uses the one before. The rule cache
 * has been cleared. ended: of sig_handler_unloads() from before the look at the loader that the table was
 * made from: as soon as there are more, handlers leave the cache alone. Waits for handlers in flight, which
 * never wait for anybody; at most until the deadline (CLOCK_MONOTONIC), then false: call again with the same
 * table before anything else.
 */
bool sig_handler_publish_modules(const struct sig_modules_table *table, uint32_t ended, uint64_t deadline_ns);

/* Sampler: another look has found what the published table says, although dlclose was called meanwhile. */
void sig_handler_confirm_modules(uint32_t ended);

/*
 * Any thread. Where begun and ended are equal, no call of dlclose was under way when they were read; two such
 * readings with equal numbers have no call of dlclose between them.
 */
struct sig_unloads sig_handler_unloads(void);

/* In the child of fork, first thing: what threads of the parent were in the middle of is nobody's any more.
 */
void sig_handler_forget_parent(void);

/*
 * dlclose hook, any thread, around the C library's dlclose. unloaded tells how many objects the loader has
 * unloaded so far. What begin returned goes to end: a process forked in between, by a destructor, does not
 * count what it has not seen begin.
 */
typedef uint64_t sig_unloaded_fn(void);
uint32_t sig_handler_unload_begin(sig_unloaded_fn *unloaded);
void sig_handler_unload_end(uint32_t begun_in, sig_unloaded_fn *unloaded);

/* A walk of another thread's stack, and what it has found. */
struct sig_other {
    /* Set by the sampler. */
    struct sig_place place;
    uint64_t stack_low, stack_high; /* of the thread's own stack, 0 and 0 when not known */
    struct sig_stack_copy *copy;
    uint64_t *addresses; /* result, innermost first */
    uint32_t capacity;

    /* Written by the walk. */
    uint32_t depth;
    enum sig_unwind_end end;
    size_t bytes; /* this and the next one: struct sig_unwind_course */
    bool by_distance;
    struct sig_unloads unloads; /* as of the walk */
};

/*
 * Sampler: walks the stack of a thread that waits in a system call. What the caller owes and is owed:
 * sig_unwind_other. No handler is in flight by it, nor need be: nobody but the sampler replaces the modules'
 * table or clears the cache.
 */
void sig_handler_walk_other(struct sig_other *other);

/* Signals recognised as late or foreign and dropped. */
uint64_t sig_handler_stray_count(void);

#endif
