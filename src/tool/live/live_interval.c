/* Cost: for each node of a thread that has lived in the interval one search in the tree before. */
#include "live_interval.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { PART_COUNT = 3 };

/* By how much nodes without a sample have been scaled is told by those that have this share of all at least.
 */
static const double telling_share = 0.25;

struct parts {
    double ns[PART_COUNT]; /* on a CPU, waiting for one, blocked */
};

struct interval {
    const struct profile *now, *before;
    struct values *values; /* by tree_node_index of now's tree */
    arena_ref *before_of;  /* the same: the node of that path before; 0: there was none */
    arena_ref *root_of;    /* by thread number: its root before */
};

static struct parts parts_of(const struct values *values)
{
    return (struct parts){{(double)values->cpu_ns, (double)values->rundelay_ns, (double)values->blocked_ns}};
}

static struct parts less(struct parts a, struct parts b)
{
    for (int i = 0; i < PART_COUNT; i++)
        a.ns[i] -= b.ns[i];
    return a;
}

static void add(struct parts *to, struct parts what)
{
    for (int i = 0; i < PART_COUNT; i++)
        to->ns[i] += what.ns[i];
}

static double sum(const struct parts *parts)
{
    return parts->ns[0] + parts->ns[1] + parts->ns[2];
}

static void not_negative(struct parts *parts)
{
    for (int i = 0; i < PART_COUNT; i++)
        parts->ns[i] = parts->ns[i] < 0 ? 0 : parts->ns[i];
}

/* ---- a node, now and before ---- */

static const struct tree_node *node_now(const struct interval *interval, arena_ref node)
{
    return tree_node(interval->now->tree, node);
}

static struct values *values_of(const struct interval *interval, arena_ref node)
{
    return &interval->values[tree_node_index(node)];
}

/* What it had before; nothing if it was not there. */
static struct values value_before(const struct interval *interval, arena_ref node)
{
    const arena_ref before = interval->before_of[tree_node_index(node)];
    return before ? tree_node(interval->before->tree, before)->self : (struct values){0};
}

static struct parts growth(const struct interval *interval, arena_ref node)
{
    const struct values before = value_before(interval, node);
    return less(parts_of(&node_now(interval, node)->self), parts_of(&before));
}

static uint64_t new_samples(const struct interval *interval, arena_ref node)
{
    const struct values before = value_before(interval, node);
    return since(before.samples, node_now(interval, node)->self.samples);
}

/* 1 + enum pseudo_frame; 0 for code, and for labels. */
static uint32_t pseudo_of(const struct interval *interval, arena_ref node)
{
    const struct tree_node *at = node_now(interval, node);
    const struct location *location = at->parent ? tree_location_at(interval->now->tree, at->location) : NULL;
    return location && !tree_is_label(location) ? location->pseudo : 0;
}

/* It has had time before, and no sample since. What no sample stands for has none anyway. */
static bool is_stale(const struct interval *interval, arena_ref node)
{
    return interval->before_of[tree_node_index(node)] && new_samples(interval, node) == 0 &&
           !pseudo_of(interval, node);
}

static void find_before(const struct interval *interval, arena_ref root, arena_ref root_before)
{
    const struct tree *now = interval->now->tree, *before = interval->before->tree;
    interval->before_of[tree_node_index(root)] = root_before;
    for (arena_ref node = tree_next(now, root, root); node; node = tree_next(now, root, node)) {
        const struct tree_node *at = tree_node(now, node);
        const arena_ref parent = interval->before_of[tree_node_index(at->parent)];
        interval->before_of[tree_node_index(node)] =
            parent ? tree_find_child(before, parent, at->location) : 0;
    }
}

/* ---- a thread ---- */

/* How its nodes have been scaled, as those without a sample show it. */
struct scaling {
    struct parts growth, before; /* of these */
    struct parts all;            /* what all nodes had before */
};

