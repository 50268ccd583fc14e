/*
 * The merged recording has an arena of its own, as large as references reach: it is touched only as it is
 * used. Each recording is walked tree by tree. The labels of a thread decide the tree of the merged recording
 * that its tree goes to. Its code decides the locations (merge_locations.h).
 */
#include "merge.h"
#include "merge_title.h"
#include "merge_locations.h"
#include "merge_notes.h"
#include "merge_span.h"
#include "merge_sums.h"
#include "merge_timeline.h"
#include "tool/debug/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Sums of four of these cannot overflow, nor can a reader's signed 64 bits. */
#define TOTAL_MAX (UINT64_C(1) << 61)

static const size_t arena_max_bytes = (size_t)32 << 30, arena_min_bytes = (size_t)64 << 20;

/* Processes, or threads, of equal labels are one in the output. */
struct merge_process_key {
    uint32_t name; /* in names */
    int32_t pid, rank;
};

struct merged_process {
    struct merge_process_key key;
    uint32_t ending, title; /* in names; title 0: its name will do */
};

struct merge_thread_key {
    uint32_t process;
    int32_t tid;
    char name[THREAD_NAME_BYTES]; /* zeros to its end */
    uint32_t is_spare;
};

struct merged_thread {
    struct merge_thread_key key;
    arena_ref record;
};

struct merge {
    enum label_policy labels;
    struct recording recording;
    struct merge_locations locations;
    struct merge_notes notes;
    struct string_table names; /* of processes, and their endings */
    struct intern_table processes, threads;
    struct process_record *process_list; /* owned: the profile's, at the end */
    uint32_t recording_count;
    struct values total;
    uint64_t start_utc_ns;
    struct merge_span span;
    struct merge_timeline timeline;
};

/* ---- beginning and end ---- */

static int init_arena(struct arena *arena)
{
    size_t bytes = arena_max_bytes;
    while (arena_init(arena, bytes) < 0) {
        bytes /= 2;
        if (bytes < arena_min_bytes)
            return -ENOMEM;
    }
    return 0;
}

static int init(struct merge *merge)
{
    struct recording *recording = &merge->recording;
    int status = init_arena(&recording->arena);
    if (status == 0)
        status = tree_init(&recording->tree, &recording->arena);
    recording->modules.arena = &recording->arena;
    string_table_init(&merge->names);
    int locations = merge_locations_init(&merge->locations, &recording->tree, &recording->modules);
    int notes = merge_notes_init(&merge->notes);
    int processes =
        intern_table_init(&merge->processes, sizeof(struct merged_process), sizeof(struct merge_process_key));
    int threads =
        intern_table_init(&merge->threads, sizeof(struct merged_thread), sizeof(struct merge_thread_key));
    return status | locations | notes | processes | threads;
}

struct merge *merge_begin(enum label_policy labels)
{
    struct merge *merge = calloc(1, sizeof *merge);
    if (!merge)
        return NULL;
    merge->labels = labels;
    merge->start_utc_ns = UINT64_MAX;
    if (init(merge) == 0)
        return merge;
    merge_release(merge);
    return NULL;
}

void merge_release(struct merge *merge)
{
    if (!merge)
        return;
    recording_close(&merge->recording);
    merge_locations_deinit(&merge->locations);
    merge_notes_deinit(&merge->notes);
    string_table_deinit(&merge->names);
    intern_table_deinit(&merge->processes);
    intern_table_deinit(&merge->threads);
    merge_span_deinit(&merge->span);
    merge_timeline_deinit(&merge->timeline);
    free(merge->process_list);
    free(merge);
}

void merge_keep_timeline(struct merge *merge, enum file_format format)
{
    if (format_shows_timeline(format) && merge->labels == LABELS_ID) /* else threads that overlap are one */
        merge->timeline.is_wanted = true;
}

void merge_leave_out(struct merge *merge, const char *path, const char *reason)
{
    merge_notes_leave_out(&merge->notes, path, reason);
}

/* ---- processes and threads ---- */

static uint32_t intern_process(struct merge *merge, const struct process_record *process, const char *command)
{
    char title[PROCESS_TITLE_TEXT_BYTES];
    const bool has_name = merge->labels != LABELS_NONE, has_id = merge->labels == LABELS_ID;
    const struct merge_process_key key = {.name = has_name ? string_table_intern(&merge->names, process->name)
                                                           : 0,
                                          .pid = has_id ? process->pid : 0,
                                          .rank = has_id ? process->rank : PROCESS_NO_RANK};
    uint32_t number = intern_table_intern(&merge->processes, &key);
    struct merged_process *merged = intern_table_at(&merge->processes, number);
    if (!merged->ending && *process->ending)
        merged->ending = string_table_intern(&merge->names, process->ending);
    if (has_id && *merge_title(process, command, title))
        merged->title = string_table_intern(&merge->names, title);
    return number;
}

