/*
 * Waiting for descriptors. After our signal the call is made again for the time that is left. A call that
 * cannot wait, or waits for ever, reads no clock. The C library reads the times of ppoll, pselect and select
 * itself, so the hooks read them as they are.
 */
#include "hook_argument.h"
#include "hook_mask.h"
#include "hook_wait.h"
#include "hook.h"

#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/select.h>

WALLPROF_WAIT static uint64_t deadline_of_ms(int ms)
{
    return ms > 0 ? clock_monotonic_ns() + (uint64_t)ms * NS_PER_MS : 0;
}

/* What is left, rounded up to whole milliseconds. */
WALLPROF_WAIT static int left_ms(uint64_t deadline_ns)
{
    struct timespec left = hook_wait_left(deadline_ns);
    return (int)((clock_timespec_ns(&left) + NS_PER_MS - 1) / NS_PER_MS);
}

/* For the time left until the deadline; without a deadline (0), for `time`. */
WALLPROF_WAIT static int poll_until(struct pollfd *fds, nfds_t count, uint64_t deadline_ns,
                                    const struct timespec *time, const sigset_t *mask)
{
    struct timespec left = hook_wait_left(deadline_ns);
    return libc()->ppoll(fds, count, deadline_ns ? &left : time, mask);
}

WALLPROF_WAIT_HOOK int poll(struct pollfd *fds, nfds_t count, int ms)
{
    static const struct timespec no_time; /* a signal also interrupts a call that does not wait */
    uint64_t deadline_ns = deadline_of_ms(ms);
    struct hook_wait wait;
    hook_wait_begin(&wait);
    int result = libc()->poll(fds, count, ms);
    while (hook_wait_holds(&wait, result < 0))
        result = poll_until(fds, count, deadline_ns, ms == 0 ? &no_time : NULL, &wait.mask);
    hook_wait_end(&wait);
    return result;
}

WALLPROF_ALSO(__poll, poll);

WALLPROF_WAIT_HOOK int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *time,
                             const sigset_t *mask)
{
    sigset_t for_kernel;
    mask = hook_mask_for_kernel(mask, &for_kernel);
    uint64_t deadline_ns = hook_wait_deadline(time);
    struct hook_wait wait;
    hook_wait_begin_with(&wait, mask, &for_kernel);
    int result = libc()->ppoll(fds, count, time, mask);
    while (hook_wait_holds(&wait, result < 0))
        result = poll_until(fds, count, deadline_ns, time, mask ? mask : &wait.mask);
    hook_wait_end(&wait);
    return result;
}

/* Programs that are compiled with _FORTIFY_SOURCE call these. */
extern int __poll_chk(struct pollfd *fds, nfds_t count, int ms, size_t bytes);
extern int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *time, const sigset_t *mask,
                       size_t bytes);

WALLPROF_WAIT_HOOK int __poll_chk(struct pollfd *fds, nfds_t count, int ms, size_t bytes)
{
    if (bytes / sizeof(*fds) < count)
        __chk_fail();
    return poll(fds, count, ms);
}

WALLPROF_WAIT_HOOK int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *time,
                                   const sigset_t *mask, size_t bytes)
{
    if (bytes / sizeof(*fds) < count)
        __chk_fail();
    return ppoll(fds, count, time, mask);
}

/* Linux writes what was left into *time, rounded down, so no clock is read until our signal comes. */
WALLPROF_WAIT static uint64_t deadline_of_rest(const struct timeval *time)
{
    return sig_wait_here.time_ns + (uint64_t)time->tv_sec * NS_PER_S +
           ((uint64_t)time->tv_usec + 1) * NS_PER_US;
}

WALLPROF_WAIT static struct timeval left_until(uint64_t deadline_ns)
{
    struct timespec left = hook_wait_left(deadline_ns);
    return (struct timeval){.tv_sec = left.tv_sec, .tv_usec = left.tv_nsec / NS_PER_US};
}

