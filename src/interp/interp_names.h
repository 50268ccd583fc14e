/*
 * What a frame of an interpreter is called: plain text, in memory of the caller.
 */
#ifndef WALLPROF_INTERP_NAMES_H
#define WALLPROF_INTERP_NAMES_H

#include "base/utf8.h"

#include <stdint.h>

enum { INTERP_NAME_BYTES = 512, INTERP_FILE_BYTES = 1024 };

struct interp_names {
    char function[INTERP_NAME_BYTES]; /* UTF-8, without control characters; never "" */
    char file[INTERP_FILE_BYTES];     /* "" if not known */
    uint32_t first_line, line;        /* 0 if not known */
    uint64_t native_start;            /* of a native function that the interpreter calls; 0 for all others */
};

/* Text out of the program's memory becomes such text: what is no character becomes one that can be shown. */
static inline void interp_names_clean(char *text)
{
    for (char *at = text; *at; at++)
        *at = (unsigned char)*at < ' ' || *at == 127 ? '?' : *at;
    utf8_repair(text);
}

#endif
