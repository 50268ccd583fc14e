/*
 * A subtree's sum is added to a row where the row leaves the path, which is at its outermost frame. So
 * recursion counts once, and every node is visited once.
 */
#include "report_walk.h"
#include "profile/wait_labels.h"
#include "tool/io/array.h"

#include <stdlib.h>
#include <string.h>

/* A root has values of its own only where there was no memory for a frame below it. */
static const struct location *location_of(const struct report_walk *walk, const struct tree_node *node)
{
    const struct tree *tree = walk->rows->profile->tree;
    return tree_location_at(tree, node->parent ? node->location : tree->pseudo[PSEUDO_OVERFLOW]);
}

/* That of the innermost frame, which has what is waited for at the labels below it. */
static const struct location *leaf_location_of(const struct report_walk *walk, arena_ref node)
{
    const struct tree *tree = walk->rows->profile->tree;
    return location_of(walk, tree_node(tree, wait_label_leaf(tree, tree, node)));
}

static bool is_label(const struct report_walk *walk, const struct location *location)
{
    return tree_is_label(location) && !wait_label_is(walk->rows->profile->tree, location);
}

static struct report_level *push_level(struct report_walk *walk)
{
    if (!array_grow(&walk->levels, &walk->level_capacity, walk->level_count, sizeof *walk->levels))
        return NULL;
    walk->levels[walk->level_count] = (struct report_level){0};
    return &walk->levels[walk->level_count++];
}

static enum wait_kind wait_of(const struct report_walk *walk, arena_ref node)
{
    return (enum wait_kind)walk->report->meaning.nodes[tree_node_index(node)].wait;
}

/* The frame of a node that is the user's; the innermost one where there is none, or by leaf. */
static uint32_t users_frame(const struct report_walk *walk, const struct location *location, arena_ref node)
{
    uint32_t users = walk->report->meaning.nodes[tree_node_index(node)].frame;
    bool is_users = walk->rows->request->by != REPORT_BY_LEAF && users && !location->pseudo;
    return is_users ? users - 1 : walk->rows->profile->symbols->first_frame[location->index];
}

/* A node's own values go to a function of the user's, or else to what is innermost. */
static void add_waits(const struct report_walk *walk, arena_ref node, const struct values *self,
                      uint64_t waited_ns[WAIT_KIND_COUNT])
{
    waited_ns[WAIT_CPU] += self->rundelay_ns;
    waited_ns[wait_of(walk, node)] += self->blocked_ns;
}

/* Where rows are of waits: what no label of their key is on. */
static void add_spent(const struct report_walk *walk, arena_ref node, const struct values *self)
{
    const struct tree *tree = walk->rows->profile->tree;
    const enum report_by by = walk->rows->request->by;
    const struct wait_labels known = wait_labels_of(tree, tree, node);
    if (by < REPORT_BY_WAIT || (by == REPORT_BY_ON && known.on) || (by == REPORT_BY_HOLDER && known.holder))
        return;
    struct values left = *self;
    const struct values waited = tree_take_waited(&left);
    const struct values queued = {.rundelay_ns = left.rundelay_ns};
    left.rundelay_ns = 0;
    tree_add_values(&walk->report->rows[walk->rows->spent_rows[wait_of(walk, node)]].cum, &waited);
    tree_add_values(&walk->report->rows[walk->rows->spent_rows[WAIT_CPU]].cum, &queued);
    tree_add_values(&walk->report->rows[walk->rows->spent_rows[REPORT_RUNNING]].cum, &left);
}

static void add_to_row(struct report_walk *walk, const struct location *location, arena_ref node,
                       const struct values *self)
{
    const struct tree_node *at = tree_node(walk->rows->profile->tree, node);
    const uint32_t frame = walk->rows->request->by == REPORT_BY_FUNCTION
                               ? users_frame(walk, location, node)
                               : walk->rows->profile->symbols->first_frame[location->index];
    if (walk->rows->row_of_frame[frame] != REPORT_NO_ROW) {
        struct report_row *row = &walk->report->rows[walk->rows->row_of_frame[frame]];
        tree_add_values(&row->flat, self);
        row->changes.flat_near += at->changes.flat_near;
        row->changes.flat_far += at->changes.flat_far;
        add_waits(walk, node, self, row->waited_ns);
    }
    add_spent(walk, node, self);
    if (walk->rows->no_label_row != REPORT_NO_ROW && walk->labels == 0)
        tree_add_values(&walk->report->rows[walk->rows->no_label_row].cum, self);
}

