#include "attach_trace.h"
#include "base/clock.h"
#include "sig/sys/sig_arch.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

/* A thread on a CPU comes in 5 to 30 us. To wait for that asleep costs as much again; one that does not come
 * in that time perhaps waits for this CPU. */
static const uint64_t spin_ns = 40 * NS_PER_US, patience_ns = 300 * NS_PER_US;

/* ---- registers ---- */

#ifdef __x86_64__
/* What a call returns inside of the kernel to be made again (include/linux/errno.h). */
enum { RESTART_SYS = 512, RESTART_NO_HANDLER = 514, RESTART_BLOCK = 516 };

/* Calls that return EINTR after any stop, although no signal has come. The second half does so only for
 * sockets with a timeout of their own. All have done nothing yet then; connect, which has, is not among them.
 */
static bool is_never_restarted(long number)
{
    static const long calls[] = {SYS_epoll_wait,      SYS_epoll_pwait,    SYS_epoll_pwait2, SYS_semop,
                                 SYS_semtimedop,      SYS_io_getevents,   SYS_msgrcv,       SYS_msgsnd,
                                 SYS_rt_sigtimedwait, SYS_io_uring_enter, SYS_read,         SYS_readv,
                                 SYS_recvfrom,        SYS_recvmsg,        SYS_write,        SYS_writev,
                                 SYS_sendto,          SYS_sendmsg,        SYS_accept,       SYS_accept4};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (calls[i] == number)
            return true;
    }
    return false;
}

/*
 * The stop comes before the kernel looks at the call's result and at signals. With this result it makes the
 * call again if no handler is to run, and else returns EINTR, as if the call were an ordinary one.
 */
static void make_again(pid_t tid, struct user_regs_struct *registers)
{
    struct iovec piece = {.iov_base = registers, .iov_len = sizeof *registers};
    registers->rax = (unsigned long long)-RESTART_NO_HANDLER;
    ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &piece);
}

static void fill_context(const struct user_regs_struct *registers, ucontext_t *ret)
{
    greg_t *gregs = ret->uc_mcontext.gregs;
    memset(ret, 0, sizeof *ret);
    gregs[REG_RIP] = (greg_t)registers->rip;
    gregs[REG_RSP] = (greg_t)registers->rsp;
    gregs[REG_RBP] = (greg_t)registers->rbp;
    gregs[REG_RBX] = (greg_t)registers->rbx;
    gregs[REG_RAX] = (greg_t)registers->rax;
    gregs[REG_RCX] = (greg_t)registers->rcx;
    gregs[REG_RDX] = (greg_t)registers->rdx;
    gregs[REG_RSI] = (greg_t)registers->rsi;
    gregs[REG_RDI] = (greg_t)registers->rdi;
    gregs[REG_R8] = (greg_t)registers->r8;
    gregs[REG_R9] = (greg_t)registers->r9;
    gregs[REG_R10] = (greg_t)registers->r10;
    gregs[REG_R11] = (greg_t)registers->r11;
    gregs[REG_R12] = (greg_t)registers->r12;
    gregs[REG_R13] = (greg_t)registers->r13;
    gregs[REG_R14] = (greg_t)registers->r14;
    gregs[REG_R15] = (greg_t)registers->r15;
}

static bool is_in_call(const struct user_regs_struct *registers)
{
    return (long long)registers->orig_rax >= 0;
}

static bool read_registers(pid_t tid, bool is_ours, struct trace_stop *ret)
{
    struct user_regs_struct registers;
    struct iovec piece = {.iov_base = &registers, .iov_len = sizeof registers};
    if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &piece) < 0)
        return false;
    const long long result = (long long)registers.rax;
    const bool has_restart = result <= -RESTART_SYS && result >= -RESTART_BLOCK;
    const bool is_ended = is_ours && result == -EINTR && is_never_restarted((long)registers.orig_rax);
    ret->was_waiting = is_in_call(&registers) && (has_restart || is_ended);
    ret->returned_pc = is_in_call(&registers) ? registers.rip : 0;
    if (ret->was_waiting && is_ended)
        make_again(tid, &registers);
    ret->thread_area = registers.fs_base;
    fill_context(&registers, &ret->context);
    return true;
}
#else
/* aarch64: the kernel has settled the result before the stop, so that a call that ends with EINTR stays so.
 */
