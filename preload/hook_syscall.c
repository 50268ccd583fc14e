/*
 * syscall(): the calls that are never restarted, made by number. They are not the C library's functions of
 * the same name, which are cancellation points and keep other books, so they are made again here; so is
 * libaio's io_getevents, which is nothing but its system call.
 */
#include "hook_mask.h"
#include "hook_seccomp.h"
#include "hook_wait.h"
#include "real.h"
#include "session/session.h"

#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>

enum { ARGUMENTS = 6 };

enum kind {
    STRAIGHT,   /* restarted by the kernel, or not to be made again */
    AGAIN,      /* the same again: without an end, or until a moment */
    FOR_TIME,   /* for a struct timespec, which stays as it is */
    FOR_REST,   /* for a struct timespec that the kernel writes what is left to */
    FOR_PERIOD, /* for a struct timeval, likewise */
    FOR_MS,     /* for milliseconds, without an end if negative */
    FOR_RING    /* for what a struct io_uring_getevents_arg points to */
};

/* A call's kind, and which argument says how long. */
struct form {
    enum kind kind;
    int at;
};

/* Of futexes only FUTEX_WAIT is for a time, and of sleeps those not until a moment. The clocks of CPU time
 * are left alone: they do not pass by CLOCK_MONOTONIC. */
WALLPROF_WAIT static struct form form_by_arguments(long number, long first, long second, long fourth)
{
    if (number == SYS_futex)
        return (second & FUTEX_CMD_MASK) == FUTEX_WAIT ? (struct form){FOR_TIME, 3} : (struct form){AGAIN, 0};
    if (number == SYS_io_uring_enter)
        return fourth & IORING_ENTER_EXT_ARG ? (struct form){FOR_RING, 4} : (struct form){AGAIN, 0};
    if (second & TIMER_ABSTIME)
        return (struct form){AGAIN, 0};
    return first == CLOCK_REALTIME || first == CLOCK_MONOTONIC ? (struct form){FOR_TIME, 2}
                                                               : (struct form){STRAIGHT, 0};
}

WALLPROF_WAIT static struct form form_of(long number, long first, long second, long fourth)
{
    switch (number) {
    case SYS_futex:
    case SYS_io_uring_enter:
    case SYS_clock_nanosleep:
        return form_by_arguments(number, first, second, fourth);
    case SYS_nanosleep:
        return (struct form){FOR_TIME, 0};
#ifdef SYS_poll /* older calls, which newer machines do not have */
    case SYS_poll:
        return (struct form){FOR_MS, 2};
    case SYS_select:
        return (struct form){FOR_PERIOD, 4};
    case SYS_epoll_wait:
        return (struct form){FOR_MS, 3};
    case SYS_pause:
        return (struct form){AGAIN, 0};
#endif
    case SYS_ppoll:
        return (struct form){FOR_REST, 2};
    case SYS_pselect6:
        return (struct form){FOR_REST, 4};
    case SYS_epoll_pwait:
        return (struct form){FOR_MS, 3};
    case SYS_epoll_pwait2:
    case SYS_semtimedop:
        return (struct form){FOR_TIME, 3};
    case SYS_rt_sigtimedwait:
        return (struct form){FOR_TIME, 2};
    case SYS_io_getevents:
    case SYS_io_pgetevents:
        return (struct form){FOR_TIME, 4};
    case SYS_rt_sigsuspend:
    case SYS_semop:
    case SYS_msgsnd:
    case SYS_msgrcv:
        return (struct form){AGAIN, 0};
    default:
        return (struct form){STRAIGHT, 0};
    }
}

/* What a call is made again with. */
struct rest {
    uint64_t deadline_ns; /* 0 until it is known, and without one */
    struct timespec time;
    struct io_uring_getevents_arg ring;
};

static const struct timespec *time_of_ring(const struct io_uring_getevents_arg *ring)
{
    return ring ? (const struct timespec *)(uintptr_t)ring->ts : NULL;
}

/* Before the call. Those whose rest the kernel tells need no clock. */
WALLPROF_WAIT static uint64_t deadline_before(struct form form, long argument)
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

/* After our signal, from the rest that the kernel has written at sig_wait_here.time_ns. */
WALLPROF_WAIT static uint64_t deadline_after(struct form form, long argument)
{
    if (form.kind == FOR_REST && argument)
        return sig_wait_here.time_ns + hook_wait_timespec_ns((const struct timespec *)argument);
    const struct timeval *period = (const struct timeval *)argument;
    if (form.kind == FOR_PERIOD && period)
        return sig_wait_here.time_ns + (uint64_t)period->tv_sec * NS_PER_S +
               ((uint64_t)period->tv_usec + 1) * NS_PER_US; /* it is rounded down */
    return 0;
}

/* The argument to make the call again with, and what was given to be told the rest. */
WALLPROF_WAIT static long argument_for(struct form form, struct rest *rest, long argument)
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

WALLPROF_WAIT static long call(long number, const long *arguments)
{
    return real_functions()->syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                                     arguments[4], arguments[5]);
}

/* Six longs, not an array: whose address is known elsewhere would keep the hook from leaving by a jump. */
__attribute__((noinline)) WALLPROF_WAIT static long wait_by_number(long number, long a, long b, long c,
                                                                   long d, long e, long f, struct form form)
{
    const long asked[ARGUMENTS] = {a, b, c, d, e, f};
    long arguments[ARGUMENTS] = {a, b, c, d, e, f};
    struct rest rest = {.deadline_ns = deadline_before(form, asked[form.at])};
    struct hook_wait wait;
    hook_wait_begin(&wait);
    long result = call(number, arguments);
    while (hook_wait_goes_on(&wait, result < 0)) {
        if (!rest.deadline_ns)
            rest.deadline_ns = deadline_after(form, asked[form.at]);
        arguments[form.at] = argument_for(form, &rest, asked[form.at]);
        result = call(number, arguments);
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
 * The function is called and left by a jump, with the stack as the caller left it: a child that it has made
 * returns to the caller too, and may have another stack. It has as many arguments as there may be, as the C
 * library's.
 */
long hook_syscall(long, long, long, long, long, long, long) __asm__("syscall");
WALLPROF_WAIT_HOOK long hook_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    struct form form = form_of(number, a, b, d);
    if (form.kind != STRAIGHT)
        return wait_by_number(number, a, b, c, d, e, f, form);
    hook_mask_give_back_number(number_sent(number, b, c));
    if (number == SYS_exit_group)
        session_note_exit((int)a);
    if (number == SYS_seccomp)
        hook_seccomp_before_call(a, b, c);
    return real_functions()->syscall(number, a, b, c, d, e, f);
}

/* libaio's: the error's number with a minus, errno untouched. */
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
    } given = {.mask = mask, .bytes = sizeof(uint64_t)};
    int before = errno;
    return events_or_error(
        hook_syscall(SYS_io_pgetevents, (long)context, least, most, (long)events, (long)time, (long)&given),
        before);
}
