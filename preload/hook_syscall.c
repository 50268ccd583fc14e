/*
 * syscall(): calls by number that the kernel never restarts. The C library's functions of the same name are
 * cancellation points and do more than the call, so the call itself is made again. libaio's io_getevents is
 * here as well, because it is nothing but its system call.
 */
#include "hook_argument.h"
#include "hook_mask.h"
#include "hook_seccomp.h"
#include "hook_signal.h"
#include "hook_wait.h"
#include "hook.h"
#include "session/session.h"
#include "sig/signal/sig_numbers.h"
#include "sig/sys/sig_arch.h"

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
    FOR_SLEEP,  /* the same; after EINTR the kernel writes what is left to the next argument */
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
    return first == CLOCK_REALTIME || first == CLOCK_MONOTONIC ? (struct wait_form){FOR_SLEEP, 2}
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
        return (struct wait_form){FOR_SLEEP, 0};
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

/*
 * What a call needs to be made again, and the kernel's results of later calls. The kernel's own result of the
 * first call says nothing of the rest: the program may have given memory that cannot be written.
 */
struct wait_rest {
    struct hook_limit limit;
    bool is_used; /* one of these is the argument now */
    struct timespec time, left;
    struct timeval period;
    struct io_uring_getevents_arg ring;
};

/* As the kernel reads it: of microseconds there may be a million or more. */
WALLPROF_WAIT static struct timespec time_of_period(const struct timeval *period)
{
    return (struct timespec){.tv_sec = period->tv_sec + period->tv_usec / 1000000,
                             .tv_nsec = period->tv_usec % 1000000 * 1000};
}

/* Before the call. What the kernel will overwrite is read now. */
WALLPROF_WAIT static void begin_limit(struct wait_form form, long argument, struct wait_rest *rest)
{
    const void *given = (const void *)argument;
    const struct timespec *time = NULL;
    if (form.kind == FOR_TIME || form.kind == FOR_SLEEP)
        time = given;
    if (form.kind == FOR_REST && hook_argument_read(&rest->time, given, sizeof(rest->time)))
        time = &rest->time;
    if (form.kind == FOR_PERIOD && hook_argument_read(&rest->period, given, sizeof(rest->period))) {
        rest->time = time_of_period(&rest->period);
        time = &rest->time;
    }
    if (form.kind == FOR_RING && hook_argument_read(&rest->ring, given, sizeof(rest->ring)))
        time = (const struct timespec *)(uintptr_t)rest->ring.ts;
    if (form.kind == FOR_MS && (int)argument > 0) {
        rest->time = clock_ns_timespec((uint64_t)(int)argument * NS_PER_MS);
        time = &rest->time;
    }
    hook_limit_begin(&rest->limit, time);
}

/* The argument for the next call. */
WALLPROF_WAIT static long argument_for(struct wait_form form, struct wait_rest *rest, long argument)
{
    hook_limit_left(&rest->limit, &rest->time);
    if (!rest->limit.deadline_ns)
        return argument;
    rest->is_used = true;
    switch (form.kind) {
    case FOR_PERIOD:
        rest->period =
            (struct timeval){.tv_sec = rest->time.tv_sec, .tv_usec = rest->time.tv_nsec / NS_PER_US};
        return (long)&rest->period;
    case FOR_MS:
        return (long)((clock_timespec_ns(&rest->time) + NS_PER_MS - 1) / NS_PER_MS);
    case FOR_RING:
        rest->ring.ts = (uint64_t)(uintptr_t)&rest->time;
        return (long)&rest->ring;
    default:
        return (long)&rest->time;
    }
}

/* After the last call: writes to the program's arguments what the kernel would. Returns the result. */
WALLPROF_WAIT static long tell_rest(struct wait_form form, const struct wait_rest *rest,
                                    const long *arguments, long result)
{
    void *given = (void *)arguments[0], *left = (void *)arguments[1];
    if (form.kind == FOR_SLEEP && result < 0 && errno == EINTR && left &&
        !hook_argument_write(left, &rest->left, sizeof(rest->left)))
        errno = EFAULT;
    if (form.kind == FOR_REST && rest->is_used)
        (void)hook_argument_write(given, &rest->time, sizeof(rest->time)); /* as the kernel: or not */
    if (form.kind == FOR_PERIOD && rest->is_used)
        (void)hook_argument_write(given, &rest->period, sizeof(rest->period));
    return result;
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
    struct wait_rest rest = {0};
    begin_limit(form, given[form.at], &rest);
    if (form.kind == FOR_SLEEP && given[form.at + 1])
        arguments[form.at + 1] = (long)&rest.left;
    struct hook_wait wait;
    hook_wait_begin(&wait);
    long result = make_call(number, arguments);
    while (hook_wait_goes_on(&wait, result < 0)) {
        arguments[form.at] = argument_for(form, &rest, given[form.at]);
        result = make_call(number, arguments);
    }
    hook_wait_end(&wait);
    return tell_rest(form, &rest, &given[form.at], result);
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
    long result;
    if (form.kind != ONCE && sig_numbers_current() != 0)
        return wait_by_number(number, a, b, c, d, e, f, form);
    hook_mask_give_back_number(number_sent(number, b, c));
    if (number == SYS_exit_group)
        session_note_exit((int)a);
    if (number == SYS_seccomp)
        hook_seccomp_before(a, b, c);
    if (number == SYS_ptrace && a == PTRACE_TRACEME)
        return ptrace(PTRACE_TRACEME);
    if (number == SYS_rt_sigaction && hook_signal_call(a, b, c, d, &result))
        return result;
    result = libc()->syscall(number, a, b, c, d, e, f);
    if (number == SYS_seccomp)
        hook_seccomp_after(a, result);
    return result;
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
