/*
 * Addresses are dealt out to the compilation units by the units' ranges. So each unit is read once, with all
 * of its addresses. (.debug_aranges is not always there, and never needed.) Units without ranges are then
 * read for the addresses that are left. At the end all symbols are looked up at once.
 */
#include "debug_info.h"

#include "debug_extents.h"
#include "debug_symbols.h"
#include "debug_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS_MAX = 1 << 22 };

/* The unit that an address is in, so far. */
struct share {
    uint32_t unit;  /* 1 + index, 0 for none */
    uint64_t bytes; /* of the unit's range around the address */
};

struct debug_reading {
    const struct debug_module *module;
    struct debug_file file;
    const uint64_t *addresses; /* as in the file */
    uint64_t *dwarf_addresses; /* as in the debug information */
    size_t count;
    struct debug_chain *chains; /* by index of the address */
    struct share *shares;
    Dwarf_Die *units;
    uint32_t unit_count, unit_capacity;
    bool *has_ranges; /* by index of the unit */
    bool has_units;
    struct debug_extents extents; /* of a module that is known: the addresses */
};

/* ---- units ---- */

static void take_share(void *context, size_t first, size_t count, uint64_t bytes)
{
    struct debug_reading *reading = context;
    for (size_t i = first; i < first + count; i++) {
        if (!reading->shares[i].unit || bytes < reading->shares[i].bytes)
            reading->shares[i] = (struct share){reading->unit_count + 1, bytes};
    }
}

static bool make_room_for_unit(struct debug_reading *reading)
{
    if (reading->unit_count < reading->unit_capacity)
        return true;
    uint32_t capacity = reading->unit_capacity ? 2 * reading->unit_capacity : 256;
    Dwarf_Die *units = reallocarray(reading->units, capacity, sizeof *units);
    if (units)
        reading->units = units;
    bool *has_ranges = units ? reallocarray(reading->has_ranges, capacity, sizeof *has_ranges) : NULL;
    if (has_ranges) {
        reading->has_ranges = has_ranges;
        reading->unit_capacity = capacity;
    }
    return has_ranges != NULL;
}

static void deal_out(struct debug_reading *reading)
{
    Dwarf_CU *unit = NULL, *next;
    uint8_t kind;
    Dwarf_Die die;
    while (reading->unit_count < UNITS_MAX && make_room_for_unit(reading) &&
           dwarf_get_units(reading->file.dwarf, unit, &next, NULL, &kind, &die, NULL) == 0) {
        unit = next;
        if (kind != DW_UT_compile && kind != DW_UT_skeleton)
            continue;
        size_t ranges = debug_ranges_visit(&die, reading->file.code_low, reading->dwarf_addresses,
                                           reading->count, take_share, reading);
        reading->has_ranges[reading->unit_count] = ranges > 0;
        reading->units[reading->unit_count++] = die;
    }
    reading->has_units = reading->unit_count > 0;
}

/* ---- addresses of one unit, which need not be next to each other ---- */

struct selection {
    uint64_t *addresses;
    size_t *indexes;
    struct debug_chain *chains;
    size_t count;
};

static void selection_free(struct selection *selection)
{
    free(selection->addresses);
    free(selection->indexes);
    free(selection->chains);
}

static bool selection_init(struct selection *selection, size_t capacity)
{
    *selection = (struct selection){.addresses = calloc(capacity, sizeof *selection->addresses),
                                    .indexes = calloc(capacity, sizeof *selection->indexes),
                                    .chains = calloc(capacity, sizeof *selection->chains)};
    if (selection->addresses && selection->indexes && selection->chains)
        return true;
    selection_free(selection);
    return false;
}

static void select_address(struct debug_reading *reading, struct selection *selection, size_t index)
{
    selection->addresses[selection->count] = reading->dwarf_addresses[index];
    selection->chains[selection->count] = (struct debug_chain){0};
    selection->indexes[selection->count++] = index;
}

static void read_selected(struct debug_reading *reading, struct selection *selection, uint32_t unit)
{
    if (selection->count == 0)
        return;
    debug_unit_read(&reading->units[unit], reading->file.code_low, selection->addresses, selection->count,
                    selection->chains);
    for (size_t i = 0; i < selection->count; i++)
        reading->chains[selection->indexes[i]] = selection->chains[i];
    selection->count = 0;
}

