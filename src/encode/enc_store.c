#include "enc_store.h"
#include "profile/store.h"
#include "base/string_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct names {
    const struct symbols *symbols;
    struct store_symbols counts;
    struct store_symbols_layout layout;
    unsigned char *bytes; /* owned: the part before the text */
    size_t bytes_before_text;
    struct string_table strings; /* its text is the rest of the part */
};

/* ---- the header ---- */

/* All records are one list. Its first one alone is not the next of another. */
static arena_ref newest_thread(const struct profile *profile)
{
    arena_ref newest = 0;
    for (uint32_t i = 1; i <= profile->thread_count; i++) {
        const struct thread_record *record = profile_thread(profile, i);
        newest ^= record ? profile->thread_of_number[i] ^ record->next : 0;
    }
    return newest;
}

static uint64_t timeline_bytes(const struct timeline *timeline)
{
    return timeline ? sizeof(struct store_timeline) + timeline->count * sizeof(struct timeline_record) +
                          timeline->event_count * sizeof(struct timeline_event)
                    : 0;
}

static void write_header(const struct profile *profile, struct sink *sink, uint64_t symbols_bytes)
{
    char page[STORE_HEADER_BYTES] = {0};
    const uint64_t symbols_offset = STORE_HEADER_BYTES + profile->arena->used_bytes;
    struct store_header header = {
        .arena = {STORE_HEADER_BYTES, profile->arena->used_bytes},
        .symbols = {symbols_offset, symbols_bytes},
        .timeline = {symbols_offset + symbols_bytes, timeline_bytes(profile->timeline)},
        .tree = store_describe_tree(profile->tree, profile->modules, newest_thread(profile),
                                    profile->thread_count),
        .labels = profile->labels,
        .threads_per_tick = profile->threads_per_tick,
        .has_timed_samples = profile->has_timed_samples,
        .has_rundelay = profile->has_rundelay,
        .throttled_count = profile->throttled_count,
        .throttled_ns = profile->throttled_ns,
        .messages = profile->messages,
        .start_utc_ns = profile->start_utc_ns,
        .duration_ns = profile->duration_ns,
        .period_ns = profile->period_ns,
        .counters = profile->counters,
    };
    store_describe_build(&header);
    snprintf(header.command, sizeof header.command, "%s", profile->command);
    snprintf(header.restraint, sizeof header.restraint, "%s", profile->restraint);
    if (profile->process_count > 0)
        store_describe_process(&header.process, &profile->processes[0]);
    memcpy(page, &header, sizeof header);
    sink_write(sink, page, sizeof page);
}

/* ---- the names ---- */

/* The offset of a string in the text. */
static uint32_t text(struct names *names, const char *string)
{
    uint32_t index = string_table_intern(&names->strings, string ? string : "");
    return names->strings.failed ? 0 : (uint32_t)names->strings.offsets[index];
}

static void fill_functions(struct names *names, struct store_function *functions)
{
    for (uint32_t i = 0; i < names->symbols->function_count; i++) {
        const struct symbol_function *function = &names->symbols->functions[i];
        functions[i] = (struct store_function){
            .name = text(names, function->name),
            .system_name = text(names, function->system_name),
            .file = text(names, function->file),
            .start_line = function->start_line,
            .is_symbol = function->is_symbol,
        };
    }
}

static void fill_regions(struct names *names, struct store_region *regions)
{
    for (uint32_t i = 0; i < names->symbols->region_count; i++) {
        const struct code_region *region = &names->symbols->regions[i];
        regions[i] = (struct store_region){
            .start = region->start,
            .end = region->end,
            .file_offset = region->file_offset,
            .path = text(names, region->path),
            .has_names = region->has_names,
            .is_gone = region->is_gone,
        };
    }
}

static void fill_modules(const struct symbols *symbols, struct store_module *modules)
{
    for (uint32_t i = 0; i < symbols->module_count; i++) {
        const struct symbols_module *module = &symbols->modules[i];
        modules[i] = (struct store_module){.module = module->module,
                                           .has_functions = module->has_functions,
                                           .has_files = module->has_files,
                                           .has_lines = module->has_lines,
                                           .has_inlines = module->has_inlines};
    }
}

