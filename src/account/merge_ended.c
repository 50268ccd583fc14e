#include "merge_ended.h"
#include "base/hash.h"
#include "base/smaller.h"
#include "sig/sys/sig_atomic.h"
#include "settle_claims.h"

#include <string.h>

/* Nodes and records that a slice looks at, more or less: 0.5 us for each. To go through a full timeline takes
 * 4 ms, whatever has been merged. */
enum { SLICE_STEPS = 4096, TIMED_SLICE_STEPS = 8192 };

/* A thread is large with more than this part of all time. */
enum { LARGE_PARTS = 64, VERY_LARGE_PARTS = 16 };

/* A slice under way. Both tables are scratch memory. */
struct slice {
    struct merge_ended *merge;
    const struct merge_ended_recording *recording;
    struct tree *tree;
    uint32_t *into_of;  /* by thread number: that of the thread it was merged into, or 0 */
    arena_ref *node_of; /* by tree_node_index: where a node's values went. NULL without a timeline */
    size_t into_bytes, node_bytes;
    uint32_t steps_left;
    bool is_for_lives; /* only short lives that no sample has seen are merged */
};

static struct thread_record *record_at(const struct slice *slice, arena_ref ref)
{
    return arena_at(slice->tree->arena, ref);
}

/* One of its own, as opposed to the spare root. */
static bool has_tree(const struct slice *slice, const struct thread_record *record)
{
    return record->root != slice->tree->spare_root;
}

/* ---- when ---- */

static bool is_short(const struct tree *tree)
{
    return tree_nodes_left(tree) == 0;
}

bool merge_ended_is_due(const struct merge_ended *merge, const struct merge_ended_recording *recording)
{
    return is_short(recording->tree) && thread_records_seen(recording->records) >= merge->resume_seen;
}

/* ---- which ---- */

static void begin_round(struct merge_ended *merge, const struct thread_records *records)
{
    merge->apart = merge->need == MERGE_ALL ? 0 : records->ended_count >> (1 + merge->need);
}

/* After a round that has not freed enough there is a more pressing need. After the last one nothing is done
 * until more threads have ended. */
static void end_round(struct merge_ended *merge, const struct merge_ended_recording *recording)
{
    const struct thread_records *records = recording->records;
    enum merge_ended_need last = records->ended_count > MERGE_ENDED_FEW ? MERGE_ALL : MERGE_MORE_BY_NAME;
    enum merge_ended_need need = MERGE_BY_NAME;
    if (is_short(recording->tree) && merge->need < last)
        need = merge->need + 1;
    else if (is_short(recording->tree))
        merge->resume_seen = thread_records_seen(records) + 1 + records->ended_count / 16;
    if (need != merge->need)
        memset(merge->target_of, 0, sizeof merge->target_of);
    merge->need = need;
    merge->at = 0;
}

static bool is_large(const struct slice *slice, const struct thread_record *record)
{
    const struct thread_records *records = slice->recording->records;
    const enum merge_ended_need need = slice->merge->need;
    uint64_t parts = need == MERGE_BY_NAME ? LARGE_PARTS : VERY_LARGE_PARTS;
    if (record->merged_threads > 0 && need < MERGE_BY_NAME_WITHOUT_NUMBERS)
        return false;
    return record->wall_ns > records->wall_ns / parts || record->cpu_ns > records->cpu_ns / parts;
}

static bool is_short_life(const struct thread_record *record)
{
    return tree_has_weight(&record->unsettled);
}

static bool is_unseen_life(const struct tree *tree, const struct thread_record *record)
{
    if (!is_short_life(record))
        return false;
    const struct values claimed = claims_sum(tree, record->root, 0).claimed;
    return !tree_has_weight(&claimed);
}

/* The first thread is the main thread, by which viewers call the process. */
static bool is_free_to_merge(const struct slice *slice, const struct thread_record *record)
{
    struct merge_ended *merge = slice->merge;
    if (!record->has_ended || record->number == 1 || record->root == slice->tree->newest_root)
        return false;
    if (slice->is_for_lives)
        return is_unseen_life(slice->tree, record);
    if (merge->apart > 0) {
        merge->apart--;
        return false;
    }
    return !is_large(slice, record);
}

/* ---- into which ---- */

/* With each of its numbers as '#'. */
static void name_without_numbers(const char name[THREAD_NAME_BYTES], char ret[THREAD_NAME_BYTES])
{
    size_t length = 0;
    memset(ret, 0, THREAD_NAME_BYTES);
    for (size_t i = 0; i < THREAD_NAME_BYTES - 1 && name[i]; i++) {
        bool is_number = name[i] >= '0' && name[i] <= '9';
        if (!is_number)
            ret[length++] = name[i];
        else if (length == 0 || ret[length - 1] != '#')
            ret[length++] = '#';
    }
}

