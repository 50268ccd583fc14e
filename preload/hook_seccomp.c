/*
 * Filters of system calls. A call that a filter does not allow ends the thread or the process, or runs a
 * handler of the program. So a filter is examined before it is installed. Where it allows too few calls for
 * us, the recording ends while it can still be written.
 *
 * The lists have the calls that the library makes, and where it makes them. docs/transparency.md has the same
 * lists, and tests/e2e/e2e_calls.sh compares both with the calls that are made. A comment names the function
 * of the C library that makes the call for us; a call without a comment is ours.
 */
#include "hook_seccomp.h"
#include "call_filter.h"
#include "hook_argument.h"
#include "session/hook_memory.h"
#include "session/session.h"
#include "sig/signal/sig_wait.h"
#include "sig/sys/sig_atomic.h"
#include "sig/sys/sig_arch.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

/* In threads of the program: in the handler, in hooks, and at the end of a thread and of the process. */
static const struct call calls_of_threads[] = {
    {SYS_rt_sigreturn, {0}},
    {SYS_rt_sigaction, {0}},
    {SYS_rt_sigprocmask, {0}},
    {SYS_rt_sigpending, {0}},
    {SYS_rt_sigtimedwait, {0}},
    {SYS_clock_gettime, {CLOCK_THREAD_CPUTIME_ID}},
    {SYS_clock_gettime, {CLOCK_MONOTONIC}},
    {SYS_futex, {0, FUTEX_WAKE | FUTEX_PRIVATE_FLAG}},
    {SYS_futex, {0, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME}}, /* pthread_join */
    {SYS_futex, {0, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG}},
    {SYS_gettid, {0}},
    {SYS_getpid, {0}},
    {SYS_tgkill, {0}},
    {SYS_kill, {0}},
    {SYS_sched_yield, {0}},
    {SYS_prctl, {PR_GET_NAME}},
    {SYS_fstat, {0}},
    {SYS_newfstatat, {0}}, /* fstat */
    {SYS_write, {2}},
    {SYS_mmap, {0, 0, PROT_READ | PROT_WRITE}},
    {SYS_munmap, {0}}, /* pthread_join */
    /* To go on with a wait or a transfer that our signal has cut short. */
    {SYS_ppoll, {0}},
    {SYS_pselect6, {0}},
    {SYS_epoll_pwait, {0}},
    {SYS_fcntl, {0, F_GETFL}},
    {-1, {0}},
};

/* The same; but these may fail with an error. */
static const struct call optional_of_threads[] = {
    {SYS_getsockopt, {0}},
    {-1, {0}},
};

/* The same, unless WALLPROF_SECCOMP=strict; these may fail with an error. */
static const struct call exotic_of_threads[] = {
    {SYS_process_vm_readv, {0}},
    {SYS_rt_tgsigqueueinfo, {0}},
    {SYS_rt_sigqueueinfo, {0}},
    {-1, {0}},
};

/* In threads of the program, where there are messages at the end. Without these the sampler writes them, or
 * nobody. */
static const struct call calls_of_messages[] = {
    {SYS_openat, {0}},  {SYS_close, {0}},  {SYS_ioctl, {2, TCGETS}}, {SYS_ioctl, {2, TIOCGPGRP}},
    {SYS_getpgid, {0}}, {SYS_sendto, {2}}, {SYS_pwritev2, {2}},      {-1, {0}},
};

/* In the sampler's thread, and where it is created. That happens in forked children too, and after it was
 * ended for a moment (session_suspend). */
static const struct call calls_of_sampler[] = {
    {SYS_mmap, {0, 0, PROT_READ | PROT_WRITE}},
    {SYS_mprotect, {0, 0, PROT_READ | PROT_WRITE}}, /* pthread_create, malloc */
    {SYS_mremap, {0}},
    {SYS_madvise, {0}},
    {SYS_brk, {0}}, /* malloc */
    {SYS_prctl, {PR_SET_NAME}},
    {SYS_openat, {0}},
    {SYS_read, {0}},
    {SYS_pread64, {0}},
    {SYS_lseek, {0}},
    {SYS_getdents64, {0}},
#ifdef SYS_readlink
    {SYS_readlink, {0}},
#endif
    {SYS_readlinkat, {0}},
    {SYS_faccessat, {0}},
    {SYS_close, {0}},
    {SYS_prlimit64, {0}}, /* getrlimit */
    {SYS_getrandom, {0}},
    {SYS_geteuid, {0}},
    {SYS_uname, {0}},
    {SYS_getcwd, {0}},
    {SYS_linkat, {0}},
    {SYS_renameat, {0}},
    {SYS_unlinkat, {0}},
    {SYS_exit, {0}},
    {-1, {0}},
};

