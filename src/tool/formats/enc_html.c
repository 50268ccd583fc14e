/*
 * A profile as a page to look at: a flame graph in one HTML file that needs nothing else.
 *
 * The page is src/tool/formats/html/ and what it uses of third_party/. scripts/html-page puts it together
 * when the tool is built, in two pieces (html_page.S). Between them stands the data, as JSON that
 * src/tool/formats/html/profile.js reads. docs/formats.md describes the data.
 *
 * The trees are written first, and the total of each after its nodes. Then comes what they refer to, and the
 * string table last, because only then is it complete. The page reads all of it at once. Nothing but the
 * string table is kept in memory. So a node does not say where its parent stands, but how deep it is itself,
 * in depth-first order.
 */
#include "formats.h"
#include "encode/profile_notes.h"
#include "base/json.h"
#include "encode/thread_groups.h"
#include "base/string_table.h"
#include "tool/meaning/meaning.h"

#include <errno.h>
#include <string.h>

/* html_page.S */
extern const char html_page_before[], html_page_before_end[], html_page_after[], html_page_after_end[];

struct html_writer {
    const struct profile *profile;
    struct json json;
    struct string_table strings;
    struct meaning_names names;
    struct values total, idle; /* of all trees; idle: the part of it in which threads wait for work */
};

static void put_string(struct html_writer *writer, const char *text)
{
    json_uint(&writer->json, string_table_intern(&writer->strings, text));
}

/* ---- trees ---- */

static void put_node(struct html_writer *writer, uint32_t depth, arena_ref location,
                     const struct values *self, enum wait_kind wait)
{
    struct json *json = &writer->json;
    json_uint(json, depth);
    json_uint(json, tree_location_at(writer->profile->tree, location)->index);
    json_uint(json, self->samples);
    json_uint(json, self->cpu_ns);
    json_uint(json, tree_offcpu_ns(self));
    json_uint(json, tree_wall_ns(self));
    json_uint(json, self->blocked_ns ? wait : 0);
    json_newline(json);
}

/* A root stands for no code: it has weight only when there was no memory for a pseudo-frame below it. */
static void put_root(struct html_writer *writer, const struct values *self)
{
    if (tree_has_weight(self))
        put_node(writer, 1, writer->profile->tree->pseudo[PSEUDO_OVERFLOW], self, WAIT_UNSEEN);
}

static struct values put_nodes(struct html_writer *writer, const struct tree *tree, arena_ref root,
                               struct values *ret_idle)
{
    struct values total = tree_node(tree, root)->self;
    *ret_idle = (struct values){0};
    put_root(writer, &total);
    for (arena_ref ref = tree_next(tree, root, root); ref; ref = tree_next(tree, root, ref)) {
        const struct tree_node *node = tree_node(tree, ref);
        struct values rest = node->self;
        const enum wait_kind wait = rest.blocked_ns ? meaning_wait_at(&writer->names, tree, ref) : WAIT_OTHER;
        tree_add_values(&total, &node->self);
        if (node->first_child || tree_has_weight(&node->self))
            put_node(writer, node->depth, node->location, &node->self, wait);
        const struct values waited = tree_take_waited(&rest);
        if (wait == WAIT_IDLE)
            tree_add_values(ret_idle, &waited);
    }
    return total;
}

/* In thousandths of a squared millisecond. */
static void put_squared(struct html_writer *writer, float squared_ns)
{
    json_int(&writer->json, squared_ns > -1e27F && squared_ns < 1e27F ? (int64_t)(squared_ns / 1e9F) : 0);
}

static bool has_changes(const struct tree_node *node)
{
    const struct changes *changes = &node->changes;
    return changes->flat_near != 0 || changes->flat_far != 0 || changes->cum_near != 0 ||
           changes->cum_far != 0;
}

/* Each after the place of its node. */
static void put_changes_of(struct html_writer *writer, uint64_t place, const struct changes *changes)
{
    json_uint(&writer->json, place);
    put_squared(writer, changes->flat_near);
    put_squared(writer, changes->flat_far);
    put_squared(writer, changes->cum_near);
    put_squared(writer, changes->cum_far);
    json_newline(&writer->json);
}

/* Of the nodes that have any. The list is left out where none has. */
static void put_changes(struct html_writer *writer, const struct tree *tree, arena_ref root)
{
    uint64_t place = tree_has_weight(&tree_node(tree, root)->self); /* put_root */
    bool has_begun = false;
    for (arena_ref ref = tree_next(tree, root, root); ref; ref = tree_next(tree, root, ref)) {
        const struct tree_node *node = tree_node(tree, ref);
        if (!node->first_child && !tree_has_weight(&node->self))
            continue;
        if (has_changes(node) && !has_begun)
            json_member_array(&writer->json, "changes");
        if (has_changes(node))
            put_changes_of(writer, place, &node->changes);
        has_begun |= has_changes(node);
        place++;
    }
    if (has_begun)
        json_end_array(&writer->json);
}

