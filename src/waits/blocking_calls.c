#include "blocking_calls.h"
#include "sig/sys/sig_arch.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Their first argument is the descriptor. close is none of them: it is gone from the table by then. */
static const long of_descriptors[] = {
    SYS_read,      SYS_write,           SYS_readv,      SYS_writev,    SYS_pread64,  SYS_pwrite64,
    SYS_preadv,    SYS_pwritev,         SYS_preadv2,    SYS_pwritev2,  SYS_recvfrom, SYS_recvmsg,
    SYS_recvmmsg,  SYS_sendto,          SYS_sendmsg,    SYS_sendmmsg,  SYS_connect,  SYS_accept,
    SYS_accept4,   SYS_fsync,           SYS_fdatasync,  SYS_syncfs,    SYS_flock,    SYS_ioctl,
    SYS_fallocate, SYS_sync_file_range, SYS_getdents64, SYS_ftruncate, SYS_sendfile, SYS_io_uring_enter,
};

static bool is_in(long number, const long *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] == number)
            return true;
    }
    return false;
}

static bool is_poll(long number)
{
#ifdef SYS_poll
    if (number == SYS_poll)
        return true;
#endif
    return number == SYS_ppoll;
}

static bool is_select(long number)
{
#ifdef SYS_select
    if (number == SYS_select)
        return true;
#endif
    return number == SYS_pselect6;
}

static bool is_epoll(long number)
{
#ifdef SYS_epoll_wait
    if (number == SYS_epoll_wait)
        return true;
#endif
    return number == SYS_epoll_pwait || number == SYS_epoll_pwait2;
}

static bool is_lock_command(uint64_t command)
{
    return (int)command == F_SETLKW || (int)command == F_OFD_SETLKW;
}

static pid_t waited_child(long number, const uint64_t arguments[6])
{
    if (number == SYS_waitid)
        return (int)arguments[0] == P_PID ? (pid_t)arguments[1] : 0;
    return (pid_t)arguments[0] > 0 ? (pid_t)arguments[0] : 0;
}

struct blocking_call blocking_call_of(long number, const uint64_t arguments[6])
{
    const int first = (int)arguments[0];
    if (is_in(number, of_descriptors, sizeof of_descriptors / sizeof *of_descriptors) ||
        (number == SYS_fcntl && is_lock_command(arguments[1])))
        return (struct blocking_call){.kind = BLOCKING_DESCRIPTOR, .descriptor = first};
    if (number == SYS_mq_timedreceive || number == SYS_mq_timedsend)
        return (struct blocking_call){.kind = BLOCKING_QUEUE, .descriptor = first};
    if (is_poll(number) && arguments[1] > 0)
        return (struct blocking_call){
            .kind = BLOCKING_POLL, .descriptor = -1, .polled = arguments[0], .polled_count = arguments[1]};
    if (is_select(number) && (int)arguments[0] > 0)
        return (struct blocking_call){.kind = BLOCKING_SELECT,
                                      .descriptor = -1,
                                      .selected = {arguments[1], arguments[2], arguments[3]},
                                      .selected_bits = (uint32_t)arguments[0]};
    if (is_epoll(number))
        return (struct blocking_call){.kind = BLOCKING_EPOLL, .descriptor = first};
    if (number == SYS_wait4 || number == SYS_waitid)
        return (struct blocking_call){.kind = BLOCKING_CHILD, .child = waited_child(number, arguments)};
    return (struct blocking_call){.kind = BLOCKING_OTHER};
}
