/*
 * syscall(): calls by number that the kernel never restarts. The C library's functions of the same name are
 * cancellation points and do more than the call, so the call itself is made again. libaio's io_getevents is
 * here as well, because it is nothing but its system call.
 */
#include "hook_mask.h"
#include "hook_seccomp.h"
#include "hook_wait.h"
#include "hook.h"
#include "session/session.h"

#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>

enum { ARGUMENTS = 6 };

enum time_kind {
    ONCE,       /* the kernel restarts it, or it must not be made again */
    AGAIN,      /* made again as it was: it has no end, or waits until a moment */
    FOR_TIME,   /* for a struct timespec, which stays as it is */
    FOR_REST,   /* for a struct timespec, to which the kernel writes what is left */
    FOR_PERIOD, /* for a struct timeval, to which the kernel writes what is left */
    FOR_MS,     /* for milliseconds; for ever if negative */
    FOR_RING    /* for the time that a struct io_uring_getevents_arg points to */
};

/* A call's kind, and which argument says how long. */
struct wait_form {
    enum time_kind kind;
    int at;
};

/* Of the futex calls only FUTEX_WAIT is for a time. A sleep is for a time, or until a moment. Sleeps by a
 * clock of CPU time are left alone, because that clock does not run with CLOCK_MONOTONIC. */
WALLPROF_WAIT static struct wait_form form_by_arguments(long number, long first, long second, long fourth)
{
    if (number == SYS_futex)
        return (second & FUTEX_CMD_MASK) == FUTEX_WAIT ? (struct wait_form){FOR_TIME, 3}
                                                       : (struct wait_form){AGAIN, 0};
    if (number == SYS_io_uring_enter)
        return fourth & IORING_ENTER_EXT_ARG ? (struct wait_form){FOR_RING, 4} : (struct wait_form){AGAIN, 0};
    if (second & TIMER_ABSTIME)
        return (struct wait_form){AGAIN, 0};
    return first == CLOCK_REALTIME || first == CLOCK_MONOTONIC ? (struct wait_form){FOR_TIME, 2}
                                                               : (struct wait_form){ONCE, 0};
}

WALLPROF_WAIT static struct wait_form form_of(long number, long first, long second, long fourth)
{
    switch (number) {
    case SYS_futex:
    case SYS_io_uring_enter:
    case SYS_clock_nanosleep:
        return form_by_arguments(number, first, second, fourth);
    case SYS_nanosleep:
        return (struct wait_form){FOR_TIME, 0};
#ifdef SYS_poll /* newer machines do not have the older calls */
    case SYS_poll:
        return (struct wait_form){FOR_MS, 2};
    case SYS_select:
        return (struct wait_form){FOR_PERIOD, 4};
    case SYS_epoll_wait:
        return (struct wait_form){FOR_MS, 3};
    case SYS_pause:
        return (struct wait_form){AGAIN, 0};
#endif
    case SYS_ppoll:
        return (struct wait_form){FOR_REST, 2};
    case SYS_pselect6:
        return (struct wait_form){FOR_REST, 4};
    case SYS_epoll_pwait:
        return (struct wait_form){FOR_MS, 3};
    case SYS_epoll_pwait2:
    case SYS_semtimedop:
        return (struct wait_form){FOR_TIME, 3};
    case SYS_rt_sigtimedwait:
        return (struct wait_form){FOR_TIME, 2};
    case SYS_io_getevents:
    case SYS_io_pgetevents:
        return (struct wait_form){FOR_TIME, 4};
    case SYS_rt_sigsuspend:
    case SYS_semop:
    case SYS_msgsnd:
    case SYS_msgrcv:
        return (struct wait_form){AGAIN, 0};
    default:
        return (struct wait_form){ONCE, 0};
    }
}

/* What a call needs to be made again. */
struct wait_rest {
    uint64_t deadline_ns; /* 0 until it is known, and without one */
    struct timespec time;
    struct io_uring_getevents_arg ring;
};

static const struct timespec *time_of_ring(const struct io_uring_getevents_arg *ring)
{
    return ring ? (const struct timespec *)(uintptr_t)ring->ts : NULL;
}

/* Before the call. No clock is read for a call whose rest the kernel writes. */
WALLPROF_WAIT static uint64_t deadline_before(struct wait_form form, long argument)
{
    switch (form.kind) {
    case FOR_TIME:
        return hook_wait_deadline((const struct timespec *)argument);
    case FOR_MS:
        return (int)argument > 0 ? clock_monotonic_ns() + (uint64_t)(int)argument * NS_PER_MS : 0;
    case FOR_RING:
        return hook_wait_deadline(time_of_ring((const struct io_uring_getevents_arg *)argument));
    default:
        return 0;
    }
}

/* After our signal, from the rest that the kernel wrote at sig_wait_here.time_ns. */
WALLPROF_WAIT static uint64_t deadline_after(struct wait_form form, long argument)
{
    if (form.kind == FOR_REST && argument)
        return sig_wait_here.time_ns + hook_wait_timespec_ns((const struct timespec *)argument);
    const struct timeval *period = (const struct timeval *)argument;
    if (form.kind == FOR_PERIOD && period)
        return sig_wait_here.time_ns + (uint64_t)period->tv_sec * NS_PER_S +
               ((uint64_t)period->tv_usec + 1) * NS_PER_US; /* it is rounded down */
    return 0;
}