static void fill_lost_files(const struct symbols *symbols, struct store_lost_file *lost_files)
{
    for (uint32_t i = 0; i < symbols->lost_file_count; i++)
        lost_files[i] = (struct store_lost_file){symbols->lost_files[i].module, symbols->lost_files[i].error};
}

static void fill_arrays(struct names *names)
{
    const struct symbols *symbols = names->symbols;
    const struct store_symbols_layout *at = &names->layout;
    const size_t locations = symbols->location_count;
    fill_functions(names, (void *)(names->bytes + at->functions));
    memcpy(names->bytes + at->frames, symbols->frames,
           names->counts.frame_count * sizeof(struct symbol_frame));
    memcpy(names->bytes + at->first_frame, symbols->first_frame, (locations + 1) * sizeof(uint32_t));
    memcpy(names->bytes + at->region_of, symbols->region_of, locations * sizeof(uint32_t));
    fill_regions(names, (void *)(names->bytes + at->regions));
    fill_modules(symbols, (void *)(names->bytes + at->modules));
    fill_lost_files(symbols, (void *)(names->bytes + at->lost_files));
}

/* 0 or -ENOMEM. */
static int names_init(struct names *names, const struct symbols *symbols)
{
    *names = (struct names){.symbols = symbols};
    names->counts = (struct store_symbols){
        .location_count = symbols->location_count,
        .function_count = symbols->function_count,
        .frame_count = symbols->first_frame[symbols->location_count],
        .module_count = symbols->module_count,
        .region_count = symbols->region_count,
        .lost_file_count = symbols->lost_file_count,
    };
    names->layout = store_symbols_layout(&names->counts);
    names->bytes_before_text = names->layout.text;
    names->bytes = scratch_alloc(names->bytes_before_text);
    string_table_init(&names->strings);
    if (!names->bytes)
        return -ENOMEM;
    fill_arrays(names);
    names->counts.text_bytes = names->strings.text_used;
    names->layout = store_symbols_layout(&names->counts);
    memcpy(names->bytes, &names->counts, sizeof names->counts);
    return names->strings.failed || names->counts.text_bytes > UINT32_MAX ? -ENOMEM : 0;
}

static void names_deinit(struct names *names)
{
    scratch_free(names->bytes, names->bytes_before_text);
    string_table_deinit(&names->strings);
}

static void write_names(const struct names *names, struct sink *sink)
{
    static const char zeros[8];
    const uint64_t text_bytes = names->counts.text_bytes;
    sink_write(sink, names->bytes, names->bytes_before_text);
    sink_write(sink, names->strings.text, text_bytes);
    sink_write(sink, zeros, store_padded(text_bytes) - text_bytes);
}

static void write_timeline(const struct timeline *timeline, struct sink *sink)
{
    const struct store_timeline counts = store_describe_timeline(timeline);
    sink_write(sink, &counts, sizeof counts);
    sink_write(sink, timeline->records, counts.count * sizeof *timeline->records);
    sink_write(sink, timeline->events, counts.event_count * sizeof *timeline->events);
}

int enc_store_write_names(const struct profile *profile, struct sink *sink, uint64_t *ret_bytes)
{
    struct names names;
    int status = names_init(&names, profile->symbols);
    if (status == 0)
        write_names(&names, sink);
    *ret_bytes = names.layout.end;
    names_deinit(&names);
    return status;
}

int enc_store_write(const struct profile *profile, struct sink *sink)
{
    struct names names;
    int status = names_init(&names, profile->symbols);
    if (status == 0) {
        write_header(profile, sink, names.layout.end);
        sink_write(sink, profile->arena->base, profile->arena->used_bytes);
        write_names(&names, sink);
        if (profile->timeline)
            write_timeline(profile->timeline, sink);
    }
    names_deinit(&names);
    return status;
}
