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

/* Whether the filter lets the call be made. False also for a program that the kernel would refuse. */
bool call_filter_allows(const struct sock_fprog *program, const struct call *call);

/* The same for a list of calls that ends with number -1. */
bool call_filter_allows_all(const struct sock_fprog *program, const struct call *calls);

/* Whether each call of such a list is made or fails with an error; none ends the thread or the process. */
bool call_filter_answers_all(const struct sock_fprog *program, const struct call *calls);

#endif
