/* The shared tables of a Firefox profile, column by column, as docs/formats.md has them. */
#include "firefox_tables.h"
#include "firefox_columns.h"
#include "wait_kind.h"

#include <stdio.h>
#include <string.h>

static const struct category {
    const char *name, *color;
} categories[] = {
    [CATEGORY_RUNNING] = {"Running", "yellow"},
    [CATEGORY_OTHER] = {"Other", "grey"},
    [CATEGORY_IDLE] = {"Idle", "transparent"},
    [CATEGORY_WAITS + WAIT_OTHER] = {"Waiting: other", "darkgrey"},
    [CATEGORY_WAITS + WAIT_LOCK] = {"Waiting: lock", "red"},
    [CATEGORY_WAITS + WAIT_CONDITION] = {"Waiting: condition", "orange"},
    [CATEGORY_WAITS + WAIT_SLEEP] = {"Waiting: sleep", "lightblue"},
    [CATEGORY_WAITS + WAIT_POLL] = {"Waiting: poll", "blue"},
    [CATEGORY_WAITS + WAIT_SOCKET] = {"Waiting: socket", "purple"},
    [CATEGORY_WAITS + WAIT_FILE] = {"Waiting: file", "green"},
    [CATEGORY_WAITS + WAIT_CHILD] = {"Waiting: child", "brown"},
    [CATEGORY_WAITS + WAIT_SIGNAL] = {"Waiting: signal", "magenta"},
};

enum { CATEGORY_COUNT = sizeof(categories) / sizeof(categories[0]) };

/* ---- categories and libraries ---- */

