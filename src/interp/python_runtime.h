/*
 * CPython in this process: its version, its layout, and its threads. One of the languages of
 * interp_runtime.h.
 *
 * Called from: the sampler thread.
 * Source: Include/internal/pycore_runtime.h, pycore_interp.h, Include/cpython/pystate.h.
 */
#ifndef WALLPROF_PYTHON_RUNTIME_H
#define WALLPROF_PYTHON_RUNTIME_H

#include "python_layout.h"

/*
 * The state of a thread; 0 if it has none. `whose` has its ids. The kernel's decides. After a fork a state
 * may have the id of the parent's thread: then the C library's decides. The newest thread is found first.
 * Further states with the kernel's id, in older interpreters, are written to whose->others, if the walk can
 * tell which of them the thread uses.
 */
uint64_t python_runtime_find_state(const struct python_layout *layout, uint64_t runtime,
                                   const struct sig_interp_memory *memory, struct sig_interp_thread *whose);

/* Whether there are several interpreters, and so further states to be found. */
bool python_runtime_are_several(const struct python_layout *layout, uint64_t runtime,
                                const struct sig_interp_memory *memory);

#endif
