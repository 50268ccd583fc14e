#include "html_trees.h"
#include "html_numbers.h"
#include "html_times.h"
#include "encode/thread_groups.h"
#include "profile/wait_labels.h"
#include "tool/meaning/meaning.h"

#include <errno.h>
#include <stdlib.h>

/* Of a tree, or of all. */
struct tree_sums {
    uint64_t nodes, blame_ns;
    bool has_changes;
    struct values total, idle; /* idle: the part of it in which threads wait for work */
};

struct tree_writer {
    struct json *json;
    const struct profile *profile;
    struct meaning_names names;
    struct tree_sums all;
    /* The tree that is being written. */
    const struct tree *tree;
    arena_ref root;
    uint32_t depth; /* of the node before, for put_up */
    struct html_numbers numbers;
    struct html_times *times; /* NULL: nobody knows when time was spent */
};

/* ---- columns ---- */

static uint64_t blame_of(const struct tree_writer *writer, arena_ref ref)
{
    return wait_label_blame(writer->profile->tree, writer->tree, ref);
}

/* A root stands for no code: it has weight only when there was no memory for a pseudo-frame below it. Then
 * it is written as that frame. */
static bool is_written(const struct tree_writer *writer, arena_ref ref)
{
    const struct tree_node *node = tree_node(writer->tree, ref);
    return tree_has_weight(&node->self) || blame_of(writer, ref) ||
           (ref != writer->root && node->first_child);
}

typedef void put_number(struct html_numbers *numbers, struct tree_writer *writer, arena_ref ref);

static void put_up(struct html_numbers *numbers, struct tree_writer *writer, arena_ref ref)
{
    uint32_t depth = ref == writer->root ? 1 : tree_node(writer->tree, ref)->depth;
    html_numbers_uint(numbers, writer->depth + 1 - depth);
    writer->depth = depth;
}

static void put_location(struct html_numbers *numbers, struct tree_writer *writer, arena_ref ref)
{
    const struct tree *tree = writer->profile->tree;
    arena_ref location =
        ref == writer->root ? tree->pseudo[PSEUDO_OVERFLOW] : tree_node(writer->tree, ref)->location;
    html_numbers_uint(numbers, tree_location_at(tree, location)->index);
}

static void put_samples(struct html_numbers *numbers, struct tree_writer *writer, arena_ref ref)
{
    html_numbers_uint(numbers, tree_node(writer->tree, ref)->self.samples);
}

static void put_cpu(struct html_numbers *numbers, struct tree_writer *writer, arena_ref ref)
{
    html_numbers_uint(numbers, tree_node(writer->tree, ref)->self.cpu_ns);
}

static void put_offcpu(struct html_numbers *numbers, struct tree_writer *writer, arena_ref ref)
{
    html_numbers_uint(numbers, tree_offcpu_ns(&tree_node(writer->tree, ref)->self));
}

static void put_rundelay(struct html_numbers *numbers, struct tree_writer *writer, arena_ref ref)
{
    html_numbers_uint(numbers, tree_node(writer->tree, ref)->self.rundelay_ns);
}

static enum wait_kind wait_of(struct tree_writer *writer, arena_ref ref)
{
    if (!tree_node(writer->tree, ref)->self.blocked_ns)
        return WAIT_OTHER;
    return ref == writer->root ? WAIT_UNSEEN : meaning_wait_at(&writer->names, writer->tree, ref);
}

static void put_wait(struct html_numbers *numbers, struct tree_writer *writer, arena_ref ref)
{
    html_numbers_uint(numbers, wait_of(writer, ref));
}

/* In thousandths of a squared millisecond. */
static void put_squared(struct html_numbers *numbers, float squared_ns)
{
    html_numbers_int(numbers, squared_ns > -1e27F && squared_ns < 1e27F ? (int64_t)(squared_ns / 1e9F) : 0);
}

static void put_flat_near(struct html_numbers *numbers, struct tree_writer *writer, arena_ref ref)
{
    put_squared(numbers, tree_node(writer->tree, ref)->changes.flat_near);
}

static void put_flat_far(struct html_numbers *numbers, struct tree_writer *writer, arena_ref ref)
{
    put_squared(numbers, tree_node(writer->tree, ref)->changes.flat_far);
}

static void put_cum_near(struct html_numbers *numbers, struct tree_writer *writer, arena_ref ref)
{
    put_squared(numbers, tree_node(writer->tree, ref)->changes.cum_near);
}

static void put_cum_far(struct html_numbers *numbers, struct tree_writer *writer, arena_ref ref)
{
    put_squared(numbers, tree_node(writer->tree, ref)->changes.cum_far);
}

static void put_blame(struct html_numbers *numbers, struct tree_writer *writer, arena_ref ref)
{
    html_numbers_uint(numbers, blame_of(writer, ref));
}