void firefox_write_categories(struct json *json)
{
    json_key(json, "categories");
    json_begin_array(json);
    for (int i = 0; i < CATEGORY_COUNT; i++) {
        json_begin_object(json);
        json_key(json, "name");
        json_string(json, categories[i].name);
        json_key(json, "color");
        json_string(json, categories[i].color);
        json_key(json, "subcategories");
        json_begin_array(json);
        json_string(json, "Other");
        json_end_array(json);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_member(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void write_hex(const unsigned char *bytes, uint32_t count, const char *format, char *ret)
{
    *ret = '\0';
    for (uint32_t i = 0; i < count; i++)
        snprintf(ret + 2 * i, 3, format, bytes[i]);
}

/* Breakpad: the first 16 bytes as a GUID, whose first three fields are little-endian, and an age of 0. */
static void breakpad_id(const struct module *module, char ret[34])
{
    static const unsigned char order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    unsigned char id[16];
    for (int i = 0; i < 16; i++)
        id[i] = order[i] < module->build_id_bytes ? module->build_id[order[i]] : 0;
    write_hex(id, 16, "%02X", ret);
    strcpy(ret + 32, "0");
}

static void write_lib(struct json *json, const struct module *module, const char *path)
{
    char id[2 * MODULE_BUILD_ID_MAX_BYTES + 1], breakpad[34];
    write_hex(module->build_id, module->build_id_bytes, "%02x", id);
    breakpad_id(module, breakpad);
    json_begin_object(json);
    write_member(json, "arch", FIREFOX_ARCH);
    write_member(json, "name", base_name(path));
    write_member(json, "path", path);
    write_member(json, "debugName", base_name(path));
    write_member(json, "debugPath", path);
    write_member(json, "breakpadId", breakpad);
    json_key(json, "codeId");
    if (module->build_id_bytes > 0)
        json_string(json, id);
    else
        json_null(json);
    json_end_object(json);
}

void firefox_write_libs(struct firefox_tables *tables, struct json *json)
{
    json_key(json, "libs");
    json_begin_array(json);
    for (uint32_t i = 0; i < tables->lib_count; i++) {
        const struct module *module = firefox_module_at(tables, tables->libs[i]);
        write_lib(json, module, arena_at(tables->profile->arena, module->path));
    }
    json_end_array(json);
}

/* ---- columns ---- */

static void json_index(struct json *json, uint32_t index_plus_one)
{
    json_int(json, (int64_t)index_plus_one - 1);
}

static void write_text(struct firefox_tables *tables, struct json *json, const char *text)
{
    json_uint(json, string_table_intern(&tables->strings, text));
}

/* A column of `count` cells that are all the same. */
static void write_nulls(struct json *json, const char *key, uint64_t count)
{
    json_key(json, key);
    json_begin_array(json);
    for (uint64_t i = 0; i < count; i++)
        json_null(json);
    json_end_array(json);
}

static void write_same(struct json *json, const char *key, uint64_t count, uint64_t value)
{
    json_key(json, key);
    json_begin_array(json);
    for (uint64_t i = 0; i < count; i++)
        json_uint(json, value);
    json_end_array(json);
}

typedef void cell_fn(struct firefox_tables *tables, struct json *json, uint32_t i);

static void write_column(struct firefox_tables *tables, struct json *json, const char *key, uint32_t count,
                         cell_fn *cell)
{
    json_key(json, key);
    json_begin_array(json);
    for (uint32_t i = 0; i < count; i++)
        cell(tables, json, i);
    json_end_array(json);
}

/* ---- functions ---- */

static const struct symbol_function *function_at(const struct firefox_tables *tables, uint32_t i)
{
    return &tables->profile->symbols->functions[i];
}

static void function_name(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    write_text(tables, json, function_at(tables, i)->name);
}

static void function_no(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    (void)tables;
    (void)i;
    json_bool(json, false);
}

/* Resources are libraries, in their order. */
static void function_resource(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    json_index(json, tables->lib_of_function[i]);
}

/* Files are numbered from 0 where they are written; "" is none. */
static void function_source(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    const char *file = function_at(tables, i)->file;
    firefox_index_or_null(json, file ? string_table_intern(&tables->files, file) : 0);
}

static void function_line(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    uint32_t line = function_at(tables, i)->start_line;
    if (line)
        json_uint(json, line);
    else
        json_null(json);
}

static void write_functions(struct firefox_tables *tables, struct json *json)
{
    uint32_t count = tables->profile->symbols->function_count;
    json_key(json, "funcTable");
    json_begin_object(json);
    write_column(tables, json, "name", count, function_name);
    write_column(tables, json, "isJS", count, function_no);
    write_column(tables, json, "relevantForJS", count, function_no);
    write_column(tables, json, "resource", count, function_resource);
    write_column(tables, json, "source", count, function_source);
    write_column(tables, json, "lineNumber", count, function_line);
    write_nulls(json, "columnNumber", count);
    write_nulls(json, "originalLocation", count);
    firefox_write_length(json, count);
}

static void source_file(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    write_text(tables, json, string_table_at(&tables->files, i + 1));
}

/* After the functions, which name them. */
static void write_sources(struct firefox_tables *tables, struct json *json)
{
    uint32_t strings = string_table_count(&tables->files), count = strings > 0 ? strings - 1 : 0;
    json_key(json, "sources");
    json_begin_object(json);
    write_nulls(json, "id", count);
    write_column(tables, json, "filename", count, source_file);
    write_same(json, "startLine", count, 1);
    write_same(json, "startColumn", count, 1);
    write_nulls(json, "sourceMapURL", count);
    write_nulls(json, "content", count);
    firefox_write_length(json, count);
    json_key(json, "sourceLocationTable");
    json_begin_object(json);
    write_nulls(json, "source", 0);
    write_nulls(json, "line", 0);
    write_nulls(json, "column", 0);
    firefox_write_length(json, 0);
}

static void lib_number(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    (void)tables;
    json_uint(json, i);
}

static void lib_name(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    const struct module *module = firefox_module_at(tables, tables->libs[i]);
    write_text(tables, json, base_name(arena_at(tables->profile->arena, module->path)));
}

static void write_resources(struct firefox_tables *tables, struct json *json)
{
    enum { RESOURCE_LIBRARY = 1 };
    json_key(json, "resourceTable");
    json_begin_object(json);
    write_column(tables, json, "lib", tables->lib_count, lib_number);
    write_column(tables, json, "name", tables->lib_count, lib_name);
    write_nulls(json, "host", tables->lib_count);
    write_same(json, "type", tables->lib_count, RESOURCE_LIBRARY);
    firefox_write_length(json, tables->lib_count);
}

/* ---- native symbols: functions with a place in a library ---- */

static void symbol_lib(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    json_index(json, tables->lib_of_function[tables->symbols[i]]);
}

static void symbol_address(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    json_uint(json, tables->start_of_function[tables->symbols[i]]);
}

static void symbol_name(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    write_text(tables, json, function_at(tables, tables->symbols[i])->name);
}

static void write_native_symbols(struct firefox_tables *tables, struct json *json)
{
    uint32_t count = tables->symbol_count;
    json_key(json, "nativeSymbols");
    json_begin_object(json);
    write_column(tables, json, "libIndex", count, symbol_lib);
    write_column(tables, json, "address", count, symbol_address);
    write_column(tables, json, "name", count, symbol_name);
    write_nulls(json, "functionSize", count);
    firefox_write_length(json, count);
}

static void write_strings(struct firefox_tables *tables, struct json *json)
{
    json_key(json, "stringArray");
    json_begin_array(json);
    for (uint32_t i = 0; i < string_table_count(&tables->strings); i++)
        json_string(json, string_table_at(&tables->strings, i));
    json_end_array(json);
}

void firefox_write_shared(struct firefox_tables *tables, struct json *json)
{
    json_key(json, "shared");
    json_begin_object(json);
    firefox_write_stacks(tables, json);
    firefox_write_frames(tables, json);
    write_functions(tables, json);
    write_sources(tables, json);
    write_resources(tables, json);
    write_native_symbols(tables, json);
    write_strings(tables, json);
    json_end_object(json);
}