/*
 * The merged numbers of a recording's processes, by its own numbers. [process_count] is for time of no known
 * thread. NULL without memory.
 */
static uint32_t *intern_processes(struct merge *merge, const struct profile *profile)
{
    static const struct process_record unknown = {.name = "", .rank = PROCESS_NO_RANK, .ending = ""};
    const uint32_t count = profile->process_count;
    uint32_t *ret = calloc((size_t)count + 1, sizeof *ret);
    if (!ret)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        ret[i] = intern_process(merge, &profile->processes[i], count == 1 ? profile->command : "");
    ret[count] = count == 1 ? ret[0] : 0;
    if (count != 1) { /* only if there is any: a process that nothing is known of would be in the list */
        const struct tree_node *spare = tree_node(profile->tree, profile->tree->spare_root);
        if (count == 0 || spare->first_child || tree_has_weight(&spare->self))
            ret[count] = intern_process(merge, &unknown, "");
    }
    return ret;
}

static struct merge_thread_key key_of(const struct merge *merge, const struct profile *profile,
                                      const struct thread_record *thread, const uint32_t *processes)
{
    const uint32_t count = profile->process_count;
    const bool is_known = thread && thread->process < count;
    struct merge_thread_key key = {.process = processes[is_known ? thread->process : count]};
    key.is_spare = !profile_tells_thread(profile, thread) || merge->labels == LABELS_NONE;
    if (key.is_spare)
        return key;
    memcpy(key.name, thread->name, strnlen(thread->name, sizeof key.name));
    if (merge->labels == LABELS_ID && profile->labels == LABELS_ID)
        key.tid = thread->tid;
    return key;
}

static arena_ref add_thread(struct merge *merge, const struct merge_thread_key *key, uint32_t number)
{
    struct recording *recording = &merge->recording;
    arena_ref ref = arena_alloc(&recording->arena, sizeof(struct thread_record));
    if (!ref)
        return 0;
    struct thread_record *record = arena_at(&recording->arena, ref);
    record->number = number;
    record->root = tree_root(&recording->tree, record->number);
    record->process = key->process;
    record->tid = key->tid;
    record->is_spare = key->is_spare;
    memcpy(record->name, key->name, sizeof record->name);
    return ref;
}

/* The merged thread of the threads with these labels; NULL without memory. */
static struct thread_record *thread_of(struct merge *merge, const struct merge_thread_key *key)
{
    uint32_t index = intern_table_intern(&merge->threads, key);
    struct merged_thread *thread = intern_table_at(&merge->threads, index);
    if (!thread->record)
        thread->record = add_thread(merge, key, index + 1);
    if (!thread->record || merge->threads.failed)
        return NULL;
    return arena_at(&merge->recording.arena, thread->record);
}

/* ---- trees ---- */

/* A root's own values are [overflow]: those of all threads that go to it become one node. */
static bool move_root_values(struct tree *tree, arena_ref root)
{
    struct values *self = &tree_node(tree, root)->self;
    if (!tree_has_weight(self))
        return true;
    arena_ref child = tree_child(tree, root, tree->pseudo[PSEUDO_OVERFLOW]);
    if (!child)
        return false;
    tree_add_values(&tree_node(tree, child)->self, self);
    *self = (struct values){0};
    return true;
}

static int add_trees(struct merge *merge, const struct merge_timeline_part *part,
                     const arena_ref *location_of, const uint32_t *processes)
{
    const struct profile *profile = part->profile;
    struct tree *into = &merge->recording.tree;
    const struct tree *from = profile->tree;
    const struct tree_merging merging = {
        .from = from, .into = into, .location_of = location_of, .node_of = part->node_of};
    for (arena_ref root = from->newest_root; root; root = tree_node(from, root)->next_sibling) {
        const struct tree_node *node = tree_node(from, root);
        const struct thread_record *thread = profile_thread(profile, node->thread);
        if (!node->first_child && !tree_has_weight(&node->self))
            continue;
        const struct merge_thread_key key = key_of(merge, profile, thread, processes);
        struct thread_record *merged = thread_of(merge, &key);
        if (!merged || tree_merge(&merging, root, merged->root) < 0 || !move_root_values(into, merged->root))
            return -ENOMEM;
        merge_timeline_add_thread(part, node->thread, merged);
    }
    into->overflows += from->overflows;
    return 0;
}

/* ---- sums ---- */

static bool add_total(struct merge *merge, const struct tree *tree)
{
    struct values total = merge_sums_of(tree);
    tree_add_values(&total, &merge->total);
    if (total.samples > TOTAL_MAX || total.cpu_ns > TOTAL_MAX || total.rundelay_ns > TOTAL_MAX ||
        total.blocked_ns > TOTAL_MAX)
        return false;
    merge->total = total;
    return true;
}

