#include "timed_samples.h"

#include <errno.h>

struct timed_node {
    struct values claimed; /* by all of its records */
    struct values done;    /* the claims of those that have been emitted */
    arena_ref merged;      /* the node in the merged tree; 0: none */
};

static size_t node_index(arena_ref node)
{
    return node / (sizeof(struct tree_node) / ARENA_UNIT_BYTES);
}

static size_t nodes_bytes(const struct timed_samples *samples)
{
    size_t units = samples->profile->arena->used_bytes / ARENA_UNIT_BYTES;
    return sizeof(struct timed_node) * (node_index((arena_ref)units) + 1);
}

/* In which proportion a record has a part of its node's values. */
static struct values claim_of(const struct timeline_record *record)
{
    const uint64_t wall_ns = record->wall_ns, used_ns = record->cpu_ns + record->later_cpu_ns;
    const uint64_t cpu_ns = used_ns > wall_ns ? wall_ns : used_ns;
    struct values claim = {.samples = record->observations};
    if (record->state == TIMELINE_RUNNING || record->state == TIMELINE_QUEUED)
        claim.cpu_ns = claim.rundelay_ns = wall_ns; /* a part of both, which only the node knows */
    else if (record->state == TIMELINE_WAITING)
        claim.blocked_ns = wall_ns;
    else {
        claim.cpu_ns = cpu_ns;
        claim.rundelay_ns = claim.blocked_ns = wall_ns - cpu_ns;
    }
    return claim;
}

static void subtract_values(struct values *sum, const struct values *values)
{
    sum->samples -= values->samples;
    sum->cpu_ns -= values->cpu_ns;
    sum->rundelay_ns -= values->rundelay_ns;
    sum->blocked_ns -= values->blocked_ns;
}

int timed_samples_init(struct timed_samples *samples, const struct profile *profile)
{
    const struct timeline *timeline = profile->timeline;
    *samples = (struct timed_samples){.profile = profile};
    samples->nodes = scratch_alloc(nodes_bytes(samples));
    int status = timeline_index_init(&samples->index, timeline, profile->thread_count);
    if (!samples->nodes || status < 0) {
        timed_samples_deinit(samples);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < timeline->count; i++) {
        const struct values claim = claim_of(&timeline->records[i]);
        tree_add_values(&samples->nodes[node_index(timeline->records[i].node)].claimed, &claim);
    }
    return 0;
}

void timed_samples_deinit(struct timed_samples *samples)
{
    timeline_index_deinit(&samples->index);
    scratch_free(samples->nodes, nodes_bytes(samples));
    samples->nodes = NULL;
}

/* The part of `true_value` that belongs to the claims done so far. */
static uint64_t reached(uint64_t done, uint64_t claimed, uint64_t true_value)
{
    return claimed ? (uint64_t)((unsigned __int128)done * true_value / claimed) : 0;
}

static uint64_t part(uint64_t done, uint64_t claim, uint64_t claimed, uint64_t true_value)
{
    return reached(done + claim, claimed, true_value) - reached(done, claimed, true_value);
}

static struct values part_of(struct timed_node *node, const struct values *claim, const struct values *self)
{
    const struct values *done = &node->done, *claimed = &node->claimed;
    const struct values ret = {
        part(done->samples, claim->samples, claimed->samples, self->samples),
        part(done->cpu_ns, claim->cpu_ns, claimed->cpu_ns, self->cpu_ns),
        part(done->rundelay_ns, claim->rundelay_ns, claimed->rundelay_ns, self->rundelay_ns),
        part(done->blocked_ns, claim->blocked_ns, claimed->blocked_ns, self->blocked_ns),
    };
    tree_add_values(&node->done, claim);
    return ret;
}

/* Finds each node of a member in the merged tree. */
static void find_merged(struct timed_samples *samples, arena_ref root, struct tree *merged,
                        arena_ref merged_root)
{
    const struct tree *tree = samples->profile->tree;
    samples->nodes[node_index(root)].merged = merged_root;
    for (arena_ref node = tree_next(tree, root, root); node; node = tree_next(tree, root, node)) {
        const struct tree_node *at = tree_node(tree, node);
        samples->nodes[node_index(node)].merged =
            tree_child(merged, samples->nodes[node_index(at->parent)].merged, at->location);
    }
}

/* The next group's tree has none of these nodes, whatever a broken timeline says. */
static void forget_merged(struct timed_samples *samples, arena_ref root)
{
    const struct tree *tree = samples->profile->tree;
    for (arena_ref node = root; node; node = tree_next(tree, root, node))
        samples->nodes[node_index(node)].merged = 0;
}

static void emit_thread(struct timed_samples *samples, uint32_t thread, const struct tree *merged,
                        timed_samples_emit_fn *emit, void *context)
{
    const struct profile *profile = samples->profile;
    for (uint32_t i = 0; i < timeline_index_count(&samples->index, thread); i++) {
        const struct timeline_record *record = timeline_index_at(&samples->index, thread, i);
        struct timed_node *node = &samples->nodes[node_index(record->node)];
        if (!node->merged || !tree_node(profile->tree, record->node)->parent) /* memory was out */
            continue;
        const struct values claim = claim_of(record);
        const struct values values = part_of(node, &claim, &tree_node(profile->tree, record->node)->self);
        subtract_values(&tree_node(merged, node->merged)->self, &values);
        emit(context, record->node, &values,
             profile->start_utc_ns + (record->last_ns - profile->timeline->start_ns));
    }
}

void timed_samples_each(struct timed_samples *samples, const struct thread_group_member *members,
                        size_t count, struct tree *merged, arena_ref merged_root, timed_samples_emit_fn *emit,
                        void *context)
{
    for (size_t i = 0; i < count; i++) {
        if (!members[i].thread) /* the spare root: it is not known whose its time is */
            continue;
        find_merged(samples, members[i].root, merged, merged_root);
        emit_thread(samples, members[i].thread->number, merged, emit, context);
        forget_merged(samples, members[i].root);
    }
}