struct dealt {
    uint32_t unit; /* 1 + index */
    size_t index;  /* of the address */
};

static int compare_dealt(const void *left, const void *right)
{
    const struct dealt *a = left, *b = right;
    if (a->unit != b->unit)
        return a->unit < b->unit ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static void read_dealt(struct debug_reading *reading, struct selection *selection)
{
    struct dealt *dealt = calloc(reading->count, sizeof *dealt);
    if (!dealt)
        return;
    for (size_t i = 0; i < reading->count; i++)
        dealt[i] = (struct dealt){reading->shares[i].unit, i};
    qsort(dealt, reading->count, sizeof *dealt, compare_dealt);
    for (size_t i = 0; i < reading->count; i++) {
        if (dealt[i].unit)
            select_address(reading, selection, dealt[i].index);
        if (dealt[i].unit && (i + 1 == reading->count || dealt[i + 1].unit != dealt[i].unit))
            read_selected(reading, selection, dealt[i].unit - 1);
    }
    free(dealt);
}

static void read_undealt(struct debug_reading *reading, struct selection *selection)
{
    for (uint32_t unit = 0; unit < reading->unit_count; unit++) {
        if (reading->has_ranges[unit])
            continue;
        for (size_t i = 0; i < reading->count; i++) {
            if (!reading->shares[i].unit && reading->chains[i].count == 0)
                select_address(reading, selection, i);
        }
        if (selection->count == 0)
            return;
        read_selected(reading, selection, unit);
    }
}

static int read_units(struct debug_reading *reading)
{
    struct selection selection;
    if (!selection_init(&selection, reading->count))
        return -ENOMEM;
    for (size_t i = 0; i < reading->count; i++)
        reading->dwarf_addresses[i] = reading->addresses[i] - reading->file.dwarf_bias;
    deal_out(reading);
    read_dealt(reading, &selection);
    read_undealt(reading, &selection);
    selection_free(&selection);
    return 0;
}

/* ---- symbols ---- */

/* A symbol that would name a frame. */
struct wanted_symbol {
    uint64_t address;
    size_t index;  /* of the address whose frame it names */
    bool is_start; /* of a function, whose symbol begins there and nowhere else */
};

static int compare_wanted(const void *left, const void *right)
{
    const struct wanted_symbol *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static const struct debug_frame *outermost(const struct debug_chain *chain)
{
    return chain->count > 0 ? &chain->frames[chain->count - 1] : NULL;
}

static size_t list_wanted(const struct debug_reading *reading, struct wanted_symbol *wanted)
{
    size_t count = 0;
    for (size_t i = 0; i < reading->count; i++) {
        const struct debug_frame *frame = outermost(&reading->chains[i]);
        if (frame && frame->symbol_at)
            wanted[count++] = (struct wanted_symbol){frame->symbol_at + reading->file.dwarf_bias, i, true};
        else if (!frame || !frame->name)
            wanted[count++] = (struct wanted_symbol){reading->addresses[i], i, false};
    }
    qsort(wanted, count, sizeof *wanted, compare_wanted);
    return count;
}

/* Fills in symbols, by index of the address: the one that names its outermost frame, or none. */
static int find_symbols(const struct debug_reading *reading, struct string_pool *names,
                        struct elf_query *symbols)
{
    struct wanted_symbol *wanted = calloc(reading->count, sizeof *wanted);
    struct elf_query *queries = calloc(reading->count, sizeof *queries);
    if (wanted && queries) {
        size_t count = list_wanted(reading, wanted);
        for (size_t i = 0; i < count; i++)
            queries[i].elf_address = wanted[i].address;
        if (count > 0)
            debug_symbols_find(&reading->file, reading->module, names, queries, count);
        for (size_t i = 0; i < count; i++) {
            if (!wanted[i].is_start || queries[i].symbol_address == wanted[i].address)
                symbols[wanted[i].index] = queries[i];
        }
    }
    int error = wanted && queries ? 0 : -ENOMEM;
    free(wanted);
    free(queries);
    return error;
}

/* ---- the table ---- */

static bool is_in(const char *directory, const char *file)
{
    size_t bytes = strlen(directory);
    return strncmp(file, directory, bytes) == 0 && file[bytes] == '/';
}

/* A relative name is relative to the directory in which the compiler ran. That directory can be relative too,
 * and the name may begin with it already. */
static uint32_t add_file(struct frame_table *table, const char *directory, const char *file)
{
    char *path = NULL;
    if (!file || file[0] == '/' || !directory || !*directory || is_in(directory, file) ||
        asprintf(&path, "%s/%s", directory, file) < 0)
        return frame_table_string(table, file);
    uint32_t string = frame_table_string(table, path);
    free(path);
    return string;
}

static void add_frame(struct frame_table *table, const struct debug_chain *chain,
                      const struct debug_frame *frame, const char *name)
{
    struct frame_entry entry = {.line = frame->line, .start_line = frame->start_line};
    entry.system_name = frame_table_string(table, name);
    entry.file = add_file(table, chain->directory, frame->file);
    frame_table_add_frame(table, &entry);
}

static void add_address(const struct debug_reading *reading, size_t index, const struct elf_query *symbol,
                        struct frame_table *table)
{
    static const struct debug_frame nothing;
    const struct debug_chain *chain = &reading->chains[index];
    const struct debug_frame *last = outermost(chain);
    struct frame_row row = {.address = reading->addresses[index], .source = NAME_FROM_NOTHING};
    row.is_final = reading->has_units && (chain->count == 0 || chain->is_complete);
    if (last && last->name) {
        row.source = NAME_FROM_DWARF;
    } else if (symbol->name) {
        row.source = NAME_FROM_SYMBOL;
        row.symbol_address = symbol->symbol_address;
        row.symbol_bytes = symbol->symbol_bytes;
    }
    frame_table_add_row(table, &row);
    for (uint32_t i = 0; i + 1 < chain->count; i++)
        add_frame(table, chain, &chain->frames[i], chain->frames[i].name);
    if (last || symbol->name)
        add_frame(table, chain, last ? last : &nothing, symbol->name ? symbol->name : last->name);
    frame_table_join_last(table);
}

static int make_table(const struct debug_reading *reading, struct frame_table *table)
{
    struct string_pool names = {0};
    struct elf_query *symbols = calloc(reading->count, sizeof *symbols);
    int error = symbols ? find_symbols(reading, &names, symbols) : -ENOMEM;
    for (size_t i = 0; !error && i < reading->count; i++)
        add_address(reading, i, &symbols[i], table);
    if (table->is_broken)
        error = -ENOMEM;
    string_pool_deinit(&names);
    free(symbols);
    return error;
}

/* ---- the whole ---- */

static void reading_free(struct debug_reading *reading)
{
    for (size_t i = 0; reading->chains && i < reading->count; i++)
        free(reading->chains[i].frames);
    free(reading->chains);
    free(reading->shares);
    free(reading->dwarf_addresses);
    free(reading->units);
    free(reading->has_ranges);
    debug_extents_free(&reading->extents);
    debug_file_close(&reading->file);
}

static int take_extents(struct debug_reading *reading)
{
    if (!reading->module->is_known || !reading->file.dwarf)
        return 0;
    int error = debug_extents_list(&reading->extents, &reading->file, reading->module, reading->addresses,
                                   reading->count);
    if (error)
        return error;
    reading->addresses = reading->extents.addresses;
    reading->count = reading->extents.count;
    return 0;
}

static int reading_alloc(struct debug_reading *reading)
{
    reading->chains = calloc(reading->count, sizeof *reading->chains);
    reading->shares = calloc(reading->count, sizeof *reading->shares);
    reading->dwarf_addresses = calloc(reading->count, sizeof *reading->dwarf_addresses);
    return reading->chains && reading->shares && reading->dwarf_addresses ? 0 : -ENOMEM;
}

int debug_info_read(const struct debug_module *module, const uint64_t *addresses, size_t count,
                    struct frame_table *ret)
{
    struct debug_reading reading = {.module = module, .addresses = addresses, .count = count};
    *ret = (struct frame_table){0};
    int error = debug_file_open(&reading.file, module->path, module->build_id, module->build_id_bytes);
    if (error || count == 0) {
        debug_file_close(&reading.file);
        return error;
    }
    error = take_extents(&reading);
    if (!error)
        error = reading_alloc(&reading);
    if (!error && reading.file.dwarf)
        error = read_units(&reading);
    if (!error)
        error = make_table(&reading, ret);
    reading_free(&reading);
    if (error)
        frame_table_free(ret);
    return error;
}
