/*
 * What the writers of a Firefox profile's tables have in common: a table is an object of columns and a
 * length.
 *
 * Called from: enc_firefox_tables.c and firefox_stacks.c.
 */
#ifndef WALLPROF_FIREFOX_COLUMNS_H
#define WALLPROF_FIREFOX_COLUMNS_H

#include "firefox_tables.h"

static inline const struct module *firefox_module_at(const struct firefox_tables *tables, arena_ref ref)
{
    return arena_at(tables->profile->arena, ref);
}

static inline void firefox_index_or_null(struct json *json, uint32_t index_plus_one)
{
    if (index_plus_one)
        json_uint(json, index_plus_one - 1);
    else
        json_null(json);
}

static inline void firefox_write_length(struct json *json, uint64_t length)
{
    json_key(json, "length");
    json_uint(json, length);
    json_end_object(json);
    json_newline(json);
}

#endif
