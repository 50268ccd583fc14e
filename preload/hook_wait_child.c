/*
 * wait, waitpid, wait3, wait4 and waitid. Only the parent is told that a signal has ended a child. It is
 * noted in the parent's store, for the tool that makes the profiles of both. The calls are not changed: the
 * kernel restarts them after our signal.
 */
#include "hook.h"
#include "session/session.h"

#include <sys/resource.h>
#include <sys/wait.h>

static pid_t note_death(pid_t pid, int status)
{
    if (WIFSIGNALED(status))
        session_note_death(pid, WTERMSIG(status));
    return pid;
}

WALLPROF_HOOK pid_t wait4(pid_t pid, int *ret_status, int options, struct rusage *usage)
{
    int own = 0, *status = ret_status ? ret_status : &own;
    pid_t ended = libc()->wait4(pid, status, options, usage);
    return ended > 0 ? note_death(ended, *status) : ended;
}

WALLPROF_HOOK pid_t waitpid(pid_t pid, int *ret_status, int options)
{
    return wait4(pid, ret_status, options, NULL);
}

WALLPROF_HOOK pid_t wait3(int *ret_status, int options, struct rusage *usage)
{
    return wait4(WAIT_ANY, ret_status, options, usage);
}

WALLPROF_HOOK pid_t wait(int *ret_status)
{
    return wait4(WAIT_ANY, ret_status, 0, NULL);
}

WALLPROF_HOOK int waitid(idtype_t kind, id_t id, siginfo_t *info, int options)
{
    int status = libc()->waitid(kind, id, info, options);
    if (status == 0 && info && (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED) &&
        info->si_pid > 0)
        session_note_death(info->si_pid, info->si_status);
    return status;
}
