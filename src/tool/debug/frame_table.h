/*
 * What is known about addresses of one file: the frames of each address, innermost first.
 *
 * debug_info.h makes such a table, debug_child.h carries it from one process to another, and name_cache.h
 * keeps it on disk. Therefore it holds only numbers and offsets, and a table that comes as bytes is checked
 * before use.
 *
 * Called from: the tool's only thread. A zeroed struct is an empty table. A decoded table is not added to.
 */
#ifndef WALLPROF_FRAME_TABLE_H
#define WALLPROF_FRAME_TABLE_H

#include "base/string_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FRAME_TABLE_KEY_MAX_BYTES = 32,
    FRAMES_PER_ADDRESS_MAX = 256 /* more inlined calls in one another than any compiler makes */
};

/* Where the name of the outermost frame comes from. */
enum name_source { NAME_FROM_NOTHING, NAME_FROM_SYMBOL, NAME_FROM_DWARF };

struct frame_row {
    uint64_t address, bytes;           /* as in the ELF file: all code from here on has these frames */
    uint64_t symbol_address;           /* NAME_FROM_SYMBOL: where the symbol begins */
    uint64_t symbol_bytes;             /* and its size; 0 for a label without one */
    uint32_t first_frame, frame_count; /* 0 frames: nothing is known */
    uint32_t source;                   /* enum name_source */
    uint32_t is_final; /* 1: debug information was there; 0: a debug file that is added later may tell more */
};

/* Strings are offsets into the text of struct frame_table.strings; 0 is the empty string: not known. */
struct frame_entry {
    uint32_t system_name, file;
    uint32_t line, start_line; /* in file; 0: not known */
};

struct frame_table {
    struct frame_row *rows; /* owned, as all arrays here; ascending by address, without overlaps */
    struct frame_entry *frames;
    struct string_table strings;
    size_t row_count, frame_count;
    uint32_t row_capacity, frame_capacity;
    unsigned char *whole; /* owned: the bytes that the arrays lie in, which are read only then; or NULL */
    bool is_broken;       /* out of memory, or too large: nothing is in it */
};

void frame_table_free(struct frame_table *table);

/* To fill a table: add rows in ascending order, and after each row its frames. */
uint32_t frame_table_string(struct frame_table *table, const char *string);       /* NULL: 0 */
void frame_table_add_row(struct frame_table *table, const struct frame_row *row); /* 0 bytes count as 1 */
void frame_table_add_frame(struct frame_table *table, const struct frame_entry *frame);

/* The last row becomes a part of the one before it, if that ends where it begins and says the same. */
void frame_table_join_last(struct frame_table *table);

/* The row around an address, or NULL. */
const struct frame_row *frame_table_find(const struct frame_table *table, uint64_t address);
const char *frame_table_text(const struct frame_table *table, uint32_t string);

/* Adds a row of another table, with its frames. */
void frame_table_copy_row(struct frame_table *to, const struct frame_table *from,
                          const struct frame_row *row);

/*
 * A new table with the rows of both. For an address that both know, the row of `newer` is taken. With
 * only_final only final rows are taken.
 */
struct frame_table frame_table_merge(const struct frame_table *older, const struct frame_table *newer,
                                     bool only_final);

/* The table as bytes, for this machine: malloc'd, NULL without memory. They hold the key, a build-id. */
unsigned char *frame_table_encode(const struct frame_table *table, const uint8_t *key, size_t key_bytes,
                                  size_t *ret_bytes);

/* The table of these bytes, to be read only. It takes over the bytes, which are malloc'd; they are freed
 * after a failure. 0; -EBADMSG if they are no whole, consistent table with this key. */
int frame_table_decode(struct frame_table *table, unsigned char *bytes, size_t count, const uint8_t *key,
                       size_t key_bytes);

#endif
