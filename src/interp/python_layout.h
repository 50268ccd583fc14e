/*
 * Where things are in the memory of CPython, by its version.
 *
 * Up to 3.12 these are numbers from its headers (3.8 and 3.9 have the same). From 3.13 on _PyRuntime begins
 * with a table of them
 * (_Py_DebugOffsets), which is believed as far as its numbers are small and aligned. All are the same on
 * x86_64 and aarch64. A version without numbers here is left alone.
 *
 * Called from: the sampler thread.
 * Source: Include/internal/pycore_frame.h, pycore_interp.h, pycore_runtime.h, Include/cpython/code.h,
 * unicodeobject.h, pycore_debug_offsets.h of the tags v3.8.18, v3.9.18, v3.10.13, v3.11.2, v3.11.7, v3.12.1,
 * v3.13.0, v3.13.5 and v3.14.10.
 */
#ifndef WALLPROF_PYTHON_LAYOUT_H
#define WALLPROF_PYTHON_LAYOUT_H

#include "sig/interp/sig_python.h"

#include <stdbool.h>
#include <stdint.h>

/* The forms of the table that leads from instructions to lines. */
enum python_lines {
    PYTHON_LINES,           /* since 3.11: python_line_at */
    PYTHON_LINES_3_10,      /* python_line_at_3_10 */
    PYTHON_LINES_BEFORE_310 /* python_line_at_before: co_lnotab */
};

struct python_layout {
    struct sig_python_layout frames;
    uint32_t interpreters_head; /* in _PyRuntime */
    uint32_t interpreter_next, threads_head;
    uint32_t thread_next;
    struct {
        uint16_t length, state, ascii_bytes, wide_bytes; /* the last two: where the characters begin */
        bool is_interned_a_byte;                         /* of the state, and not two bits of it */
    } text;
    enum python_lines lines;
    uint16_t bytes_count, bytes_data; /* of a bytes object: how many they are, and where they begin */
    bool is_free_threaded;
};

/* Versions as Py_Version has them: 0x030b02f0 is 3.11.2. */
enum { PYTHON_VERSION_MINOR_SHIFT = 16 };

/* The layout of a version up to 3.12. code_type: the address of PyCode_Type. False for another version. */
bool python_layout_of(uint32_t version, uint64_t code_type, struct python_layout *ret);

/* How much of _PyRuntime python_layout_read wants, in words. */
enum { PYTHON_OFFSETS_WORDS = 96 };

/*
 * The layout by the table at the beginning of _PyRuntime, of versions 3.13 and 3.14, with the GIL or without.
 * False if there is none, if it is of another version, or if it makes no sense.
 */
bool python_layout_read(uint32_t version, uint64_t code_type, const uint64_t table[PYTHON_OFFSETS_WORDS],
                        struct python_layout *ret);

#endif
