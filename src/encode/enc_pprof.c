/*
 * Written are samples, mappings, locations, functions, and the string table last, because only then is it
 * complete. Readers take the fields in any order.
 *
 * Ids run 1..N in table order: mappings with the program's own first and memory outside all modules last,
 * locations as the tree numbers them, functions as symbolize numbers them. Frames that stand for labels are
 * in no table, as samples have real labels.
 */
#include "enc_pprof.h"
#include "profile_notes.h"
#include "pprof_changes.h"
#include "pprof_fields.h"
#include "pprof_writer.h"
#include "thread_groups.h"
#include "timed_samples.h"
#include "profile/wait_labels.h"

#include <errno.h>
#include <string.h>

/* ---- samples ---- */

static void add_label(struct pprof_writer *writer, const char *key, const char *text, uint64_t number,
                      const char *unit)
{
    protobuf_clear(&writer->part);
    protobuf_uint(&writer->part, LABEL_KEY, pprof_intern(writer, key));
    if (text)
        protobuf_uint(&writer->part, LABEL_STR, pprof_intern(writer, text));
    else
        protobuf_uint(&writer->part, LABEL_NUM, number);
    if (unit)
        protobuf_uint(&writer->part, LABEL_NUM_UNIT, pprof_intern(writer, unit));
    protobuf_message(&writer->message, SAMPLE_LABEL, &writer->part);
}

static void add_process_labels(struct pprof_writer *writer, const struct thread_record *thread)
{
    const struct process_record *process = profile_process(writer->profile, thread);
    if (!process)
        return;
    if (writer->profile->is_merged && *process->name)
        add_label(writer, "process", process->name, 0, NULL);
    if (writer->profile->is_merged && process->pid > 0)
        add_label(writer, "pid", NULL, (uint64_t)process->pid, NULL);
    if (process->rank >= 0) /* pprof drops a 0 without a unit */
        add_label(writer, "rank", NULL, (uint64_t)process->rank, "rank");
}

static void add_labels(struct pprof_writer *writer, const struct thread_record *thread)
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

static const struct location *location_of(const struct pprof_writer *writer, const struct tree *tree,
                                          arena_ref node)
{
    return tree_location_at(writer->profile->tree, tree_node(tree, node)->location);
}

/* After the thread's labels: in the order of their nodes, which is that of their keys, the innermost first.
 */
static void add_label_frames(struct pprof_writer *writer, const struct tree *tree, arena_ref node)
{
    const struct arena *arena = writer->profile->arena;
    for (arena_ref at = node; tree_node(tree, at)->parent; at = tree_node(tree, at)->parent) {
        const struct location *location = location_of(writer, tree, at);
        if (tree_is_label(location) && !wait_label_is(writer->profile->tree, location))
            add_label(writer, tree_label_key(arena, location), tree_label_value(arena, location), 0, NULL);
    }
}

static void add_wait_labels(struct pprof_writer *writer, const struct tree *tree, arena_ref node)
{
    const struct wait_labels waited = wait_labels_of(writer->profile->tree, tree, node);
    if (waited.on)
        add_label(writer, WAIT_LABEL_ON, waited.on, 0, NULL);
    if (waited.holder)
        add_label(writer, WAIT_LABEL_HOLDER, waited.holder, 0, NULL);
}

/* A root or a label's node has weight only if there was no memory for a pseudo-frame below it. */
static void add_stack(struct pprof_writer *writer, const struct tree *tree, arena_ref node)
{
    const struct tree *locations = writer->profile->tree;
    const arena_ref leaf = wait_label_leaf(locations, tree, node);
    uint32_t overflow = tree_location_at(locations, locations->pseudo[PSEUDO_OVERFLOW])->index;
    if (!tree_node(tree, leaf)->parent || tree_is_label(location_of(writer, tree, leaf)))
        protobuf_varint(&writer->part, writer->location_ids[overflow]);
    for (arena_ref at = node; tree_node(tree, at)->parent; at = tree_node(tree, at)->parent) {
        const struct location *location = location_of(writer, tree, at);
        if (!tree_is_label(location))
            protobuf_varint(&writer->part, writer->location_ids[location->index]);
    }
}

static bool has_samples(const struct profile *profile)
{
    return !profile->measure || strcmp(profile->measure->name, "samples") != 0;
}

/* Also where nobody was blamed: tools that merge files want the same types in all. */
static bool has_blame(const struct profile *profile)
{
    return !profile->measure;
}

