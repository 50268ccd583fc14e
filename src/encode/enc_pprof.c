/*
 * Order of writing: samples, mappings, locations, functions, and the string table last, because only then is
 * it complete. Readers take the fields in any order.
 *
 * Ids run 1..N in table order: mappings with the program's own first and memory outside all modules last,
 * locations as the tree numbers them, functions as symbolize numbers them. The frames that stand for labels
 * are left out of both: samples carry real labels.
 */
#include "enc_pprof.h"
#include "profile_notes.h"
#include "thread_groups.h"
#include "pprof_fields.h"
#include "base/protobuf_write.h"
#include "base/string_table.h"
#include "timed_samples.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct writer {
    const struct wp_profile *profile;
    struct sink *sink;
    struct string_table strings;
    struct proto message, part; /* a field of the profile, and a field of that */
    struct proto output;
    arena_ref *modules; /* in mapping order: modules[id - 1] */
    uint32_t module_count;
    arena_ref *locations;                  /* by index */
    uint32_t *location_ids, *function_ids; /* by index; 0 for a label's */
    struct timed_samples *timed;           /* NULL: samples are of the whole recording */
};

/* ---- pieces ---- */

static uint64_t intern(struct writer *writer, const char *text)
{
    return string_table_intern(&writer->strings, text);
}

static void flush(struct writer *writer)
{
    if (writer->output.failed)
        return;
    sink_write(writer->sink, writer->output.bytes, writer->output.used);
    proto_clear(&writer->output);
}

/* The finished body in `message` becomes one field of the profile. */
static void emit(struct writer *writer, uint32_t field)
{
    proto_message(&writer->output, field, &writer->message);
    proto_clear(&writer->message);
    if (writer->output.used > 1 << 16)
        flush(writer);
}

static void emit_value_type(struct writer *writer, uint32_t field, const char *type, const char *unit)
{
    proto_uint(&writer->message, VALUE_TYPE_TYPE, intern(writer, type));
    proto_uint(&writer->message, VALUE_TYPE_UNIT, intern(writer, unit));
    emit(writer, field);
}

/* ---- samples ---- */

static void add_label(struct writer *writer, const char *key, const char *text, uint64_t number,
                      const char *unit)
{
    proto_clear(&writer->part);
    proto_uint(&writer->part, LABEL_KEY, intern(writer, key));
    if (text)
        proto_uint(&writer->part, LABEL_STR, intern(writer, text));
    else
        proto_uint(&writer->part, LABEL_NUM, number);
    if (unit)
        proto_uint(&writer->part, LABEL_NUM_UNIT, intern(writer, unit));
    proto_message(&writer->message, SAMPLE_LABEL, &writer->part);
}

static void add_process_labels(struct writer *writer, const struct wp_thread_record *thread)
{
    const struct wp_process *process = profile_process(writer->profile, thread);
    if (!process)
        return;
    if (writer->profile->is_merged && *process->name)
        add_label(writer, "process", process->name, 0, NULL);
    if (writer->profile->is_merged && process->pid > 0)
        add_label(writer, "pid", NULL, (uint64_t)process->pid, NULL);
    if (process->rank >= 0) /* pprof drops a 0 without a unit */
        add_label(writer, "rank", NULL, (uint64_t)process->rank, "rank");
}

static void add_labels(struct writer *writer, const struct wp_thread_record *thread)
{
    char name[THREAD_NAME_BYTES + 1];
    add_process_labels(writer, thread);
    if (!profile_tells_thread(writer->profile, thread))
        return;
    profile_thread_name(thread, name);
    add_label(writer, "thread", name, 0, NULL);
    if (writer->profile->labels == LABELS_ID && thread->tid > 0)
        add_label(writer, "thread_id", NULL, (uint64_t)thread->tid, NULL);
}

static const struct wp_location *location_of(const struct writer *writer, const struct wp_tree *tree,
                                             arena_ref node)
{
    return tree_location_at(writer->profile->tree, tree_node(tree, node)->location);
}

