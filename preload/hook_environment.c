/*
 * Whether a program can load our library is looked up in its file (program.h). That is not done where no
 * environment names the library, nor under a filter of system calls that the program has installed.
 */
#include "hook_environment.h"
#include "hook_argument.h"
#include "hook_seccomp.h"
#include "config/environment.h"
#include "session/hook_memory.h"
#include "session/session.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 1024 }; /* a longer path is not looked at */

/* ---- our library ---- */

void hook_environment_begin(char **environment)
{
    struct hook_memory *memory = hook_memory();
    const char *path = program_own_library(), *slash = strrchr(path, '/');
    memory->loader = program_own_loader();
    if (*path) {
        memory->library_path = path;
        memory->library = slash ? slash + 1 : path;
    }
    environment_take_runtime(environment, program_is_runtime);
}

/* Whether a program that is started now finds the library. The loader has a way of its own to look for a bare
 * name, and replaces $LIB and its like. */
static bool is_library_there(const char *element, size_t length)
{
    char path[PATH_BYTES];
    if (length >= sizeof(path) || memchr(element, '$', length) || !memchr(element, '/', length))
        return true;
    memcpy(path, element, length);
    path[length] = '\0';
    return program_can_open(path);
}

/* ---- the plan ---- */

/* Whether the program would start with our library if nothing were changed, and the library is there. */
static bool is_followed(char *const *environment, struct environment_plan *plan)
{
    size_t length;
    const struct hook_memory *memory = hook_memory();
    if (hook_seccomp_has_filter()) {
        plan->change = memory->hidden ? ENVIRONMENT_GETS_OURS : ENVIRONMENT_STAYS;
        return false;
    }
    if (!memory->library || !environment || !hook_argument_has_strings(environment))
        return false;
    const char *element = environment_element(environment, memory->library, &length);
    if (memory->hidden && !element) {
        plan->change = ENVIRONMENT_GETS_OURS;
        element = environment_own_element(memory->hidden);
        length = strlen(element);
    }
    if (element && length && !is_library_there(element, length))
        plan->program.obstacle = "the library is not there";
    return element && length;
}

/* What is known of the program is in the plan. */
static void settle(struct environment_plan *plan, const char *path)
{
    struct program *program = &plan->program;
    if (plan->change == ENVIRONMENT_GETS_OURS && *program->runtime)
        program->obstacle = "AddressSanitizer's library must come first";
    if (program->obstacle) {
        *program->runtime = '\0';
        session_report_unfollowed(hook_argument_has_string(path) ? path : "", program->obstacle);
    }
    if (plan->change == ENVIRONMENT_GETS_OURS)
        plan->change = program->obstacle ? ENVIRONMENT_STAYS : ENVIRONMENT_GETS_OURS;
    else if (program->obstacle || *program->runtime)
        plan->change = ENVIRONMENT_CHANGES;
}

struct environment_plan hook_environment_plan(int directory_fd, const char *path, int flags,
                                              char *const *environment)
{
    struct environment_plan plan = {.change = ENVIRONMENT_STAYS};
    if (!is_followed(environment, &plan))
        return plan;
    if (!plan.program.obstacle)
        program_examine(&hook_memory()->loader, directory_fd, path, flags, &plan.program);
    settle(&plan, path);
    return plan;
}

/* The next name of a file in PATH; NULL after the last one, and for one that is too long. */
static const char *next_candidate(const char **path, const char *file, char *ret)
{
    size_t length = *path ? strcspn(*path, ":") : 0, file_length = strlen(file);
    if (!*path || length + file_length + 2 > PATH_BYTES)
        return NULL;
    char *at = mempcpy(ret, *path, length);
    if (length)
        *at++ = '/';
    memcpy(at, file, file_length + 1);
    *path = (*path)[length] ? *path + length + 1 : NULL;
    return ret;
}

struct environment_plan hook_environment_plan_search(const char *file, char *const *environment)
{
    char candidate[PATH_BYTES];
    const char *path = getenv("PATH");
    if (hook_seccomp_has_filter() || !hook_argument_has_string(file) || !*file || strchr(file, '/'))
        return hook_environment_plan(AT_FDCWD, file, 0, environment);
    path = path ? path : "/bin:/usr/bin"; /* as in the C library */
    while (next_candidate(&path, file, candidate)) {
        if (program_can_execute(candidate, !session_is_strict()))
            return hook_environment_plan(AT_FDCWD, candidate, 0, environment);
    }
    return (struct environment_plan){.change = ENVIRONMENT_STAYS};
}

size_t hook_environment_bytes(const struct environment_plan *plan, char *const *environment)
{
    switch (plan->change) {
    case ENVIRONMENT_GETS_OURS:
        return environment_bytes(hook_memory()->hidden, environment);
    case ENVIRONMENT_CHANGES:
        return environment_changed_bytes(environment, plan->program.runtime);
    default:
        return 0;
    }
}

char *const *hook_environment_apply(const struct environment_plan *plan, char *const *environment,
                                    void *space)
{
    switch (plan->change) {
    case ENVIRONMENT_GETS_OURS:
        return environment_with(hook_memory()->hidden, environment, space);
    case ENVIRONMENT_CHANGES:
        return environment_changed(environment, hook_memory()->library, plan->program.runtime, space);
    default:
        return environment;
    }
}
