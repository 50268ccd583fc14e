/*
 * The environment of a program that is started. WALLPROF_HIDE: the program's own is without our entries, and
 * programs that it starts have them. A program that cannot load our library starts without it.
 *
 * Called from: any thread that starts a program, also in a child of vfork. Nothing is allocated, and nothing
 * but the stack is written to.
 */
#ifndef WALLPROF_HOOK_ENVIRONMENT_H
#define WALLPROF_HOOK_ENVIRONMENT_H

#include "elf/program.h"

#include <alloca.h>
#include <stddef.h>

/* What becomes of an environment. */
struct environment_plan {
    enum { ENVIRONMENT_STAYS, ENVIRONMENT_GETS_OURS, ENVIRONMENT_CHANGES } change;
    struct program program;
};

/* At the start, before the session's. */
void hook_environment_begin(char **environment);

/* The file is execveat's; or PATH is searched for it, as execvpe does. environment may be a bad pointer. */
struct environment_plan hook_environment_plan(int directory_fd, const char *path, int flags,
                                              char *const *environment);
struct environment_plan hook_environment_plan_search(const char *file, char *const *environment);

/* The space that hook_environment_apply needs. */
size_t hook_environment_bytes(const struct environment_plan *plan, char *const *environment);
char *const *hook_environment_apply(const struct environment_plan *plan, char *const *environment,
                                    void *space);

/* The environment for a program that is started, on the caller's stack where it is not the same. */
#define HOOK_ENVIRONMENT(plan, environment)                                                                  \
    hook_environment_apply(&(plan), environment, alloca(hook_environment_bytes(&(plan), environment)))

#endif