static void add_flat(struct report_walk *walk, const struct location *location, arena_ref node,
                     const struct values *self)
{
    const struct symbols *symbols = walk->rows->profile->symbols;
    const uint32_t function = symbols->frames[users_frame(walk, location, node)].function;
    arena_ref *longest = &walk->node_of_function[function];
    add_to_row(walk, location, node, self);
    if (!*longest)
        walk->touched[walk->touched_count++] = function;
    walk->in_function[function] += tree_wall_ns(self);
    if (!*longest || tree_wall_ns(self) > tree_wall_ns(&tree_node(walk->rows->profile->tree, *longest)->self))
        *longest = node;
}

/* Another program's values are no times that somebody waited. */
static void add_wait_sums(const struct report_walk *walk, arena_ref node, const struct values *self)
{
    static const struct wait_labels nothing = {NULL, NULL};
    const struct tree *tree = walk->rows->profile->tree;
    if (walk->rows->profile->measure || self->rundelay_ns + self->blocked_ns == 0)
        return;
    const struct wait_labels known = wait_labels_of(tree, tree, node);
    wait_sums_add(&walk->report->wait_sums, WAIT_CPU, &nothing, self->rundelay_ns);
    wait_sums_add(&walk->report->wait_sums, wait_of(walk, node), &known, self->blocked_ns);
}

/* A node's own values, without what it waits for work unless that is wanted. */
static struct values shown_values(struct report_walk *walk, arena_ref ref)
{
    const struct tree *tree = walk->rows->profile->tree;
    const struct values *self = &tree_node(tree, ref)->self;
    add_waits(walk, ref, self, walk->report->waited_ns);
    add_wait_sums(walk, ref, self);
    return walk->rows->request->shows_idle ? *self : meaning_shown(&walk->report->meaning, tree, ref);
}

static bool is_selected(const struct report_walk *walk)
{
    return (!walk->rows->request->focus || walk->focus) &&
           (!walk->rows->request->label || walk->labels_wanted) && !walk->ignored;
}

static void enter_location(struct report_walk *walk, const struct location *location)
{
    const struct symbols *symbols = walk->rows->profile->symbols;
    walk->focus += walk->rows->locations[location->index].is_focus;
    walk->ignored += walk->rows->locations[location->index].is_ignored;
    walk->labels += is_label(walk, location);
    walk->labels_wanted += walk->rows->locations[location->index].is_label_wanted;
    if (location->pseudo)
        walk->pseudo_on_path[location->pseudo - 1]++;
    for (uint32_t i = symbols->first_frame[location->index]; i < symbols->first_frame[location->index + 1];
         i++) {
        if (walk->rows->row_of_frame[i] != REPORT_NO_ROW)
            walk->on_path[walk->rows->row_of_frame[i]]++;
    }
}

/* `subtotal` is the sum of the subtree below it. */
static void leave_location(struct report_walk *walk, const struct location *location,
                           const struct report_level *subtotal)
{
    const struct symbols *symbols = walk->rows->profile->symbols;
    walk->focus -= walk->rows->locations[location->index].is_focus;
    walk->ignored -= walk->rows->locations[location->index].is_ignored;
    walk->labels -= is_label(walk, location);
    walk->labels_wanted -= walk->rows->locations[location->index].is_label_wanted;
    if (location->pseudo && --walk->pseudo_on_path[location->pseudo - 1] == 0)
        tree_add_values(&walk->report->pseudo[location->pseudo - 1], &subtotal->values);
    for (uint32_t i = symbols->first_frame[location->index]; i < symbols->first_frame[location->index + 1];
         i++) {
        if (walk->rows->row_of_frame[i] == REPORT_NO_ROW || --walk->on_path[walk->rows->row_of_frame[i]] > 0)
            continue;
        struct report_row *row = &walk->report->rows[walk->rows->row_of_frame[i]];
        tree_add_values(&row->cum, &subtotal->values);
        row->changes.cum_near += subtotal->changes.cum_near;
        row->changes.cum_far += subtotal->changes.cum_far;
    }
}

