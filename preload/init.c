/* Our constructor starts the session. Our destructor finishes it, after the program's own exit handlers. */
#include "hook.h"
#include "hook_environment.h"
#include "hook_mask.h"
#include "hook_process.h"
#include "session/session.h"
#include "sig/signal/sig_wait.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* The linker's: the section of WALLPROF_WAIT. */
extern const char __start_wallprof_waits[] __attribute__((visibility("hidden")));
extern const char __stop_wallprof_waits[] __attribute__((visibility("hidden")));

/* The C library calls constructors with the arguments of main. */
__attribute__((constructor)) static void wallprof_start(int count, char **arguments, char **environment)
{
    (void)count;
    sig_wait_use_hooks((uintptr_t)__start_wallprof_waits, (uintptr_t)__stop_wallprof_waits);
    hook_environment_begin(environment);
    if (session_start(arguments, environment) < 0)
        return;
    hook_mask_renew();
    pthread_atfork(hook_fork_prepare, hook_fork_parent, hook_fork_child);
    at_quick_exit(session_finish); /* it does not run destructors; our handler is the last one to run */
}

__attribute__((destructor)) static void wallprof_finish(void)
{
    session_finish();
}
