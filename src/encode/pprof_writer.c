/* See pprof_writer.h: output, and then the tables. */
#include "pprof_writer.h"
#include "pprof_fields.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

uint64_t pprof_intern(struct pprof_writer *writer, const char *text)
{
    return string_table_intern(&writer->strings, text);
}

void pprof_flush(struct pprof_writer *writer)
{
    if (writer->output.failed)
        return;
    sink_write(writer->sink, writer->output.bytes, writer->output.used);
    protobuf_clear(&writer->output);
}

void pprof_emit(struct pprof_writer *writer, uint32_t field)
{
    protobuf_message(&writer->output, field, &writer->message);
    protobuf_clear(&writer->message);
    if (writer->output.used > 1 << 16)
        pprof_flush(writer);
}

/* ---- tables ---- */

static const struct module *module_at(const struct pprof_writer *writer, arena_ref ref)
{
    return arena_at(writer->profile->arena, ref);
}

/* Mapping order: the program's own segments first, then those of other sampled modules, as they were loaded.
 * Ours need no mapping. */
static int order_modules(struct pprof_writer *writer)
{
    const struct module_list *modules = writer->profile->modules;
    writer->modules = scratch_alloc(sizeof(arena_ref) * (modules->count + 1));
    if (!writer->modules)
        return -ENOMEM;
    for (int is_main = 1; is_main >= 0; is_main--) {
        uint32_t begin = writer->module_count;
        for (arena_ref ref = modules->newest; ref; ref = module_at(writer, ref)->next) {
            const struct module *module = module_at(writer, ref);
            if (module->is_main == is_main && !module->is_own && (is_main || module->is_sampled))
                writer->modules[writer->module_count++] = ref;
        }
        for (uint32_t low = begin, high = writer->module_count; low + 1 < high; low++) {
            arena_ref swap = writer->modules[low];
            writer->modules[low] = writer->modules[--high];
            writer->modules[high] = swap;
        }
    }
    return 0;
}

/*
 * Gives ids without gaps to locations that are no labels, and to functions that some such location has. (In a
 * profile from a file a function may be that of both.) The tree lists its locations newest first.
 */
static void number_entries(struct pprof_writer *writer)
{
    const struct tree *tree = writer->profile->tree;
    const struct symbols *symbols = writer->profile->symbols;
    uint32_t id = 0;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next)
        writer->locations[tree_location_at(tree, ref)->index] = ref;
    for (uint32_t i = 0; i < tree->location_count; i++) {
        bool is_label = tree_is_label(tree_location_at(tree, writer->locations[i]));
        writer->location_ids[i] = is_label ? 0 : ++id;
        if (is_label)
            writer->function_ids[symbols_function_of(symbols, i)] = 1;
    }
    for (uint32_t i = 0; i < tree->location_count; i++) {
        for (uint32_t at = symbols->first_frame[i];
             writer->location_ids[i] && at < symbols->first_frame[i + 1]; at++)
            writer->function_ids[symbols->frames[at].function] = 0;
    }
    id = 0;
    for (uint32_t i = 0; i < symbols->function_count; i++)
        writer->function_ids[i] = writer->function_ids[i] ? 0 : ++id;
}

int pprof_tables_init(struct pprof_writer *writer)
{
    const uint32_t count = writer->profile->tree->location_count;
    writer->locations = scratch_alloc(sizeof *writer->locations * count);
    writer->location_ids = scratch_alloc(sizeof *writer->location_ids * count);
    writer->function_ids =
        scratch_alloc(sizeof *writer->function_ids * (writer->profile->symbols->function_count + (size_t)1));
    if (!writer->locations || !writer->location_ids || !writer->function_ids)
        return -ENOMEM;
    number_entries(writer);
    return order_modules(writer);
}

void pprof_tables_deinit(struct pprof_writer *writer)
{
    const uint32_t count = writer->profile->tree->location_count;
    scratch_free(writer->modules, sizeof(arena_ref) * (writer->profile->modules->count + 1));
    scratch_free(writer->locations, sizeof *writer->locations * count);
    scratch_free(writer->location_ids, sizeof *writer->location_ids * count);
    scratch_free(writer->function_ids,
                 sizeof *writer->function_ids * (writer->profile->symbols->function_count + (size_t)1));
}

/* pprof looks for no symbols in mappings with a name in brackets, such as [JIT]. */
static void emit_region_mapping(struct pprof_writer *writer, uint32_t index)
{
    const struct code_region *region = &writer->profile->symbols->regions[index];
    protobuf_uint(&writer->message, MAPPING_ID, (uint64_t)writer->module_count + 1 + index);
    protobuf_uint(&writer->message, MAPPING_MEMORY_START, region->start);
    protobuf_uint(&writer->message, MAPPING_MEMORY_LIMIT, region->end);
    protobuf_uint(&writer->message, MAPPING_FILE_OFFSET, region->file_offset);
    protobuf_uint(&writer->message, MAPPING_FILENAME, pprof_intern(writer, region->path));
    protobuf_uint(&writer->message, MAPPING_HAS_FUNCTIONS, region->has_names);
    pprof_emit(writer, PROFILE_MAPPING);
}

static bool is_lost(const struct pprof_writer *writer, const char *path)
{
    const struct symbols *symbols = writer->profile->symbols;
    for (uint32_t i = 0; i < symbols->lost_file_count; i++) {
        const struct module *module = module_at(writer, symbols->lost_files[i].module);
        if (strcmp(arena_at(writer->profile->arena, module->path), path) == 0)
            return true;
    }
    return false;
}

