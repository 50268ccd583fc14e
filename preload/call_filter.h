/*
 * Finds out what a seccomp filter would do with system calls, without making them: runs the filter's program
 * as the kernel will run it (man seccomp; Linux Documentation/userspace-api/seccomp_filter.rst).
 *
 * Called from: the thread that is about to install the filter. No state is kept.
 */
#ifndef WALLPROF_CALL_FILTER_H
#define WALLPROF_CALL_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

/* A system call, and the arguments of it that filters test. */
struct call {
    int number;
    uint64_t arguments[3];
};

/* Whether the filter allows each call of a list that ends with number -1. may_fail: a call may also fail with
 * an error; none ends the thread or the process. False for a program that the kernel would refuse. */
bool call_filter_passes(const struct sock_fprog *program, const struct call *calls, bool may_fail);

#endif