/* False without memory. */
static bool keep_stack(struct report *report, arena_ref node, const struct values *values)
{
    if (!array_grow(&report->stacks, &report->stack_capacity, report->stack_count, sizeof *report->stacks))
        return false;
    report->stacks[report->stack_count++] = (struct report_stack){node, *values};
    return true;
}

static bool enter_node(struct report_walk *walk, arena_ref ref)
{
    const struct tree_node *node = tree_node(walk->rows->profile->tree, ref);
    const struct location *location = location_of(walk, node);
    struct report_level *below = push_level(walk);
    if (!below)
        return false;
    if (node->parent)
        enter_location(walk, location);
    tree_add_values(&walk->report->total, &node->self);
    if (!is_selected(walk))
        return true;
    *below = (struct report_level){shown_values(walk, ref), node->changes};
    if (!tree_has_weight(&below->values))
        return true;
    if (walk->report->has_stacks && !keep_stack(walk->report, ref, &below->values))
        return false;
    walk->report->has_changes |= node->changes.flat_near > 0;
    add_flat(walk, leaf_location_of(walk, ref), ref, &below->values);
    if (!node->parent) {
        enter_location(walk, location);
        leave_location(walk, location, below);
    }
    return true;
}

static void leave_node(struct report_walk *walk, arena_ref ref)
{
    const struct tree_node *node = tree_node(walk->rows->profile->tree, ref);
    const struct report_level subtotal = walk->levels[--walk->level_count];
    struct report_level *above = &walk->levels[walk->level_count - 1];
    if (!node->parent)
        return;
    leave_location(walk, location_of(walk, node), &subtotal);
    tree_add_values(&above->values, &subtotal.values);
    tree_add_changes(&above->changes, &subtotal.changes);
}

bool report_walk_tree(struct report_walk *walk, arena_ref root, bool is_ignored, struct values *ret)
{
    const struct tree *tree = walk->rows->profile->tree;
    arena_ref node = root;
    walk->level_count = 0;
    walk->ignored = is_ignored;
    for (;;) {
        if (!enter_node(walk, node))
            return false;
        arena_ref next = tree_node(tree, node)->first_child;
        while (!next) {
            *ret = walk->levels[0].values;
            leave_node(walk, node);
            if (node == root)
                return true;
            next = tree_node(tree, node)->next_sibling;
            node = tree_node(tree, node)->parent;
        }
        node = next;
    }
}

/* ---- what a thread was mostly in ---- */

/* Of the node with the most of that time. */
static const char *waits_for(const struct report_walk *walk, arena_ref ref)
{
    const struct tree_node *node = tree_node(walk->rows->profile->tree, ref);
    bool is_waiting =
        node->self.blocked_ns > tree_wall_ns(&node->self) / 2 && !leaf_location_of(walk, ref)->pseudo;
    return is_waiting ? wait_kind_words[wait_of(walk, ref)] : NULL;
}

void report_walk_take_mostly_in(struct report_walk *walk, struct report_thread *thread)
{
    const struct symbols *symbols = walk->rows->profile->symbols;
    arena_ref node = 0;
    for (uint32_t i = 0; i < walk->touched_count; i++) {
        uint32_t function = walk->touched[i];
        if (walk->in_function[function] > thread->mostly_ns) {
            thread->mostly_ns = walk->in_function[function];
            thread->mostly_in = symbols->functions[function].name;
            node = walk->node_of_function[function];
        }
        walk->in_function[function] = 0;
        walk->node_of_function[function] = 0;
    }
    walk->touched_count = 0;
    thread->waits_for = node ? waits_for(walk, node) : NULL;
}

bool report_walk_init(struct report_walk *walk, struct report *report, const struct report_rows *rows)
{
    const size_t function_count = (size_t)rows->profile->symbols->function_count + 1;
    *walk = (struct report_walk){.report = report, .rows = rows};
    walk->on_path = calloc(report->row_count + 1, sizeof *walk->on_path);
    walk->in_function = calloc(function_count, sizeof *walk->in_function);
    walk->node_of_function = calloc(function_count, sizeof *walk->node_of_function);
    walk->touched = calloc(function_count, sizeof *walk->touched);
    return walk->on_path && walk->in_function && walk->node_of_function && walk->touched;
}

void report_walk_deinit(struct report_walk *walk)
{
    free(walk->on_path);
    free(walk->levels);
    free(walk->in_function);
    free(walk->node_of_function);
    free(walk->touched);
}
