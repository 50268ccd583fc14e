/*
 * Makes threads and their trees from the samples of a pprof file. The last sample is added first. A node's
 * children stand newest first and are written in that order, so a file that is written again has the same
 * order.
 */
#include "pprof_building.h"
#include "encode/pprof_changes.h"
#include "base/smaller.h"
#include "profile/wait_labels.h"
#include "tool/io/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Sums of four of these cannot overflow, nor can a reader's signed 64 bits. */
static const uint64_t value_max = (uint64_t)1 << 61;

/* ---- threads ---- */

static int add_thread(struct building *building, struct read_thread *thread, uint32_t number)
{
    struct recording *recording = building->recording;
    thread->record = arena_alloc(&recording->arena, sizeof(struct thread_record));
    if (!thread->record)
        return recording_no_memory(recording);
    struct thread_record *record = arena_at(&recording->arena, thread->record);
    memcpy(record->name, thread->key.name, sizeof record->name);
    record->tid = (int32_t)thread->key.id;
    record->process = thread->key.process;
    record->is_spare = thread->key.is_spare;
    record->root = thread->root = tree_root(&recording->tree, number);
    recording->profile.thread_count = number;
    return 0;
}

/* The number of the process that a sample names; a sample may also name none. */
static uint32_t process_of(struct building *building, const struct pprof_sample *sample)
{
    const struct process_key key = {
        .name = sample->process ? string_table_intern(&building->names->process_names, sample->process) : 0,
        .pid = sample->pid,
        .rank = sample->rank};
    building->recording->profile.is_merged |= sample->process || sample->pid;
    return intern_table_intern(&building->processes, &key);
}

/* The root that a sample's labels stand for. Threads are made as they appear. */
static int root_of(struct building *building, const struct pprof_sample *sample, arena_ref *ret)
{
    struct recording *recording = building->recording;
    struct thread_key key = {.id = sample->thread_id,
                             .process = process_of(building, sample),
                             .is_spare = !sample->thread && !sample->has_thread_id};
    if (sample->has_thread_id)
        recording->profile.labels = LABELS_ID;
    else if (sample->thread && recording->profile.labels == LABELS_NONE)
        recording->profile.labels = LABELS_NAME;
    *ret = recording->tree.spare_root;
    if (key.is_spare && !sample->process && !sample->pid && sample->rank < 0)
        return 0;
    if (sample->thread)
        memcpy(key.name, sample->thread, strnlen(sample->thread, sizeof key.name));
    uint32_t number = intern_table_intern(&building->threads, &key);
    if (building->threads.failed)
        return recording_no_memory(recording);
    struct read_thread *thread = intern_table_at(&building->threads, number);
    int status = thread->root ? 0 : add_thread(building, thread, number + 1);
    *ret = thread->root;
    return status;
}

/* Samples were added from the last to the first, so threads and their processes appeared in reverse. */
static int number_threads(struct building *building)
{
    struct recording *recording = building->recording;
    uint32_t count = recording->profile.thread_count;
    recording->thread_of_number = scratch_alloc(sizeof(arena_ref) * ((size_t)count + 1));
    if (!recording->thread_of_number)
        return recording_no_memory(recording);
    for (uint32_t number = 1; number <= count; number++) {
        const struct read_thread *thread = intern_table_at(&building->threads, count - number);
        struct thread_record *record = arena_at(&recording->arena, thread->record);
        record->number = number;
        record->process = recording->profile.process_count - 1 - record->process;
        tree_node(&recording->tree, record->root)->thread = number;
        recording->thread_of_number[number] = thread->record;
    }
    recording->profile.thread_of_number = recording->thread_of_number;
    return 0;
}

/* ---- samples ---- */

/* A sample's location in that place below the root: its labels, then its stack from the outermost frame on,
 * and last what it waited for. 0 without memory. */
static arena_ref location_at(struct building *building, const struct pprof_sample *sample, uint32_t place)
{
    if (place < sample->label_count)
        return pprof_names_label(building, &sample->labels[place]);
    place -= sample->label_count;
    if (place < sample->depth)
        return building->location_of[sample->stack[sample->depth - 1 - place]];
    return place == sample->depth && sample->on
               ? pprof_names_wait(building, WAIT_LABEL_ON, sample->on)
               : pprof_names_wait(building, WAIT_LABEL_HOLDER, sample->holder);
}

/* How many nodes a sample has below the root. Where there is no stack, nothing waits. */
static uint32_t depth_of(const struct pprof_sample *sample)
{
    const uint32_t waits = sample->depth > 0 ? (uint32_t) !!sample->on + !!sample->holder : 0;
    return sample->label_count + sample->depth + waits;
}

/* The node of a stack, made if new. What it has in common with the stack before is not searched for again. */
static int node_of(struct building *building, arena_ref root, const struct pprof_sample *sample,
                   arena_ref *ret)
{
    struct tree *tree = &building->recording->tree;
    bool is_common = root == building->path_root;
    const uint32_t depth = depth_of(sample);
    *ret = root;
    for (uint32_t i = 0; i < depth; i++) {
        arena_ref location = location_at(building, sample, i);
        if (!array_grow(&building->path, &building->path_capacity, i, sizeof *building->path))
            return recording_no_memory(building->recording);
        struct path_step *step = &building->path[i];
        is_common = is_common && i < building->path_depth && step->location == location;
        if (!is_common)
            *step = (struct path_step){location, location ? tree_child(tree, *ret, location) : 0};
        *ret = step->node;
        if (!*ret)
            return recording_no_memory(building->recording);
    }
    building->path_root = root;
    building->path_depth = depth;
    if (sample->depth == 0)
        *ret = tree_pseudo_child(tree, *ret, PSEUDO_TRUNCATED);
    return 0;
}

