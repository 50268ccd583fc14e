/*
 * A record is linked after it was made. So when a process is killed, only the record that it was adding is
 * not whole. After a crash of the machine some pages may be older than others, or empty. Then the records
 * that still lead to each other are kept.
 *
 * What a thread's tree holds is true, and its sum is the part of the thread's life that is accounted for. The
 * rest up to the end belongs to the last sample, as far as that stands for it. What is left is [unsampled].
 */
#include "store_reader.h"

#include "account/fold.h"
#include "account/short_lives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A process that says that it is about to end may be observed for a little longer. */
static const uint64_t end_patience_ns = UINT64_C(100000000);

/* ---- lists: a link to what makes no sense is cut ---- */

/* Each record is in one list once. What would go on for ever is cut. */
static bool goes_on(struct store_reader *reader, arena_ref *link)
{
    if (*link && reader->steps < reader->unit_count) {
        reader->steps++;
        return true;
    }
    *link = 0;
    return false;
}

static void mend_modules(struct store_reader *reader)
{
    struct store_tree *stored = &reader->header->tree;
    stored->module_count = 0;
    for (arena_ref *link = &stored->newest_module; *link; stored->module_count++) {
        if (!store_claim(reader, *link, sizeof(struct module), KIND_MODULE) ||
            !store_is_module(reader, *link)) {
            *link = 0;
            return;
        }
        struct module *module = arena_at(&reader->recording->arena, *link);
        module->is_loaded = false;
        module->search = 0;
        link = &module->next;
    }
}

static bool is_location(const struct store_reader *reader, arena_ref ref)
{
    struct location *location = arena_at(&reader->recording->arena, ref);
    if (location->module && !store_is_kind(reader, location->module, KIND_MODULE))
        location->module = 0; /* its module is lost */
    return location->next < ref && location->pseudo <= PSEUDO_KINDS &&
           !(location->pseudo && location->module) && store_has_text(reader, location);
}

/* The locations that are left are numbered again, from the oldest on. */
static void mend_locations(struct store_reader *reader)
{
    struct store_tree *stored = &reader->header->tree;
    const struct tree *tree = &reader->recording->tree;
    uint32_t count = 0;
    for (arena_ref *link = &stored->newest_location; *link; count++) {
        if (!store_claim(reader, *link, sizeof(struct location), KIND_LOCATION) ||
            !is_location(reader, *link)) {
            *link = 0;
            break;
        }
        link = &tree_location_at(tree, *link)->next;
    }
    stored->location_count = count;
    for (arena_ref ref = stored->newest_location; ref; ref = tree_location_at(tree, ref)->next)
        tree_location_at(tree, ref)->index = --count;
}

static bool is_thread(const struct store_reader *reader, const struct thread_record *record)
{
    return record->tid >= 0 && record->number > 0 && record->number <= reader->header->tree.thread_count &&
           store_is_kind(reader, record->root, KIND_ROOT);
}

/* The heads of the lists may be of two moments. Then a new thread may have a tree, or a number, that the
 * header does not know yet. */
static void mend_threads(struct store_reader *reader)
{
    struct store_tree *stored = &reader->header->tree;
    for (arena_ref *link = &stored->newest_thread; goes_on(reader, link);) {
        struct thread_record *record = arena_at(&reader->recording->arena, *link);
        if (!store_fits(reader, *link, sizeof *record))
            *link = 0;
        else if (is_thread(reader, record) && store_claim(reader, *link, sizeof *record, KIND_THREAD))
            link = &record->next;
        else
            *link = record->next;
    }
}

/* ---- trees ---- */

static void mend_values(struct values *values, struct changes *changes)
{
    if (!store_is_sound(changes))
        *changes = (struct changes){0};
    if (values->samples > STORE_VALUE_MAX || values->cpu_ns > STORE_VALUE_MAX ||
        values->rundelay_ns > STORE_VALUE_MAX || values->blocked_ns > STORE_VALUE_MAX)
        *values = (struct values){0};
}

