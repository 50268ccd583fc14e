/* The shared tables of a Firefox profile, column by column, as docs/formats.md has them. */
#include "firefox_tables.h"

#include <stdio.h>
#include <string.h>

/* ---- libraries ---- */

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

/* Breakpad's id: the first 16 bytes as a GUID, whose first three fields are little-endian, and an age of 0.
 */
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
    json_member_string(json, "arch", FIREFOX_ARCH);
    json_member_string(json, "name", base_name(path));
    json_member_string(json, "path", path);
    json_member_string(json, "debugName", base_name(path));
    json_member_string(json, "debugPath", path);
    json_member_string(json, "breakpadId", breakpad);
    json_key(json, "codeId");
    if (module->build_id_bytes > 0)
        json_string(json, id);
    else
        json_null(json);
    json_end_object(json);
}

void firefox_write_libs(struct firefox_tables *tables, struct json *json)
{
    json_member_array(json, "libs");
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

void firefox_write_nulls(struct json *json, const char *key, uint64_t count)
{
    json_member_array(json, key);
    for (uint64_t i = 0; i < count; i++)
        json_null(json);
    json_end_array(json);
}

void firefox_write_same(struct json *json, const char *key, uint64_t count, uint64_t value)
{
    json_member_array(json, key);
    for (uint64_t i = 0; i < count; i++)
        json_uint(json, value);
    json_end_array(json);
}

void firefox_end_table(struct json *json, uint64_t length)
{
    json_member_uint(json, "length", length);
    json_end_object(json);
    json_newline(json);
}

typedef void cell_fn(struct firefox_tables *tables, struct json *json, uint32_t i);

static void write_column(struct firefox_tables *tables, struct json *json, const char *key, uint32_t count,
                         cell_fn *cell)
{
    json_member_array(json, key);
    for (uint32_t i = 0; i < count; i++)
        cell(tables, json, i);
    json_end_array(json);
}

/* ---- functions, and after them those that stand for a category ---- */

static const struct symbol_function *function_at(const struct firefox_tables *tables, uint32_t i)
{
    return &tables->profile->symbols->functions[i];
}

static bool is_of_profile(const struct firefox_tables *tables, uint32_t i)
{
    return i < tables->profile->symbols->function_count;
}

static void function_name(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    write_text(tables, json,
               is_of_profile(tables, i)
                   ? function_at(tables, i)->name
                   : firefox_category_frame(i - tables->profile->symbols->function_count));
}

static void function_no(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    (void)tables;
    (void)i;
    json_bool(json, false);
}

/* The resources are the libraries, in their order. */
static void function_resource(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    json_index(json, is_of_profile(tables, i) ? tables->lib_of_function[i] : 0);
}

/* Files are numbered from 0 where they are written; "" is none. */
static void function_source(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    const char *file = is_of_profile(tables, i) ? function_at(tables, i)->file : NULL;
    firefox_index_or_null(json, file ? string_table_intern(&tables->files, file) : 0);
}

static void function_line(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    uint32_t line = is_of_profile(tables, i) ? function_at(tables, i)->start_line : 0;
    firefox_index_or_null(json, line ? line + 1 : 0);
}

static void write_functions(struct firefox_tables *tables, struct json *json)
{
    uint32_t count = tables->profile->symbols->function_count + CATEGORY_COUNT;
    json_member_object(json, "funcTable");
    write_column(tables, json, "name", count, function_name);
    write_column(tables, json, "isJS", count, function_no);
    write_column(tables, json, "relevantForJS", count, function_no);
    write_column(tables, json, "resource", count, function_resource);
    write_column(tables, json, "source", count, function_source);
    write_column(tables, json, "lineNumber", count, function_line);
    firefox_write_nulls(json, "columnNumber", count);
    firefox_write_nulls(json, "originalLocation", count);
    firefox_end_table(json, count);
}

static void source_file(struct firefox_tables *tables, struct json *json, uint32_t i)
{
    write_text(tables, json, string_table_at(&tables->files, i + 1));
}

/* After the functions, which number the files. */
static void write_sources(struct firefox_tables *tables, struct json *json)
{
    uint32_t strings = string_table_count(&tables->files), count = strings > 0 ? strings - 1 : 0;
    json_member_object(json, "sources");
    firefox_write_nulls(json, "id", count);
    write_column(tables, json, "filename", count, source_file);
    firefox_write_same(json, "startLine", count, 1);
    firefox_write_same(json, "startColumn", count, 1);
    firefox_write_nulls(json, "sourceMapURL", count);
    firefox_write_nulls(json, "content", count);
    firefox_end_table(json, count);
    json_member_object(json, "sourceLocationTable");
    firefox_write_nulls(json, "source", 0);
    firefox_write_nulls(json, "line", 0);
    firefox_write_nulls(json, "column", 0);
    firefox_end_table(json, 0);
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
    json_member_object(json, "resourceTable");
    write_column(tables, json, "lib", tables->lib_count, lib_number);
    write_column(tables, json, "name", tables->lib_count, lib_name);
    firefox_write_nulls(json, "host", tables->lib_count);
    firefox_write_same(json, "type", tables->lib_count, RESOURCE_LIBRARY);
    firefox_end_table(json, tables->lib_count);
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
    json_member_object(json, "nativeSymbols");
    write_column(tables, json, "libIndex", count, symbol_lib);
    write_column(tables, json, "address", count, symbol_address);
    write_column(tables, json, "name", count, symbol_name);
    firefox_write_nulls(json, "functionSize", count);
    firefox_end_table(json, count);
}

static void write_strings(struct firefox_tables *tables, struct json *json)
{
    json_member_array(json, "stringArray");
    for (uint32_t i = 0; i < string_table_count(&tables->strings); i++)
        json_string(json, string_table_at(&tables->strings, i));
    json_end_array(json);
}

void firefox_write_shared(struct firefox_tables *tables, struct json *json)
{
    json_member_object(json, "shared");
    firefox_write_stacks(tables, json);
    firefox_write_frames(tables, json);
    write_functions(tables, json);
    write_sources(tables, json);
    write_resources(tables, json);
    write_native_symbols(tables, json);
    write_strings(tables, json);
    json_end_object(json);
}
