/*
 * Functions that send a signal, set a timer that sends one, or read signals from a descriptor. A program that
 * names one of our signals uses it, and gets it back first. Otherwise the kernel would merge the program's
 * signal with ours (of a standard signal only one can be pending), and a set of signals would include ours.
 */
#include "hook_argument.h"
#include "hook_mask.h"
#include "hook.h"

#include <aio.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#define SEND(name, parameters, arguments)                                                                    \
    WALLPROF_HOOK int name parameters                                                                        \
    {                                                                                                        \
        hook_mask_give_back_number(number);                                                                  \
        return libc()->name arguments;                                                                       \
    }

SEND(raise, (int number), (number))
SEND(gsignal, (int number), (number))
SEND(kill, (pid_t pid, int number), (pid, number))
SEND(killpg, (pid_t group, int number), (group, number))
SEND(tgkill, (pid_t pid, pid_t tid, int number), (pid, tid, number))
SEND(sigqueue, (pid_t pid, int number, const union sigval value), (pid, number, value))
SEND(pthread_kill, (pthread_t thread, int number), (thread, number))
SEND(pthread_sigqueue, (pthread_t thread, int number, const union sigval value), (thread, number, value))

/* In the C library since 2.36. */
WALLPROF_HOOK int pidfd_send_signal(int fd, int number, siginfo_t *info, unsigned flags)
{
    hook_mask_give_back_number(number);
    return (int)libc()->syscall(SYS_pidfd_send_signal, fd, number, info, flags);
}

WALLPROF_HOOK int setitimer(enum __itimer_which which, const struct itimerval *restrict value,
                            struct itimerval *restrict old)
{
    hook_mask_give_back_number(which == ITIMER_PROF      ? SIGPROF
                               : which == ITIMER_VIRTUAL ? SIGVTALRM
                                                         : SIGALRM);
    return libc()->setitimer(which, value, old);
}

/* The C library does not read every event that it is given. */
static void give_back_number_of(const struct sigevent *event)
{
    struct {
        int number, notify;
    } seen;
    _Static_assert(offsetof(struct sigevent, sigev_notify) ==
                       offsetof(struct sigevent, sigev_signo) + sizeof(int),
                   "one after the other");
    if (event && hook_argument_read(&seen, &event->sigev_signo, sizeof(seen)) &&
        (seen.notify == SIGEV_SIGNAL || seen.notify == SIGEV_THREAD_ID))
        hook_mask_give_back_number(seen.number);
}

static void give_back_number_of_request(const struct aiocb *request)
{
    if (request)
        give_back_number_of(&request->aio_sigevent);
}

WALLPROF_HOOK int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict timer)
{
    if (!event)
        hook_mask_give_back_number(SIGALRM);
    give_back_number_of(event);
    return libc_apart()->timer_create(clock, event, timer);
}

WALLPROF_HOOK int mq_notify(mqd_t queue, const struct sigevent *event)
{
    give_back_number_of(event);
    return libc_apart()->mq_notify(queue, event);
}

WALLPROF_HOOK int getaddrinfo_a(int mode, struct gaicb *list[restrict], int count,
                                struct sigevent *restrict event)
{
    give_back_number_of(event);
    return libc_apart()->getaddrinfo_a(mode, list, count, event);
}

/* ---- when an asynchronous request is done ---- */

WALLPROF_HOOK int aio_read(struct aiocb *request)
{
    give_back_number_of_request(request);
    return libc_apart()->aio_read(request);
}

WALLPROF_HOOK int aio_write(struct aiocb *request)
{
    give_back_number_of_request(request);
    return libc_apart()->aio_write(request);
}

WALLPROF_HOOK int aio_fsync(int how, struct aiocb *request)
{
    give_back_number_of_request(request);
    return libc_apart()->aio_fsync(how, request);
}

WALLPROF_HOOK int lio_listio(int mode, struct aiocb *const list[restrict], int count,
                             struct sigevent *restrict event)
{
    give_back_number_of(event);
    const struct aiocb *request;
    for (int i = 0; i < count && hook_argument_read(&request, &list[i], sizeof(request)); i++)
        give_back_number_of_request(request);
    return libc_apart()->lio_listio(mode, list, count, event);
}

/* The same on machines of 64 bits. */
_Static_assert(sizeof(struct aiocb) == sizeof(struct aiocb64), "one request for both");
WALLPROF_ALSO(aio_read64, aio_read);
WALLPROF_ALSO(aio_write64, aio_write);
WALLPROF_ALSO(aio_fsync64, aio_fsync);
WALLPROF_ALSO(lio_listio64, lio_listio);

/* ---- signals of descriptors ---- */

/* As in the C library, an argument of any type is passed as a pointer. */
WALLPROF_HOOK int fcntl(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (command == F_SETSIG)
        hook_mask_give_back_number((int)(intptr_t)argument);
    return libc()->fcntl(fd, command, argument);
}

WALLPROF_ALSO(fcntl64, fcntl);

WALLPROF_HOOK int signalfd(int fd, const sigset_t *set, int flags)
{
    sigset_t for_kernel;
    return libc()->signalfd(fd, hook_mask_for_kernel(set, &for_kernel), flags);
}
