/*
 * Records of one size, one for each key, numbered from 0 in order of first use. A record begins with its key.
 * Keys are compared byte by byte, so they must have no padding.
 *
 * Scratch memory, in proportion to the records. Errors are sticky in `failed`. After one, a new key gets
 * record 0, and existing records stay readable.
 *
 * Called from: the encoders. One thread.
 */
#ifndef WALLPROF_INTERN_TABLE_H
#define WALLPROF_INTERN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intern_table {
    unsigned char *records;
    size_t record_bytes, key_bytes;
    uint32_t count, capacity; /* a power of two */
    uint32_t *slots;          /* open addressing, twice the capacity: record number + 1 */
    bool failed;
};

/* 0 or -ENOMEM. key_bytes: a multiple of 4. */
int intern_table_init(struct intern_table *table, size_t record_bytes, size_t key_bytes);
void intern_table_deinit(struct intern_table *table); /* also for a zeroed one */

/* The number of the record with this key. A new record is zero after its key. */
uint32_t intern_table_intern(struct intern_table *table, const void *key);

/* Valid until the next intern. */
static inline void *intern_table_at(const struct intern_table *table, uint32_t number)
{
    return table->records + table->record_bytes * number;
}

#endif
