/*
 * From the tables of a pprof file of ours back to the profile that they were written from, so that writing it
 * again makes the same bytes: entries keep their order, and samples are put into the tree last first, because
 * a node's children stand newest first and are written in that order.
 *
 * What is not in the file stays 0: calls, where functions start, when threads did. Where samples have times
 * (label end_timestamp_ns), those of one stack are added up: times are not kept.
 */
#include "pprof_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_SLACK_BYTES = 1 << 16 };

/* Sums of four of these cannot overflow, nor can a reader's signed 64 bits. */
static const uint64_t value_max = (uint64_t)1 << 61;

/* What wp_profile.symbols leads into, and the comments. */
struct read_symbols {
    struct wp_symbols symbols; /* first: release gets it */
    struct outside_region *regions;
    char *text;
    const char **comments;
};

struct thread_key {
    const char *name; /* "" without */
    uint64_t id;
    arena_ref root; /* 0 for a free slot */
};

struct path_step {
    arena_ref location, node;
};

struct building {
    struct recording *recording;
    struct pprof_file *file;
    struct read_symbols *names;
    arena_ref *module_of;       /* by mapping; 0 for a region */
    uint32_t *region_of;        /* by mapping: 1 + index */
    arena_ref *location_of;     /* by location */
    struct thread_key *threads; /* open addressing */
    uint32_t thread_slots;      /* a power of two */
    arena_ref *thread_list;     /* in order of appearance */
    struct path_step *path;     /* of the sample put in last, outermost first */
    uint32_t path_depth, path_capacity;
    arena_ref path_root;
    uint64_t sums[PPROF_VALUES];
};

static int no_memory(struct recording *recording)
{
    return recording_refuse(recording, -ENOMEM, "there is not enough memory for it");
}

/* ---- is it one of ours? ---- */

static const struct pprof_value_type our_types[PPROF_VALUES] = {
    {"samples", "count"}, {"cpu", "nanoseconds"}, {"offcpu", "nanoseconds"}, {"wall", "nanoseconds"}};

static bool is_ours(const struct pprof_file *file)
{
    bool are_ours = file->type_count == PPROF_VALUES;
    for (uint32_t i = 0; are_ours && i < PPROF_VALUES; i++)
        are_ours = strcmp(file->types[i].type, our_types[i].type) == 0 &&
                   strcmp(file->types[i].unit, our_types[i].unit) == 0;
    return are_ours;
}

static int refuse_types(const struct pprof_file *file, struct recording *recording)
{
    char text[128] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < file->type_count && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.20s/%.20s", i ? ", " : "",
                                 file->types[i].type, file->types[i].unit);
    return recording_refuse(recording, -EBADMSG, "it is not a profile of wallprof's: it measures %s",
                            *text ? text : "nothing");
}

/* ---- comments ---- */

static void read_counters(struct wp_profile *profile, const char *comment)
{
    struct wp_counters *counters = &profile->counters;
    sscanf(comment, "%*g ticks a second asked, %" SCNu64 " made, %" SCNu64 " missed; up to %" SCNu32,
           &counters->ticks, &counters->late_ticks, &profile->threads_per_tick);
    sscanf(comment,
           "%" SCNu64 " samples: %" SCNu64 " not whole, %" SCNu64 " unanswered; %" SCNu64
           " late signals dropped",
           &counters->samples, &counters->truncated, &counters->unanswered, &counters->stray);
    sscanf(comment, "looks: %" SCNu64 " unchanged, %" SCNu64 " walked from outside, %" SCNu64 " by signal",
           &counters->unchanged, &counters->walked, &counters->answered);
}

