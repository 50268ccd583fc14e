/* Actions of signals, for the hook of syscall(). */
#ifndef WALLPROF_HOOK_SIGNAL_H
#define WALLPROF_HOOK_SIGNAL_H

#include <stdbool.h>

/*
 * Does what syscall(SYS_rt_sigaction) does for these arguments, as sigaction() is done here: our handlers are
 * not taken away by it, and not shown. Programs call it so between fork and exec, to reset all actions.
 *
 * *ret: what syscall returns; errno is set as it does. False, and nothing is done, if the call is to be made
 * as it is. Any thread, also in handlers and children of vfork.
 */
bool hook_signal_call(long number, long action, long old, long set_bytes, long *ret);

#endif
