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
 */
uint64_t python_runtime_find_state(const struct python_layout *layout, uint64_t runtime,
                                   const struct sig_interp_memory *memory,
                                   const struct sig_interp_thread *whose);

#endif