static bool is_node(const struct store_reader *reader, arena_ref ref)
{
    return store_is_kind(reader, ref, KIND_NODE) || store_is_kind(reader, ref, KIND_ROOT);
}

static bool is_child(struct store_reader *reader, arena_ref ref, arena_ref parent)
{
    const struct tree *tree = &reader->recording->tree;
    const struct tree_node *node = tree_node(tree, ref);
    return node->parent == parent && node->depth == tree_node(tree, parent)->depth + 1 &&
           store_is_kind(reader, node->location, KIND_LOCATION);
}

/* The sibling after a child that is taken out, 0 if it is not known. */
static arena_ref sibling_after(const struct store_reader *reader, arena_ref ref, arena_ref parent)
{
    const struct tree_node *node = tree_node(&reader->recording->tree, ref);
    bool is_known = store_fits(reader, ref, sizeof *node) && node->parent == parent;
    return is_known ? node->next_sibling : 0;
}

static void mend_children(struct store_reader *reader, arena_ref parent)
{
    const struct tree *tree = &reader->recording->tree;
    for (arena_ref *link = &tree_node(tree, parent)->first_child; goes_on(reader, link);) {
        if (store_fits(reader, *link, sizeof(struct tree_node)) && is_child(reader, *link, parent) &&
            store_claim(reader, *link, sizeof(struct tree_node), KIND_NODE)) {
            struct tree_node *node = tree_node(tree, *link);
            mend_values(&node->self, &node->changes);
            link = &node->next_sibling;
        } else
            *link = sibling_after(reader, *link, parent);
    }
}

static void mend_tree(struct store_reader *reader, arena_ref root)
{
    for (arena_ref node = root; node; node = tree_next(&reader->recording->tree, root, node))
        mend_children(reader, node);
}

static bool is_root(const struct store_reader *reader, arena_ref ref)
{
    const struct store_tree *stored = &reader->header->tree;
    const struct tree_node *root = tree_node(&reader->recording->tree, ref);
    return root->parent == 0 && root->location == 0 && root->depth == 0 &&
           root->thread <= stored->thread_count && (root->thread == 0) == (ref == stored->spare_root);
}

static void mend_trees(struct store_reader *reader)
{
    struct store_tree *stored = &reader->header->tree;
    for (arena_ref *link = &stored->newest_root; goes_on(reader, link);) {
        struct tree_node *root = tree_node(&reader->recording->tree, *link);
        if (!store_fits(reader, *link, sizeof *root))
            *link = 0;
        else if (is_root(reader, *link) && store_claim(reader, *link, sizeof *root, KIND_ROOT)) {
            mend_values(&root->self, &root->changes);
            mend_tree(reader, *link);
            link = &root->next_sibling;
        } else
            *link = root->next_sibling;
    }
}

/* The process may have been killed while it moved a node's values into another tree. */
static void finish_move(struct store_reader *reader)
{
    const arena_ref ref = reader->header->tree.move;
    struct tree_move *move = arena_at(&reader->recording->arena, ref);
    if (store_fits(reader, ref, sizeof *move) && is_node(reader, move->from) && is_node(reader, move->to)) {
        mend_values(&move->sum, &move->changes);
        tree_finish_move(&reader->recording->tree, move);
    }
}

/* ---- all of it ---- */

/* How many locations these lists lead to. */
static uint32_t count_reachable(const struct store_reader *reader, const struct store_tree *stored)
{
    uint32_t count = 0;
    for (arena_ref ref = stored->newest_location, next; ref; ref = next, count++) {
        if (!store_fits(reader, ref, sizeof(struct location)))
            return count;
        const struct location *location = arena_at(&reader->recording->arena, ref);
        next = location->next;
        if (next >= ref || location->index >= stored->location_count)
            return count;
    }
    return count;
}

/* After a crash of the machine the newest lists may lead to pages that were not written any more. */
static void choose_lists(const struct store_reader *reader)
{
    struct store_header *header = reader->header;
    if (count_reachable(reader, &header->tree) == header->tree.location_count)
        return;
    for (int i = 0; i < STORE_CHECKPOINTS; i++) {
        const struct store_tree *before = &header->live.checkpoints[i].tree;
        if (before->thread_count <= header->tree.thread_count &&
            count_reachable(reader, before) > count_reachable(reader, &header->tree))
            header->tree = *before;
    }
}

