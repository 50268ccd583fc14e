#include "store_reader.h"
#include "names/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAMES_MAX = 1024,     /* inlined calls at one address: more than any compiler makes */
    SHARED_TEXT_MAX = 1024 /* all names together are at most so many times as long as the part */
};

/* The names of a store, in memory of their own. */
struct stored_symbols {
    struct symbols symbols; /* first: release_symbols gets it */
    char *text;
    struct code_region *regions;
};

static void release_symbols(struct symbols *symbols)
{
    struct stored_symbols *stored = (struct stored_symbols *)symbols;
    if (!stored)
        return;
    free(symbols->functions);
    free(symbols->frames);
    free(symbols->first_frame);
    free(symbols->region_of);
    free(symbols->modules);
    free(symbols->lost_files);
    free(stored->regions);
    free(stored->text);
    free(stored);
}

static struct stored_symbols *allocate_symbols(const struct store_symbols *counts)
{
    struct stored_symbols *stored = calloc(1, sizeof *stored);
    if (!stored)
        return NULL;
    struct symbols *symbols = &stored->symbols;
    symbols->location_count = counts->location_count;
    symbols->function_count = counts->function_count;
    symbols->module_count = counts->module_count;
    symbols->region_count = counts->region_count;
    symbols->lost_file_count = counts->lost_file_count;
    symbols->functions = store_array(counts->function_count, sizeof *symbols->functions);
    symbols->frames = store_array(counts->frame_count, sizeof *symbols->frames);
    symbols->first_frame = store_array((size_t)counts->location_count + 1, sizeof *symbols->first_frame);
    symbols->region_of = store_array(counts->location_count, sizeof *symbols->region_of);
    symbols->modules = store_array(counts->module_count, sizeof *symbols->modules);
    symbols->lost_files = store_array(counts->lost_file_count, sizeof *symbols->lost_files);
    symbols->regions = stored->regions = store_array(counts->region_count, sizeof *stored->regions);
    stored->text = store_array(counts->text_bytes, 1);
    if (symbols->functions && symbols->frames && symbols->first_frame && symbols->region_of &&
        symbols->modules && symbols->lost_files && stored->regions && stored->text)
        return stored;
    release_symbols(symbols);
    return NULL;
}

/* A stored text. NULL if it lies outside, if it begins within another one, or if all together become too
 * long. */
static const char *text_at(struct store_reader *reader, const struct stored_symbols *stored,
                           const struct store_symbols *counts, uint32_t offset)
{
    if (offset >= counts->text_bytes || (offset > 0 && stored->text[offset - 1]))
        return NULL;
    reader->text_bytes += strlen(stored->text + offset);
    return reader->text_bytes / SHARED_TEXT_MAX <= reader->header->symbols.bytes ? stored->text + offset
                                                                                 : NULL;
}

static bool take_functions(struct store_reader *reader, struct stored_symbols *stored,
                           const struct store_symbols *counts, const struct store_function *functions)
{
    for (uint32_t i = 0; i < counts->function_count; i++) {
        const struct store_function *from = &functions[i];
        struct symbol_function *function = &stored->symbols.functions[i];
        function->name = text_at(reader, stored, counts, from->name);
        function->system_name = text_at(reader, stored, counts, from->system_name);
        function->file = text_at(reader, stored, counts, from->file);
        function->start_line = from->start_line;
        function->is_symbol = from->is_symbol;
        if (!function->name || !*function->name || !function->system_name || !function->file ||
            from->start_line > INT32_MAX)
            return false;
        if (!*function->file)
            function->file = NULL;
    }
    return true;
}

static bool take_frames(struct symbols *symbols, const struct store_symbols *counts,
                        const struct symbol_frame *frames, const uint32_t *first_frame,
                        const uint32_t *region_of)
{
    for (uint32_t i = 0; i < counts->frame_count; i++) {
        symbols->frames[i] = frames[i];
        if (frames[i].function >= counts->function_count || frames[i].line > INT32_MAX)
            return false;
    }
    for (uint32_t i = 0; i < counts->location_count; i++) {
        symbols->first_frame[i] = first_frame[i];
        symbols->region_of[i] = region_of[i];
        if (first_frame[i] >= first_frame[i + 1] || first_frame[i + 1] - first_frame[i] > FRAMES_MAX ||
            region_of[i] > counts->region_count)
            return false;
    }
    symbols->first_frame[counts->location_count] = first_frame[counts->location_count];
    return first_frame[0] == 0 && first_frame[counts->location_count] == counts->frame_count;
}

