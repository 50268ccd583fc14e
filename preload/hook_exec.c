/*
 * exec. No signal of ours is pending when the new program starts: it would kill the program. The new program
 * inherits the mask and the ignored signals that this program believes it has.
 *
 * Called in children of vfork too. They have their parent's memory, so nothing in it is changed for them.
 */
#include "hook_environment.h"
#include "hook_mask.h"
#include "hook.h"
#include "session/session.h"
#include "sig/signal/sig_setup.h"

#include <alloca.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* What is undone when the exec fails. */
struct exec_changes {
    uint64_t mask;   /* the kernel's, before; 0: unchanged */
    bool is_ignored; /* the kernel's action of our signal was changed */
};

static struct exec_changes begin_exec(void)
{
    session_prepare_exec();
    struct exec_changes ret = {.mask = hook_mask_show()};
    ret.is_ignored = sig_setup_show_ignored();
    return ret;
}

/* After an exec that has failed; errno stays as it is. */
static int end_failed_exec(struct exec_changes changes, int status)
{
    if (changes.is_ignored)
        sig_setup_hide_ignored();
    hook_mask_hide(changes.mask);
    session_cancel_exec();
    return status;
}

/* get_plan: an expression. */
#define EXEC(name, parameters, get_plan, arguments)                                                          \
    WALLPROF_HOOK int name parameters                                                                        \
    {                                                                                                        \
        struct environment_plan plan = get_plan;                                                             \
        struct exec_changes changes = begin_exec();                                                          \
        return end_failed_exec(changes, libc()->name arguments);                                             \
    }

EXEC(execve, (const char *path, char *const *list, char *const *environment),
     hook_environment_plan(AT_FDCWD, path, 0, environment), (path, list, HOOK_ENVIRONMENT(plan, environment)))
EXEC(execvpe, (const char *file, char *const *list, char *const *environment),
     hook_environment_plan_search(file, environment), (file, list, HOOK_ENVIRONMENT(plan, environment)))
EXEC(fexecve, (int fd, char *const *list, char *const *environment),
     hook_environment_plan(fd, "", AT_EMPTY_PATH, environment),
     (fd, list, environment ? HOOK_ENVIRONMENT(plan, environment) : NULL)) /* which it refuses itself */
EXEC(execveat, (int fd, const char *path, char *const *list, char *const *environment, int flags),
     hook_environment_plan(fd, path, flags, environment),
     (fd, path, list, HOOK_ENVIRONMENT(plan, environment), flags))

WALLPROF_HOOK int execv(const char *path, char *const *arguments)
{
    return execve(path, arguments, environ);
}

WALLPROF_HOOK int execvp(const char *file, char *const *arguments)
{
    return execvpe(file, arguments, environ);
}

/* For the functions that take a list of arguments up to NULL: makes an array of it on the stack, as the C
 * library does. The list goes on after NULL. */
#define COLLECT(array, first, list)                                                                          \
    do {                                                                                                     \
        va_list counting;                                                                                    \
        size_t count = 1;                                                                                    \
        va_copy(counting, list);                                                                             \
        while (va_arg(counting, char *))                                                                     \
            count++;                                                                                         \
        va_end(counting);                                                                                    \
        array = alloca((count + 1) * sizeof(char *));                                                        \
        array[0] = (char *)(uintptr_t)first;                                                                 \
        for (size_t i = 1; i <= count; i++)                                                                  \
            array[i] = va_arg(list, char *);                                                                 \
    } while (0)

/* get_environment: an expression, which may read on in the list. */
#define EXEC_LIST(name, function, get_environment)                                                           \
    WALLPROF_HOOK int name(const char *path, const char *first, ...)                                         \
    {                                                                                                        \
        char **arguments;                                                                                    \
        va_list list;                                                                                        \
        va_start(list, first);                                                                               \
        COLLECT(arguments, first, list);                                                                     \
        char *const *environment = get_environment;                                                          \
        va_end(list);                                                                                        \
        return function(path, arguments, environment);                                                       \
    }

EXEC_LIST(execl, execve, environ)
EXEC_LIST(execlp, execvpe, environ)
EXEC_LIST(execle, execve, va_arg(list, char *const *))