/* Behind the thread's: in the order of their nodes, which is that of their keys, from the innermost on. */
static void add_label_frames(struct writer *writer, const struct wp_tree *tree, arena_ref node)
{
    const struct wp_arena *arena = writer->profile->arena;
    for (arena_ref at = node; tree_node(tree, at)->parent; at = tree_node(tree, at)->parent) {
        const struct wp_location *location = location_of(writer, tree, at);
        if (tree_is_label(location))
            add_label(writer, tree_label_key(arena, location), tree_label_value(arena, location), 0, NULL);
    }
}

/* A root, or a label's node, has weight only when there was no memory for a pseudo-frame below it. */
static void add_stack(struct writer *writer, const struct wp_tree *tree, arena_ref node)
{
    const struct wp_tree *locations = writer->profile->tree;
    uint32_t overflow = tree_location_at(locations, locations->pseudo[PSEUDO_OVERFLOW])->index;
    if (!tree_node(tree, node)->parent || tree_is_label(location_of(writer, tree, node)))
        proto_varint(&writer->part, writer->location_ids[overflow]);
    for (arena_ref at = node; tree_node(tree, at)->parent; at = tree_node(tree, at)->parent) {
        const struct wp_location *location = location_of(writer, tree, at);
        if (!tree_is_label(location))
            proto_varint(&writer->part, writer->location_ids[location->index]);
    }
}

/* end_utc_ns: when that was, 0 for no certain time. */
static void emit_sample(struct writer *writer, const struct wp_tree *tree, arena_ref node,
                        const struct wp_values *self, const struct wp_thread_record *thread,
                        uint64_t end_utc_ns)
{
    proto_clear(&writer->part);
    add_stack(writer, tree, node);
    proto_message(&writer->message, SAMPLE_LOCATION_ID, &writer->part);
    proto_clear(&writer->part);
    proto_varint(&writer->part, self->samples);
    proto_varint(&writer->part, self->cpu_ns);
    proto_varint(&writer->part, self->offcpu_ns);
    proto_varint(&writer->part, self->wall_ns);
    proto_message(&writer->message, SAMPLE_VALUE, &writer->part);
    add_labels(writer, thread);
    add_label_frames(writer, tree, node);
    if (end_utc_ns)
        add_label(writer, "end_timestamp_ns", NULL, end_utc_ns, "nanoseconds");
    emit(writer, PROFILE_SAMPLE);
}

static void emit_tree(struct writer *writer, const struct wp_tree *tree, arena_ref root,
                      const struct wp_thread_record *thread)
{
    arena_ref node = root;
    for (;;) {
        const struct wp_node *at = tree_node(tree, node);
        if (tree_has_weight(&at->self))
            emit_sample(writer, tree, node, &at->self, thread, 0);
        arena_ref next = at->first_child;
        while (!next) {
            if (node == root)
                return;
            next = tree_node(tree, node)->next_sibling;
            node = tree_node(tree, node)->parent;
        }
        node = next;
    }
}

struct timed_group {
    struct writer *writer;
    const struct wp_thread_record *thread;
};

static void emit_timed(void *context, arena_ref node, const struct wp_values *values, uint64_t end_utc_ns)
{
    const struct timed_group *group = context;
    if (tree_has_weight(values))
        emit_sample(group->writer, group->writer->profile->tree, node, values, group->thread, end_utc_ns);
}

static int emit_group(struct writer *writer, const struct label_groups *groups, size_t first, size_t size)
{
    const struct wp_thread_record *thread = groups->members[first].thread;
    struct wp_arena arena = {0};
    struct wp_tree merged = {0};
    arena_ref root;
    if (size == 1 && !writer->timed) {
        emit_tree(writer, writer->profile->tree, groups->members[first].root, thread);
        return 0;
    }
    int status = label_group_merge(groups, writer->profile, first, size, &arena, &merged, &root);
    if (status == 0 && writer->timed)
        timed_samples_each(writer->timed, &groups->members[first], size, &merged, root, emit_timed,
                           &(struct timed_group){writer, thread});
    if (status == 0)
        emit_tree(writer, &merged, root, thread);
    tree_deinit(&merged);
    arena_deinit(&arena);
    return status;
}

