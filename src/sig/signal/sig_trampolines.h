/*
 * The program's signal handlers, counted as they are called, so that a wait can tell whether one has run.
 *
 * Nothing else tells for certain: a signal of ours that arrives while a handler of the program's returns
 * finds the same registers as one that cuts a wait short. The kernel is given a small entry in the handler's
 * place, which counts in the thread's sig_wait_here and jumps to the handler: same arguments, same stack, no
 * frame of its own. An entry is one handler's for ever, so the kernel's table stays the only one of who
 * handles what.
 *
 * Called from: any thread of the program, before our constructor too, children of vfork included; without
 * locks.
 */
#ifndef WALLPROF_SIG_TRAMPOLINES_H
#define WALLPROF_SIG_TRAMPOLINES_H

#include <stdbool.h>
#include <stdint.h>

/* How many different handlers a process can have counted, of each kind. */
enum { SIG_TRAMPOLINES_MAX = 256 };

/* The entry for a handler, or the handler itself when there is none left, or it is none (SIG_DFL, SIG_IGN,
 * SIG_ERR). Its kind is by the action's flags: without SA_RESTART it ends calls (sig_restart.h), with
 * SA_ONSTACK it lets our signals in (sig_altstack.h). */
uintptr_t sig_trampoline(uintptr_t handler, int flags);

/* Whether it is an entry, and one that lets our signals in. */
bool sig_trampoline_lets_in(uintptr_t entry);

/* The handler of an entry, or what was given if that is none. */
uintptr_t sig_trampoline_handler(uintptr_t entry);

#endif
