#include "cut_short.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>

/* A wait for a futex is restarted, unless it has a timeout. */
static bool is_timed_futex(long number, const uint64_t arguments[6])
{
    uint64_t operation = arguments[1] & (uint64_t)FUTEX_CMD_MASK;
    bool is_wait = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
    return number == SYS_futex && is_wait && arguments[3] != 0;
}

static const long never_restarted[] = {
    SYS_clock_nanosleep, SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_io_getevents, SYS_io_uring_enter,
    SYS_msgrcv,          SYS_msgsnd,          SYS_nanosleep,    SYS_ppoll,        SYS_pselect6,
    SYS_restart_syscall, /* one of these, after a stop */
    SYS_rt_sigsuspend,   SYS_rt_sigtimedwait, SYS_semop,        SYS_semtimedop,
#ifdef SYS_poll /* not on machines that Linux came to late */
    SYS_epoll_wait,      SYS_pause,           SYS_poll,         SYS_select,
#endif
};

bool cut_short_by_signal(long number, const uint64_t arguments[6])
{
    for (size_t i = 0; i < sizeof(never_restarted) / sizeof(never_restarted[0]); i++) {
        if (number == never_restarted[i])
            return true;
    }
    return is_timed_futex(number, arguments);
}