/* Of the nodes that have waited for a CPU: each after the place of its node. The list is left out where the
 * time is not known. */
static void put_rundelay(struct html_writer *writer, const struct tree *tree, arena_ref root)
{
    uint64_t place = 0;
    if (!writer->profile->has_rundelay)
        return;
    json_member_array(&writer->json, "rundelay");
    for (arena_ref ref = root; ref; ref = tree_next(tree, root, ref)) {
        const struct tree_node *node = tree_node(tree, ref);
        bool is_put = tree_has_weight(&node->self) || (ref != root && node->first_child);
        if (is_put && node->self.rundelay_ns > 0) {
            json_uint(&writer->json, place);
            json_uint(&writer->json, node->self.rundelay_ns);
        }
        place += is_put;
    }
    json_end_array(&writer->json);
}

/* A total may be more than a double holds exactly. */
static void put_totals(struct html_writer *writer, const char *key, const struct values *total)
{
    json_member_array(&writer->json, key);
    json_digits(&writer->json, total->samples);
    json_digits(&writer->json, total->cpu_ns);
    json_digits(&writer->json, tree_offcpu_ns(total));
    json_digits(&writer->json, tree_wall_ns(total));
    if (writer->profile->has_rundelay)
        json_digits(&writer->json, total->rundelay_ns);
    json_end_array(&writer->json);
}

static void put_labels(struct html_writer *writer, const struct thread_record *thread)
{
    char title[THREAD_TITLE_BYTES];
    if (!*profile_thread_title(writer->profile, thread, title))
        return;
    json_member_string(&writer->json, "name", title);
    if (writer->profile->labels != LABELS_ID || !profile_tells_thread(writer->profile, thread) ||
        thread->tid == 0)
        return;
    json_key(&writer->json, "id");
    json_int(&writer->json, thread->tid);
}

static void put_tree(struct html_writer *writer, const struct tree *tree, arena_ref root,
                     const struct thread_group_member *first, size_t threads)
{
    struct json *json = &writer->json;
    json_begin_object(json);
    put_labels(writer, first->thread);
    json_member_uint(json, "threads", threads);
    json_member_array(json, "nodes");
    struct values idle, total = put_nodes(writer, tree, root, &idle);
    json_end_array(json);
    put_changes(writer, tree, root);
    put_rundelay(writer, tree, root);
    put_totals(writer, "total", &total);
    put_totals(writer, "idle", &idle);
    json_end_object(json);
    tree_add_values(&writer->total, &total);
    tree_add_values(&writer->idle, &idle);
}

/* The spare root is no thread. */
static size_t count_threads(const struct thread_groups *groups, size_t first, size_t size)
{
    size_t count = 0;
    for (size_t i = first; i < first + size; i++) {
        const struct thread_record *thread = groups->members[i].thread;
        count += thread && !thread->is_spare ? 1 + thread->merged_threads : 0;
    }
    return count;
}

static bool is_empty(const struct tree *tree, arena_ref root)
{
    const struct tree_node *node = tree_node(tree, root);
    return !node->first_child && !tree_has_weight(&node->self);
}

static int put_group(struct html_writer *writer, const struct thread_groups *groups, size_t first,
                     size_t size)
{
    const struct thread_group_member *members = &groups->members[first];
    struct arena arena = {0};
    struct tree merged = {0};
    arena_ref root;
    size_t threads = count_threads(groups, first, size);
    if (size == 1) {
        if (threads > 0 || !is_empty(writer->profile->tree, members->root))
            put_tree(writer, writer->profile->tree, members->root, members, threads);
        return 0;
    }
    int status = thread_group_merge(groups, writer->profile, first, size, &arena, &merged, &root);
    if (status == 0)
        put_tree(writer, &merged, root, members, threads);
    tree_deinit(&merged);
    arena_deinit(&arena);
    return status;
}

static int put_trees(struct html_writer *writer)
{
    struct thread_groups groups;
    int status = thread_groups_init(&groups, writer->profile);
    json_member_array(&writer->json, "trees");
    for (size_t first = 0, size; status == 0 && first < groups.count; first += size) {
        size = thread_group_size(&groups, writer->profile, first);
        status = put_group(writer, &groups, first, size);
    }
    json_end_array(&writer->json);
    thread_groups_deinit(&groups);
    return status;
}