static int add_values(struct building *building, struct values *to, const uint64_t *values)
{
    for (int i = 0; i < PPROF_VALUES; i++) {
        building->sums[i] += values[i]; /* of two numbers of 63 bits at most */
        if (building->sums[i] > value_max)
            return recording_refuse(building->recording, -EBADMSG, "its values are too large");
    }
    const uint64_t delay_ns = smaller(values[PPROF_RUNDELAY], values[PPROF_OFFCPU]);
    to->samples += values[PPROF_SAMPLES];
    to->cpu_ns += values[PPROF_CPU];
    to->rundelay_ns += delay_ns;
    to->blocked_ns += values[PPROF_OFFCPU] - delay_ns;
    return 0;
}

/* Ours stands at a wait's label. */
static void add_blame(struct building *building, arena_ref ref, uint64_t blame_ns)
{
    const struct tree *tree = &building->recording->tree;
    struct tree_node *node = tree_node(tree, ref);
    if (node->parent && wait_label_is(tree, tree_location_at(tree, node->location)))
        node->blame_ns += blame_ns;
}

/* A number of a sample's changes; 0 after the last. */
static float next_change(const struct building *building, struct pprof_sample *sample)
{
    uint64_t number = 0;
    protobuf_next_number(&sample->changes, &number);
    return pprof_changes_decode(number, building->file->period);
}

/* What makes no sense is left out: it is for error bars only. */
static void add_changes(struct building *building, arena_ref node, struct pprof_sample *sample)
{
    uint64_t levels;
    struct tree *tree = &building->recording->tree;
    struct changes own = {0};
    own.flat_near = next_change(building, sample);
    own.flat_far = next_change(building, sample);
    own.cum_near = next_change(building, sample);
    own.cum_far = next_change(building, sample);
    tree_add_changes(&tree_node(tree, node)->changes, &own);
    while (protobuf_next_number(&sample->changes, &levels)) {
        struct changes passed = {0};
        passed.cum_near = next_change(building, sample);
        passed.cum_far = next_change(building, sample);
        if (levels < tree_node(tree, node)->depth) {
            uint32_t depth = tree_node(tree, node)->depth - (uint32_t)levels;
            tree_add_changes(&tree_node(tree, tree_ancestor_at(tree, node, depth))->changes, &passed);
        }
    }
}

static int add_sample(struct building *building, struct pprof_sample *sample)
{
    arena_ref root, node;
    int status = root_of(building, sample, &root);
    if (status == 0)
        status = node_of(building, root, sample, &node);
    if (status == 0 && sample->has_changes && !building->is_foreign)
        add_changes(building, node, sample);
    if (status == 0)
        add_blame(building, node, sample->values[PPROF_BLAME]);
    return status ? status
                  : add_values(building, &tree_node(&building->recording->tree, node)->self, sample->values);
}

static bool has_value(const struct pprof_sample *sample)
{
    for (int i = 0; i < PPROF_VALUES; i++) {
        if (i != PPROF_WALL && sample->values[i])
            return true;
    }
    return false;
}

/* ---- processes ---- */

/* In a profile of one process its comments say which it is, and its samples have the rank. */
static int list_processes(struct building *building)
{
    struct recording *recording = building->recording;
    const uint32_t count = building->processes.count;
    struct process_record *processes;
    recording->profile.is_merged |= count > 1;
    recording->profile.processes = &recording->process;
    recording->profile.process_count = 1;
    if (building->processes.failed || building->names->process_names.failed)
        return recording_no_memory(recording);
    if (!recording->profile.is_merged) { /* 1, or none at all */
        if (count > 0)
            recording->process.rank = ((struct process_key *)intern_table_at(&building->processes, 0))->rank;
        return 0;
    }
    processes = building->names->processes = calloc(count, sizeof *processes);
    if (!processes)
        return recording_no_memory(recording);
    for (uint32_t i = 0; i < count; i++) {
        const struct process_key *key = intern_table_at(&building->processes, i);
        processes[count - 1 - i] = (struct process_record){
            string_table_at(&building->names->process_names, key->name), key->pid, key->rank, "", NULL};
    }
    recording->profile.processes = processes;
    recording->profile.process_count = count;
    return 0;
}

int pprof_samples_add(struct building *building)
{
    struct pprof_file *file = building->file;
    struct pprof_sample sample = {0};
    int status = 0;
    if (intern_table_init(&building->processes, sizeof(struct process_key), sizeof(struct process_key)) < 0 ||
        intern_table_init(&building->threads, sizeof(struct read_thread), sizeof(struct thread_key)) < 0)
        status = recording_no_memory(building->recording);
    string_table_init(&building->names->process_names);
    for (uint32_t i = file->sample_count; status == 0 && i-- > 0;) {
        status = pprof_file_sample(file, i, &sample, building->recording);
        if (status == 0 && has_value(&sample))
            status = add_sample(building, &sample);
    }
    free(sample.stack);
    if (status == 0)
        status = list_processes(building);
    return status ? status : number_threads(building);
}
