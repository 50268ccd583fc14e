/*
 * What a frame of an interpreter is called: plain text, in memory of the caller.
 */
#ifndef WALLPROF_INTERP_NAMES_H
#define WALLPROF_INTERP_NAMES_H

#include <stdint.h>

enum { INTERP_NAME_BYTES = 512, INTERP_FILE_BYTES = 1024 };

struct interp_names {
    char function[INTERP_NAME_BYTES]; /* UTF-8, without control characters; never "" */
    char file[INTERP_FILE_BYTES];     /* "" if not known */
    uint32_t first_line, line;        /* 0 if not known */
    uint64_t native_start;            /* of a native function that the interpreter calls; 0 for all others */
};

#endif
