/*
 * What makes a signal come, by itself or by a timer, or into a descriptor. A program that names one of ours
 * uses it, and gets it back first: so that two of a number that is no real-time signal's are not one, and so
 * that calls which are given a set of signals never see ours.
 */
#include "hook_mask.h"
#include "real.h"

#include <signal.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <time.h>

#define SEND(name, parameters, arguments)                                                                    \
    WALLPROF_HOOK int name parameters                                                                        \
    {                                                                                                        \
        hook_mask_give_back_number(number);                                                                  \
        return real_functions()->name arguments;                                                             \
    }

SEND(raise, (int number), (number))
SEND(gsignal, (int number), (number))
SEND(kill, (pid_t pid, int number), (pid, number))
SEND(killpg, (pid_t group, int number), (group, number))
SEND(tgkill, (pid_t pid, pid_t tid, int number), (pid, tid, number))
SEND(sigqueue, (pid_t pid, int number, const union sigval value), (pid, number, value))
SEND(pthread_kill, (pthread_t thread, int number), (thread, number))
SEND(pthread_sigqueue, (pthread_t thread, int number, const union sigval value), (thread, number, value))

WALLPROF_HOOK int setitimer(enum __itimer_which which, const struct itimerval *restrict value,
                            struct itimerval *restrict old)
{
    hook_mask_give_back_number(which == ITIMER_PROF      ? SIGPROF
                               : which == ITIMER_VIRTUAL ? SIGVTALRM
                                                         : SIGALRM);
    return real_functions()->setitimer(which, value, old);
}

WALLPROF_HOOK int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict timer)
{
    if (!event)
        hook_mask_give_back_number(SIGALRM);
    else if (event->sigev_notify == SIGEV_SIGNAL || event->sigev_notify == SIGEV_THREAD_ID)
        hook_mask_give_back_number(event->sigev_signo);
    return real_functions()->timer_create(clock, event, timer);
}

WALLPROF_HOOK int signalfd(int fd, const sigset_t *set, int flags)
{
    sigset_t for_kernel;
    return real_functions()->signalfd(fd, hook_mask_for_kernel(set, &for_kernel), flags);
}
