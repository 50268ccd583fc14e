/*
 * The reader of stores. Everything is copied first, so that nothing changes under it, and then checked record
 * by record: each list leads to older records only, each node to its own parent, so nothing is met twice.
 */
#include "recording.h"
#include "store.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Sums of four of these cannot overflow, nor can a reader's signed 64 bits. */
static const uint64_t value_max = (uint64_t)1 << 61;

/* Which kind of record begins at a unit of the arena, or goes on there. */
enum kind { KIND_NONE, KIND_MODULE, KIND_LOCATION, KIND_NODE, KIND_ROOT, KIND_THREAD, KIND_REST };

enum {
    UNITS_PER_NODE = sizeof(struct wp_node) / ARENA_UNIT_BYTES,
    PATH_MAX_BYTES = 2 * PATH_MAX, /* nothing longer can be opened */
    FRAMES_MAX = 1024,             /* inlined calls at one address: more than any compiler makes */
    SHARED_TEXT_MAX = 1024         /* times a part's size: what all of its names together may come to */
};

struct reader {
    struct recording *recording;
    const unsigned char *bytes;
    size_t count;
    const struct store_header *header; /* a copy */
    uint8_t *kinds;                    /* one per unit of the arena */
    size_t unit_count;
    uint32_t *thread_of_node; /* by where the node lies */
    uint8_t *has_tree;        /* by thread number */
    uint64_t total[4];        /* samples, CPU, off-CPU, wall */
    uint64_t timed_ns;        /* of all records of the timeline */
    uint64_t text_bytes;      /* of all names taken so far */
};

static int damaged(struct reader *reader, const char *what)
{
    return recording_refuse(reader->recording, -EBADMSG, "it is damaged: %s", what);
}

static void *array(size_t count, size_t bytes)
{
    return calloc(count ? count : 1, bytes);
}

/* ---- records ---- */

/* Whether a record of that size lies there at all. */
static bool fits(const struct reader *reader, arena_ref ref, size_t bytes)
{
    uint64_t offset = (uint64_t)ref * ARENA_UNIT_BYTES;
    return ref && offset < reader->recording->arena.used_bytes &&
           bytes <= reader->recording->arena.used_bytes - offset;
}

static bool is_kind(const struct reader *reader, arena_ref ref, enum kind kind)
{
    return ref < reader->unit_count && reader->kinds[ref] == kind;
}

/* No two records share a byte: readers number nodes by where they lie. */
static bool claim(struct reader *reader, arena_ref ref, size_t bytes, enum kind kind)
{
    const size_t units = (bytes + ARENA_UNIT_BYTES - 1) / ARENA_UNIT_BYTES;
    if (!fits(reader, ref, bytes))
        return false;
    for (size_t i = 0; i < units; i++) {
        if (reader->kinds[ref + i] != KIND_NONE)
            return false;
    }
    memset(&reader->kinds[ref], KIND_REST, units);
    reader->kinds[ref] = (uint8_t)kind;
    return true;
}

static bool is_string(const struct reader *reader, arena_ref ref)
{
    const struct wp_arena *arena = &reader->recording->arena;
    if (!fits(reader, ref, 1))
        return false;
    size_t left = arena->used_bytes - (size_t)ref * ARENA_UNIT_BYTES;
    return memchr(arena_at(arena, ref), '\0', left < PATH_MAX_BYTES ? left : PATH_MAX_BYTES);
}

/* ---- modules, locations, threads ---- */

/* A byte of the file is not a truth value until it is 0 or 1. */
static void make_bool(bool *value)
{
    unsigned char byte;
    memcpy(&byte, value, sizeof byte);
    *value = byte != 0;
}

static void make_bools(struct wp_module *module)
{
    bool *const values[] = {&module->is_loaded,    &module->is_main,          &module->is_own,
                            &module->is_permanent, &module->is_first_segment, &module->is_indexed,
                            &module->is_sampled};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        make_bool(values[i]);
}