/* A build-id shows pprof that a file is another one now. Without it pprof must not find the file. */
static uint64_t intern_module_path(struct pprof_writer *writer, const struct module *module)
{
    char lost[PATH_MAX + sizeof " (deleted)"];
    const char *path = arena_at(writer->profile->arena, module->path);
    if (module->build_id_bytes > 0 || !is_lost(writer, path))
        return pprof_intern(writer, path);
    snprintf(lost, sizeof lost, "%.*s (deleted)", PATH_MAX, path); /* as the kernel writes it */
    return pprof_intern(writer, lost);
}

static void emit_mapping(struct pprof_writer *writer, uint32_t id)
{
    const struct module *module = module_at(writer, writer->modules[id - 1]);
    const struct symbols_module known = symbols_module(writer->profile->symbols, writer->modules[id - 1]);
    char build_id[2 * MODULE_BUILD_ID_MAX_BYTES + 1] = "";
    for (uint32_t i = 0; i < module->build_id_bytes; i++)
        snprintf(build_id + 2 * i, 3, "%02x", module->build_id[i]);
    protobuf_uint(&writer->message, MAPPING_ID, id);
    protobuf_uint(&writer->message, MAPPING_MEMORY_START, module->start_pc);
    protobuf_uint(&writer->message, MAPPING_MEMORY_LIMIT, module->end_pc);
    protobuf_uint(&writer->message, MAPPING_FILE_OFFSET, module->file_offset);
    protobuf_uint(&writer->message, MAPPING_FILENAME, intern_module_path(writer, module));
    protobuf_uint(&writer->message, MAPPING_BUILD_ID, pprof_intern(writer, build_id));
    protobuf_uint(&writer->message, MAPPING_HAS_FUNCTIONS, known.has_functions);
    protobuf_uint(&writer->message, MAPPING_HAS_FILENAMES, known.has_files);
    protobuf_uint(&writer->message, MAPPING_HAS_LINE_NUMBERS, known.has_lines);
    protobuf_uint(&writer->message, MAPPING_HAS_INLINE_FRAMES, known.has_inlines);
    pprof_emit(writer, PROFILE_MAPPING);
}

static void emit_mappings(struct pprof_writer *writer)
{
    for (uint32_t id = 1; id <= writer->module_count; id++)
        emit_mapping(writer, id);
    for (uint32_t i = 0; i < writer->profile->symbols->region_count; i++)
        emit_region_mapping(writer, i);
}

static uint64_t mapping_id_of(const struct pprof_writer *writer, const struct location *location)
{
    uint32_t region = writer->profile->symbols->region_of[location->index];
    if (region)
        return (uint64_t)writer->module_count + region;
    for (uint32_t i = 0; i < writer->module_count; i++) {
        if (writer->modules[i] == location->module)
            return i + 1;
    }
    return 0;
}

/* Innermost first, as they are stored. */
static void add_lines(struct pprof_writer *writer, uint32_t location_index)
{
    uint32_t count;
    const struct symbol_frame *frames = symbols_frames(writer->profile->symbols, location_index, &count);
    for (uint32_t i = 0; i < count; i++) {
        protobuf_clear(&writer->part);
        protobuf_uint(&writer->part, LINE_FUNCTION_ID, writer->function_ids[frames[i].function]);
        protobuf_uint(&writer->part, LINE_LINE, frames[i].line);
        protobuf_message(&writer->message, LOCATION_LINE, &writer->part);
    }
}

static void emit_location(struct pprof_writer *writer, const struct location *location)
{
    protobuf_uint(&writer->message, LOCATION_ID, writer->location_ids[location->index]);
    if (!location->pseudo && !tree_is_script(location)) {
        protobuf_uint(&writer->message, LOCATION_MAPPING_ID, mapping_id_of(writer, location));
        protobuf_uint(&writer->message, LOCATION_ADDRESS, location->address);
    }
    add_lines(writer, location->index);
    pprof_emit(writer, PROFILE_LOCATION);
}

static void emit_locations(struct pprof_writer *writer)
{
    const struct tree *tree = writer->profile->tree;
    for (uint32_t i = 0; i < tree->location_count; i++) {
        if (writer->location_ids[i])
            emit_location(writer, tree_location_at(tree, writer->locations[i]));
    }
}

static void emit_functions(struct pprof_writer *writer)
{
    const struct symbols *symbols = writer->profile->symbols;
    for (uint32_t i = 0; i < symbols->function_count; i++) {
        const struct symbol_function *function = &symbols->functions[i];
        if (!writer->function_ids[i])
            continue;
        protobuf_uint(&writer->message, FUNCTION_ID, writer->function_ids[i]);
        protobuf_uint(&writer->message, FUNCTION_NAME, pprof_intern(writer, function->name));
        protobuf_uint(&writer->message, FUNCTION_SYSTEM_NAME, pprof_intern(writer, function->system_name));
        if (function->file)
            protobuf_uint(&writer->message, FUNCTION_FILENAME, pprof_intern(writer, function->file));
        protobuf_uint(&writer->message, FUNCTION_START_LINE, function->start_line);
        pprof_emit(writer, PROFILE_FUNCTION);
    }
}

void pprof_tables_emit(struct pprof_writer *writer)
{
    emit_mappings(writer);
    emit_locations(writer);
    emit_functions(writer);
}
