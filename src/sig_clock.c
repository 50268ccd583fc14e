#include "sig_clock.h"
#include "sig_arch.h"

/* Written before there are handlers and other threads of ours. */
static sig_clock_fn *sig_clock_vdso;

void sig_clock_use(sig_clock_fn *vdso)
{
    sig_clock_vdso = vdso;
}

int sig_clock_read(clockid_t clock, struct timespec *ret)
{
    sig_clock_fn *vdso = sig_clock_vdso;
    return vdso ? vdso(clock, ret) : (int)sig_syscall4(SYS_clock_gettime, clock, (long)ret, 0, 0);
}
