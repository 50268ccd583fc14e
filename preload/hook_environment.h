/* WALLPROF_HIDE: what of the environment is ours is not there for the program, and is for those it starts. */
#ifndef WALLPROF_HOOK_ENVIRONMENT_H
#define WALLPROF_HOOK_ENVIRONMENT_H

#include "config/environment.h"

#include <alloca.h>

/* What has been taken out of the program's environment, NULL when nothing has. */
const struct wp_environment *hook_environment_hidden(void);

/* Once, before main, when it is asked for. */
void hook_environment_hide(char **environment);

/* An environment for a program that is started: as it is, or with ours, on the caller's stack. */
#define HOOK_ENVIRONMENT(environment)                                                                        \
    (!hook_environment_hidden()                                                                              \
         ? (environment)                                                                                     \
         : environment_with(hook_environment_hidden(), environment,                                          \
                            alloca(environment_bytes(hook_environment_hidden(), environment))))

#endif
