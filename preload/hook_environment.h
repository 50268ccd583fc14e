/* WALLPROF_HIDE: the program's environment is without our entries; programs that it starts have them. */
#ifndef WALLPROF_HOOK_ENVIRONMENT_H
#define WALLPROF_HOOK_ENVIRONMENT_H

#include "config/environment.h"
#include "session/hook_memory.h"

#include <alloca.h>

/* The environment for a program that is started: unchanged, or with our entries, on the caller's stack. */
#define HOOK_ENVIRONMENT(environment)                                                                        \
    (!hook_memory()->hidden                                                                                  \
         ? (environment)                                                                                     \
         : environment_with(hook_memory()->hidden, environment,                                              \
                            alloca(environment_bytes(hook_memory()->hidden, environment))))

#endif
