/*
 * Who has CPython's global lock (the GIL).
 *
 * The lock is a record with a condition variable in it, which is what threads wait for. The words before the
 * condition say whether the lock is taken and who took it last:
 *
 *     unsigned long interval;      how long a thread waits before it asks for the lock, in us
 *     PyThreadState *last_holder;
 *     int locked;
 *     unsigned long switch_number;
 *     pthread_cond_t cond;
 *
 * A thread takes the lock and then writes itself down, a few instructions later. In between the one before is
 * still named.
 *
 * Pure but for what it reads. Source: CPython, Include/internal/pycore_gil.h and Python/ceval_gil.c of 3.8 to
 * 3.13; glibc, sysdeps/nptl/bits/thread-shared-types.h (__pthread_cond_s; its words have moved in 2.41).
 */
#ifndef WALLPROF_PYTHON_GIL_H
#define WALLPROF_PYTHON_GIL_H

#include "sig/interp/sig_interp.h"
#include "sig/interp/sig_python.h"

#include <stdint.h>

/* The kernel's id of the thread that has the lock whose condition has a word at `futex`; 0: nobody, or it is
 * not known. Before 3.11 threads did not write down the kernel's id. */
uint64_t python_gil_holder(const struct sig_python_layout *layout, const struct sig_interp_memory *memory,
                           uint64_t futex);

#endif