static int check_modules(struct reader *reader)
{
    struct recording *recording = reader->recording;
    uint32_t count = 0;
    for (arena_ref ref = reader->header->tree.newest_module, next; ref; ref = next, count++) {
        if (!claim(reader, ref, sizeof(struct wp_module), KIND_MODULE))
            return damaged(reader, "a module is not where it should be");
        struct wp_module *module = arena_at(&recording->arena, ref);
        make_bools(module);
        next = module->next;
        if (next >= ref || module->build_id_bytes > MODULE_BUILD_ID_MAX_BYTES ||
            module->start_pc >= module->end_pc || !is_string(reader, module->path) ||
            !is_string(reader, module->name))
            return damaged(reader, "a module makes no sense");
    }
    recording->modules.newest = reader->header->tree.newest_module;
    recording->modules.count = count;
    return count == reader->header->tree.module_count ? 0 : damaged(reader, "modules are missing");
}

static bool makes_sense(const struct reader *reader, const struct wp_location *location)
{
    return location->pseudo <= PSEUDO_COUNT &&
           (location->module == 0 || (!location->pseudo && is_kind(reader, location->module, KIND_MODULE)));
}

static int check_locations(struct reader *reader)
{
    struct recording *recording = reader->recording;
    const struct store_tree *stored = &reader->header->tree;
    uint32_t left = stored->location_count;
    for (arena_ref ref = stored->newest_location, next; ref; ref = next) {
        if (!claim(reader, ref, sizeof(struct wp_location), KIND_LOCATION))
            return damaged(reader, "a location is not where it should be");
        const struct wp_location *location = arena_at(&recording->arena, ref);
        next = location->next;
        if (left == 0 || next >= ref || location->index != --left || !makes_sense(reader, location))
            return damaged(reader, "a location makes no sense");
    }
    for (int i = 0; i < PSEUDO_COUNT; i++) {
        const struct wp_location *location = arena_at(&recording->arena, stored->pseudo[i]);
        if (!is_kind(reader, stored->pseudo[i], KIND_LOCATION) || location->pseudo != 1 + (uint32_t)i)
            return damaged(reader, "what stands for no code is missing");
    }
    return left == 0 ? 0 : damaged(reader, "locations are missing");
}

/* Its own, or the one of those that found no memory for one. */
static bool is_root_of(const struct reader *reader, const struct wp_thread_record *record)
{
    return is_kind(reader, record->root, KIND_ROOT) &&
           (record->root == reader->recording->tree.spare_root ||
            tree_node(&reader->recording->tree, record->root)->thread == record->number);
}

static int check_threads(struct reader *reader)
{
    struct recording *recording = reader->recording;
    const uint32_t count = reader->header->tree.thread_count;
    for (arena_ref ref = reader->header->tree.newest_thread, next; ref; ref = next) {
        if (!claim(reader, ref, sizeof(struct wp_thread_record), KIND_THREAD))
            return damaged(reader, "a thread is not where it should be");
        const struct wp_thread_record *record = arena_at(&recording->arena, ref);
        next = record->next;
        if (next >= ref || record->tid < 0 || record->number == 0 || record->number > count ||
            recording->thread_of_number[record->number] || !is_root_of(reader, record))
            return damaged(reader, "a thread makes no sense");
        recording->thread_of_number[record->number] = ref;
    }
    return 0;
}

/* ---- the tree ---- */

static int add_values(struct reader *reader, const struct wp_values *values)
{
    const uint64_t each[4] = {values->samples, values->cpu_ns, values->offcpu_ns, values->wall_ns};
    for (int i = 0; i < 4; i++) {
        if (each[i] > value_max || (reader->total[i] += each[i]) > value_max)
            return damaged(reader, "times are longer than anything can last");
    }
    return 0;
}

static int check_node(struct reader *reader, arena_ref ref, arena_ref parent, uint32_t thread)
{
    if (!claim(reader, ref, sizeof(struct wp_node), parent ? KIND_NODE : KIND_ROOT))
        return damaged(reader, "a node is not where it should be");
    const struct wp_tree *tree = &reader->recording->tree;
    const struct wp_node *node = tree_node(tree, ref);
    bool is_right = node->next_sibling < ref && node->parent == parent;
    if (parent)
        is_right &= node->depth == tree_node(tree, parent)->depth + 1 &&
                    is_kind(reader, node->location, KIND_LOCATION);
    else
        is_right &= node->depth == 0 && node->thread <= reader->header->tree.thread_count;
    if (!is_right)
        return damaged(reader, "a node makes no sense");
    reader->thread_of_node[ref / UNITS_PER_NODE] = thread;
    return add_values(reader, &node->self);
}

