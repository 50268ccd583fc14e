/*
 * CPython in this process: the module that has it, its version, its functions, and its threads.
 *
 * Called from: the sampler thread.
 * Source: Include/internal/pycore_runtime.h, pycore_interp.h, Include/cpython/pystate.h.
 */
#ifndef WALLPROF_PYTHON_RUNTIME_H
#define WALLPROF_PYTHON_RUNTIME_H

#include "interp.h"

struct python_runtime {
    bool is_known;           /* the version is one whose memory can be read */
    uint32_t version;        /* Py_Version, or PYTHON_VERSION_OLD */
    uint64_t address, bytes; /* of _PyRuntime */
    struct python_layout layout;
    uint64_t eval_start, cold_start; /* of _PyEval_EvalFrameDefault; cold_start is 0 if it is in one piece */
    uint64_t machinery[INTERP_MACHINERY_MAX];
    uint32_t machinery_count;
};

/* Whether the module has a CPython, with the function that runs frames. Only the program itself and libraries
 * with a telling name are read. */
bool python_runtime_find(const struct modules *modules, arena_ref module, struct python_runtime *ret);

/*
 * The state of a thread; 0 if it has none. `whose` has its ids. The kernel's decides. After a fork a state
 * may have the id of the parent's thread: then the C library's decides. The newest thread is found first.
 */
uint64_t python_runtime_find_state(const struct python_layout *layout, uint64_t runtime,
                                   const struct sig_interp_memory *memory,
                                   const struct sig_python_thread *whose);

#endif