/* The same; but these may fail with an error. */
static const struct call optional_of_sampler[] = {
    {SYS_clone3, {0}},            /* pthread_create; clone is next */
    {SYS_set_robust_list, {0}},   /* pthread_create */
    {SYS_rseq, {0}},              /* pthread_create */
    {SYS_sched_getaffinity, {0}}, /* malloc */
    {SYS_prctl, {PR_SET_TIMERSLACK}},
    {SYS_getrusage, {0}},
    {SYS_faccessat2, {0}}, /* faccessat */
    {SYS_chdir, {0}},
    {SYS_fchmod, {0}},
    {SYS_ftruncate, {0}},
    {SYS_futex, {0, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG}},
    {SYS_futex, {0, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG}},
    {-1, {0}},
};

/* The same, where a store is kept. */
static const struct call calls_of_stores[] = {
    {SYS_fallocate, {0}}, {SYS_ftruncate, {0}}, {SYS_pwrite64, {0}}, {SYS_fcntl, {0}}, {SYS_flock, {0}},
    {SYS_fstatfs, {0}},   {SYS_fchmod, {0}},    {SYS_mremap, {0}},   {-1, {0}},
};

/* The same, unless WALLPROF_SECCOMP=strict; these may fail with an error. */
static const struct call exotic_of_sampler[] = {
    {SYS_memfd_create, {0}},  {SYS_unshare, {0}},       {SYS_close_range, {3, ~0U, CLOSE_RANGE_UNSHARE}},
    {SYS_sched_getattr, {0}}, {SYS_sched_setattr, {0}}, {-1, {0}},
};

/* A filter that answers clone3 with another error than ENOSYS leaves no way to create a thread, because the C
 * library then does not try clone. Children have no recording then, and the log says so. */
static bool is_wide_enough_for_threads(const struct sock_fprog *program)
{
    return call_filter_passes(program, calls_of_threads, false) &&
           call_filter_passes(program, optional_of_threads, true) &&
           (session_is_strict() || call_filter_passes(program, exotic_of_threads, true));
}

static bool is_wide_enough_for_sampler(const struct sock_fprog *program)
{
    return call_filter_passes(program, calls_of_sampler, false) &&
           call_filter_passes(program, optional_of_sampler, true) &&
           (session_is_strict() || call_filter_passes(program, exotic_of_sampler, true)) &&
           (!session_wants_store() || call_filter_passes(program, calls_of_stores, false));
}

/* The filter is for the calling thread, or for all threads (SECCOMP_FILTER_FLAG_TSYNC). NULL: strict mode. */
static void examine_filter(const struct sock_fprog *program, long flags)
{
    if (program && !call_filter_passes(program, calls_of_messages, false))
        session_confine_messages();
    if (!program || !is_wide_enough_for_threads(program))
        session_end("a seccomp filter allows too few system calls");
    else if (!is_wide_enough_for_sampler(program)) {
        if (flags & SECCOMP_FILTER_FLAG_TSYNC)
            session_end("a seccomp filter for all threads allows too few system calls");
        session_ignore_children();
    }
}

/* What the kernel cannot read, or is too long for it, is not installed. After the end nothing is probed: an
 * earlier filter may not allow it. */
void hook_seccomp_before(long operation, long flags, long program)
{
    if (session_is_over())
        return;
    if (operation == SECCOMP_SET_MODE_STRICT || operation == SECCOMP_SET_MODE_FILTER)
        session_hasten_set_up();
    if (operation == SECCOMP_SET_MODE_STRICT)
        examine_filter(NULL, flags);
    struct sock_fprog copy;
    const void *given = (const void *)program;
    if (operation != SECCOMP_SET_MODE_FILTER || !hook_argument_is_readable(given, sizeof(copy)))
        return;
    copy = *(const struct sock_fprog *)given;
    if (copy.len > 0 && copy.len <= BPF_MAXINSNS &&
        hook_argument_is_readable(copy.filter, copy.len * sizeof(*copy.filter)))
        examine_filter(&copy, flags);
}

/* A child of vfork has its own filters, and those that it hands on, in its parent's memory. */
void hook_seccomp_after(long operation, long result)
{
    bool is_installed =
        result >= 0 && (operation == SECCOMP_SET_MODE_STRICT || operation == SECCOMP_SET_MODE_FILTER);
    if (is_installed && sig_wait_here.lent_to_children == 0)
        sig_store_relaxed(&hook_memory()->has_filter, true);
    else if (is_installed && sig_wait_here.filter_of_child == 0)
        sig_wait_here.filter_of_child = sig_wait_here.lent_to_children;
}

bool hook_seccomp_has_filter(void)
{
    return sig_load_relaxed(&hook_memory()->has_filter) || sig_wait_here.filter_of_child != 0;
}