/* But for `other`, whose growth may have another cause. */
static struct parts scale_of(const struct interval *interval, const struct scaling *scaling, arena_ref other)
{
    struct parts ret = {{0}}, growth_there = scaling->growth, before_there = scaling->before;
    if (other) {
        const struct values before = value_before(interval, other);
        growth_there = less(growth_there, growth(interval, other));
        before_there = less(before_there, parts_of(&before));
    }
    for (int i = 0; i < PART_COUNT; i++) {
        if (before_there.ns[i] > 0 && before_there.ns[i] >= telling_share * scaling->all.ns[i])
            ret.ns[i] = growth_there.ns[i] / before_there.ns[i];
    }
    return ret;
}

/* What a node has gained beyond its being scaled. */
static struct parts gain(const struct interval *interval, arena_ref node, const struct parts *scale)
{
    const struct values before = value_before(interval, node);
    const struct parts had = parts_of(&before);
    struct parts ret = growth(interval, node);
    for (int i = 0; i < PART_COUNT; i++)
        ret.ns[i] -= scale->ns[i] * had.ns[i];
    return ret;
}

/* The node without a sample in which the thread was last seen before; 0: none has gained anything. */
static arena_ref last_seen(const struct interval *interval, arena_ref root, const struct scaling *scaling)
{
    const struct tree *tree = interval->now->tree;
    arena_ref ret = 0;
    double most = 0;
    for (arena_ref node = root; node; node = tree_next(tree, root, node)) {
        if (!is_stale(interval, node))
            continue;
        const struct parts scale = scale_of(interval, scaling, node), gained = gain(interval, node, &scale);
        if (sum(&gained) > most) {
            most = sum(&gained);
            ret = node;
        }
    }
    return ret;
}

static struct scaling scaling_of(const struct interval *interval, arena_ref root)
{
    const struct tree *tree = interval->now->tree;
    struct scaling ret = {.growth = {{0}}};
    for (arena_ref node = root; node; node = tree_next(tree, root, node)) {
        const struct values before = value_before(interval, node);
        add(&ret.all, parts_of(&before));
        if (!is_stale(interval, node))
            continue;
        add(&ret.before, parts_of(&before));
        add(&ret.growth, growth(interval, node));
    }
    return ret;
}

/* What its clocks have said since, which is what all of its nodes have gained. No part is negative. */
static struct parts total_of(const struct interval *interval, arena_ref root, arena_ref root_before)
{
    struct parts ret = {{0}};
    const struct tree *now = interval->now->tree, *before = interval->before->tree;
    for (arena_ref node = root; node; node = tree_next(now, root, node))
        add(&ret, parts_of(&tree_node(now, node)->self));
    for (arena_ref node = root_before; node; node = tree_next(before, root_before, node))
        ret = less(ret, parts_of(&tree_node(before, node)->self));
    const double wall_ns = sum(&ret);
    not_negative(&ret);
    const double scale = sum(&ret) > 0 && wall_ns > 0 ? wall_ns / sum(&ret) : 0;
    for (int i = 0; i < PART_COUNT; i++)
        ret.ns[i] *= scale;
    return ret;
}

/* The node for a part of the time that no node has any of: [unsampled], else the one with the most time. */
static arena_ref node_of_rest(const struct interval *interval, arena_ref root)
{
    const struct tree *tree = interval->now->tree;
    arena_ref ret = root;
    for (arena_ref node = root; node; node = tree_next(tree, root, node)) {
        if (pseudo_of(interval, node) == 1 + PSEUDO_UNSAMPLED)
            return node;
        if (tree_wall_ns(values_of(interval, node)) > tree_wall_ns(values_of(interval, ret)) ||
            (ret == root && tree_has_weight(&node_now(interval, node)->self)))
            ret = node;
    }
    return ret;
}

static uint64_t *part_of(struct values *values, int part)
{
    return part == 0 ? &values->cpu_ns : part == 1 ? &values->rundelay_ns : &values->blocked_ns;
}