static void put_column(struct tree_writer *writer, put_number *put)
{
    writer->depth = 0;
    for (arena_ref ref = writer->root; ref; ref = tree_next(writer->tree, writer->root, ref)) {
        if (is_written(writer, ref))
            put(&writer->numbers, writer, ref);
    }
    html_numbers_end_column(&writer->numbers);
}

/* ---- a tree ---- */

static bool has_changes(const struct changes *changes)
{
    return changes->flat_near != 0 || changes->flat_far != 0 || changes->cum_near != 0 ||
           changes->cum_far != 0;
}

static void add_node(struct tree_sums *sums, struct tree_writer *writer, arena_ref ref)
{
    const struct tree_node *node = tree_node(writer->tree, ref);
    struct values rest = node->self;
    sums->nodes++;
    sums->blame_ns += blame_of(writer, ref);
    sums->has_changes |= has_changes(&node->changes);
    tree_add_values(&sums->total, &node->self);
    const struct values waited = tree_take_waited(&rest);
    if (wait_of(writer, ref) == WAIT_IDLE)
        tree_add_values(&sums->idle, &waited);
}

static struct tree_sums sums_of(struct tree_writer *writer)
{
    struct tree_sums sums = {0};
    for (arena_ref ref = writer->root; ref; ref = tree_next(writer->tree, writer->root, ref)) {
        if (is_written(writer, ref))
            add_node(&sums, writer, ref);
    }
    return sums;
}

/* What is nowhere known is left out. */
static void put_columns(struct tree_writer *writer, const struct tree_sums *sums)
{
    static put_number *const columns[] = {put_up,        put_location, put_samples,  put_cpu,
                                          put_offcpu,    put_wait,     put_rundelay, put_blame,
                                          put_flat_near, put_flat_far, put_cum_near, put_cum_far};
    enum { RUNDELAY = 6, BLAME, CHANGES, ALL = sizeof columns / sizeof *columns };
    for (size_t i = 0; i < (sums->has_changes ? ALL : CHANGES); i++) {
        const bool is_known =
            i == RUNDELAY ? writer->profile->has_rundelay : i != BLAME || sums->blame_ns > 0;
        if (is_known)
            put_column(writer, columns[i]);
    }
}

/* A total may be more than a double holds exactly. */
static void put_totals(struct tree_writer *writer, const char *key, const struct values *total)
{
    json_member_array(writer->json, key);
    json_digits(writer->json, total->samples);
    json_digits(writer->json, total->cpu_ns);
    json_digits(writer->json, tree_offcpu_ns(total));
    json_digits(writer->json, tree_wall_ns(total));
    if (writer->profile->has_rundelay)
        json_digits(writer->json, total->rundelay_ns);
    json_end_array(writer->json);
}

static void put_sums(struct tree_writer *writer, const struct tree_sums *sums)
{
    put_totals(writer, "total", &sums->total);
    put_totals(writer, "idle", &sums->idle);
    if (sums->blame_ns == 0)
        return;
    json_key(writer->json, "blame");
    json_digits(writer->json, sums->blame_ns);
}

static void put_labels(struct tree_writer *writer, const struct thread_record *thread)
{
    const struct profile *profile = writer->profile;
    char title[THREAD_TITLE_BYTES];
    if (!*profile_thread_title(profile, thread, title))
        return;
    json_member_string(writer->json, "name", title);
    if (*profile_process_title(profile, thread, title))
        json_member_string(writer->json, "process", title);
    if (profile->labels != LABELS_ID || !profile_tells_thread(profile, thread) || thread->tid == 0)
        return;
    json_key(writer->json, "id");
    json_int(writer->json, thread->tid);
}

/* The tree to write, and the members of the profile that are in it. */
static void put_tree(struct tree_writer *writer, const struct thread_group_member *first, size_t threads)
{
    struct json *json = writer->json;
    const struct tree_sums sums = sums_of(writer);
    json_begin_object(json);
    put_labels(writer, first->thread);
    json_member_uint(json, "threads", threads);
    json_member_uint(json, "nodes", sums.nodes);
    if (sums.has_changes) {
        json_key(json, "has_changes");
        json_bool(json, true);
    }
    if (writer->times)
        json_member_uint(json, "times", writer->times->count);
    html_numbers_begin(&writer->numbers, "numbers");
    put_columns(writer, &sums);
    if (writer->times)
        html_times_put(writer->times, &writer->numbers, sums.nodes);
    html_numbers_end(&writer->numbers, false);
    json_newline(json);
    put_sums(writer, &sums);
    json_end_object(json);
    tree_add_values(&writer->all.total, &sums.total);
    tree_add_values(&writer->all.idle, &sums.idle);
    writer->all.blame_ns += sums.blame_ns;
}

/* ---- all of them ---- */

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