/* The nodes below a root; each is claimed once, so this ends. */
static int check_below(struct reader *reader, arena_ref root)
{
    const struct wp_tree *tree = &reader->recording->tree;
    const uint32_t thread = tree_node(tree, root)->thread;
    arena_ref node = root;
    for (;;) {
        arena_ref next = tree_node(tree, node)->first_child, parent = node;
        while (!next) {
            if (node == root)
                return 0;
            next = tree_node(tree, node)->next_sibling;
            parent = node = tree_node(tree, node)->parent;
        }
        int status = check_node(reader, next, parent, thread);
        if (status < 0)
            return status;
        node = next;
    }
}

/* A thread has one tree, and one tree is nobody's: the spare root's. */
static int check_owner(struct reader *reader, arena_ref root)
{
    const struct wp_tree *tree = &reader->recording->tree;
    const uint32_t thread = tree_node(tree, root)->thread;
    if (reader->has_tree[thread] || (thread == 0) != (root == tree->spare_root))
        return damaged(reader, "a tree is not its thread's");
    reader->has_tree[thread] = 1;
    return 0;
}

static int check_trees(struct reader *reader)
{
    const struct wp_tree *tree = &reader->recording->tree;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        if (!fits(reader, root, sizeof(struct wp_node)))
            return damaged(reader, "a node is not where it should be");
        int status = check_node(reader, root, 0, tree_node(tree, root)->thread);
        if (status == 0)
            status = check_owner(reader, root);
        if (status == 0)
            status = check_below(reader, root);
        if (status < 0)
            return status;
    }
    return is_kind(reader, tree->spare_root, KIND_ROOT) ? 0 : damaged(reader, "the spare root is missing");
}

static int check_tree(struct reader *reader)
{
    reader->thread_of_node = array(reader->unit_count / UNITS_PER_NODE + 1, sizeof *reader->thread_of_node);
    reader->has_tree = array((size_t)reader->header->tree.thread_count + 1, 1);
    if (!reader->thread_of_node || !reader->has_tree)
        return recording_refuse(reader->recording, -ENOMEM, "there is not enough memory for it");
    return check_trees(reader);
}

/* ---- names ---- */

/* What the stored names become; the text is a copy of its own. */
struct stored_symbols {
    struct wp_symbols symbols; /* first: release gets it */
    char *text;
    struct outside_region *regions;
};

static void release_symbols(struct wp_symbols *symbols)
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
    struct wp_symbols *symbols = &stored->symbols;
    symbols->location_count = counts->location_count;
    symbols->function_count = counts->function_count;
    symbols->module_count = counts->module_count;
    symbols->region_count = counts->region_count;
    symbols->lost_file_count = counts->lost_file_count;
    symbols->functions = array(counts->function_count, sizeof *symbols->functions);
    symbols->frames = array(counts->frame_count, sizeof *symbols->frames);
    symbols->first_frame = array((size_t)counts->location_count + 1, sizeof *symbols->first_frame);
    symbols->region_of = array(counts->location_count, sizeof *symbols->region_of);
    symbols->modules = array(counts->module_count, sizeof *symbols->modules);
    symbols->lost_files = array(counts->lost_file_count, sizeof *symbols->lost_files);
    symbols->regions = stored->regions = array(counts->region_count, sizeof *stored->regions);
    stored->text = array(counts->text_bytes, 1);
    if (symbols->functions && symbols->frames && symbols->first_frame && symbols->region_of &&
        symbols->modules && symbols->lost_files && stored->regions && stored->text)
        return stored;
    release_symbols(symbols);
    return NULL;
}

