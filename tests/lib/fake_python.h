/*
 * The memory of a CPython process, made by hand: one thread's state, its frames, and code objects.
 */
#ifndef WALLPROF_FAKE_PYTHON_H
#define WALLPROF_FAKE_PYTHON_H

#include "interp/python_layout.h"
#include "lib/fake_memory.h"
#include "sig/interp/sig_python.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    FAKE_PYTHON_TID = 4711,
    FAKE_PYTHON_THREAD_ID = 0x7000,
    FAKE_PYTHON_FRAMES = 64,
    FAKE_PYTHON_CODE_BYTES = 400
};

struct fake_python {
    struct fake_memory block;
    struct python_layout layout;
    uint64_t state, frame;
    uint64_t other_state; /* of another interpreter; 0: there is none */
};

enum {
    FAKE_PYTHON_3_13 = 0x030d00f0,
    FAKE_PYTHON_3_14 = 0x030e0af0,
    FAKE_PYTHON_FREE_THREADED = 0x030e0a00 /* 3.14 without the GIL */
};

/* version: as Py_Version says it, of 3.8 to 3.12, or one of the above. */
void fake_python_init(struct fake_python *python, uint32_t version);

/* The table of offsets of 3.13.0, 3.14.10, or the latter without the GIL, as far as it is used. */
void fake_python_table(uint32_t version, bool is_free_threaded, uint64_t ret[PYTHON_OFFSETS_WORDS]);

/* The code has one copy of its instructions more than it had, and the frame runs that (3.14 without the GIL).
 */
void fake_python_copy_code(struct fake_python *python, uint64_t code, uint64_t frame, int32_t at);

/* A string of one byte a character; one of two bytes a character; bytes. Their addresses. */
uint64_t fake_python_text(struct fake_python *python, const char *text);
uint64_t fake_python_wide_text(struct fake_python *python, const uint16_t *text, uint32_t length);
uint64_t fake_python_bytes(struct fake_python *python, const void *bytes, uint32_t count);

/* A code object of a function that begins at a line, with a table of lines. */
uint64_t fake_python_code(struct fake_python *python, const char *name, uint32_t first_line,
                          const uint8_t *lines, uint32_t line_bytes);

/* A frame is called by the innermost one so far. at: bytes of its last instruction. Its address. */
uint64_t fake_python_call(struct fake_python *python, uint64_t code, int32_t at, bool is_entry);

/* The native call that comes next begins (3.12). */
uint64_t fake_python_shim(struct fake_python *python);

/* What is called from now on is in another interpreter's state, which the thread uses (3.12 and later). */
void fake_python_enter_other(struct fake_python *python);

/* Walks with room for so many frames. */
bool fake_python_walk(struct fake_python *python, struct sig_interp_stack *stack, uint32_t capacity);

#endif