/* Says where the nodes of a member of a merged tree are in it. */
static void place_merged(struct tree_writer *writer, arena_ref root, const arena_ref *node_of,
                         const uint32_t *places)
{
    const struct tree *tree = writer->profile->tree;
    for (arena_ref node = root; node; node = tree_next(tree, root, node)) {
        const uint32_t place = places[tree_node_index(node_of[tree_node_index(node)])];
        html_times_place(writer->times, node, place);
    }
}

/* node_of: see thread_group_merge. */
static int gather_merged(struct tree_writer *writer, const struct thread_group_member *members, size_t size,
                         const arena_ref *node_of)
{
    uint32_t *places = calloc(tree_node_index_count(writer->tree->arena), sizeof *places), place = 0;
    if (!places)
        return -ENOMEM;
    for (arena_ref ref = writer->root; ref; ref = tree_next(writer->tree, writer->root, ref)) {
        if (is_written(writer, ref))
            places[tree_node_index(ref)] = place++;
    }
    for (size_t i = 0; i < size; i++)
        place_merged(writer, members[i].root, node_of, places);
    free(places);
    return html_times_gather(writer->times, members, size);
}

static int gather_own(struct tree_writer *writer, const struct thread_group_member *member)
{
    uint32_t place = 0;
    for (arena_ref ref = writer->root; ref; ref = tree_next(writer->tree, writer->root, ref)) {
        if (is_written(writer, ref))
            html_times_place(writer->times, ref, place++);
    }
    return html_times_gather(writer->times, member, 1);
}

static int put_single(struct tree_writer *writer, const struct thread_group_member *member, size_t threads)
{
    int status = 0;
    writer->tree = writer->profile->tree;
    writer->root = member->root;
    if (threads == 0 && is_empty(writer->tree, writer->root))
        return 0;
    if (writer->times)
        status = gather_own(writer, member);
    if (status == 0)
        put_tree(writer, member, threads);
    return status;
}

static int put_merged(struct tree_writer *writer, const struct thread_groups *groups, size_t first,
                      size_t size, size_t threads)
{
    const struct profile *profile = writer->profile;
    struct arena arena = {0};
    struct tree merged = {0};
    arena_ref *node_of = NULL;
    int status = 0;
    if (writer->times) {
        node_of = calloc(tree_node_index_count(profile->arena), sizeof *node_of);
        status = node_of ? 0 : -ENOMEM;
    }
    if (status == 0)
        status = thread_group_merge(groups, profile, first, size, &arena, &merged, &writer->root, node_of);
    writer->tree = &merged;
    if (status == 0 && writer->times)
        status = gather_merged(writer, &groups->members[first], size, node_of);
    if (status == 0)
        put_tree(writer, &groups->members[first], threads);
    free(node_of);
    tree_deinit(&merged);
    arena_deinit(&arena);
    return status;
}

static int put_group(struct tree_writer *writer, const struct thread_groups *groups, size_t first,
                     size_t size)
{
    const size_t threads = count_threads(groups, first, size);
    return size == 1 ? put_single(writer, &groups->members[first], threads)
                     : put_merged(writer, groups, first, size, threads);
}

static int put_trees(struct tree_writer *writer)
{
    struct thread_groups groups;
    int status = thread_groups_init(&groups, writer->profile);
    json_member_array(writer->json, "trees");
    for (size_t first = 0, size; status == 0 && first < groups.count; first += size) {
        size = thread_group_size(&groups, writer->profile, first);
        status = put_group(writer, &groups, first, size);
    }
    json_end_array(writer->json);
    thread_groups_deinit(&groups);
    return status;
}

/* How the run is divided into slices. */
static void put_slices(struct tree_writer *writer)
{
    json_member_object(writer->json, "slices");
    json_member_uint(writer->json, "count", HTML_TIMES_SLICES);
    json_member_uint(writer->json, "ns", writer->times->slice_ns);
    json_end_object(writer->json);
}

int html_trees_put(struct json *json, const struct profile *profile)
{
    struct html_times times = {0};
    struct tree_writer writer = {.json = json, .profile = profile};
    int status = meaning_names_init(&writer.names, profile);
    int packing = html_numbers_init(&writer.numbers, json);
    if (html_times_are_known(profile)) {
        writer.times = &times;
        status = status < 0 ? status : html_times_init(&times, profile);
    }
    if (status == 0 && packing == 0)
        status = put_trees(&writer);
    put_sums(&writer, &writer.all);
    if (writer.times)
        put_slices(&writer);
    html_numbers_begin(&writer.numbers, "numbers");
    html_numbers_end(&writer.numbers, true);
    html_numbers_deinit(&writer.numbers);
    html_times_deinit(&times);
    meaning_names_deinit(&writer.names);
    return status < 0 ? status : packing;
}
