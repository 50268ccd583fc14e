/*
 * How often libraries were unloaded: two readings tell whether one was unloaded in between.
 *
 * Called from: sig_unloads_read by any thread, handlers included; begin and end by the hook of dlclose.
 */
#ifndef WALLPROF_SIG_UNLOADS_H
#define WALLPROF_SIG_UNLOADS_H

#include <stdint.h>

struct sig_unloads {
    uint32_t begun, ended; /* calls of dlclose; equal if none was under way */
    uint32_t strange; /* calls that found objects unloaded since the call before, by the C library itself */
    uint64_t objects; /* that the loader had unloaded when the last call ended */
};

/* Two readings with equal numbers, and begun equal to ended, have no call of dlclose between them. */
struct sig_unloads sig_unloads_read(void);

/* Sets what counts the objects that the loader has unloaded; once, before hooks count calls. */
typedef uint64_t sig_unloaded_fn(void);
void sig_unloads_use_loader(sig_unloaded_fn *unloaded);

/* dlclose hook, any thread, around the C library's dlclose. end gets what begin returned: a process that a
 * destructor forks in between does not count the end of its parent's call. */
uint32_t sig_unloads_begin(void);
void sig_unloads_end(uint32_t begun_in);

/* In the child of fork, first thing: no call of the parent's threads is under way. */
void sig_unloads_forget_parent(void);

#endif
