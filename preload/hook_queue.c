/* Waiting for semaphores, messages and asynchronous requests. A wait until a moment is simply made again. */
#include "hook_argument.h"
#include "hook_wait.h"
#include "hook.h"

#include <aio.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/msg.h>
#include <sys/sem.h>

WALLPROF_WAIT_HOOK int sem_wait(sem_t *semaphore)
{
    HOOK_WAIT_AGAIN(int, libc()->sem_wait(semaphore));
}

WALLPROF_WAIT_HOOK int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict moment)
{
    HOOK_WAIT_AGAIN(int, libc()->sem_timedwait(semaphore, moment));
}

WALLPROF_WAIT_HOOK int sem_clockwait(sem_t *restrict semaphore, clockid_t clock,
                                     const struct timespec *restrict moment)
{
    HOOK_WAIT_AGAIN(int, libc()->sem_clockwait(semaphore, clock, moment));
}

WALLPROF_WAIT_HOOK int semop(int set, struct sembuf *operations, size_t count)
{
    HOOK_WAIT_AGAIN(int, libc()->semop(set, operations, count));
}

WALLPROF_WAIT_HOOK int msgsnd(int queue, const void *message, size_t bytes, int flags)
{
    HOOK_WAIT_AGAIN(int, libc()->msgsnd(queue, message, bytes, flags));
}

WALLPROF_WAIT_HOOK ssize_t msgrcv(int queue, void *message, size_t bytes, long type, int flags)
{
    HOOK_WAIT_AGAIN(ssize_t, libc()->msgrcv(queue, message, bytes, type, flags));
}

WALLPROF_WAIT_HOOK int semtimedop(int set, struct sembuf *operations, size_t count,
                                  const struct timespec *time)
{
    struct hook_limit limit;
    hook_limit_begin(&limit, time);
    struct hook_wait wait;
    hook_wait_begin(&wait);
    int result = libc()->semtimedop(set, operations, count, time);
    while (hook_wait_goes_on(&wait, result < 0)) {
        struct timespec left;
        result = libc()->semtimedop(set, operations, count, hook_limit_left(&limit, &left));
    }
    hook_wait_end(&wait);
    return result;
}

WALLPROF_WAIT_HOOK int aio_suspend(const struct aiocb *const requests[], int count,
                                   const struct timespec *time)
{
    struct hook_limit limit;
    hook_limit_begin(&limit, time);
    struct hook_wait wait;
    hook_wait_begin(&wait);
    int result = libc_apart()->aio_suspend(requests, count, time);
    while (hook_wait_goes_on(&wait, result < 0)) {
        struct timespec left;
        result = libc_apart()->aio_suspend(requests, count, hook_limit_left(&limit, &left));
    }
    hook_wait_end(&wait);
    return result;
}

WALLPROF_ALSO(aio_suspend64, aio_suspend); /* the same on machines of 64 bits */