static int emit_samples(struct writer *writer)
{
    struct label_groups groups;
    int status = label_groups_init(&groups, writer->profile);
    for (size_t first = 0, size; status == 0 && first < groups.count; first += size) {
        size = label_group_size(&groups, writer->profile, first);
        status = emit_group(writer, &groups, first, size);
    }
    label_groups_deinit(&groups);
    return status;
}

/* A record has its thread's sample for itself only where it is asked for: files get larger by far. */
static int emit_all_samples(struct writer *writer)
{
    struct timed_samples timed;
    if (!writer->profile->timeline || !writer->profile->has_timed_samples)
        return emit_samples(writer);
    int status = timed_samples_init(&timed, writer->profile);
    if (status < 0)
        return status;
    writer->timed = &timed;
    status = emit_samples(writer);
    writer->timed = NULL;
    timed_samples_deinit(&timed);
    return status;
}

/* ---- tables ---- */

static const struct wp_module *module_at(const struct writer *writer, arena_ref ref)
{
    return arena_at(writer->profile->arena, ref);
}

/* Mapping order: the program's own segments first, then those of the others that samples lie in, as they were
 * loaded. Own frames need no mapping. */
static int order_modules(struct writer *writer)
{
    const struct wp_modules *modules = writer->profile->modules;
    writer->modules = scratch_alloc(sizeof(arena_ref) * (modules->count + 1));
    if (!writer->modules)
        return -ENOMEM;
    for (int is_main = 1; is_main >= 0; is_main--) {
        uint32_t begin = writer->module_count;
        for (arena_ref ref = modules->newest; ref; ref = module_at(writer, ref)->next) {
            const struct wp_module *module = module_at(writer, ref);
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
 * Ids without gaps for what is no label's. The tree lists its locations newest first. A function that only
 * labels are called by has none, one that something else is called by too (of a profile from a file, say) has
 * one.
 */
static void number(struct writer *writer)
{
    const struct wp_tree *tree = writer->profile->tree;
    const struct wp_symbols *symbols = writer->profile->symbols;
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

static int make_tables(struct writer *writer)
{
    const uint32_t count = writer->profile->tree->location_count;
    writer->locations = scratch_alloc(sizeof *writer->locations * count);
    writer->location_ids = scratch_alloc(sizeof *writer->location_ids * count);
    writer->function_ids =
        scratch_alloc(sizeof *writer->function_ids * (writer->profile->symbols->function_count + (size_t)1));
    if (!writer->locations || !writer->location_ids || !writer->function_ids)
        return -ENOMEM;
    number(writer);
    return order_modules(writer);
}

static void release_tables(struct writer *writer)
{
    const uint32_t count = writer->profile->tree->location_count;
    scratch_free(writer->modules, sizeof(arena_ref) * (writer->profile->modules->count + 1));
    scratch_free(writer->locations, sizeof *writer->locations * count);
    scratch_free(writer->location_ids, sizeof *writer->location_ids * count);
    scratch_free(writer->function_ids,
                 sizeof *writer->function_ids * (writer->profile->symbols->function_count + (size_t)1));
}

static uint32_t mapping_id(const struct writer *writer, arena_ref module)
{
    for (uint32_t i = 0; i < writer->module_count; i++) {
        if (writer->modules[i] == module)
            return i + 1;
    }
    return 0;
}

/* pprof takes no names from what is called [JIT] or [anonymous executable]: nothing in brackets has symbols.
 */
static void emit_region_mapping(struct writer *writer, uint32_t index)
{
    const struct outside_region *region = &writer->profile->symbols->regions[index];
    proto_uint(&writer->message, MAPPING_ID, (uint64_t)writer->module_count + 1 + index);
    proto_uint(&writer->message, MAPPING_MEMORY_START, region->start);
    proto_uint(&writer->message, MAPPING_MEMORY_LIMIT, region->end);
    proto_uint(&writer->message, MAPPING_FILE_OFFSET, region->file_offset);
    proto_uint(&writer->message, MAPPING_FILENAME, intern(writer, region->path));
    proto_uint(&writer->message, MAPPING_HAS_FUNCTIONS, region->has_names);
    emit(writer, PROFILE_MAPPING);
}

static bool is_lost(const struct writer *writer, const char *path)
{
    const struct wp_symbols *symbols = writer->profile->symbols;
    for (uint32_t i = 0; i < symbols->lost_file_count; i++) {
        const struct wp_module *module = module_at(writer, symbols->lost_files[i].module);
        if (strcmp(arena_at(writer->profile->arena, module->path), path) == 0)
            return true;
    }
    return false;
}

/* By its build-id pprof itself sees that a file is another one. Where there is none it must not find it. */
static uint64_t intern_module_path(struct writer *writer, const struct wp_module *module)
{
    char lost[PATH_MAX + sizeof " (deleted)"];
    const char *path = arena_at(writer->profile->arena, module->path);
    if (module->build_id_bytes > 0 || !is_lost(writer, path))
        return intern(writer, path);
    snprintf(lost, sizeof lost, "%.*s (deleted)", PATH_MAX, path); /* as the kernel says it */
    return intern(writer, lost);
}

static void emit_mapping(struct writer *writer, uint32_t id)
{
    const struct wp_module *module = module_at(writer, writer->modules[id - 1]);
    const struct symbols_module known = symbols_module(writer->profile->symbols, writer->modules[id - 1]);
    char build_id[2 * MODULE_BUILD_ID_MAX_BYTES + 1] = "";
    for (uint32_t i = 0; i < module->build_id_bytes; i++)
        snprintf(build_id + 2 * i, 3, "%02x", module->build_id[i]);
    proto_uint(&writer->message, MAPPING_ID, id);
    proto_uint(&writer->message, MAPPING_MEMORY_START, module->start_pc);
    proto_uint(&writer->message, MAPPING_MEMORY_LIMIT, module->end_pc);
    proto_uint(&writer->message, MAPPING_FILE_OFFSET, module->file_offset);
    proto_uint(&writer->message, MAPPING_FILENAME, intern_module_path(writer, module));
    proto_uint(&writer->message, MAPPING_BUILD_ID, intern(writer, build_id));
    proto_uint(&writer->message, MAPPING_HAS_FUNCTIONS, known.has_functions);
    proto_uint(&writer->message, MAPPING_HAS_FILENAMES, known.has_files);
    proto_uint(&writer->message, MAPPING_HAS_LINE_NUMBERS, known.has_lines);
    proto_uint(&writer->message, MAPPING_HAS_INLINE_FRAMES, known.has_inlines);
    emit(writer, PROFILE_MAPPING);
}

static void emit_mappings(struct writer *writer)
{
    for (uint32_t id = 1; id <= writer->module_count; id++)
        emit_mapping(writer, id);
    for (uint32_t i = 0; i < writer->profile->symbols->region_count; i++)
        emit_region_mapping(writer, i);
}

static uint64_t mapping_id_of(const struct writer *writer, const struct wp_location *location)
{
    uint32_t region = writer->profile->symbols->region_of[location->index];
    return region ? (uint64_t)writer->module_count + region : mapping_id(writer, location->module);
}

/* Innermost first, as they are kept. */
static void add_lines(struct writer *writer, uint32_t location_index)
{
    uint32_t count;
    const struct wp_frame *frames = symbols_frames(writer->profile->symbols, location_index, &count);
    for (uint32_t i = 0; i < count; i++) {
        proto_clear(&writer->part);
        proto_uint(&writer->part, LINE_FUNCTION_ID, writer->function_ids[frames[i].function]);
        proto_uint(&writer->part, LINE_LINE, frames[i].line);
        proto_message(&writer->message, LOCATION_LINE, &writer->part);
    }
}

static void emit_location(struct writer *writer, const struct wp_location *location)
{
    proto_uint(&writer->message, LOCATION_ID, writer->location_ids[location->index]);
    if (!location->pseudo) {
        proto_uint(&writer->message, LOCATION_MAPPING_ID, mapping_id_of(writer, location));
        proto_uint(&writer->message, LOCATION_ADDRESS, location->address);
    }
    add_lines(writer, location->index);
    emit(writer, PROFILE_LOCATION);
}

static void emit_locations(struct writer *writer)
{
    const struct wp_tree *tree = writer->profile->tree;
    for (uint32_t i = 0; i < tree->location_count; i++) {
        if (writer->location_ids[i])
            emit_location(writer, tree_location_at(tree, writer->locations[i]));
    }
}

static void emit_functions(struct writer *writer)
{
    const struct wp_symbols *symbols = writer->profile->symbols;
    for (uint32_t i = 0; i < symbols->function_count; i++) {
        const struct wp_function *function = &symbols->functions[i];
        if (!writer->function_ids[i])
            continue;
        proto_uint(&writer->message, FUNCTION_ID, writer->function_ids[i]);
        proto_uint(&writer->message, FUNCTION_NAME, intern(writer, function->name));
        proto_uint(&writer->message, FUNCTION_SYSTEM_NAME, intern(writer, function->system_name));
        if (function->file)
            proto_uint(&writer->message, FUNCTION_FILENAME, intern(writer, function->file));
        proto_uint(&writer->message, FUNCTION_START_LINE, function->start_line);
        emit(writer, PROFILE_FUNCTION);
    }
}

/* ---- header ---- */

static void emit_comment(void *writer, const char *text)
{
    proto_uint(&((struct writer *)writer)->output, PROFILE_COMMENT, intern(writer, text));
}

static void emit_header(struct writer *writer)
{
    const struct wp_profile *profile = writer->profile;
    emit_value_type(writer, PROFILE_SAMPLE_TYPE, "samples", "count");
    emit_value_type(writer, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
    emit_value_type(writer, PROFILE_SAMPLE_TYPE, "offcpu", "nanoseconds");
    emit_value_type(writer, PROFILE_SAMPLE_TYPE, "wall", "nanoseconds");
    emit_value_type(writer, PROFILE_PERIOD_TYPE, "wall", "nanoseconds");
    proto_uint(&writer->output, PROFILE_PERIOD, profile->period_ns);
    proto_uint(&writer->output, PROFILE_TIME_NANOS, profile->start_utc_ns);
    proto_uint(&writer->output, PROFILE_DURATION_NANOS, profile->duration_ns);
    proto_uint(&writer->output, PROFILE_DEFAULT_SAMPLE_TYPE, intern(writer, "wall"));
    comments_write(profile, emit_comment, writer);
}

static void emit_strings(struct writer *writer)
{
    for (uint32_t i = 0; i < string_table_count(&writer->strings); i++) {
        const char *text = string_table_at(&writer->strings, i);
        proto_bytes(&writer->output, PROFILE_STRING_TABLE, text, strlen(text));
        if (writer->output.used > 1 << 16)
            flush(writer);
    }
}

static int write_all(struct writer *writer)
{
    int status = make_tables(writer);
    if (status < 0)
        return status;
    emit_header(writer);
    status = emit_all_samples(writer);
    emit_mappings(writer);
    emit_locations(writer);
    emit_functions(writer);
    emit_strings(writer);
    flush(writer);
    bool failed =
        writer->output.failed || writer->message.failed || writer->part.failed || writer->strings.failed;
    return status < 0 ? status : failed ? -ENOMEM : 0;
}

int enc_pprof_write(const struct wp_profile *profile, struct sink *sink)
{
    struct writer writer = {.profile = profile, .sink = sink};
    string_table_init(&writer.strings);
    int status = write_all(&writer);
    release_tables(&writer);
    proto_deinit(&writer.message);
    proto_deinit(&writer.part);
    proto_deinit(&writer.output);
    string_table_deinit(&writer.strings);
    return status;
}
