/*
 * What the program's pointers lead to, where a hook needs it and the C library leaves it to the kernel. A bad
 * pointer is an error for the kernel to return. It must not be a fault of ours.
 *
 * What lies on the thread's own stack is copied as it is. Of any other memory the pages are probed first, by
 * a system call of 60 to 100 ns. If another thread unmaps it after the probe, there is a fault.
 *
 * So a hook copies an argument once, before the call. The real call gets the program's own pointer, and the
 * kernel judges it.
 *
 * Called from: hooks, in any thread, also in handlers and children of vfork. errno is kept.
 */
#ifndef WALLPROF_HOOK_ARGUMENT_H
#define WALLPROF_HOOK_ARGUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Copies an object of a page at most. False if it cannot be read. False also if we have
 * no signal: then nobody needs it, and a filter may not allow the probe. */
bool hook_argument_read(void *to, const void *from, size_t bytes);

/* Writes a result of 8 bytes to a page, as the kernel does. False if it cannot be written. Only while we have
 * a signal: without one a hook gives the kernel the program's own pointer. */
bool hook_argument_write(void *to, const void *from, size_t bytes);

/*
 * The time limit of a call, which only the kernel reads. It is read here before the call if that costs
 * nothing. Else the clock is read, and the limit only after our signal has cut the call short.
 */
struct hook_limit {
    const struct timespec *given;
    uint64_t begun_ns;    /* CLOCK_MONOTONIC, if the limit has not been read; else 0 */
    uint64_t deadline_ns; /* 0: the call waits for ever, or not at all */
};

void hook_limit_begin(struct hook_limit *limit, const struct timespec *time);

/* The time for the next call: what is left, in *ret; or what was given. */
const struct timespec *hook_limit_left(struct hook_limit *limit, struct timespec *ret);

/* Whether memory of any size can be read now. */
bool hook_argument_is_readable(const void *memory, size_t bytes);

/* The same for a string, and for an array of strings up to NULL, and all its strings. */
bool hook_argument_has_string(const char *string);
bool hook_argument_has_strings(char *const *array);

#endif
