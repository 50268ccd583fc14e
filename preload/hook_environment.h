/* WALLPROF_HIDE: the program's environment is without our entries; programs that it starts have them. */
#ifndef WALLPROF_HOOK_ENVIRONMENT_H
#define WALLPROF_HOOK_ENVIRONMENT_H

#include "config/environment.h"

#include <alloca.h>

/* What was taken out of the program's environment; NULL if nothing was. */
const struct environment *hook_environment_hidden(void);

/* Called once, before main, if WALLPROF_HIDE asks for it. */
void hook_environment_hide(char **environment);

/* The environment for a program that is started: unchanged, or with our entries, on the caller's stack. */
#define HOOK_ENVIRONMENT(environment)                                                                        \
    (!hook_environment_hidden()                                                                              \
         ? (environment)                                                                                     \
         : environment_with(hook_environment_hidden(), environment,                                          \
                            alloca(environment_bytes(hook_environment_hidden(), environment))))

#endif