/* They are written again as they are; what others want to know is taken from them. */
static void take_comments(struct building *building)
{
    static const char command[] = "command: ", restraint[] = "restrained to ";
    struct recording *recording = building->recording;
    struct wp_profile *profile = &recording->profile;
    for (uint32_t i = 0; i < building->file->comment_count; i++) {
        const char *comment = building->file->comments[i];
        if (strncmp(comment, command, strlen(command)) == 0)
            snprintf(recording->command, sizeof recording->command, "%s", comment + strlen(command));
        else if (strncmp(comment, restraint, strlen(restraint)) == 0)
            snprintf(recording->restraint, sizeof recording->restraint, "%s", comment);
        else
            read_counters(profile, comment);
    }
    building->names->comments = building->file->comments;
    building->file->comments = NULL;
    profile->comments = building->names->comments;
    profile->comment_count = building->file->comment_count;
    profile->command = recording->command;
    profile->restraint = recording->restraint;
}

/* ---- mappings ---- */

static bool is_outside(const struct pprof_mapping *mapping)
{
    return strcmp(mapping->path, "[JIT]") == 0 || strcmp(mapping->path, "[anonymous executable]") == 0;
}

/* Memory outside all modules stands last; from its first entry on, all that says no more than such an entry
 * can is of it. */
static uint32_t first_region(const struct pprof_file *file)
{
    uint32_t first = file->mapping_count;
    for (uint32_t i = file->mapping_count; i-- > 0;) {
        const struct pprof_mapping *mapping = &file->mappings[i];
        if (*mapping->build_id || mapping->has_files || mapping->has_lines || mapping->has_inlines)
            break;
        if (is_outside(mapping))
            first = i;
    }
    return first;
}

static void add_region(struct building *building, uint32_t index)
{
    const struct pprof_mapping *mapping = &building->file->mappings[index];
    struct wp_symbols *symbols = &building->names->symbols;
    building->names->regions[symbols->region_count++] =
        (struct outside_region){.start = mapping->start,
                                .end = mapping->limit,
                                .file_offset = mapping->file_offset,
                                .path = mapping->path,
                                .has_names = mapping->has_functions};
    building->region_of[index] = symbols->region_count;
}

static int hex_digit(char digit)
{
    return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* What is no GNU build-id (Go has another kind) is left out. */
static void set_build_id(struct wp_module *module, const char *text)
{
    size_t digits = strlen(text);
    if (digits % 2 || digits / 2 > MODULE_BUILD_ID_MAX_BYTES || strspn(text, "0123456789abcdef") != digits)
        return;
    for (size_t i = 0; i < digits / 2; i++)
        module->build_id[i] = (uint8_t)(hex_digit(text[2 * i]) << 4 | hex_digit(text[2 * i + 1]));
    module->build_id_bytes = (uint32_t)(digits / 2);
}

static int add_module(struct building *building, uint32_t index, bool is_main)
{
    struct recording *recording = building->recording;
    const struct pprof_mapping *mapping = &building->file->mappings[index];
    struct wp_symbols *symbols = &building->names->symbols;
    arena_ref path = arena_strdup(&recording->arena, mapping->path);
    arena_ref ref = arena_alloc(&recording->arena, sizeof(struct wp_module));
    if (!path || !ref)
        return no_memory(recording);
    struct wp_module *module = arena_at(&recording->arena, ref);
    module->start_pc = module->loaded_low = mapping->start;
    module->end_pc = module->loaded_high = mapping->limit;
    module->file_offset = mapping->file_offset;
    module->load_bias = mapping->start - mapping->file_offset;
    module->path = module->name = path;
    module->is_main = is_main;
    module->is_sampled = true;
    set_build_id(module, mapping->build_id);
    module->next = recording->modules.newest;
    recording->modules.newest = ref;
    recording->modules.count++;
    building->module_of[index] = ref;
    symbols->modules[symbols->module_count++] = (struct symbols_module){
        ref, mapping->has_functions, mapping->has_files, mapping->has_lines, mapping->has_inlines};
    return 0;
}

/* The program's own segments come first. */
static int add_mappings(struct building *building)
{
    const struct pprof_file *file = building->file;
    uint32_t first = first_region(file);
    bool is_main = true;
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < file->mapping_count; i++) {
        is_main = is_main && strcmp(file->mappings[i].path, file->mappings[0].path) == 0;
        if (i >= first || is_outside(&file->mappings[i]))
            add_region(building, i);
        else
            status = add_module(building, i, is_main);
    }
    building->names->symbols.regions = building->names->regions;
    return status;
}