/* A stored text, or NULL when it lies outside, begins within another one, or makes too many together. */
static const char *text_at(struct reader *reader, const struct stored_symbols *stored,
                           const struct store_symbols *counts, uint32_t offset)
{
    if (offset >= counts->text_bytes || (offset > 0 && stored->text[offset - 1]))
        return NULL;
    reader->text_bytes += strlen(stored->text + offset);
    return reader->text_bytes / SHARED_TEXT_MAX <= reader->header->symbols.bytes ? stored->text + offset
                                                                                 : NULL;
}

static bool take_functions(struct reader *reader, struct stored_symbols *stored,
                           const struct store_symbols *counts, const struct store_function *functions)
{
    for (uint32_t i = 0; i < counts->function_count; i++) {
        const struct store_function *from = &functions[i];
        struct wp_function *function = &stored->symbols.functions[i];
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

static bool take_frames(struct wp_symbols *symbols, const struct store_symbols *counts,
                        const struct wp_frame *frames, const uint32_t *first_frame, const uint32_t *region_of)
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

static bool take_regions(struct reader *reader, struct stored_symbols *stored,
                         const struct store_symbols *counts, const struct store_region *regions)
{
    for (uint32_t i = 0; i < counts->region_count; i++) {
        const struct store_region *from = &regions[i];
        stored->regions[i] = (struct outside_region){.start = from->start,
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
    return error < 0 && error > -4096 && strerrordesc_np(-error); /* the kernel has no others */
}

static bool take_modules(const struct reader *reader, struct wp_symbols *symbols,
                         const struct store_module *modules, const struct store_lost_file *lost_files)
{
    for (uint32_t i = 0; i < symbols->module_count; i++) {
        const struct store_module *from = &modules[i];
        symbols->modules[i] = (struct symbols_module){.module = from->module,
                                                      .has_functions = from->has_functions,
                                                      .has_files = from->has_files,
                                                      .has_lines = from->has_lines,
                                                      .has_inlines = from->has_inlines};
        if (!is_kind(reader, from->module, KIND_MODULE) || (i > 0 && from->module <= from[-1].module))
            return false;
    }
    for (uint32_t i = 0; i < symbols->lost_file_count; i++) {
        symbols->lost_files[i] = (struct symbols_lost_file){lost_files[i].module, lost_files[i].error};
        if (!is_kind(reader, lost_files[i].module, KIND_MODULE) || !is_error(lost_files[i].error))
            return false;
    }
    return true;
}

/* Reads the part that begins at `part`, whose arrays are known to lie in it. */
static bool take_symbols(struct reader *reader, struct stored_symbols *stored,
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

static int read_symbols(struct reader *reader)
{
    const struct store_part *part = &reader->header->symbols;
    struct store_symbols counts;
    if (part->bytes < sizeof counts)
        return damaged(reader, "its names are missing");
    memcpy(&counts, reader->bytes + part->offset, sizeof counts);
    if (counts.location_count != reader->header->tree.location_count || counts.text_bytes > part->bytes ||
        store_symbols_layout(&counts).end > part->bytes)
        return damaged(reader, "its names are not as many as it says");
    struct stored_symbols *stored = allocate_symbols(&counts);
    if (!stored)
        return recording_refuse(reader->recording, -ENOMEM, "there is not enough memory for its names");
    reader->recording->symbols = &stored->symbols;
    reader->recording->release_symbols = release_symbols;
    if (!take_symbols(reader, stored, &counts, reader->bytes + part->offset))
        return damaged(reader, "its names make no sense");
    return 0;
}

/* ---- the timeline ---- */

/* In the tree of the record's thread, or in that of those without one. */
static bool is_node_of(const struct reader *reader, arena_ref node, uint32_t thread)
{
    if (!is_kind(reader, node, KIND_NODE) && !is_kind(reader, node, KIND_ROOT))
        return false;
    uint32_t owner = reader->thread_of_node[node / UNITS_PER_NODE];
    return owner == thread || owner == 0;
}

/* Their sums cannot overflow. */
static bool add_times(struct reader *reader, const struct timeline_record *record)
{
    const uint64_t each[] = {record->cpu_ns, record->later_cpu_ns, record->wall_ns, record->observations};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        if (each[i] > value_max || (reader->timed_ns += each[i]) > 4 * value_max)
            return false;
    }
    return true;
}

static bool is_record(struct reader *reader, const struct timeline_record *record)
{
    return record->first_ns <= record->last_ns && record->thread <= reader->header->tree.thread_count &&
           is_node_of(reader, record->node, record->thread) && record->state <= TIMELINE_UNKNOWN &&
           add_times(reader, record);
}

static bool is_event(const struct reader *reader, const struct timeline_event *event)
{
    return event->begin_ns <= event->end_ns && event->kind < EVENT_KIND_COUNT &&
           (event->name == 0 || is_string(reader, event->name));
}

static int take_timeline(struct reader *reader, const struct store_timeline *counts,
                         const unsigned char *bytes)
{
    struct wp_timeline *timeline = &reader->recording->timeline;
    const size_t records_bytes = counts->count * sizeof *timeline->records;
    *timeline = (struct wp_timeline){.start_ns = counts->start_ns,
                                     .thinned = counts->thinned,
                                     .dropped = counts->dropped,
                                     .dropped_events = counts->dropped_events,
                                     .count = counts->count,
                                     .event_count = counts->event_count};
    timeline->records = array(counts->count, sizeof *timeline->records);
    timeline->events = array(counts->event_count, sizeof *timeline->events);
    if (!timeline->records || !timeline->events)
        return recording_refuse(reader->recording, -ENOMEM, "there is not enough memory for its timeline");
    memcpy(timeline->records, bytes, records_bytes);
    memcpy(timeline->events, bytes + records_bytes, counts->event_count * sizeof *timeline->events);
    for (uint32_t i = 0; i < counts->count; i++) {
        if (!is_record(reader, &timeline->records[i]))
            return damaged(reader, "its timeline makes no sense");
    }
    for (uint32_t i = 0; i < counts->event_count; i++) {
        if (!is_event(reader, &timeline->events[i]))
            return damaged(reader, "what happened in it makes no sense");
    }
    return 0;
}

static int read_timeline(struct reader *reader)
{
    const struct store_part *part = &reader->header->timeline;
    struct store_timeline counts;
    if (part->bytes == 0)
        return 0;
    if (part->bytes < sizeof counts)
        return damaged(reader, "its timeline is missing");
    memcpy(&counts, reader->bytes + part->offset, sizeof counts);
    if (sizeof counts + counts.count * sizeof(struct timeline_record) +
            counts.event_count * sizeof(struct timeline_event) >
        part->bytes)
        return damaged(reader, "its timeline is not as long as it says");
    return take_timeline(reader, &counts, reader->bytes + part->offset + sizeof counts);
}

/* ---- the whole ---- */

static int check_header(struct reader *reader)
{
    const struct store_header *header = reader->header;
    if (header->byte_order != STORE_BYTE_ORDER)
        return recording_refuse(reader->recording, -EPROTO,
                                "it was written on a machine with another byte order");
    if (header->version != STORE_VERSION)
        return recording_refuse(reader->recording, -EPROTO,
                                "it is a store of version %u, and this wallprof reads version %u",
                                header->version, STORE_VERSION);
    if (header->header_bytes != sizeof *header || header->node_bytes != sizeof(struct wp_node) ||
        header->location_bytes != sizeof(struct wp_location) ||
        header->module_bytes != sizeof(struct wp_module) ||
        header->thread_bytes != sizeof(struct wp_thread_record) ||
        header->counters_bytes != sizeof(struct wp_counters) ||
        header->record_bytes != sizeof(struct timeline_record) ||
        header->event_bytes != sizeof(struct timeline_event))
        return recording_refuse(reader->recording, -EPROTO, "it was written by another build of wallprof");
    if (header->start_utc_ns > INT64_MAX || header->duration_ns > INT64_MAX || header->period_ns > INT64_MAX)
        return damaged(reader, "its times make no sense");
    return 0;
}

static bool is_inside(const struct reader *reader, const struct store_part *part)
{
    return part->offset % ARENA_UNIT_BYTES == 0 && part->offset <= reader->count &&
           part->bytes <= reader->count - part->offset;
}

static int check_parts(struct reader *reader)
{
    const struct store_header *header = reader->header;
    if (header->arena.bytes % ARENA_UNIT_BYTES != 0 ||
        header->arena.bytes / ARENA_UNIT_BYTES > (uint64_t)UINT32_MAX ||
        header->tree.thread_count > header->arena.bytes / ARENA_UNIT_BYTES)
        return damaged(reader, "its size makes no sense");
    if (!is_inside(reader, &header->arena) || !is_inside(reader, &header->symbols) ||
        !is_inside(reader, &header->timeline))
        return recording_refuse(reader->recording, -EBADMSG,
                                "it is cut short, or damaged: its end is missing");
    return 0;
}

static int take_arena(struct reader *reader)
{
    struct recording *recording = reader->recording;
    const struct store_header *header = reader->header;
    const size_t bytes = header->arena.bytes;
    int status = arena_init(&recording->arena, bytes);
    reader->unit_count = bytes / ARENA_UNIT_BYTES;
    reader->kinds = array(reader->unit_count, 1);
    recording->profile.thread_count = header->tree.thread_count;
    recording->thread_of_number = scratch_alloc(sizeof(arena_ref) * ((size_t)header->tree.thread_count + 1));
    if (status < 0 || !reader->kinds || !recording->thread_of_number)
        return recording_refuse(recording, -ENOMEM, "there is not enough memory for it");
    memcpy(recording->arena.base, reader->bytes + header->arena.offset, bytes);
    recording->arena.used_bytes = bytes;
    recording->modules.arena = recording->tree.arena = &recording->arena;
    recording->tree.newest_root = header->tree.newest_root;
    recording->tree.newest_location = header->tree.newest_location;
    recording->tree.spare_root = header->tree.spare_root;
    recording->tree.node_count = header->tree.node_count;
    recording->tree.location_count = header->tree.location_count;
    recording->tree.overflows = header->tree.overflows;
    memcpy(recording->tree.pseudo, header->tree.pseudo, sizeof recording->tree.pseudo);
    return 0;
}

static void describe(struct recording *recording, const struct store_header *header)
{
    memcpy(recording->command, header->command, sizeof header->command);
    memcpy(recording->restraint, header->restraint, sizeof header->restraint);
    recording->command[sizeof header->command - 1] = '\0';
    recording->restraint[sizeof header->restraint - 1] = '\0';
    recording->profile = (struct wp_profile){
        .arena = &recording->arena,
        .tree = &recording->tree,
        .modules = &recording->modules,
        .symbols = recording->symbols,
        .thread_of_number = recording->thread_of_number,
        .timeline = header->timeline.bytes ? &recording->timeline : NULL,
        .thread_count = header->tree.thread_count,
        .labels = header->labels <= LABELS_ID ? (enum wp_labels)header->labels : LABELS_ID,
        .start_utc_ns = header->start_utc_ns,
        .duration_ns = header->duration_ns,
        .period_ns = header->period_ns ? header->period_ns : 1,
        .threads_per_tick = header->threads_per_tick,
        .has_timed_samples = header->has_timed_samples != 0 && header->timeline.bytes > 0,
        .counters = header->counters,
        .restraint = recording->restraint,
        .command = recording->command,
    };
}

static int read_parts(struct reader *reader)
{
    static int (*const steps[])(struct reader *) = {check_header,  check_parts,     take_arena,
                                                    check_modules, check_locations, check_tree,
                                                    check_threads, read_symbols,    read_timeline};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int status = steps[i](reader);
        if (status < 0)
            return status;
    }
    return 0;
}

int recording_read_store(struct recording *recording, const unsigned char *bytes, size_t count)
{
    struct store_header header;
    struct reader reader = {.recording = recording, .bytes = bytes, .count = count, .header = &header};
    if (count < sizeof header)
        return recording_refuse(recording, -EBADMSG, "it is cut short: there is not even a whole header");
    memcpy(&header, bytes, sizeof header);
    int status = read_parts(&reader);
    if (status == 0)
        describe(recording, &header);
    recording->is_store = true;
    free(reader.kinds);
    free(reader.thread_of_node);
    free(reader.has_tree);
    return status;
}