/* The name that a thread has when it was merged, padded with zeros. */
static void merged_name(enum merge_ended_need need, const struct thread_record *record,
                        char ret[THREAD_NAME_BYTES])
{
    static const char any[THREAD_NAME_BYTES] = "[other threads]";
    const char *from = need == MERGE_ALL ? any : record->name;
    memcpy(ret, from, THREAD_NAME_BYTES);
    if (need == MERGE_BY_NAME_WITHOUT_NUMBERS)
        name_without_numbers(from, ret);
}

/* The claims of short lives are not settled yet (short_lives.h): they stay apart from others. */
static bool are_alike(const struct thread_record *record, const struct thread_record *other)
{
    return is_short_life(record) == is_short_life(other);
}

static arena_ref *target_of(const struct slice *slice, const struct thread_record *record,
                            const char name[THREAD_NAME_BYTES])
{
    uint64_t hash = hash_bytes(hash_of_nothing, name, THREAD_NAME_BYTES) + is_short_life(record);
    return &slice->merge->target_of[(hash ^ hash >> 32) % MERGE_ENDED_NAMES];
}

/* The record to merge a thread into; 0: none yet, and this one is it from now on. */
static arena_ref choose_target(const struct slice *slice, arena_ref ref, const char name[THREAD_NAME_BYTES])
{
    char other[THREAD_NAME_BYTES];
    const struct thread_record *record = record_at(slice, ref);
    arena_ref *target = target_of(slice, record, name);
    if (*target) {
        merged_name(slice->merge->need, record_at(slice, *target), other);
        if (memcmp(name, other, sizeof other) == 0 && are_alike(record, record_at(slice, *target)))
            return *target == ref ? 0 : *target;
    }
    *target = has_tree(slice, record) ? ref : 0;
    return 0;
}

/* ---- merge ---- */

static uint32_t count_nodes(const struct tree *tree, arena_ref root)
{
    uint32_t count = 0;
    for (arena_ref node = root; node; node = tree_next(tree, root, node))
        count++;
    return count;
}

/* Without memory what was moved stays there, and the thread stays with the rest. */
static bool merge_trees(struct slice *slice, const struct thread_record *record,
                        const struct thread_record *into)
{
    const struct tree_merging merging = {
        .from = slice->tree, .into = slice->tree, .node_of = slice->node_of, .is_move = true};
    if (!has_tree(slice, record))
        return true;
    slice->steps_left -= (uint32_t)smaller(slice->steps_left, count_nodes(slice->tree, record->root));
    return tree_merge(&merging, record->root, into->root) == 0;
}

static void merge_records(const struct thread_record *record, struct thread_record *into,
                          const char name[THREAD_NAME_BYTES])
{
    into->tid = 0;
    into->start_ns = smaller(into->start_ns, record->start_ns);
    into->end_ns = record->end_ns > into->end_ns ? record->end_ns : into->end_ns;
    into->wall_ns += record->wall_ns;
    into->cpu_ns += record->cpu_ns;
    tree_add_values(&into->unsettled, &record->unsettled);
    into->merged_threads += 1 + record->merged_threads;
    if (memcmp(into->name, record->name, THREAD_NAME_BYTES) != 0)
        memcpy(into->name, name, THREAD_NAME_BYTES);
}

static void merge_thread(struct slice *slice, arena_ref ref)
{
    char name[THREAD_NAME_BYTES];
    const struct thread_record *record = record_at(slice, ref);
    merged_name(slice->merge->need, record, name);
    arena_ref target = choose_target(slice, ref, name);
    if (!target)
        return;
    struct thread_record *into = record_at(slice, target);
    if (!merge_trees(slice, record, into))
        return;
    merge_records(record, into, name);
    slice->into_of[record->number] = into->number;
}

/* From the record after `from` on; the newest record stays what it is. Returns the last one. */
static arena_ref merge_from(struct slice *slice, arena_ref from)
{
    arena_ref at = from;
    for (arena_ref next; (next = record_at(slice, at)->next) && slice->steps_left > 0; at = next) {
        slice->steps_left--;
        if (is_free_to_merge(slice, record_at(slice, next)))
            merge_thread(slice, next);
    }
    return at;
}

/* ---- what was merged goes ---- */