/* ---- tables ---- */

/* Frames stand innermost first, as in the profile. */
static void put_location(struct html_writer *writer, const struct location *location)
{
    uint32_t count;
    const struct symbol_frame *frames = symbols_frames(writer->profile->symbols, location->index, &count);
    json_begin_array(&writer->json);
    put_string(writer, profile_code_path(writer->profile, location));
    for (uint32_t i = 0; i < count; i++) {
        json_uint(&writer->json, frames[i].function);
        json_uint(&writer->json, frames[i].line);
    }
    json_end_array(&writer->json);
    json_newline(&writer->json);
}

/* The tree lists its locations newest first; the page wants them in order. */
static int put_locations(struct html_writer *writer)
{
    const struct tree *tree = writer->profile->tree;
    size_t bytes = sizeof(arena_ref) * tree->location_count;
    arena_ref *by_index = scratch_alloc(bytes);
    if (!by_index)
        return -ENOMEM;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next)
        by_index[tree_location_at(tree, ref)->index] = ref;
    json_member_array(&writer->json, "locations");
    for (uint32_t i = 0; i < tree->location_count; i++)
        put_location(writer, tree_location_at(tree, by_index[i]));
    json_end_array(&writer->json);
    scratch_free(by_index, bytes);
    return 0;
}

static void put_functions(struct html_writer *writer)
{
    const struct symbols *symbols = writer->profile->symbols;
    json_member_array(&writer->json, "functions");
    for (uint32_t i = 0; i < symbols->function_count; i++) {
        const struct symbol_function *function = &symbols->functions[i];
        put_string(writer, function->name);
        put_string(writer, function->file ? function->file : "");
        json_uint(&writer->json, function->start_line);
        json_newline(&writer->json);
    }
    json_end_array(&writer->json);
}

/* The words for the last number of each node. */
static void put_waits(struct html_writer *writer)
{
    json_member_array(&writer->json, "waits");
    for (int kind = 0; kind < WAIT_KIND_COUNT; kind++)
        json_string(&writer->json, wait_kind_words[kind]);
    json_end_array(&writer->json);
}

static void put_strings(struct html_writer *writer)
{
    json_member_array(&writer->json, "strings");
    for (uint32_t i = 0; i < string_table_count(&writer->strings); i++) {
        json_string(&writer->json, string_table_at(&writer->strings, i));
        json_newline(&writer->json);
    }
    json_end_array(&writer->json);
}

/* ---- all of it ---- */

static void write_note(void *context, const char *text)
{
    struct html_writer *writer = context;
    json_string(&writer->json, text);
}

/* Another program's: [TYPE, UNIT]. */
static void put_measure(struct json *json, const struct profile_measure *measure)
{
    json_member_array(json, "measure");
    json_string(json, measure->name);
    json_string(json, measure->unit);
    json_end_array(json);
}

static void put_header(struct html_writer *writer)
{
    char command[PROFILE_COMMAND_BYTES];
    struct json *json = &writer->json;
    const struct profile *profile = writer->profile;
    json_member_string(json, "command", profile_command(profile, command));
    json_key(json, "start_utc_ns");
    json_digits(json, profile->start_utc_ns);
    json_key(json, "duration_ns");
    json_digits(json, profile->duration_ns);
    json_member_uint(json, "period_ns", profile->period_ns);
    if (profile->measure)
        put_measure(json, profile->measure);
    json_member_array(json, "comments");
    profile_notes_write(profile, write_note, writer);
    json_end_array(json);
}

static int put_data(struct html_writer *writer)
{
    json_begin_object(&writer->json);
    put_header(writer);
    int status = put_trees(writer);
    put_totals(writer, "total", &writer->total);
    put_totals(writer, "idle", &writer->idle);
    put_waits(writer);
    if (status == 0)
        status = put_locations(writer);
    put_functions(writer);
    put_strings(writer);
    json_end_object(&writer->json);
    return status < 0 ? status : writer->strings.failed ? -ENOMEM : 0;
}

int enc_html_write(const struct profile *profile, struct sink *sink)
{
    struct html_writer writer = {.profile = profile};
    json_init(&writer.json, sink);
    string_table_init(&writer.strings);
    sink_write(sink, html_page_before, (size_t)(html_page_before_end - html_page_before));
    int status = meaning_names_init(&writer.names, profile);
    if (status == 0)
        status = put_data(&writer);
    meaning_names_deinit(&writer.names);
    sink_write(sink, html_page_after, (size_t)(html_page_after_end - html_page_after));
    string_table_deinit(&writer.strings);
    return status;
}