static void add_values(struct pprof_writer *writer, const struct values *self, uint64_t blame_ns)
{
    const struct profile *profile = writer->profile;
    if (has_samples(profile))
        protobuf_varint(&writer->part, self->samples);
    if (!profile->measure) {
        protobuf_varint(&writer->part, self->cpu_ns);
        protobuf_varint(&writer->part, tree_offcpu_ns(self));
    }
    if (profile->has_rundelay)
        protobuf_varint(&writer->part, self->rundelay_ns);
    if (has_blame(profile))
        protobuf_varint(&writer->part, blame_ns);
    protobuf_varint(&writer->part, tree_wall_ns(self));
}

/* A node that has samples: one, or one for the time that was waited and one for the rest. */
struct emitted_node {
    const struct tree *tree;
    arena_ref node;
    const struct thread_record *thread;
    uint64_t end_utc_ns;           /* the time of the sample; 0 for none */
    struct pprof_changes *changes; /* NULL without; they stand in one sample of the node, as does: */
    uint64_t blame_ns;
};

/* wait: the word for what was waited for; NULL for none. */
static void emit_sample(struct pprof_writer *writer, struct emitted_node *of, const struct values *self,
                        const char *wait)
{
    protobuf_clear(&writer->part);
    add_stack(writer, of->tree, of->node);
    protobuf_message(&writer->message, SAMPLE_LOCATION_ID, &writer->part);
    protobuf_clear(&writer->part);
    add_values(writer, self, of->blame_ns);
    of->blame_ns = 0;
    protobuf_message(&writer->message, SAMPLE_VALUE, &writer->part);
    add_labels(writer, of->thread);
    if (wait)
        add_label(writer, "wait", wait, 0, NULL);
    add_wait_labels(writer, of->tree, of->node);
    add_label_frames(writer, of->tree, of->node);
    if (of->end_utc_ns)
        add_label(writer, "end_timestamp_ns", NULL, of->end_utc_ns, "nanoseconds");
    if (of->changes)
        pprof_changes_write(of->changes, of->tree, of->node, &writer->part);
    if (of->changes && writer->part.used > 0)
        protobuf_message(&writer->message, SAMPLE_CHANGES, &writer->part);
    of->changes = NULL;
    pprof_emit(writer, PROFILE_SAMPLE);
}

static void emit_node(struct pprof_writer *writer, struct emitted_node of, const struct values *self)
{
    const struct waits *waits = writer->profile->measure ? NULL : writer->profile->waits;
    const char *wait = waits && self->blocked_ns > 0 ? waits->word(waits, of.tree, of.node) : NULL;
    struct values rest = *self;
    if (!wait)
        return emit_sample(writer, &of, self, NULL);
    const struct values waited = tree_take_waited(&rest);
    if (tree_has_weight(&rest))
        emit_sample(writer, &of, &rest, NULL);
    emit_sample(writer, &of, &waited, wait);
}

static void emit_tree(struct pprof_writer *writer, const struct tree *tree, arena_ref root,
                      const struct thread_record *thread)
{
    struct pprof_changes changes = {writer->profile->period_ns, UINT32_MAX};
    for (arena_ref node = root; node; node = tree_next(tree, root, node)) {
        const struct values *self = &tree_node(tree, node)->self;
        const uint64_t blame_ns = wait_label_blame(writer->profile->tree, tree, node);
        if (tree_has_weight(self) || blame_ns)
            emit_node(writer, (struct emitted_node){tree, node, thread, 0, &changes, blame_ns}, self);
        else
            pprof_changes_pass(&changes, tree, node);
    }
}

struct timed_group {
    struct pprof_writer *writer;
    const struct thread_record *thread;
};

static void emit_timed(void *context, arena_ref node, const struct values *values, uint64_t end_utc_ns)
{
    const struct timed_group *group = context;
    if (tree_has_weight(values))
        emit_node(
            group->writer,
            (struct emitted_node){group->writer->profile->tree, node, group->thread, end_utc_ns, NULL, 0},
            values);
}

