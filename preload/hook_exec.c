/*
 * exec. Around it the sampler stands still so that no signal of ours is left pending for the new program,
 * whom it would kill; a system call on the way lets the kernel deliver what is queued already. What is
 * inherited, masks and ignored signals, is what the program believes it to be.
 *
 * Called in children of vfork too, which have their parent's memory: nothing in it is changed for them.
 */
#include "hook_environment.h"
#include "hook_mask.h"
#include "real.h"
#include "session/session.h"
#include "sig/signal/sig_handler.h"

#include <alloca.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

struct shown {
    uint64_t mask;   /* to be put back */
    bool is_ignored; /* so is the kernel's action */
};

static struct shown begin(void)
{
    session_hold_for_exec();
    sched_yield();
    struct shown ret = {.mask = hook_mask_show()};
    ret.is_ignored = sig_handler_show_ignored();
    return ret;
}

/* The exec has failed, and said why in errno. */
static int end(struct shown shown, int status)
{
    if (shown.is_ignored)
        sig_handler_hide_ignored();
    hook_mask_hide(shown.mask);
    session_release_after_exec();
    return status;
}

WALLPROF_HOOK int execve(const char *path, char *const *arguments, char *const *environment)
{
    struct shown shown = begin();
    return end(shown, real_functions()->execve(path, arguments, HOOK_ENVIRONMENT(environment)));
}

WALLPROF_HOOK int execvpe(const char *file, char *const *arguments, char *const *environment)
{
    struct shown shown = begin();
    return end(shown, real_functions()->execvpe(file, arguments, HOOK_ENVIRONMENT(environment)));
}

WALLPROF_HOOK int execv(const char *path, char *const *arguments)
{
    return execve(path, arguments, environ);
}

WALLPROF_HOOK int execvp(const char *file, char *const *arguments)
{
    return execvpe(file, arguments, environ);
}

WALLPROF_HOOK int fexecve(int fd, char *const *arguments, char *const *environment)
{
    struct shown shown = begin();
    return end(shown, real_functions()->fexecve(fd, arguments, HOOK_ENVIRONMENT(environment)));
}

WALLPROF_HOOK int execveat(int fd, const char *path, char *const *arguments, char *const *environment,
                           int flags)
{
    struct shown shown = begin();
    return end(shown, real_functions()->execveat(fd, path, arguments, HOOK_ENVIRONMENT(environment), flags));
}

/* The list forms: the arguments up to NULL become an array on the stack, as the C library does it. */
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

WALLPROF_HOOK int execl(const char *path, const char *first, ...)
{
    char **arguments;
    va_list list;
    va_start(list, first);
    COLLECT(arguments, first, list);
    va_end(list);
    return execve(path, arguments, environ);
}

WALLPROF_HOOK int execlp(const char *file, const char *first, ...)
{
    char **arguments;
    va_list list;
    va_start(list, first);
    COLLECT(arguments, first, list);
    va_end(list);
    return execvpe(file, arguments, environ);
}

WALLPROF_HOOK int execle(const char *path, const char *first, ...)
{
    char **arguments;
    va_list list;
    va_start(list, first);
    COLLECT(arguments, first, list);
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return execve(path, arguments, environment);
}