/* ---- names ---- */

static bool is_made_up(const char *name)
{
    size_t bytes = strlen(name);
    return bytes >= 2 && name[0] == '[' && name[bytes - 1] == ']';
}

static int add_functions(struct building *building)
{
    const struct pprof_file *file = building->file;
    struct wp_symbols *symbols = &building->names->symbols;
    for (uint32_t i = 0; i < file->function_count; i++) {
        const struct pprof_function *from = &file->functions[i];
        struct wp_function *function = &symbols->functions[i];
        function->name = *from->name ? from->name : from->system_name;
        function->system_name = *from->system_name ? from->system_name : from->name;
        function->file = *from->file ? from->file : NULL;
        function->start_line = from->start_line;
        function->is_symbol = !is_made_up(function->name);
        if (!*function->name)
            return recording_refuse(building->recording, -EBADMSG, "it has a function without a name");
    }
    symbols->function_count = file->function_count;
    return 0;
}

/* 1 + enum wp_pseudo, 0 for real code. */
static uint32_t pseudo_of(const struct building *building, const struct pprof_location *location)
{
    if (location->mapping || location->address || location->line_count != 1)
        return 0;
    uint32_t function = building->file->lines[location->first_line].function;
    const char *name = building->names->symbols.functions[function].name;
    for (uint32_t i = 0; i < PSEUDO_COUNT; i++) {
        if (strcmp(name, tree_pseudo_name((enum wp_pseudo)i)) == 0)
            return 1 + i;
    }
    return 0;
}

/* Made without the tree's index by address: the file's entries are what they are, and nobody looks for one.
 */
static arena_ref make_location(struct building *building, const struct pprof_location *from)
{
    struct wp_tree *tree = &building->recording->tree;
    arena_ref ref = arena_alloc(tree->arena, sizeof(struct wp_location));
    if (!ref)
        return 0;
    struct wp_location *location = tree_location_at(tree, ref);
    location->address = from->address;
    location->module = from->mapping ? building->module_of[from->mapping - 1] : 0;
    location->index = tree->location_count++;
    location->next = tree->newest_location;
    tree->newest_location = ref;
    building->names->symbols.region_of[location->index] =
        from->mapping ? building->region_of[from->mapping - 1] : 0;
    return ref;
}

/* Locations come in the order of their indices. */
static void add_frames(struct building *building, const struct pprof_location *from)
{
    struct wp_symbols *symbols = &building->names->symbols;
    uint32_t used = symbols->first_frame[symbols->location_count];
    for (uint32_t i = 0; i < from->line_count; i++) {
        const struct pprof_line *line = &building->file->lines[from->first_line + i];
        symbols->frames[used++] = (struct wp_frame){line->function, line->line};
    }
    symbols->first_frame[++symbols->location_count] = used;
}

/* The tree has its pseudo-frames first, and all of them: those that the file has not get names here. */
static void add_pseudos(struct building *building)
{
    const struct pprof_file *file = building->file;
    const struct wp_tree *tree = &building->recording->tree;
    struct wp_symbols *symbols = &building->names->symbols;
    const struct pprof_location *of[PSEUDO_COUNT] = {0};
    for (uint32_t i = 0; i < file->location_count; i++) {
        uint32_t pseudo = pseudo_of(building, &file->locations[i]);
        if (!pseudo)
            continue;
        of[pseudo - 1] = &file->locations[i];
        building->location_of[i] = tree->pseudo[pseudo - 1];
    }
    for (uint32_t i = 0; i < PSEUDO_COUNT; i++) {
        const char *name = tree_pseudo_name((enum wp_pseudo)i);
        if (of[i]) {
            add_frames(building, of[i]);
            continue;
        }
        uint32_t frame = symbols->first_frame[symbols->location_count];
        symbols->frames[frame] = (struct wp_frame){.function = symbols->function_count};
        symbols->functions[symbols->function_count++] =
            (struct wp_function){.name = name, .system_name = name};
        symbols->first_frame[++symbols->location_count] = frame + 1;
    }
}

