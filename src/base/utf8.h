/*
 * Makes valid UTF-8 of any bytes: what is no part of a sequence becomes '?'. Protocol buffers and JSON demand
 * it; thread names and paths are arbitrary bytes. In place, any thread. Standard: Unicode 15, table 3-7.
 */
#ifndef WALLPROF_UTF8_H
#define WALLPROF_UTF8_H

#include <stddef.h>

/* Bytes of the sequence at text, which is NUL-terminated; 0 when it is not valid. */
size_t utf8_length(const char *text);

void utf8_repair(char *text);

#endif