/* The argument for the next call. Where the program is told what is left, that is written too. */
WALLPROF_WAIT static long argument_for(struct wait_form form, struct wait_rest *rest, long argument)
{
    if (!rest->deadline_ns)
        return argument;
    rest->time = hook_wait_left(rest->deadline_ns);
    switch (form.kind) {
    case FOR_TIME:
        return (long)&rest->time;
    case FOR_REST:
        *(struct timespec *)argument = rest->time;
        return argument;
    case FOR_PERIOD:
        *(struct timeval *)argument =
            (struct timeval){.tv_sec = rest->time.tv_sec, .tv_usec = rest->time.tv_nsec / NS_PER_US};
        return argument;
    case FOR_MS:
        return (long)((clock_timespec_ns(&rest->time) + NS_PER_MS - 1) / NS_PER_MS);
    case FOR_RING:
        rest->ring = *(const struct io_uring_getevents_arg *)argument;
        rest->ring.ts = (uint64_t)(uintptr_t)&rest->time;
        return (long)&rest->ring;
    default:
        return argument;
    }
}

WALLPROF_WAIT static long make_call(long number, const long *arguments)
{
    return libc()->syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                           arguments[5]);
}

/* Takes six longs, not an array: with an array's address passed on, the hook could not end in a jump. */
__attribute__((noinline)) WALLPROF_WAIT static long
wait_by_number(long number, long a, long b, long c, long d, long e, long f, struct wait_form form)
{
    const long given[ARGUMENTS] = {a, b, c, d, e, f};
    long arguments[ARGUMENTS] = {a, b, c, d, e, f};
    struct wait_rest rest = {.deadline_ns = deadline_before(form, given[form.at])};
    struct hook_wait wait;
    hook_wait_begin(&wait);
    long result = make_call(number, arguments);
    while (hook_wait_goes_on(&wait, result < 0)) {
        if (!rest.deadline_ns)
            rest.deadline_ns = deadline_after(form, given[form.at]);
        arguments[form.at] = argument_for(form, &rest, given[form.at]);
        result = make_call(number, arguments);
    }
    hook_wait_end(&wait);
    return result;
}

/* The signal that a call sends, 0 for all others. */
static int number_sent(long number, long b, long c)
{
    switch (number) {
    case SYS_kill:
    case SYS_tkill:
    case SYS_rt_sigqueueinfo:
    case SYS_pidfd_send_signal:
        return (int)b;
    case SYS_tgkill:
    case SYS_rt_tgsigqueueinfo:
        return (int)c;
    default:
        return 0;
    }
}

/*
 * Ends in a jump to the real function, with the stack as the caller left it, because a child that the call
 * makes returns to the caller too, possibly on another stack. It takes as many arguments as there may be, as
 * the C library's function does.
 */
long hook_syscall(long, long, long, long, long, long, long) __asm__("syscall");
WALLPROF_WAIT_HOOK long hook_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    struct wait_form form = form_of(number, a, b, d);
    if (form.kind != ONCE)
        return wait_by_number(number, a, b, c, d, e, f, form);
    hook_mask_give_back_number(number_sent(number, b, c));
    if (number == SYS_exit_group)
        session_note_exit((int)a);
    if (number == SYS_seccomp)
        hook_seccomp_before(a, b, c);
    if (number == SYS_ptrace && a == PTRACE_TRACEME)
        return ptrace(PTRACE_TRACEME);
    return libc()->syscall(number, a, b, c, d, e, f);
}

/* libaio returns the negative error number and leaves errno as it was. */
WALLPROF_WAIT static int events_or_error(long result, int errno_before)
{
    if (result >= 0)
        return (int)result;
    int error = errno;
    errno = errno_before;
    return -error;
}

extern int io_getevents(aio_context_t context, long least, long most, struct io_event *events,
                        struct timespec *time);
extern int io_pgetevents(aio_context_t context, long least, long most, struct io_event *events,
                         struct timespec *time, sigset_t *mask);

WALLPROF_WAIT_HOOK int io_getevents(aio_context_t context, long least, long most, struct io_event *events,
                                    struct timespec *time)
{
    int before = errno;
    return events_or_error(
        hook_syscall(SYS_io_getevents, (long)context, least, most, (long)events, (long)time, 0), before);
}

WALLPROF_WAIT_HOOK int io_pgetevents(aio_context_t context, long least, long most, struct io_event *events,
                                     struct timespec *time, sigset_t *mask)
{
    struct {
        sigset_t *mask;
        size_t bytes;
    } mask_argument = {.mask = mask, .bytes = sizeof(uint64_t)};
    int before = errno;
    return events_or_error(hook_syscall(SYS_io_pgetevents, (long)context, least, most, (long)events,
                                        (long)time, (long)&mask_argument),
                           before);
}
