/*
 * Sleeping: nanosleep and what is built on it.
 *
 * The kernel says what was left when our signal came. From then on the thread sleeps until a moment, not for
 * a time, so that our signals add nothing however often they come. The clocks of CPU time are an exception,
 * because they stand still.
 */
#include "hook_argument.h"
#include "hook_wait.h"
#include "hook.h"
#include "sig/signal/sig_numbers.h"

#include <stddef.h>

/* Whether a sleep for a time takes as long by this clock as by CLOCK_MONOTONIC. */
WALLPROF_WAIT static bool is_steady(clockid_t clock)
{
    return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME;
}

/* As clock_nanosleep for a time. *left: what is left when it returns EINTR. */
WALLPROF_WAIT static int sleep_for(clockid_t clock, const struct timespec *time, struct timespec *left)
{
    struct hook_wait wait;
    hook_wait_begin(&wait);
    int error = libc()->clock_nanosleep(clock, 0, time, left);
    if (is_steady(clock) && hook_wait_holds_after(&wait, error)) {
        uint64_t deadline_ns = sig_wait_here.time_ns + hook_wait_timespec_ns(left);
        error = hook_wait_until(&wait, deadline_ns);
        *left = hook_wait_left(deadline_ns);
    }
    while (hook_wait_goes_on_after(&wait, error)) {
        struct timespec rest = *left;
        error = libc()->clock_nanosleep(clock, 0, &rest, left);
    }
    hook_wait_end(&wait);
    return error;
}

/* Only a moment of CLOCK_MONOTONIC suits hook_wait_until: other clocks may be set, or stand still. */
WALLPROF_WAIT static int sleep_until(clockid_t clock, int flags, const struct timespec *moment)
{
    struct timespec until;
    struct hook_wait wait;
    hook_wait_begin(&wait);
    int error = libc()->clock_nanosleep(clock, flags, moment, NULL);
    if (clock == CLOCK_MONOTONIC && hook_wait_holds_after(&wait, error))
        error = hook_argument_read(&until, moment, sizeof(until))
                    ? hook_wait_until(&wait, hook_wait_timespec_ns(&until))
                    : EFAULT;
    while (hook_wait_goes_on_after(&wait, error))
        error = libc()->clock_nanosleep(clock, flags, moment, NULL);
    hook_wait_end(&wait);
    return error;
}

WALLPROF_WAIT_HOOK int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                                       struct timespec *rest)
{
    struct timespec left = {0};
    if (sig_numbers_current() == 0)
        return libc()->clock_nanosleep(clock, flags, time, rest);
    if (flags & TIMER_ABSTIME)
        return sleep_until(clock, flags, time);
    int error = sleep_for(clock, time, &left);
    if (error == EINTR && rest && !hook_argument_write(rest, &left, sizeof(left)))
        return EFAULT;
    return error;
}

WALLPROF_ALSO(__nanosleep, nanosleep);

WALLPROF_WAIT_HOOK int nanosleep(const struct timespec *time, struct timespec *rest)
{
    int error = clock_nanosleep(CLOCK_REALTIME, 0, time, rest);
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

WALLPROF_WAIT_HOOK int usleep(useconds_t us)
{
    struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    return nanosleep(&time, NULL);
}

/* Returns the whole seconds that are left; errno stays as it was when there are none. */
WALLPROF_WAIT_HOOK unsigned sleep(unsigned seconds)
{
    struct timespec time = {.tv_sec = seconds}, left = {0};
    int error = sleep_for(CLOCK_REALTIME, &time, &left);
    if (error == 0)
        return 0;
    errno = error;
    return (unsigned)left.tv_sec;
}

WALLPROF_WAIT_HOOK int thrd_sleep(const struct timespec *time, struct timespec *rest)
{
    int error = clock_nanosleep(CLOCK_REALTIME, 0, time, rest);
    return error == 0 ? 0 : error == EINTR ? -1 : -2;
}
