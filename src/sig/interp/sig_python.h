/*
 * The frames of a thread of CPython, 3.8 and later.
 *
 * A thread has a state (PyThreadState), which leads to its innermost frame, and each frame to the one that
 * called it. Frames lie in chunks of memory one after the other, so one copy of a page holds many of them.
 * Those of generators lie in objects of their own.
 *
 * One native call of the interpreter (_PyEval_EvalFrameDefault) runs several frames, because a call from
 * Python to Python makes no native call. The outermost of them is its entry. In 3.11 that frame is marked.
 * Since 3.12 a shim stands outside of it: a frame on the native stack that runs no code of the program.
 * Before 3.11 frames are objects, and each has a native call of its own.
 *
 * A process may have several interpreters, and a thread a state in each. The state that it uses has the
 * innermost frames, and what called that interpreter is in another one. So their frames follow each other.
 *
 * Without the GIL (3.14) each thread runs a copy of a function's instructions, so that it can change them.
 *
 * Called from: sig_walk_frames.c.
 * Source: CPython's Include/internal/pycore_frame.h, Include/cpython/pystate.h, Include/cpython/code.h.
 */
#ifndef WALLPROF_SIG_PYTHON_H
#define WALLPROF_SIG_PYTHON_H

#include "sig_interp.h"

/* Where things are in the records of one version of CPython: offsets in bytes, multiples of 8 but for those
 * of numbers of 32 bits and of the mark. src/interp/python_layout.h makes and checks it. */
struct sig_python_layout {
    uint64_t code_type; /* the address of PyCode_Type: what a code object begins with, after its count */
    struct {
        uint16_t thread_id, native_thread_id;
        uint16_t chunk, chunk_top; /* where the chunk of its frames begins, and what is used of it ends */
        uint16_t bytes;            /* as far as it is read */
        uint16_t frame;            /* the pointer to the innermost frame, or to the record that has it */
        bool is_frame_in_record;
        uint16_t frame_in_record;
        uint16_t status; /* since 3.12: the byte with SIG_PYTHON_CURRENT; 0: it is not known */
    } state;
    struct {
        uint16_t code, previous, instruction, mark;
        bool is_object;      /* before 3.11: `instruction` is a number of 32 bits, and there is no mark */
        uint8_t units_bytes; /* what that number counts, in bytes */
        uint8_t entry_mark;  /* the byte at `mark` of an entry frame, or of a shim */
        bool has_shims;
        uint16_t copy; /* the number of the copy of the instructions that it runs, of 32 bits; 0: no copies */
        uint16_t bytes; /* as far as it is read */
    } frame;
    struct {
        uint16_t type;
        uint16_t version; /* a number that no two code objects share, of 32 bits; 0: there is none */
        uint16_t filename, name, qualname, line_table, first_line, flags, instructions;
        uint16_t copies; /* of its instructions: the pointer to how many there are, and where; 0: none */
        uint16_t bytes;  /* as far as it is read */
    } code;
};

/* In the status of that one of a thread's states that it uses now, or used last: bound_gilstate. */
enum { SIG_PYTHON_CURRENT = 1 << 3 };

/* See sig_walk_frames.h. The thread's state is its PyThreadState, the layout one that python_layout.h has
 * checked. */
bool sig_python_walk(const struct sig_python_layout *layout, const struct sig_interp_walk *walk);

/* The hash of a code object's header, of layout->code.bytes at an aligned address; 0 if it is no code. */
uint64_t sig_python_code_check(const struct sig_python_layout *layout, const uint64_t *header);

#endif
