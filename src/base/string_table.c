#include "string_table.h"
#include "arena.h"
#include "hash.h"
#include "utf8.h"

#include <string.h>

enum { FIRST_TEXT_BYTES = 64 * 1024, FIRST_OFFSETS_BYTES = 32 * 1024, FIRST_SLOTS = 4096 };

static uint32_t hash_text(const char *text)
{
    uint64_t hash = hash_bytes(hash_of_nothing, text, strlen(text));
    return (uint32_t)(hash ^ hash >> 32);
}

static bool reserve_text(struct string_table *table, size_t bytes)
{
    table->text =
        scratch_reserve(table->text, &table->text_capacity, table->text_used + bytes, FIRST_TEXT_BYTES);
    table->offsets =
        scratch_reserve(table->offsets, &table->offsets_bytes,
                        sizeof *table->offsets * (table->count + (size_t)1), FIRST_OFFSETS_BYTES);
    return table->text && table->offsets;
}

/* The slot that holds the string, or the empty slot where it belongs. */
static uint32_t *find_slot(const struct string_table *table, const char *text)
{
    uint32_t mask = table->slots_capacity - 1, at = hash_text(text) & mask;
    while (table->slots[at] && strcmp(string_table_at(table, table->slots[at] - 1), text) != 0)
        at = (at + 1) & mask;
    return &table->slots[at];
}

static bool reserve_slot(struct string_table *table)
{
    if (table->count * 2 < table->slots_capacity)
        return true;
    uint32_t old_capacity = table->slots_capacity, capacity = old_capacity ? old_capacity * 2 : FIRST_SLOTS;
    scratch_free(table->slots, sizeof(uint32_t) * old_capacity);
    table->slots = scratch_alloc(sizeof(uint32_t) * capacity);
    table->slots_capacity = table->slots ? capacity : 0;
    for (uint32_t i = 0; table->slots && i < table->count; i++)
        *find_slot(table, string_table_at(table, i)) = i + 1;
    return table->slots != NULL;
}

void string_table_init(struct string_table *table)
{
    *table = (struct string_table){0};
    string_table_intern(table, "");
}

void string_table_deinit(struct string_table *table)
{
    scratch_free(table->text, table->text_capacity);
    scratch_free(table->offsets, table->offsets_bytes);
    scratch_free(table->slots, sizeof(uint32_t) * table->slots_capacity);
    *table = (struct string_table){0};
}

uint32_t string_table_intern(struct string_table *table, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (table->failed || !reserve_text(table, bytes) || !reserve_slot(table)) {
        table->failed = true;
        return 0;
    }
    char *copy = table->text + table->text_used; /* kept only if it is new */
    memcpy(copy, text, bytes);
    utf8_repair(copy);
    uint32_t *slot = find_slot(table, copy);
    if (*slot)
        return *slot - 1;
    table->offsets[table->count] = table->text_used;
    table->text_used += bytes;
    *slot = ++table->count;
    return *slot - 1;
}

uint32_t string_table_count(const struct string_table *table)
{
    return table->failed ? 0 : table->count;
}

const char *string_table_at(const struct string_table *table, uint32_t index)
{
    return table->text + table->offsets[index];
}
