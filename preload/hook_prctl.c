/* prctl, for one thing that it can do: take the time stamp counter away from a thread (sig_clock.h). */
#include "real.h"
#include "sig_clock.h"

#include <stdarg.h>
#include <sys/prctl.h>

WALLPROF_HOOK int prctl(int option, ...)
{
    unsigned long arguments[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++) /* the C library reads as many, whatever was given */
        arguments[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_TSC && arguments[0] == PR_TSC_SIGSEGV)
        sig_clock_avoid_counter();
    return real_functions()->prctl(option, arguments[0], arguments[1], arguments[2], arguments[3]);
}