static bool read_registers(pid_t tid, bool is_ours, struct trace_stop *ret)
{
    struct user_regs_struct registers;
    struct iovec piece = {.iov_base = &registers, .iov_len = sizeof registers};
    (void)is_ours;
    if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &piece) < 0)
        return false;
    memset(&ret->context, 0, sizeof ret->context);
    memcpy(ret->context.uc_mcontext.regs, registers.regs, sizeof registers.regs);
    ret->context.uc_mcontext.sp = registers.sp;
    ret->context.uc_mcontext.pc = registers.pc;
    ret->was_waiting = false;
    ret->returned_pc = 0; /* not known */
    ret->thread_area = 0;
    return true;
}
#endif

/* ---- stops ---- */

/* What the kernel says of a thread that it has reported. */
static enum trace_result read_stop(pid_t tid, int status, struct trace_stop *ret)
{
    const int event = status >> 16;
    if (!WIFSTOPPED(status))
        return TRACE_GONE;
    ret->signal = event == 0 ? WSTOPSIG(status) : 0; /* an event has no signal to pass on */
    return read_registers(tid, event == PTRACE_EVENT_STOP, ret) ? TRACE_STOPPED : TRACE_COMES;
}

enum trace_result trace_take(pid_t tid, struct trace_stop *ret)
{
    int status;
    pid_t reported = waitpid(tid, &status, __WALL | WNOHANG);
    if (reported == 0)
        return TRACE_COMES;
    return reported == tid ? read_stop(tid, status, ret) : TRACE_GONE;
}

/* SIGCHLD comes for every stop. */
void trace_await(uint64_t deadline_ns)
{
    sigset_t reports;
    const uint64_t now_ns = clock_monotonic_ns();
    const struct timespec left = clock_ns_timespec(deadline_ns > now_ns ? deadline_ns - now_ns : 0);
    sigemptyset(&reports);
    sigaddset(&reports, SIGCHLD);
    sigtimedwait(&reports, NULL, &left);
}

static enum trace_result await_stop(pid_t tid, struct trace_stop *ret)
{
    const uint64_t begin_ns = clock_monotonic_ns();
    enum trace_result result;
    uint64_t now_ns;
    do {
        result = trace_take(tid, ret);
        now_ns = clock_monotonic_ns();
    } while (result == TRACE_COMES && now_ns < begin_ns + spin_ns);
    while (result == TRACE_COMES && now_ns < begin_ns + patience_ns) {
        trace_await(begin_ns + patience_ns);
        result = trace_take(tid, ret);
        now_ns = clock_monotonic_ns();
    }
    return result;
}

enum trace_result trace_begin(pid_t tid, struct trace_stop *ret)
{
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
        return errno == ESRCH ? TRACE_GONE : TRACE_REFUSED;
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL); /* fails for a thread that ends, which is reported */
    return await_stop(tid, ret);
}

bool trace_let_go(pid_t tid, const struct trace_stop *stop)
{
    return ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)stop->signal) == 0;
}

/* ---- a trial ---- */

struct trial {
    pid_t pid;
    int error;
};

static void *try_to_seize(void *argument)
{
    struct trial *trial = argument;
    if (ptrace(PTRACE_SEIZE, trial->pid, NULL, NULL) < 0)
        trial->error = -errno;
    return NULL;
}

/* The end of the thread that has seized the process is the end of that, and nothing has been stopped. */
int trace_try(pid_t pid)
{
    struct trial trial = {.pid = pid};
    pthread_t thread;
    int error = pthread_create(&thread, NULL, try_to_seize, &trial);
    if (error)
        return -error;
    pthread_join(thread, NULL);
    return trial.error;
}