void store_take_lists(struct store_reader *reader)
{
    const struct store_tree *stored = &reader->header->tree;
    struct tree *tree = &reader->recording->tree;
    tree->newest_root = stored->newest_root;
    tree->newest_location = stored->newest_location;
    tree->location_count = stored->location_count;
    tree->spare_root = stored->spare_root;
    tree->move = stored->move;
    memcpy(tree->pseudo, stored->pseudo, sizeof tree->pseudo);
}

int store_mend(struct store_reader *reader)
{
    if (reader->header->live.state == STORE_WHOLE)
        return 0;
    choose_lists(reader);
    mend_modules(reader);
    mend_locations(reader);
    store_take_lists(reader);
    mend_trees(reader);
    finish_move(reader);
    mend_threads(reader);
    store_take_lists(reader);
    memset(reader->kinds, KIND_NONE, reader->unit_count);
    return 0;
}

/* ---- the time of threads that lived ---- */

struct settling {
    struct store_reader *reader;
    struct fold fold;
    uint64_t end_ns;
};

/* The end of the recording. The process may have ended much later, if it was recorded elsewhere after that.
 */
static uint64_t end_of(const struct store_live *live)
{
    bool is_told = live->state == STORE_LIVE && !live->is_stopped && live->end.time_ns > live->beat_ns &&
                   live->end.time_ns - live->beat_ns < STORE_VALUE_MAX;
    return is_told ? live->end.time_ns : live->beat_ns;
}

/* All that is in a root's tree. */
static struct values sum_of(const struct tree *tree, arena_ref root)
{
    struct claims_sums sums = claims_sum(tree, root, 0); /* all trees together are bounded */
    tree_add_values(&sums.claimed, &sums.known);
    return sums.claimed;
}

/* When a thread's last stretch ends. One that goes on ends at a tick; ticks are a period apart on average. */
static uint64_t stretch_end(const struct settling *settling, const struct thread_state *state)
{
    const struct store_live *live = &settling->reader->header->live;
    uint64_t period_ns = settling->reader->header->period_ns;
    if (state->until_ns != FOLD_GOES_ON)
        return state->until_ns;
    if (state->stretch_end_tick >= live->tick)
        return settling->end_ns;
    uint64_t ticks = live->tick - state->stretch_end_tick;
    bool is_ago = period_ns > 0 && ticks < live->beat_ns / period_ns;
    return is_ago ? live->beat_ns - ticks * period_ns : 0;
}

/* Whether a node is in the thread's own tree. */
static bool is_own(const struct settling *settling, arena_ref node, const struct thread_record *record)
{
    const struct store_reader *reader = settling->reader;
    return is_node(reader, node) && reader->thread_of_node[tree_node_index(node)] == record->number;
}

/* A thread's accounting as the last sample left it. The state may have been in the middle of a change, so
 * what its record and its tree say comes first. */
static struct fold_thread fold_of(const struct settling *settling, const struct thread_record *record,
                                  const struct thread_state *state)
{
    const bool has_own_tree = tree_node(settling->fold.tree, record->root)->thread == record->number;
    const uint64_t cpu_ns = smaller(state->cpu_clock_ns, STORE_VALUE_MAX);
    const uint64_t delay_ns = smaller(state->delay_clock_ns, STORE_VALUE_MAX);
    struct fold_thread thread = {
        .root = record->root,
        .node = record->root,
        .credited = record->root,
        .was_running = state->found & THREAD_FOUND_RUNNING,
        .was_queued = state->found & THREAD_FOUND_QUEUED,
        .knows_delay = state->found & THREAD_FOUND_DELAY_CLOCK,
        .time_ns = smaller(state->time_ns, settling->end_ns),
        .begin_ns = smaller(state->begin_ns, settling->end_ns),
        .cpu_clock_ns = cpu_ns,
        .begin_cpu_clock_ns = smaller(state->begin_cpu_clock_ns, cpu_ns),
        .delay_clock_ns = delay_ns,
        .begin_delay_clock_ns = smaller(state->begin_delay_clock_ns, delay_ns),
    };
    if (has_own_tree) {
        if (thread.begin_ns < record->start_ns) /* it is later where the recording was stopped in between */
            thread.begin_ns = smaller(record->start_ns, STORE_VALUE_MAX);
        const struct values sum = sum_of(settling->fold.tree, record->root);
        thread.time_ns = thread.begin_ns + tree_wall_ns(&sum);
    }
    if (has_own_tree && is_own(settling, state->credited, record)) {
        thread.credited = state->credited;
        thread.until_ns = stretch_end(settling, state);
    }
    return thread;
}