static int add_locations(struct building *building)
{
    const struct pprof_file *file = building->file;
    add_pseudos(building);
    for (uint32_t i = 0; i < file->location_count; i++) {
        const struct pprof_location *from = &file->locations[i];
        if (building->location_of[i])
            continue;
        if (from->line_count == 0)
            return recording_refuse(building->recording, -EBADMSG, "it has a location without a name");
        building->location_of[i] = make_location(building, from);
        if (!building->location_of[i])
            return no_memory(building->recording);
        add_frames(building, from);
    }
    return 0;
}

/* ---- threads ---- */

static int add_thread(struct building *building, struct thread_key *slot, const char *name, uint64_t id)
{
    struct recording *recording = building->recording;
    arena_ref ref = arena_alloc(&recording->arena, sizeof(struct wp_thread_record));
    uint32_t number = recording->profile.thread_count + 1;
    if (!ref)
        return no_memory(recording);
    struct wp_thread_record *record = arena_at(&recording->arena, ref);
    memcpy(record->name, name, strnlen(name, sizeof record->name));
    record->tid = (int32_t)id;
    record->root = tree_root(&recording->tree, number);
    recording->profile.thread_count = number;
    building->thread_list[number - 1] = ref;
    *slot = (struct thread_key){name, id, record->root};
    return 0;
}

static bool is_thread(const struct thread_key *key, const char *name, uint64_t id)
{
    return key->id == id && strncmp(key->name, name, THREAD_NAME_BYTES) == 0;
}

