/*
 * How often libraries were unloaded, so that what was read before and after can be compared.
 *
 * Called from: sig_unloads_read by any thread, handlers included. begin and end by the hook of dlclose.
 */
#ifndef WALLPROF_SIG_UNLOADS_H
#define WALLPROF_SIG_UNLOADS_H

#include <stdint.h>

/* Calls of dlclose so far, and what the C library has unloaded without one. */
struct sig_unloads {
    uint32_t begun, ended;
    uint32_t strange; /* calls that found more objects unloaded than at the end of the call before */
    uint64_t objects; /* that the loader had unloaded when the last call ended */
};

/*
 * Where begun and ended are equal, no call of dlclose was under way when they were read. Two such readings
 * with equal numbers have no call of dlclose between them.
 */
struct sig_unloads sig_unloads_read(void);

/* How many objects the loader has unloaded so far; once, before hooks count calls. */
typedef uint64_t sig_unloaded_fn(void);
void sig_unloads_use_loader(sig_unloaded_fn *unloaded);

/*
 * dlclose hook, any thread, around the C library's dlclose. What begin returned is passed to end: a process
 * forked in between, by a destructor, does not count the end of a call whose begin it does not have.
 */
uint32_t sig_unloads_begin(void);
void sig_unloads_end(uint32_t begun_in);

/* In the child of fork, first thing: no call of the parent's threads is under way any more. */
void sig_unloads_forget_parent(void);

#endif
