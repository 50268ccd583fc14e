/*
 * Which waits a signal cuts short, although its handler has SA_RESTART.
 *
 * Source: man 7 signal, "Interruption of system calls and library functions by signal handlers"; in the
 * kernel, what returns ERESTARTNOHAND, ERESTART_RESTARTBLOCK or EINTR itself. Sockets with a timeout of their
 * own are cut short too, but their calls do not show it.
 */
#ifndef WALLPROF_CUT_SHORT_H
#define WALLPROF_CUT_SHORT_H

#include <stdbool.h>
#include <stdint.h>

/* A blocked system call by its number and its first six arguments. */
bool cut_short_by_signal(long number, const uint64_t arguments[6]);

#endif
