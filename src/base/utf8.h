/*
 * Makes valid UTF-8 of any bytes: what is no part of a sequence becomes '?'. Protocol buffers and JSON demand
 * that, but thread names and paths are arbitrary bytes. Any thread. Standard: Unicode 15, table 3-7.
 */
#ifndef WALLPROF_UTF8_H
#define WALLPROF_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of the sequence at text, which is NUL-terminated; 0 if it is not valid. */
size_t utf8_length(const char *text);

/* Whether a byte goes on with a character that began before it: no text may be cut there. */
static inline bool utf8_is_inside(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* In place. */
void utf8_repair(char *text);

#endif
