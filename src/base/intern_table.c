#include "intern_table.h"
#include "arena.h"

#include <errno.h>
#include <string.h>

enum { FIRST_CAPACITY = 512 };

/* FNV-1a (Fowler, Noll, Vo) by words of the key. The high bits are mixed down, as keys are small numbers. */
static uint32_t hash_key(const void *key, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, (const char *)key + i, sizeof word);
        hash = (hash ^ word) * 0x100000001b3U;
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash ^ hash >> 32);
}

static uint32_t *find_slot(const struct intern_table *table, const void *key)
{
    uint32_t mask = table->capacity * 2 - 1, at = hash_key(key, table->key_bytes) & mask;
    while (table->slots[at] && memcmp(intern_table_at(table, table->slots[at] - 1), key, table->key_bytes))
        at = (at + 1) & mask;
    return &table->slots[at];
}

static size_t slots_bytes(uint32_t capacity)
{
    return sizeof(uint32_t) * 2 * capacity;
}

/* Grows to `capacity` records. Without memory the table stays as it is. */
static bool reserve_records(struct intern_table *table, uint32_t capacity)
{
    struct intern_table bigger = *table;
    bigger.capacity = capacity;
    bigger.records = scratch_alloc(table->record_bytes * capacity);
    bigger.slots = scratch_alloc(slots_bytes(capacity));
    if (!bigger.records || !bigger.slots) {
        scratch_free(bigger.records, table->record_bytes * capacity);
        scratch_free(bigger.slots, slots_bytes(capacity));
        return false;
    }
    if (table->count > 0)
        memcpy(bigger.records, table->records, table->record_bytes * table->count);
    for (uint32_t i = 0; i < table->count; i++)
        *find_slot(&bigger, intern_table_at(&bigger, i)) = i + 1;
    intern_table_deinit(table);
    *table = bigger;
    return true;
}

int intern_table_init(struct intern_table *table, size_t record_bytes, size_t key_bytes)
{
    *table = (struct intern_table){.record_bytes = record_bytes, .key_bytes = key_bytes};
    return reserve_records(table, FIRST_CAPACITY) ? 0 : -ENOMEM;
}

void intern_table_deinit(struct intern_table *table)
{
    scratch_free(table->records, table->record_bytes * table->capacity);
    scratch_free(table->slots, slots_bytes(table->capacity));
    *table = (struct intern_table){0};
}

uint32_t intern_table_intern(struct intern_table *table, const void *key)
{
    uint32_t *slot = find_slot(table, key);
    if (*slot)
        return *slot - 1;
    if (table->count == table->capacity) {
        if (table->capacity > UINT32_MAX / 4 || !reserve_records(table, table->capacity * 2)) {
            table->failed = true;
            return 0;
        }
        slot = find_slot(table, key);
    }
    memcpy(intern_table_at(table, table->count), key, table->key_bytes);
    *slot = ++table->count;
    return table->count - 1;
}
