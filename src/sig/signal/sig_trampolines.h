/*
 * Calls of the program's signal handlers are counted, so that a wait can tell whether one has run.
 *
 * Nothing else tells for certain: a request that comes while a handler of the program returns finds the same
 * registers as one that cuts a wait short. Instead of the handler, the kernel gets a small entry. It counts
 * in the thread's sig_wait_here and jumps to the handler, with the same arguments and stack, and no frame of
 * its own. An entry belongs to one handler for ever, so there is no table of actions beside the kernel's.
 *
 * Called from: any thread of the program, before our constructor too, and children of vfork. No locks.
 */
#ifndef WALLPROF_SIG_TRAMPOLINES_H
#define WALLPROF_SIG_TRAMPOLINES_H

#include <stdbool.h>
#include <stdint.h>

/* How many handlers of each kind can be counted in a process. */
enum { SIG_TRAMPOLINES_MAX = 256 };

/* The entry for a handler, or the handler itself if no entry is left, or it is no function (SIG_DFL, SIG_IGN,
 * SIG_ERR). By the action's flags the entry also ends calls (without SA_RESTART: sig_restart.h), and lets our
 * signals in (with SA_ONSTACK: sig_altstack.h). */
uintptr_t sig_trampoline(uintptr_t handler, int flags);

/* Whether it is an entry, and one that lets our signals in. */
bool sig_trampoline_lets_in(uintptr_t entry);

/* Whether there has been such an entry. Without one no action needs to be looked at. */
bool sig_trampoline_some_let_in(void);

/* The handler of an entry, or the argument if it is no entry. */
uintptr_t sig_trampoline_handler(uintptr_t entry);

#endif
