#include "sig_restart.h"
#include "sig/sys/sig_arch.h"
#include "sig_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>

void sig_restart_note(const ucontext_t *context)
{
    struct sig_regs regs;
    sig_regs_from_context(&regs, context);
    uint64_t after_call = sig_after_system_call(context);
    bool is_on_call = after_call != 0 && after_call != regs.pc;
    sig_wait_here.restarts_pc = is_on_call ? regs.pc : 0;
    sig_wait_here.restarts_sp = regs.sp;
}

/* The kernel never ends a read or write of a regular file, a directory or a block device with EINTR, so a
 * program may not expect it. */
static bool is_waited_for(int fd)
{
    struct stat status;
    return sig_syscall4(SYS_fstat, fd, (long)&status, 0, 0) == 0 && !S_ISREG(status.st_mode) &&
           !S_ISDIR(status.st_mode) && !S_ISBLK(status.st_mode);
}

/* Calls that SA_RESTART makes again (signal(7)), and that may fail with EINTR before they have done anything.
 * A thread that has just reached the instruction for the first time looks the same. */
static bool may_fail_with_eintr(long number, long first, long second)
{
    switch (number) {
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
        return is_waited_for((int)first);
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_flock:
    case SYS_futex:
    case SYS_mq_timedsend:
    case SYS_mq_timedreceive:
        return true;
    case SYS_fcntl:
        return second == F_SETLKW || second == F_OFD_SETLKW;
    default:
        return false;
    }
}

void sig_restart_end(ucontext_t *context)
{
    struct sig_regs regs;
    sig_regs_from_context(&regs, context);
    if (regs.pc == 0 || regs.pc != sig_wait_here.restarts_pc || regs.sp != sig_wait_here.restarts_sp)
        return;
    sig_wait_here.restarts_pc = 0;
    uint64_t after_call = sig_after_system_call(context);
    if (after_call != 0 && after_call != regs.pc &&
        may_fail_with_eintr(sig_call_number(context), sig_call_argument(context, 0),
                            sig_call_argument(context, 1)))
        sig_end_call(context, -EINTR);
}