static bool take_regions(struct store_reader *reader, struct stored_symbols *stored,
                         const struct store_symbols *counts, const struct store_region *regions)
{
    for (uint32_t i = 0; i < counts->region_count; i++) {
        const struct store_region *from = &regions[i];
        stored->regions[i] = (struct code_region){.start = from->start,
                                                  .end = from->end,
                                                  .file_offset = from->file_offset,
                                                  .path = text_at(reader, stored, counts, from->path),
                                                  .has_names = from->has_names,
                                                  .is_gone = from->is_gone};
        if (!stored->regions[i].path || from->start >= from->end)
            return false;
    }
    return true;
}

static bool is_error(int32_t error)
{
    return error < 0 && error > -4096; /* the kernel has no others */
}

static bool take_modules(const struct store_reader *reader, struct symbols *symbols,
                         const struct store_module *modules, const struct store_lost_file *lost_files)
{
    for (uint32_t i = 0; i < symbols->module_count; i++) {
        const struct store_module *from = &modules[i];
        symbols->modules[i] = (struct symbols_module){.module = from->module,
                                                      .has_functions = from->has_functions,
                                                      .has_files = from->has_files,
                                                      .has_lines = from->has_lines,
                                                      .has_inlines = from->has_inlines};
        if (!store_is_kind(reader, from->module, KIND_MODULE) || (i > 0 && from->module <= from[-1].module))
            return false;
    }
    for (uint32_t i = 0; i < symbols->lost_file_count; i++) {
        symbols->lost_files[i] = (struct symbols_lost_file){lost_files[i].module, lost_files[i].error};
        if (!store_is_kind(reader, lost_files[i].module, KIND_MODULE) || !is_error(lost_files[i].error))
            return false;
    }
    return true;
}

/* Reads the part that begins at `part`, whose arrays are known to lie in it. */
static bool take_symbols(struct store_reader *reader, struct stored_symbols *stored,
                         const struct store_symbols *counts, const unsigned char *part)
{
    const struct store_symbols_layout at = store_symbols_layout(counts);
    memcpy(stored->text, part + at.text, counts->text_bytes);
    return counts->text_bytes > 0 && stored->text[counts->text_bytes - 1] == '\0' &&
           take_functions(reader, stored, counts, (const void *)(part + at.functions)) &&
           take_frames(&stored->symbols, counts, (const void *)(part + at.frames),
                       (const void *)(part + at.first_frame), (const void *)(part + at.region_of)) &&
           take_regions(reader, stored, counts, (const void *)(part + at.regions)) &&
           take_modules(reader, &stored->symbols, (const void *)(part + at.modules),
                        (const void *)(part + at.lost_files));
}

static void take_perf_maps(const struct store_live *live, struct perf_maps *ret)
{
    *ret = (struct perf_maps){.count = 0};
    for (uint32_t i = 0; i < live->perf_map_count && i < PERF_MAPS_MAX; i++) {
        if (live->perf_maps[i].pid > 0)
            ret->sources[ret->count++] = live->perf_maps[i];
    }
}

/* The process ended before it could name its code. So names are found here as the process would have found
 * them; those from files later, if the recording is to be merged. */
static int find_names(struct store_reader *reader)
{
    struct recording *recording = reader->recording;
    struct perf_maps perf_maps;
    take_perf_maps(&reader->header->live, &perf_maps);
    const struct symbolize_process process = {.perf_maps = &perf_maps,
                                              .start_utc_ns = reader->header->start_utc_ns,
                                              .without_files = recording->is_part};
    recording->names_are_due = recording->is_part;
    recording->symbols = symbolize_create(&recording->tree, &recording->modules, NULL, &process);
    recording->release_symbols = symbolize_destroy;
    return recording->symbols
               ? 0
               : recording_refuse(recording, -ENOMEM, "there is not enough memory for its names");
}

int store_read_names(struct store_reader *reader)
{
    const struct store_part *part = &reader->header->symbols;
    struct store_symbols counts;
    if (part->bytes == 0 && reader->header->live.state != STORE_WHOLE)
        return find_names(reader);
    if (part->bytes < sizeof counts)
        return store_damaged(reader, "its names are missing");
    memcpy(&counts, reader->bytes + part->offset, sizeof counts);
    if (counts.location_count != reader->header->tree.location_count || counts.text_bytes > part->bytes ||
        store_symbols_layout(&counts).end > part->bytes)
        return store_damaged(reader, "its names are not as many as it says");
    struct stored_symbols *stored = allocate_symbols(&counts);
    if (!stored)
        return recording_refuse(reader->recording, -ENOMEM, "there is not enough memory for its names");
    reader->recording->symbols = &stored->symbols;
    reader->recording->release_symbols = release_symbols;
    if (!take_symbols(reader, stored, &counts, reader->bytes + part->offset))
        return store_damaged(reader, "its names make no sense");
    return 0;
}
