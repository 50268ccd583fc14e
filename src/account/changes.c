#include "changes.h"

enum { NEAR, FAR };

/* A thread with so many samples of a kind has more ends than its first one. */
enum { SAMPLES_OF_LONG_LIFE = 8 };

static uint32_t label_depth(const struct tree *tree, const struct changes_sample *sample)
{
    uint32_t depth = tree_node(tree, sample->node)->depth;
    return sample->label_depth < depth ? sample->label_depth : depth ? depth - 1 : 0;
}

/* How many frames from the outermost one on are of the same functions, wherever in them. */
static uint32_t shared_frames(const struct tree *tree, const struct changes_sample *a,
                              const struct changes_sample *b)
{
    uint32_t labels_a = label_depth(tree, a), labels_b = label_depth(tree, b);
    uint32_t depth_a = tree_node(tree, a->node)->depth - labels_a;
    uint32_t depth_b = tree_node(tree, b->node)->depth - labels_b;
    uint32_t shared = depth_a < depth_b ? depth_a : depth_b;
    arena_ref at_a = tree_ancestor_at(tree, a->node, labels_a + shared);
    arena_ref at_b = tree_ancestor_at(tree, b->node, labels_b + shared);
    for (uint32_t depth = shared; depth > 0 && at_a != at_b; depth--) {
        if (!tree_same_function(tree, at_a, at_b))
            shared = depth - 1;
        at_a = tree_node(tree, at_a)->parent;
        at_b = tree_node(tree, at_b)->parent;
    }
    return shared;
}

static void add_flat(struct tree *tree, arena_ref node, int lag, double amount)
{
    struct changes *changes = &tree_node(tree, node)->changes;
    *(lag == NEAR ? &changes->flat_near : &changes->flat_far) += (float)amount;
}

static void add_cum(struct tree *tree, arena_ref node, int lag, double amount)
{
    struct changes *changes = &tree_node(tree, node)->changes;
    *(lag == NEAR ? &changes->cum_near : &changes->cum_far) += (float)amount;
}

/* One side of a change: the frames below the shared ones were entered, or left. With other labels so were the
 * labels. */
static void add_side(struct tree *tree, const struct changes_sample *side, uint32_t shared,
                     bool labels_differ, int lag, double amount)
{
    uint32_t labels = label_depth(tree, side);
    add_cum(tree, side->node, lag, amount);
    add_cum(tree, tree_ancestor_at(tree, side->node, labels + shared), lag, -amount);
    if (labels_differ && labels > 0)
        add_cum(tree, tree_ancestor_at(tree, side->node, labels), lag, amount);
}

static void compare(struct tree *tree, const struct changes_sample *old, const struct changes_sample *new,
                    int lag)
{
    if (old->node == new->node)
        return;
    double a = old->weight_ns, b = new->weight_ns, half = (a * a - a * b + b * b) / 2;
    uint32_t shared = shared_frames(tree, old, new);
    bool labels_differ = tree_ancestor_at(tree, old->node, label_depth(tree, old)) !=
                         tree_ancestor_at(tree, new->node, label_depth(tree, new));
    add_side(tree, old, shared, labels_differ, lag, half);
    add_side(tree, new, shared, labels_differ, lag, half);
    if (tree_node(tree, old->node)->parent && tree_node(tree, new->node)->parent &&
        tree_same_function(tree, old->node, new->node))
        return;
    add_flat(tree, old->node, lag, half);
    add_flat(tree, new->node, lag, half);
}

static bool same_place(const struct location *a, const struct location *b)
{
    return a->module == b->module && (a->function_start == b->function_start) &&
           (a->function_start != 0 || a->address == b->address);
}

/* The thread's first sample of its kind. Returns what it counts. */
static double count_newcomer(struct location *newest, struct tree *tree, const struct changes_sample *sample)
{
    arena_ref at = tree_node(tree, sample->node)->location;
    const struct location here = at ? *tree_location_at(tree, at) : (struct location){0};
    double amount = same_place(&here, newest) ? 0 : sample->weight_ns * sample->weight_ns;
    for (int lag = NEAR; lag <= FAR; lag++) {
        add_flat(tree, sample->node, lag, amount);
        add_cum(tree, sample->node, lag, amount);
    }
    *newest = here;
    return amount;
}

static void count_sample(struct tree *tree, struct changes_first *first)
{
    if (++first->samples < SAMPLES_OF_LONG_LIFE || first->amount <= 0)
        return;
    add_flat(tree, first->node, FAR, first->amount);
    add_cum(tree, first->node, FAR, first->amount);
    first->amount = 0;
}

void changes_same(struct tree *tree, struct changes_thread *thread)
{
    count_sample(tree, &thread->first[thread->last.is_running]);
}

void changes_settle(struct changes_newcomers *newcomers, struct tree *tree, struct changes_thread *thread,
                    uint64_t after_ns)
{
    struct changes_sample *last = &thread->last, *before = thread->before[last->is_running];
    struct changes_first *first = &thread->first[last->is_running];
    last->weight_ns += (double)after_ns;
    if (!last->node)
        return;
    if (before[NEAR].node)
        compare(tree, &before[NEAR], last, NEAR);
    else
        *first = (struct changes_first){
            last->node, count_newcomer(&newcomers->location[last->is_running], tree, last), first->samples};
    count_sample(tree, first);
    if (before[FAR].node)
        compare(tree, &before[FAR], last, FAR);
    before[FAR] = before[NEAR];
    before[NEAR] = *last;
    last->weight_ns = 0;
}

void changes_next(struct changes_newcomers *newcomers, struct tree *tree, struct changes_thread *thread,
                  uint64_t after_ns, const struct changes_sample *sample)
{
    changes_settle(newcomers, tree, thread, after_ns);
    thread->last = *sample;
}