/* The header has the most labels of all, and the first beginning. */
static void add_header(struct merge *merge, const struct profile *from)
{
    struct profile *to = &merge->recording.profile;
    if (from->labels > to->labels)
        to->labels = from->labels;
    if (to->labels > merge->labels)
        to->labels = merge->labels;
    if (from->period_ns > to->period_ns)
        to->period_ns = from->period_ns;
    if (from->threads_per_tick > to->threads_per_tick)
        to->threads_per_tick = from->threads_per_tick;
    if (from->start_utc_ns < merge->start_utc_ns)
        merge->start_utc_ns = from->start_utc_ns;
    merge_sums_add_counters(&to->counters, &from->counters);
    to->has_rundelay |= from->has_rundelay;
}

int merge_add(struct merge *merge, struct recording *recording)
{
    struct merge_timeline_part part = {.profile = &recording->profile};
    const struct profile *profile = &recording->profile;
    if (!add_total(merge, &recording->tree))
        return recording_refuse(recording, -ERANGE, "with it, times are longer than anything can last");
    arena_ref *location_of = calloc((size_t)recording->tree.location_count + 1, sizeof *location_of);
    uint32_t *processes = intern_processes(merge, profile);
    int status = location_of && processes ? 0 : -ENOMEM;
    if (status == 0)
        status = merge_locations_add(&merge->locations, recording, location_of);
    if (status == 0)
        status = merge_timeline_begin(&merge->timeline, profile, &part);
    if (status == 0)
        status = add_trees(merge, &part, location_of, processes);
    if (status == 0)
        status = merge_timeline_add(&merge->timeline, &part);
    merge_timeline_end(&part);
    if (status == 0 && !merge_span_add(&merge->span, profile->start_utc_ns, profile->duration_ns))
        status = -ENOMEM;
    free(location_of);
    free(processes);
    if (status < 0)
        return recording_refuse(recording, -ENOMEM, "there is not enough memory to add it");
    add_header(merge, profile);
    merge_notes_add(&merge->notes, recording);
    merge->recording_count += recording->merged_count ? recording->merged_count : 1;
    return 0;
}

/* ---- the merged recording ---- */

static bool make_processes(struct merge *merge)
{
    struct profile *profile = &merge->recording.profile;
    const uint32_t count = merge->processes.count;
    merge->process_list = calloc((size_t)count + 1, sizeof *merge->process_list);
    if (!merge->process_list || merge->processes.failed || merge->names.failed)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct merged_process *process = intern_table_at(&merge->processes, i);
        merge->process_list[i] = (struct process_record){
            .name = string_table_at(&merge->names, process->title ? process->title : process->key.name),
            .pid = process->key.pid,
            .rank = process->key.rank,
            .ending = string_table_at(&merge->names, process->ending)};
    }
    profile->processes = merge->process_list;
    profile->process_count = count;
    return true;
}

static bool make_threads(struct merge *merge)
{
    struct recording *recording = &merge->recording;
    const uint32_t count = merge->threads.count;
    recording->thread_of_number = scratch_alloc(sizeof(arena_ref) * ((size_t)count + 1));
    if (!recording->thread_of_number)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct merged_thread *thread = intern_table_at(&merge->threads, i);
        if (!thread->record)
            return false; /* there was no memory for it */
        recording->thread_of_number[i + 1] = thread->record;
    }
    recording->profile.thread_of_number = recording->thread_of_number;
    recording->profile.thread_count = count;
    return true;
}

static int make_names(struct merge *merge)
{
    struct recording *recording = &merge->recording;
    int status = merge_locations_name(&merge->locations, &recording->profile, &recording->symbols);
    if (status == 0) {
        recording->release_symbols = names_release;
        recording->profile.symbols = recording->symbols;
    }
    return status;
}

int merge_finish(struct merge *merge, struct recording **ret)
{
    struct recording *recording = &merge->recording;
    struct profile *profile = &recording->profile;
    if (merge->recording_count == 0)
        return -ENODATA;
    profile->arena = &recording->arena;
    profile->tree = &recording->tree;
    profile->modules = &recording->modules;
    profile->is_merged = true;
    profile->start_utc_ns = merge->start_utc_ns;
    profile->duration_ns = merge_span_covered_ns(&merge->span);
    profile->timeline = merge_timeline_finish(&merge->timeline, merge->start_utc_ns);
    recording->merged_count = merge->recording_count;
    if (!make_processes(merge) || !make_threads(merge))
        return -ENOMEM;
    int status = make_names(merge);
    if (status == 0)
        status = merge_notes_make(&merge->notes, profile, merge->recording_count);
    *ret = recording;
    return status;
}
