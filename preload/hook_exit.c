/*
 * Ends of the process that do not run our destructor. _exit ends it at once: it leaves a note in the store,
 * and without a store the sampler writes the profile first. abort only leaves a note: it may be a crash, or a
 * handler may make the process go on. quick_exit calls a handler of ours (init.c).
 *
 * Called in signal handlers too, and in children of vfork, for which nothing is noted. The C library's own
 * calls of these functions do not reach the hooks.
 */
#include "hook.h"
#include "session/session.h"

/* With these names in C a function ends in a jump to the real one, so that a debugger does not find our frame
 * on the stack of a crash. */
WALLPROF_HOOK void hook_abort(void) __asm__("abort");
WALLPROF_HOOK void hook_exit_now(int status) __asm__("_exit");

void hook_abort(void)
{
    session_note_abort();
    libc()->abort();
}

void hook_exit_now(int status)
{
    session_note_exit(status);
    libc()->_exit(status);
}

extern __typeof__(hook_exit_now) hook_exit_now_c99 __asm__("_Exit")
    __attribute__((alias("_exit"), visibility("default")));
