/*
 * Ends that pass by our destructor. quick_exit has handlers of its own, and ours is the last of them. _exit
 * and abort end the process at once: they only leave a note, for who finds the store.
 *
 * Called in signal handlers too, and in children of vfork, of which nothing is noted. The C library's own
 * calls of these do not come by here.
 */
#include "hook_exit.h"
#include "real.h"
#include "session/session.h"

#include <stdlib.h>

int hook_exit_init(void)
{
    return at_quick_exit(session_finish);
}

/* Under these names in C, a function can end in a jump to the real one: a debugger that looks at the crash
 * does not find us on the stack. */
WALLPROF_HOOK void hook_abort(void) __asm__("abort");
WALLPROF_HOOK void hook_exit_now(int status) __asm__("_exit");
WALLPROF_HOOK void hook_exit_now_c99(int status) __asm__("_Exit");

void hook_abort(void)
{
    session_note_abort();
    real_functions()->abort();
}

void hook_exit_now(int status)
{
    session_note_exit(status);
    real_functions()->_exit(status);
}

void hook_exit_now_c99(int status)
{
    session_note_exit(status);
    real_functions()->_exit(status);
}
