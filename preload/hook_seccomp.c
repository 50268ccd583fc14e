/*
 * Filters of system calls. What a filter does not allow ends the thread or the process, or is answered by a
 * handler of the program's: so it is looked through before it is installed, and where it is too narrow for us
 * the recording ends while it still can be written.
 *
 * The lists are what the library calls, and where; docs/transparency.md has the same.
 */
#include "hook_seccomp.h"
#include "call_filter.h"
#include "session.h"

#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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
    {SYS_process_vm_readv, {0}},
    {SYS_futex, {0, FUTEX_WAKE | FUTEX_PRIVATE_FLAG}},
    {SYS_futex, {0, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME}}, /* pthread_join */
    {SYS_futex, {0, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG}},
    {SYS_gettid, {0}},
    {SYS_getpid, {0}},
    {SYS_sched_yield, {0}},
    {SYS_prctl, {PR_GET_NAME}},
    {SYS_fstat, {0}},
    {SYS_newfstatat, {0}},
    {SYS_write, {2}},
    {SYS_munmap, {0}},
    {-1, {0}},
};

/* In the sampler's thread, from its start to its end, and where it is created: in forked children too. */
static const struct call calls_of_sampler[] = {
    {SYS_clone3, {0}},
    {SYS_mmap, {0}},
    {SYS_mprotect, {0}},
    {SYS_mremap, {0}},
    {SYS_madvise, {0}},
    {SYS_set_robust_list, {0}},
    {SYS_rseq, {0}},
    {SYS_unshare, {0}},
    {SYS_close_range, {3, ~0U, CLOSE_RANGE_UNSHARE}},
    {SYS_chdir, {0}},
    {SYS_prctl, {PR_SET_NAME}},
    {SYS_sched_getattr, {0}},
    {SYS_sched_setattr, {0}},
    {SYS_openat, {0}},
    {SYS_read, {0}},
    {SYS_pread64, {0}},
    {SYS_lseek, {0}},
    {SYS_getdents64, {0}},
    {SYS_readlinkat, {0}},
    {SYS_faccessat, {0}},
    {SYS_close, {0}},
    {SYS_prlimit64, {0}},
    {SYS_rt_tgsigqueueinfo, {0}},
    {SYS_getrandom, {0}},
    {SYS_uname, {0}},
    {SYS_getcwd, {0}},
    {SYS_linkat, {0}},
    {SYS_renameat, {0}},
    {SYS_unlinkat, {0}},
    {SYS_exit, {0}},
    {-1, {0}},
};

void hook_seccomp_before(const struct sock_fprog *program, unsigned long flags)
{
    if (!program || !call_filter_allows_all(program, calls_of_threads))
        session_end("a seccomp filter allows too few system calls");
    else if (!call_filter_allows_all(program, calls_of_sampler)) {
        if (flags & SECCOMP_FILTER_FLAG_TSYNC)
            session_end("a seccomp filter for all threads allows too few system calls");
        session_leave_children();
    }
}

void hook_seccomp_before_call(long operation, long flags, long program)
{
    if (operation == SECCOMP_SET_MODE_STRICT)
        hook_seccomp_before(NULL, (unsigned long)flags);
    if (operation == SECCOMP_SET_MODE_FILTER && program)
        hook_seccomp_before((const struct sock_fprog *)program, (unsigned long)flags);
}
