#include "string_table.h"
#include "arena.h"
#include "hash.h"
#include "utf8.h"

#include <string.h>

enum { FIRST_TEXT_BYTES = 64 * 1024, FIRST_SLOTS = 4096 };

static uint32_t hash_text(const char *text)
{
    uint64_t hash = hash_bytes(hash_of_nothing, text, strlen(text));
    return (uint32_t)(hash ^ hash >> 32);
}

static bool reserve_text(struct string_table *table, size_t bytes)
{
    size_t capacity = table->text_capacity ? table->text_capacity : FIRST_TEXT_BYTES;
    if (table->text_used + bytes <= table->text_capacity)
        return true;
    while (capacity < table->text_used + bytes)
        capacity *= 2;
    table->text = scratch_grow(table->text, table->text_capacity, capacity);
    table->text_capacity = table->text ? capacity : 0;
    return table->text != NULL;
}

static bool reserve_offset(struct string_table *table)
{
    if (table->count < table->offsets_capacity)
        return true;
    uint32_t capacity = table->offsets_capacity ? table->offsets_capacity * 2 : FIRST_SLOTS;
    table->offsets =
        scratch_grow(table->offsets, sizeof(uint64_t) * table->offsets_capacity, sizeof(uint64_t) * capacity);
    table->offsets_capacity = table->offsets ? capacity : 0;
    return table->offsets != NULL;
}

static void fill_slot(struct string_table *table, uint32_t index)
{
    uint32_t mask = table->slots_capacity - 1;
    uint32_t at = hash_text(string_table_at(table, index)) & mask;
    while (table->slots[at])
        at = (at + 1) & mask;
    table->slots[at] = index + 1;
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
        fill_slot(table, i);
    return table->slots != NULL;
}

static uint32_t find_text(const struct string_table *table, const char *text)
{
    uint32_t mask = table->slots_capacity - 1;
    for (uint32_t at = hash_text(text) & mask; table->slots[at]; at = (at + 1) & mask) {
        if (!strcmp(string_table_at(table, table->slots[at] - 1), text))
            return table->slots[at];
    }
    return 0;
}

void string_table_init(struct string_table *table)
{
    *table = (struct string_table){0};
    string_table_intern(table, "");
}

void string_table_deinit(struct string_table *table)
{
    scratch_free(table->text, table->text_capacity);
    scratch_free(table->offsets, sizeof(uint64_t) * table->offsets_capacity);
    scratch_free(table->slots, sizeof(uint32_t) * table->slots_capacity);
    *table = (struct string_table){0};
}

uint32_t string_table_intern(struct string_table *table, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (table->failed || !reserve_text(table, bytes) || !reserve_offset(table) || !reserve_slot(table)) {
        table->failed = true;
        return 0;
    }
    char *copy = table->text + table->text_used; /* kept only if it is new */
    memcpy(copy, text, bytes);
    utf8_repair(copy);
    uint32_t found = find_text(table, copy);
    if (found)
        return found - 1;
    table->offsets[table->count] = table->text_used;
    table->text_used += bytes;
    fill_slot(table, table->count);
    return table->count++;
}

uint32_t string_table_count(const struct string_table *table)
{
    return table->failed ? 0 : table->count;
}

const char *string_table_at(const struct string_table *table, uint32_t index)
{
    return table->text + table->offsets[index];
}
