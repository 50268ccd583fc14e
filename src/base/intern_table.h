/*
 * Records of one size, each once for its key, numbered from 0 in order of first use. The key is what a record
 * begins with: bytes that are compared as such, so without padding.
 *
 * Scratch memory, in proportion to the records. Errors are sticky in `failed`; what is interned after one is
 * record 0, whatever its key, and all that is read stays readable.
 *
 * Called from: the encoders. One thread.
 */
#ifndef WALLPROF_RECORD_TABLE_H
#define WALLPROF_RECORD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_table {
    unsigned char *records;
    size_t record_bytes, key_bytes;
    uint32_t count, capacity; /* a power of two */
    uint32_t *slots;          /* open addressing, twice the capacity: number + 1 */
    bool failed;
};

/* 0 or -ENOMEM. */
int record_table_init(struct record_table *table, size_t record_bytes, size_t key_bytes);
void record_table_deinit(struct record_table *table); /* also of one that is zeroed */

/* The number of the record with a key; a new one is zero behind it. */
uint32_t record_table_intern(struct record_table *table, const void *key);

/* Valid until the next intern. */
static inline void *record_table_at(const struct record_table *table, uint32_t number)
{
    return table->records + table->record_bytes * number;
}

#endif
