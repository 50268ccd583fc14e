/*
 * Every string once, numbered from 0 in order of first use. Number 0 is "".
 *
 * Text is stored as valid UTF-8 (utf8.h), in scratch memory. Errors are sticky in `failed`. One thread.
 */
#ifndef WALLPROF_STRING_TABLE_H
#define WALLPROF_STRING_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct string_table {
    char *text; /* all strings, NUL-terminated, one after the other */
    size_t text_used, text_capacity;
    uint64_t *offsets; /* of string i in text */
    size_t offsets_bytes;
    uint32_t count;
    uint32_t *slots; /* open addressing: index + 1 */
    uint32_t slots_capacity;
    bool failed;
};

void string_table_init(struct string_table *table);
void string_table_deinit(struct string_table *table);

/* The number of a string, new or old; 0 also without memory. */
uint32_t string_table_intern(struct string_table *table, const char *text);

/* 0 once the table has failed: the memory of the strings may be gone. */
uint32_t string_table_count(const struct string_table *table);
const char *string_table_at(const struct string_table *table, uint32_t index);

#endif