/* A thread and a node stand in one record of the timeline that its reader drops if they do not match. */
static void move_timeline(const struct slice *slice)
{
    const struct timeline *timeline = slice->recording->timeline;
    for (uint32_t i = 0; timeline && i < timeline->count; i++) {
        struct timeline_record *record = &timeline->records[i];
        uint32_t into = slice->into_of[record->thread];
        if (into) {
            record->node = slice->node_of[tree_node_index(record->node)];
            record->thread = into;
        }
    }
}

/* The record after this one, and its tree, are not in any list any more, and serve again. */
static void drop_thread(const struct slice *slice, arena_ref newer, arena_ref newer_root)
{
    const struct thread_record *record = record_at(slice, record_at(slice, newer)->next);
    arena_ref root = has_tree(slice, record) ? record->root : 0;
    thread_records_give_back(slice->recording->records, slice->tree->arena, newer);
    if (!root)
        return;
    tree_unlink_root(slice->tree, newer_root, root);
    sig_keep_order();
    tree_drop(slice->tree, root);
}

/* Between two records of the list. Returns the last one that is left. */
static arena_ref drop_merged(const struct slice *slice, arena_ref from, arena_ref to)
{
    arena_ref at = from, newer_root = 0, last = 0;
    while (last != to) {
        struct thread_record *record = record_at(slice, at);
        newer_root = has_tree(slice, record) ? record->root : newer_root;
        last = record->next;
        if (slice->into_of[record_at(slice, last)->number])
            drop_thread(slice, at, newer_root);
        else
            at = last;
    }
    return at;
}

/* ---- a slice ---- */

static bool begin_slice(struct slice *slice)
{
    slice->into_bytes = sizeof(uint32_t) * ((size_t)slice->recording->records->number_count + 1);
    slice->into_of = scratch_alloc(slice->into_bytes);
    slice->steps_left = slice->recording->timeline ? TIMED_SLICE_STEPS : SLICE_STEPS;
    if (!slice->recording->timeline)
        return slice->into_of;
    slice->node_bytes = sizeof(arena_ref) *
                        (tree_node_index((arena_ref)(slice->tree->arena->size_bytes / ARENA_UNIT_BYTES)) + 1);
    slice->node_of = scratch_alloc(slice->node_bytes);
    return slice->into_of && slice->node_of;
}

static void end_slice(const struct slice *slice)
{
    scratch_free(slice->into_of, slice->into_bytes);
    scratch_free(slice->node_of, slice->node_bytes);
}

/* From the record after `from` on. Returns the last one that was looked at and is left. */
static arena_ref do_slice(struct slice *slice, arena_ref from)
{
    arena_ref to = merge_from(slice, from);
    move_timeline(slice);
    return from == to ? from : drop_merged(slice, from, to);
}

void merge_ended_slice(struct merge_ended *merge, const struct merge_ended_recording *recording)
{
    struct slice slice = {.merge = merge, .recording = recording, .tree = recording->tree};
    arena_ref from = merge->at ? merge->at : recording->records->newest;
    if (!merge->at)
        begin_round(merge, recording->records);
    if (from && begin_slice(&slice)) {
        merge->at = do_slice(&slice, from);
        if (!record_at(&slice, merge->at)->next)
            end_round(merge, recording);
    }
    end_slice(&slice);
}

/* ---- short lives ---- */

/* A life that no sample has seen gets what one or two others have too much: so many nodes as theirs. */
static uint64_t nodes_for_lives(const struct tree *tree, arena_ref newest)
{
    uint64_t unseen = 0, seen = 0, seen_nodes = 0;
    for (arena_ref ref = newest; ref;) {
        const struct thread_record *record = arena_at(tree->arena, ref);
        bool is_unseen = is_unseen_life(tree, record);
        unseen += is_unseen;
        if (is_short_life(record) && !is_unseen) {
            seen++;
            seen_nodes += count_nodes(tree, record->root);
        }
        ref = record->next;
    }
    return seen ? 2 * unseen * (seen_nodes / seen + 1) : 0;
}

bool merge_ended_for_lives(struct merge_ended *merge, const struct merge_ended_recording *recording)
{
    const arena_ref newest = recording->records->newest;
    const uint64_t nodes = newest ? nodes_for_lives(recording->tree, newest) : 0;
    if (nodes == 0 || nodes <= tree_nodes_left(recording->tree))
        return false;
    struct slice slice = {
        .merge = merge, .recording = recording, .tree = recording->tree, .is_for_lives = true};
    const enum merge_ended_need need = merge->need;
    *merge = (struct merge_ended){.resume_seen = merge->resume_seen};
    if (begin_slice(&slice)) {
        slice.steps_left = UINT32_MAX;
        do_slice(&slice, newest);
    }
    end_slice(&slice);
    *merge = (struct merge_ended){.need = need, .resume_seen = merge->resume_seen};
    return true;
}