/* FNV-1a (Fowler, Noll, Vo) of the name, and the id. */
static uint32_t thread_hash(const char *name, uint64_t id)
{
    uint32_t hash = 2166136261U ^ (uint32_t)id * 2654435761U;
    for (int i = 0; i < THREAD_NAME_BYTES && name[i]; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619U;
    return hash ^ hash >> 15;
}

/* The root that a sample's labels stand for; threads are made as they appear. */
static int root_of(struct building *building, const struct pprof_sample *sample, arena_ref *ret)
{
    struct recording *recording = building->recording;
    const char *name = sample->thread ? sample->thread : "";
    if (sample->has_thread_id)
        recording->profile.labels = LABELS_ID;
    else if (sample->thread && recording->profile.labels == LABELS_NONE)
        recording->profile.labels = LABELS_NAME;
    *ret = recording->tree.spare_root;
    if (!sample->thread && !sample->has_thread_id)
        return 0;
    uint32_t mask = building->thread_slots - 1, at = thread_hash(name, sample->thread_id) & mask;
    while (building->threads[at].root && !is_thread(&building->threads[at], name, sample->thread_id))
        at = (at + 1) & mask;
    int status = building->threads[at].root
                     ? 0
                     : add_thread(building, &building->threads[at], name, sample->thread_id);
    *ret = building->threads[at].root;
    return status;
}

/* They appeared last first. */
static int number_threads(struct building *building)
{
    struct recording *recording = building->recording;
    uint32_t count = recording->profile.thread_count;
    recording->thread_of_number = scratch_alloc(sizeof(arena_ref) * ((size_t)count + 1));
    if (!recording->thread_of_number)
        return no_memory(recording);
    for (uint32_t number = 1; number <= count; number++) {
        arena_ref ref = building->thread_list[count - number];
        struct wp_thread_record *record = arena_at(&recording->arena, ref);
        record->number = number;
        tree_node(&recording->tree, record->root)->thread = number;
        recording->thread_of_number[number] = ref;
    }
    recording->profile.thread_of_number = recording->thread_of_number;
    return 0;
}

/* ---- samples ---- */

static int reserve_path(struct building *building, uint32_t depth)
{
    if (depth <= building->path_capacity)
        return 0;
    struct path_step *path = realloc(building->path, sizeof *path * 2 * depth);
    if (!path)
        return no_memory(building->recording);
    building->path = path;
    building->path_capacity = 2 * depth;
    return 0;
}

/* The node of a stack, made if new. What it has in common with the stack before needs no search. */
static int node_of(struct building *building, arena_ref root, const struct pprof_sample *sample,
                   arena_ref *ret)
{
    struct wp_tree *tree = &building->recording->tree;
    bool is_common = root == building->path_root;
    *ret = root;
    if (sample->depth == 0) {
        *ret = tree_pseudo_child(tree, root, PSEUDO_TRUNCATED);
        return 0;
    }
    int status = reserve_path(building, sample->depth);
    for (uint32_t i = 0; status == 0 && i < sample->depth; i++) {
        arena_ref location = building->location_of[sample->stack[sample->depth - 1 - i]];
        struct path_step *step = &building->path[i];
        is_common = is_common && i < building->path_depth && step->location == location;
        if (!is_common)
            *step = (struct path_step){location, tree_child(tree, *ret, location)};
        *ret = step->node;
        status = *ret ? 0 : no_memory(building->recording);
    }
    building->path_root = root;
    building->path_depth = sample->depth;
    return status;
}

static int add_values(struct building *building, struct wp_values *to, const uint64_t *values)
{
    for (int i = 0; i < PPROF_VALUES; i++) {
        building->sums[i] += values[i]; /* of two numbers of 63 bits at most */
        if (building->sums[i] > value_max)
            return recording_refuse(building->recording, -EBADMSG, "its values are too large");
    }
    to->samples += values[0];
    to->cpu_ns += values[1];
    to->offcpu_ns += values[2];
    to->wall_ns += values[3];
    return 0;
}

static int add_sample(struct building *building, const struct pprof_sample *sample)
{
    arena_ref root, node;
    int status = root_of(building, sample, &root);
    if (status == 0)
        status = node_of(building, root, sample, &node);
    return status ? status
                  : add_values(building, &tree_node(&building->recording->tree, node)->self, sample->values);
}

static int add_samples(struct building *building)
{
    struct pprof_file *file = building->file;
    struct pprof_sample sample = {0};
    int status = 0;
    for (uint32_t i = file->sample_count; status == 0 && i-- > 0;) {
        status = pprof_file_sample(file, i, &sample, building->recording);
        if (status == 0 && (sample.values[0] || sample.values[1] || sample.values[2] || sample.values[3]))
            status = add_sample(building, &sample);
    }
    free(sample.stack);
    return status ? status : number_threads(building);
}

/* ---- memory ---- */

/* As much as everything can take, so that it never fills up: the reserve (arena.h) on top. */
static size_t arena_bytes(const struct pprof_file *file)
{
    size_t bytes = (sizeof(struct wp_node) + ARENA_UNIT_BYTES) * (file->stack_ids + file->sample_count);
    bytes += sizeof(struct wp_location) * (size_t)file->location_count;
    bytes += (sizeof(struct wp_thread_record) + sizeof(struct wp_node)) * (size_t)file->sample_count;
    for (uint32_t i = 0; i < file->mapping_count; i++)
        bytes += sizeof(struct wp_module) + strlen(file->mappings[i].path) + 1 + ARENA_UNIT_BYTES;
    return bytes + bytes / 8 + ARENA_SLACK_BYTES;
}

static void release_names(struct wp_symbols *symbols)
{
    struct read_symbols *names = (struct read_symbols *)symbols;
    free(symbols->functions);
    free(symbols->frames);
    free(symbols->first_frame);
    free(symbols->region_of);
    free(symbols->modules);
    free(names->regions);
    free(names->text);
    free(names->comments);
    free(names);
}

static bool make_names(struct building *building)
{
    const struct pprof_file *file = building->file;
    struct read_symbols *names = calloc(1, sizeof *names);
    if (!names)
        return false;
    struct wp_symbols *symbols = &names->symbols;
    size_t locations = (size_t)file->location_count + PSEUDO_COUNT;
    symbols->functions = calloc((size_t)file->function_count + PSEUDO_COUNT, sizeof *symbols->functions);
    symbols->frames = calloc((size_t)file->line_count + 2 * PSEUDO_COUNT, sizeof *symbols->frames);
    symbols->first_frame = calloc(locations + 1, sizeof *symbols->first_frame);
    symbols->region_of = calloc(locations, sizeof *symbols->region_of);
    symbols->modules = calloc((size_t)file->mapping_count + 1, sizeof *symbols->modules);
    names->regions = calloc((size_t)file->mapping_count + 1, sizeof *names->regions);
    building->names = names;
    building->recording->symbols = symbols;
    building->recording->release_symbols = release_names;
    return symbols->functions && symbols->frames && symbols->first_frame && symbols->region_of &&
           symbols->modules && names->regions;
}

static bool make_tables(struct building *building)
{
    const struct pprof_file *file = building->file;
    building->thread_slots = 2;
    while (building->thread_slots < 2 * (size_t)file->sample_count)
        building->thread_slots *= 2;
    building->module_of = calloc((size_t)file->mapping_count + 1, sizeof *building->module_of);
    building->region_of = calloc((size_t)file->mapping_count + 1, sizeof *building->region_of);
    building->location_of = calloc((size_t)file->location_count + 1, sizeof *building->location_of);
    building->threads = calloc(building->thread_slots, sizeof *building->threads);
    building->thread_list = calloc((size_t)file->sample_count + 1, sizeof *building->thread_list);
    return building->module_of && building->region_of && building->location_of && building->threads &&
           building->thread_list;
}

static void release_tables(struct building *building)
{
    free(building->module_of);
    free(building->region_of);
    free(building->location_of);
    free(building->threads);
    free(building->thread_list);
    free(building->path);
}

/* The recording's own; what was made is released by recording_close. */
static int make_recording(struct building *building)
{
    struct recording *recording = building->recording;
    const struct pprof_file *file = building->file;
    int status = arena_init(&recording->arena, arena_bytes(file));
    if (status == 0)
        status = tree_init(&recording->tree, &recording->arena);
    recording->modules.arena = &recording->arena;
    recording->profile = (struct wp_profile){.arena = &recording->arena,
                                             .tree = &recording->tree,
                                             .modules = &recording->modules,
                                             .labels = LABELS_NONE,
                                             .start_utc_ns = file->time_ns,
                                             .duration_ns = file->duration_ns,
                                             .period_ns = file->period};
    if (status < 0 || !make_tables(building) || !make_names(building))
        return no_memory(recording);
    recording->profile.symbols = recording->symbols;
    return 0;
}

static int build(struct building *building)
{
    int status = make_recording(building);
    if (status == 0)
        status = add_mappings(building);
    if (status == 0)
        status = add_functions(building);
    if (status == 0)
        status = add_locations(building);
    if (status < 0)
        return status;
    building->names->text = building->file->text; /* names and comments lead into it */
    building->file->text = NULL;
    take_comments(building);
    return add_samples(building);
}

int recording_read_pprof(struct recording *recording, const unsigned char *bytes, size_t count)
{
    struct pprof_file file;
    struct building building = {.recording = recording, .file = &file};
    int status = pprof_file_read(&file, bytes, count, recording);
    if (status < 0)
        return status;
    if (!is_ours(&file))
        status = refuse_types(&file, recording);
    else if (file.period == 0)
        status = recording_refuse(recording, -EBADMSG, "it does not say how often was looked");
    else
        status = build(&building);
    release_tables(&building);
    pprof_file_free(&file);
    return status;
}
