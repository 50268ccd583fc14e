/*
 * Calls that the kernel refuses to a process of more than one thread, and calls that change only the thread
 * that makes them. The sampler's thread does not exist while they are made.
 *
 * The second kind matters because the C library changes the user in every thread. It ends the program when
 * that succeeds in one thread and fails in another (glibc: nptl_setxid). A sampler that has lost capabilities
 * which the program has kept would be such a thread.
 *
 * And calls after which the process may open less: the sampler sets itself up before them.
 */
#include "hook_mask.h"
#include "hook_seccomp.h"
#include "hook.h"
#include "session/session.h"
#include "sig/sys/sig_clock.h"

#include <errno.h>
#include <grp.h>
#include <linux/nsfs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

enum { SINGLE_UNSHARE = CLONE_NEWUSER | CLONE_VM | CLONE_THREAD | CLONE_SIGHAND };
enum { SINGLE_SETNS = CLONE_NEWUSER | CLONE_NEWTIME };

WALLPROF_HOOK int unshare(int flags)
{
    struct session_suspension suspension = {0};
    if (flags & SINGLE_UNSHARE)
        session_suspend(&suspension);
    int status = libc()->unshare(flags);
    session_resume(&suspension);
    return status;
}

static int namespace_types(int fd, int type)
{
    int error = errno, found = type ? type : ioctl(fd, NS_GET_NSTYPE);
    errno = error;
    return found < 0 ? 0 : found;
}

WALLPROF_HOOK int setns(int fd, int type)
{
    struct session_suspension suspension = {0};
    if (namespace_types(fd, type) & SINGLE_SETNS)
        session_suspend(&suspension);
    int status = libc()->setns(fd, type);
    session_resume(&suspension);
    return status;
}

WALLPROF_HOOK int capset(void *header, const void *data)
{
    struct session_suspension suspension;
    session_suspend(&suspension);
    int status = libc()->capset(header, data);
    session_resume(&suspension);
    return status;
}

#define LOSES_RIGHTS(name, parameters, arguments)                                                            \
    WALLPROF_EARLY_HOOK int name parameters                                                                  \
    {                                                                                                        \
        session_hasten_set_up();                                                                             \
        return libc()->name arguments;                                                                       \
    }

LOSES_RIGHTS(setuid, (uid_t user), (user))
LOSES_RIGHTS(setgid, (gid_t group), (group))
LOSES_RIGHTS(seteuid, (uid_t user), (user))
LOSES_RIGHTS(setegid, (gid_t group), (group))
LOSES_RIGHTS(setreuid, (uid_t real, uid_t effective), (real, effective))
LOSES_RIGHTS(setregid, (gid_t real, gid_t effective), (real, effective))
LOSES_RIGHTS(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
LOSES_RIGHTS(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved))
LOSES_RIGHTS(setgroups, (size_t count, const gid_t *groups), (count, groups))
LOSES_RIGHTS(initgroups, (const char *user, gid_t group), (user, group))
LOSES_RIGHTS(chroot, (const char *path), (path))
LOSES_RIGHTS(mlockall, (int flags), (flags))

LOSES_RIGHTS(setrlimit, (__rlimit_resource_t resource, const struct rlimit *limits), (resource, limits))
LOSES_RIGHTS(prlimit,
             (pid_t pid, enum __rlimit_resource resource, const struct rlimit *limits, struct rlimit *old),
             (pid, resource, limits, old))
#ifndef __SANITIZE_THREAD__
WALLPROF_ALSO(setrlimit64, setrlimit); /* the same on machines of 64 bits */
WALLPROF_ALSO(prlimit64, prlimit);
#endif

/* Whether the option belongs to one thread, and decides later which capabilities the thread keeps. */
static bool decides_capabilities(int option)
{
    return option == PR_SET_KEEPCAPS || option == PR_SET_SECUREBITS;
}

WALLPROF_HOOK int prctl(int option, ...)
{
    struct session_suspension suspension = {0};
    unsigned long arguments[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        arguments[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_DUMPABLE) /* its /proc becomes root's */
        session_hasten_set_up();
    if (decides_capabilities(option))
        session_suspend(&suspension);
    if (option == PR_SET_TSC && arguments[0] == PR_TSC_SIGSEGV)
        sig_clock_use(NULL); /* the counter would fault in our handler */
    if (option == PR_SET_PDEATHSIG)
        hook_mask_give_back_number((int)arguments[0]);
    if (option == PR_SET_SECCOMP) /* the modes are the operations of seccomp(2), counted from 1 */
        hook_seccomp_before((long)arguments[0] - SECCOMP_MODE_STRICT, 0, (long)arguments[1]);
    int status = libc()->prctl(option, arguments[0], arguments[1], arguments[2], arguments[3]);
    if (option == PR_SET_SECCOMP)
        hook_seccomp_after((long)arguments[0] - SECCOMP_MODE_STRICT, status);
    session_resume(&suspension);
    return status;
}