static int settle_thread(struct settling *settling, struct thread_record *record,
                         const struct thread_state *state)
{
    struct fold_thread thread = fold_of(settling, record, state);
    thread.group = claims_group(record->name);
    uint64_t end_ns = thread.time_ns > settling->end_ns ? thread.time_ns : settling->end_ns;
    if (state->time_ns > end_ns && state->time_ns < settling->end_ns + end_patience_ns)
        end_ns = state->time_ns; /* claims that were being scaled add up to less for a moment */
    const uint64_t life_ns = end_ns - thread.begin_ns;
    const struct values most = {0, life_ns, life_ns, life_ns};
    record->end_ns = end_ns;
    record->unsettled = (struct values){0};
    int status = store_add_values(settling->reader, &most);
    const struct fold_clocks end = {end_ns, thread.cpu_clock_ns, thread.delay_clock_ns};
    if (status == 0)
        fold_thread_end(&settling->fold, &thread, &end, FOLD_REST_UNSAMPLED);
    return status;
}

/* A thread whose state was not made yet, or found no memory: only its tree says what is known of it. */
static int settle_unknown(struct settling *settling, struct thread_record *record)
{
    const struct tree *tree = settling->fold.tree;
    if (tree_node(tree, record->root)->thread != record->number)
        return 0;
    const struct thread_state state = {.cpu_clock_ns = sum_of(tree, record->root).cpu_ns};
    return settle_thread(settling, record, &state);
}

static int settle_threads(struct settling *settling)
{
    struct store_reader *reader = settling->reader;
    const struct store_header *header = reader->header;
    int status = 0;
    for (arena_ref ref = header->tree.newest_thread, next; ref && status == 0; ref = next) {
        struct thread_record *record = arena_at(&reader->recording->arena, ref);
        next = record->next;
        if (!record->state && record->end_ns)
            status = store_add_values(reader, &record->unsettled);
        else if (!record->state)
            status = settle_unknown(settling, record);
        else if (store_claim(reader, record->state, sizeof(struct thread_state), KIND_STATE))
            status = settle_thread(settling, record, arena_at(&reader->recording->arena, record->state));
        else
            status = store_damaged(reader, "what is known of a thread is not where it should be");
    }
    if (status == 0)
        short_lives_settle(settling->fold.tree, header->tree.newest_thread, header->has_rundelay);
    return status;
}

int store_settle(struct store_reader *reader)
{
    const struct store_live *live = &reader->header->live;
    if (live->state == STORE_WHOLE || live->state == STORE_CLOSED)
        return 0;
    struct recording *recording = reader->recording;
    struct settling settling = {.reader = reader, .fold.tree = &recording->tree, .end_ns = end_of(live)};
    if (live->begin_ns > settling.end_ns || settling.end_ns > STORE_VALUE_MAX)
        return store_damaged(reader, "its times make no sense");
    if (tree_index_all(&recording->tree) < 0)
        return recording_no_memory(recording);
    return settle_threads(&settling);
}

uint64_t store_duration_ns(const struct store_header *header)
{
    if (header->live.state == STORE_WHOLE || header->live.state == STORE_CLOSED)
        return header->duration_ns;
    uint64_t lived_ns = end_of(&header->live) - header->live.begin_ns;
    return lived_ns - smaller(header->live.stopped_ns, lived_ns);
}
