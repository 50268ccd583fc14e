#include "sig_process.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "sig_wait.h"

#include <stddef.h>
#include <sys/mman.h>

static int32_t sig_pid;    /* atomic */
static uint32_t *sig_mark; /* atomic: on a page of its own, not 0 in this process; NULL without such a page */

/* Once, before there are hooks. */
static void make_mark(void)
{
    static const size_t bytes = sizeof(*sig_mark); /* rounded up to a page */
    long page =
        sig_syscall6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page < 0 && page > -4096)
        return;
    if (sig_syscall4(SYS_madvise, page, (long)bytes, MADV_WIPEONFORK, 0) < 0)
        sig_syscall4(SYS_munmap, page, (long)bytes, 0, 0);
    else
        sig_mark = (uint32_t *)page;
}

void sig_process_begin(void)
{
    if (!sig_mark)
        make_mark();
    sig_store_relaxed(&sig_pid, (int32_t)sig_syscall4(SYS_getpid, 0, 0, 0, 0));
    if (sig_mark)
        sig_store_relaxed(sig_mark, 1);
}

void sig_process_end(void)
{
    sig_store_relaxed(&sig_pid, 0);
}

int32_t sig_process_pid(void)
{
    return sig_load_relaxed(&sig_pid);
}

bool sig_process_is_this(void)
{
    int32_t pid = sig_load_relaxed(&sig_pid);
    if (!sig_mark)
        return pid != 0 && pid == sig_syscall4(SYS_getpid, 0, 0, 0, 0);
    return pid != 0 && sig_load_relaxed(sig_mark) && !sig_wait_here.lent_to_children;
}