static int emit_group(struct pprof_writer *writer, const struct thread_groups *groups, size_t first,
                      size_t size)
{
    const struct thread_record *thread = groups->members[first].thread;
    struct arena arena = {0};
    struct tree merged = {0};
    arena_ref root;
    if (size == 1 && !writer->timed) {
        emit_tree(writer, writer->profile->tree, groups->members[first].root, thread);
        return 0;
    }
    int status = thread_group_merge(groups, writer->profile, first, size, &arena, &merged, &root, NULL);
    if (status == 0 && writer->timed)
        timed_samples_each(writer->timed, &groups->members[first], size, &merged, root, emit_timed,
                           &(struct timed_group){writer, thread});
    if (status == 0)
        emit_tree(writer, &merged, root, thread);
    tree_deinit(&merged);
    arena_deinit(&arena);
    return status;
}

static int emit_samples(struct pprof_writer *writer)
{
    struct thread_groups groups;
    int status = thread_groups_init(&groups, writer->profile);
    for (size_t first = 0, size; status == 0 && first < groups.count; first += size) {
        size = thread_group_size(&groups, writer->profile, first);
        status = emit_group(writer, &groups, first, size);
    }
    thread_groups_deinit(&groups);
    return status;
}

/* Each record of the timeline is a sample of its own only on request, as files become much larger. */
static int emit_all_samples(struct pprof_writer *writer)
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

/* ---- header ---- */

static void emit_note(void *writer, const char *text)
{
    protobuf_uint(&((struct pprof_writer *)writer)->output, PROFILE_COMMENT, pprof_intern(writer, text));
}

static void emit_value_type(struct pprof_writer *writer, uint32_t field, const char *type, const char *unit)
{
    protobuf_uint(&writer->message, VALUE_TYPE_TYPE, pprof_intern(writer, type));
    protobuf_uint(&writer->message, VALUE_TYPE_UNIT, pprof_intern(writer, unit));
    pprof_emit(writer, field);
}

static void emit_header(struct pprof_writer *writer)
{
    const struct profile *profile = writer->profile;
    const struct profile_measure wall =
        profile->measure ? *profile->measure : (struct profile_measure){"wall", "nanoseconds", ""};
    if (has_samples(profile))
        emit_value_type(writer, PROFILE_SAMPLE_TYPE, "samples", "count");
    if (!profile->measure) {
        emit_value_type(writer, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
        emit_value_type(writer, PROFILE_SAMPLE_TYPE, "offcpu", "nanoseconds");
    }
    if (profile->has_rundelay)
        emit_value_type(writer, PROFILE_SAMPLE_TYPE, "rundelay", "nanoseconds");
    if (has_blame(profile))
        emit_value_type(writer, PROFILE_SAMPLE_TYPE, "blame", "nanoseconds");
    emit_value_type(writer, PROFILE_SAMPLE_TYPE, wall.name, wall.unit);
    emit_value_type(writer, PROFILE_PERIOD_TYPE, wall.name, wall.unit);
    protobuf_uint(&writer->output, PROFILE_PERIOD, profile->period_ns);
    protobuf_uint(&writer->output, PROFILE_TIME_NANOS, profile->start_utc_ns);
    protobuf_uint(&writer->output, PROFILE_DURATION_NANOS, profile->duration_ns);
    protobuf_uint(&writer->output, PROFILE_DEFAULT_SAMPLE_TYPE, pprof_intern(writer, wall.name));
    profile_notes_write(profile, emit_note, writer);
}

static void emit_strings(struct pprof_writer *writer)
{
    for (uint32_t i = 0; i < string_table_count(&writer->strings); i++) {
        const char *text = string_table_at(&writer->strings, i);
        protobuf_bytes(&writer->output, PROFILE_STRING_TABLE, text, strlen(text));
        if (writer->output.used > 1 << 16)
            pprof_flush(writer);
    }
}

static int write_all(struct pprof_writer *writer)
{
    int status = pprof_tables_init(writer);
    if (status < 0)
        return status;
    emit_header(writer);
    status = emit_all_samples(writer);
    pprof_tables_emit(writer);
    emit_strings(writer);
    pprof_flush(writer);
    bool failed =
        writer->output.failed || writer->message.failed || writer->part.failed || writer->strings.failed;
    return status < 0 ? status : failed ? -ENOMEM : 0;
}

int enc_pprof_write(const struct profile *profile, struct sink *sink)
{
    struct pprof_writer writer = {.profile = profile, .sink = sink};
    string_table_init(&writer.strings);
    int status = write_all(&writer);
    pprof_tables_deinit(&writer);
    protobuf_deinit(&writer.message);
    protobuf_deinit(&writer.part);
    protobuf_deinit(&writer.output);
    string_table_deinit(&writer.strings);
    return status;
}
