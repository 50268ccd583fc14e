#include "clock.h"
#include "sig/sys/sig_clock.h"

uint64_t clock_read_ns(clockid_t clock)
{
    return sig_clock_ns(clock);
}

uint64_t clock_monotonic_ns(void)
{
    return sig_clock_ns(CLOCK_MONOTONIC);
}