WALLPROF_WAIT_HOOK int select(int count, fd_set *restrict reads, fd_set *restrict writes,
                              fd_set *restrict others, struct timeval *restrict time)
{
    uint64_t deadline_ns = 0;
    struct hook_wait wait;
    hook_wait_begin(&wait);
    int result = libc()->select(count, reads, writes, others, time);
    while (hook_wait_holds(&wait, result < 0)) {
        deadline_ns = time && !deadline_ns ? deadline_of_rest(time) : deadline_ns;
        struct timespec left = hook_wait_left(deadline_ns);
        result = libc()->pselect(count, reads, writes, others, time ? &left : NULL, &wait.mask);
    }
    hook_wait_end(&wait);
    if (deadline_ns)
        *time = left_until(deadline_ns);
    return result;
}

WALLPROF_ALSO(__select, select);

WALLPROF_WAIT_HOOK int pselect(int count, fd_set *restrict reads, fd_set *restrict writes,
                               fd_set *restrict others, const struct timespec *restrict time,
                               const sigset_t *restrict mask)
{
    sigset_t for_kernel;
    mask = hook_mask_for_kernel(mask, &for_kernel);
    uint64_t deadline_ns = hook_wait_deadline(time);
    struct hook_wait wait;
    hook_wait_begin_with(&wait, mask, &for_kernel);
    int result = libc()->pselect(count, reads, writes, others, time, mask);
    while (hook_wait_holds(&wait, result < 0)) {
        struct timespec left = hook_wait_left(deadline_ns);
        result = libc()->pselect(count, reads, writes, others, deadline_ns ? &left : time,
                                 mask ? mask : &wait.mask);
    }
    hook_wait_end(&wait);
    return result;
}

WALLPROF_WAIT_HOOK int epoll_pwait(int epoll, struct epoll_event *events, int count, int ms,
                                   const sigset_t *mask)
{
    sigset_t for_kernel;
    mask = hook_mask_for_kernel(mask, &for_kernel);
    uint64_t deadline_ns = deadline_of_ms(ms);
    struct hook_wait wait;
    hook_wait_begin_with(&wait, mask, &for_kernel);
    int result = libc()->epoll_pwait(epoll, events, count, ms, mask);
    while (hook_wait_holds(&wait, result < 0))
        result = libc()->epoll_pwait(epoll, events, count, deadline_ns ? left_ms(deadline_ns) : ms,
                                     mask ? mask : &wait.mask);
    hook_wait_end(&wait);
    return result;
}

WALLPROF_WAIT_HOOK int epoll_wait(int epoll, struct epoll_event *events, int count, int ms)
{
    uint64_t deadline_ns = deadline_of_ms(ms);
    struct hook_wait wait;
    hook_wait_begin(&wait);
    int result = libc()->epoll_wait(epoll, events, count, ms);
    while (hook_wait_holds(&wait, result < 0))
        result =
            libc()->epoll_pwait(epoll, events, count, deadline_ns ? left_ms(deadline_ns) : ms, &wait.mask);
    hook_wait_end(&wait);
    return result;
}

WALLPROF_WAIT_HOOK int epoll_pwait2(int epoll, struct epoll_event *events, int count,
                                    const struct timespec *time, const sigset_t *mask)
{
    sigset_t for_kernel;
    mask = hook_mask_for_kernel(mask, &for_kernel);
    struct hook_limit limit;
    hook_limit_begin(&limit, time);
    struct hook_wait wait;
    hook_wait_begin_with(&wait, mask, &for_kernel);
    int result = libc()->epoll_pwait2(epoll, events, count, time, mask);
    while (hook_wait_holds(&wait, result < 0)) {
        struct timespec left;
        result = libc()->epoll_pwait2(epoll, events, count, hook_limit_left(&limit, &left),
                                      mask ? mask : &wait.mask);
    }
    hook_wait_end(&wait);
    return result;
}
