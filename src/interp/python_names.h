/*
 * The names of a frame of CPython: its function's qualified name, its file, its line.
 *
 * They are read when a code object is met for the first time, and the code object is checked before and
 * after. So what is read is of the code object that the sample has seen, and not of a later one there.
 *
 * Called from: the sampler thread.
 * Source: Include/cpython/code.h, unicodeobject.h.
 */
#ifndef WALLPROF_PYTHON_NAMES_H
#define WALLPROF_PYTHON_NAMES_H

#include "interp_names.h"
#include "python_layout.h"

#include <stdbool.h>

/* False if the code object is not there any more, or makes no sense. */
bool python_names_read(const struct python_layout *layout, const struct sig_interp_memory *memory,
                       const struct sig_interp_frame *frame, struct interp_names *ret);

#endif