/* Scales what the nodes have of each part to the thread's total of it. */
static void fit(const struct interval *interval, arena_ref root, const struct parts *total)
{
    const struct tree *tree = interval->now->tree;
    struct parts all = {{0}};
    const arena_ref rest = node_of_rest(interval, root);
    for (arena_ref node = root; node; node = tree_next(tree, root, node))
        add(&all, parts_of(values_of(interval, node)));
    for (int part = 0; part < PART_COUNT; part++) {
        const double scale = all.ns[part] > 0 ? total->ns[part] / all.ns[part] : 0;
        for (arena_ref node = root; node; node = tree_next(tree, root, node)) {
            uint64_t *value = part_of(values_of(interval, node), part);
            *value = (uint64_t)llround((double)*value * scale);
        }
        if (all.ns[part] <= 0)
            *part_of(values_of(interval, rest), part) = (uint64_t)llround(total->ns[part]);
    }
}

static void take_thread(const struct interval *interval, arena_ref root, arena_ref root_before)
{
    const struct tree *tree = interval->now->tree;
    find_before(interval, root, root_before);
    const struct scaling scaling = scaling_of(interval, root);
    const arena_ref last = last_seen(interval, root, &scaling);
    const struct parts scale = scale_of(interval, &scaling, last);
    for (arena_ref node = root; node; node = tree_next(tree, root, node)) {
        struct values *values = values_of(interval, node);
        struct parts gained = gain(interval, node, &scale);
        if (is_stale(interval, node) && node != last)
            continue;
        not_negative(&gained);
        *values = (struct values){new_samples(interval, node), (uint64_t)llround(gained.ns[0]),
                                  (uint64_t)llround(gained.ns[1]), (uint64_t)llround(gained.ns[2])};
    }
    const struct parts total = total_of(interval, root, root_before);
    fit(interval, root, &total);
}

/* ---- the whole ---- */

static void take_all(const struct interval *interval, arena_ref root)
{
    const struct tree *tree = interval->now->tree;
    for (arena_ref node = root; node; node = tree_next(tree, root, node))
        *values_of(interval, node) = node_now(interval, node)->self;
}

/* Nothing can have happened in it, or what has happened cannot be told. */
static bool is_left_out(const struct interval *interval, uint32_t number)
{
    const struct thread_record *now = profile_thread(interval->now, number),
                               *before = profile_thread(interval->before, number);
    return now && before && (before->has_ended || now->merged_threads != before->merged_threads);
}

static void take_root(const struct interval *interval, arena_ref root)
{
    const uint32_t number = node_now(interval, root)->thread;
    const arena_ref root_before =
        interval->before && number <= interval->before->thread_count ? interval->root_of[number] : 0;
    if (!root_before)
        take_all(interval, root);
    else if (!is_left_out(interval, number))
        take_thread(interval, root, root_before);
}

static void list_roots_before(const struct interval *interval)
{
    const struct tree *before = interval->before ? interval->before->tree : NULL;
    for (arena_ref root = before ? before->newest_root : 0; root;
         root = tree_node(before, root)->next_sibling)
        interval->root_of[tree_node(before, root)->thread] = root;
}

int live_interval_make(const struct profile *now, const struct profile *before, struct values **ret)
{
    const size_t count = tree_node_index_count(now->arena);
    struct interval interval = {
        .now = now,
        .before = before,
        .values = calloc(count, sizeof *interval.values),
        .before_of = calloc(count, sizeof *interval.before_of),
        .root_of = calloc(before ? (size_t)before->thread_count + 1 : 1, sizeof *interval.root_of)};
    const bool has_memory = interval.values && interval.before_of && interval.root_of;
    if (has_memory) {
        list_roots_before(&interval);
        for (arena_ref root = now->tree->newest_root; root; root = tree_node(now->tree, root)->next_sibling)
            take_root(&interval, root);
    } else {
        free(interval.values);
    }
    free(interval.before_of);
    free(interval.root_of);
    if (has_memory)
        *ret = interval.values;
    return has_memory ? 0 : -ENOMEM;
}

void live_interval_swap(const struct tree *tree, struct values *values)
{
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref node = root; node; node = tree_next(tree, root, node)) {
            struct values *self = &tree_node(tree, node)->self, mine = *self;
            *self = values[tree_node_index(node)];
            values[tree_node_index(node)] = mine;
        }
    }
}
