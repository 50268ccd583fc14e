#include "sig_clock.h"
#include "sig_arch.h"
#include "sig_atomic.h"

/* Written before there are handlers and other threads of ours, and then by a thread that loses its counter.
 * That thread and those it creates read it after the write, so relaxed is enough. */
static sig_clock_fn *sig_clock_vdso;

void sig_clock_use(sig_clock_fn *vdso)
{
    sig_store_relaxed(&sig_clock_vdso, vdso);
}

int sig_clock_read(clockid_t clock, struct timespec *ret)
{
    sig_clock_fn *vdso = sig_load_relaxed(&sig_clock_vdso);
    return vdso ? vdso(clock, ret) : (int)sig_syscall4(SYS_clock_gettime, clock, (long)ret, 0, 0);
}

uint64_t sig_clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    sig_clock_read(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}
