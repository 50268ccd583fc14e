/* See fold.h for the rules. Cost: one hash lookup per frame, plus one step up per frame for the call counts.
 */
#include "fold.h"

void fold_thread_begin(struct fold_thread *thread, arena_ref root, uint64_t time_ns, uint64_t cpu_clock_ns)
{
    *thread =
        (struct fold_thread){.root = root, .node = root, .time_ns = time_ns, .cpu_clock_ns = cpu_clock_ns};
}

void fold_stretch_ended(struct fold_thread *thread, uint64_t end_ns)
{
    if (thread->until_ns == FOLD_GOES_ON)
        thread->until_ns = end_ns;
}

/* Moves the accounted-for point forward and returns the wall time that passed. */
static uint64_t advance(struct fold_thread *thread, uint64_t time_ns, uint64_t cpu_clock_ns)
{
    uint64_t wall_ns = time_ns > thread->time_ns ? time_ns - thread->time_ns : 0;
    uint64_t cpu_ns = cpu_clock_ns > thread->cpu_clock_ns ? cpu_clock_ns - thread->cpu_clock_ns : 0;
    thread->time_ns += wall_ns;
    thread->cpu_clock_ns += cpu_ns;
    thread->cpu_owed_ns += cpu_ns;
    thread->offcpu_owed_ns += (int64_t)wall_ns - (int64_t)cpu_ns;
    return wall_ns;
}

/* At most so much of the CPU time that is owed. */
static uint64_t take_cpu(struct fold_thread *thread, uint64_t most_ns)
{
    uint64_t cpu_ns = thread->cpu_owed_ns < most_ns ? thread->cpu_owed_ns : most_ns;
    thread->cpu_owed_ns -= cpu_ns;
    return cpu_ns;
}

/* At most so much of the off-CPU time that is owed, in whole units. */
static uint64_t take_offcpu(struct fold_thread *thread, uint64_t most_ns, uint64_t unit_ns)
{
    if (thread->offcpu_owed_ns < (int64_t)unit_ns)
        return 0;
    uint64_t owed_ns = (uint64_t)thread->offcpu_owed_ns;
    uint64_t whole_ns = (owed_ns < most_ns ? owed_ns : most_ns) / unit_ns * unit_ns;
    thread->offcpu_owed_ns -= (int64_t)whole_ns;
    return whole_ns;
}

/*
 * Of wall_ns that have just passed, the part that the last observation stands for goes where that went, with
 * the time of its kind that is owed. Returns the other part.
 */
static uint64_t end_stretch(const struct wp_fold *fold, struct fold_thread *thread, uint64_t wall_ns,
                            uint64_t unit_ns)
{
    uint64_t begin_ns = thread->time_ns - wall_ns;
    uint64_t end_ns = thread->until_ns < thread->time_ns ? thread->until_ns : thread->time_ns;
    if (end_ns <= begin_ns)
        return wall_ns;
    uint64_t part_ns = end_ns - begin_ns;
    struct wp_values *self = &tree_node(fold->tree, thread->credited)->self;
    self->wall_ns += part_ns;
    if (thread->was_running)
        self->cpu_ns += take_cpu(thread, part_ns);
    else
        self->offcpu_ns += take_offcpu(thread, part_ns, unit_ns);
    return wall_ns - part_ns;
}

/* The node for a path, or for as much of it as there is memory for, then [overflow]. */
static arena_ref node_of_path(struct wp_tree *tree, arena_ref root, const arena_ref *path, size_t depth)
{
    arena_ref node = root;
    for (size_t i = depth; i-- > 0;) {
        arena_ref child = path[i] ? tree_child(tree, node, path[i]) : 0;
        if (!child) {
            tree->overflows++;
            return tree_pseudo_child(tree, node, PSEUDO_OVERFLOW);
        }
        node = child;
    }
    return node;
}

static bool same_function(const struct wp_tree *tree, arena_ref a, arena_ref b)
{
    const struct wp_location *x = tree_location_at(tree, tree_node(tree, a)->location);
    const struct wp_location *y = tree_location_at(tree, tree_node(tree, b)->location);
    return x->module == y->module && x->function_start != 0 && x->function_start == y->function_start;
}

/* The ancestor of a node at a depth that is not below it. */
static arena_ref ancestor_at(const struct wp_tree *tree, arena_ref node, uint32_t depth)
{
    while (tree_node(tree, node)->depth > depth)
        node = tree_node(tree, node)->parent;
    return node;
}

/*
 * Below the last common node every frame of the new stack is a new call. The first of them is not, however,
 * when the old stack had the same function there: same call site, only further on inside that function.
 */
static void count_calls(struct wp_tree *tree, arena_ref before, arena_ref now)
{
    uint32_t depth = tree_node(tree, now)->depth;
    if (tree_node(tree, before)->depth < depth)
        depth = tree_node(tree, before)->depth;
    arena_ref old = ancestor_at(tree, before, depth), new = ancestor_at(tree, now, depth);
    bool goes_on = false;
    while (old != new) {
        goes_on = same_function(tree, old, new);
        old = tree_node(tree, old)->parent;
        new = tree_node(tree, new)->parent;
    }
    uint32_t common = tree_node(tree, new)->depth;
    for (arena_ref node = now; tree_node(tree, node)->depth > common; node = tree_node(tree, node)->parent) {
        bool is_first = tree_node(tree, node)->depth == common + 1;
        if (!is_first || !goes_on)
            tree_node(tree, node)->calls++;
    }
}

/* Where an observation's time goes; thread->node follows when it tells a stack. */
static arena_ref node_of_observation(struct wp_tree *tree, struct fold_thread *thread,
                                     const struct fold_observation *observation)
{
    if (observation->is_unknown)
        return tree_pseudo_child(tree, thread->root, PSEUDO_NOT_RESPONDING);
    if (!observation->is_unchanged) {
        arena_ref node = node_of_path(tree, observation->base ? observation->base : thread->root,
                                      observation->path, observation->depth);
        count_calls(tree, thread->node, node);
        thread->node = node;
    }
    /* The root: frames of our own only, say in a hook. Nothing of the program to name. */
    return thread->node == thread->root ? tree_pseudo_child(tree, thread->root, PSEUDO_UNSAMPLED)
                                        : thread->node;
}

void fold_observe(struct wp_fold *fold, struct fold_thread *thread,
                  const struct fold_observation *observation)
{
    uint64_t wall_ns = advance(thread, observation->time_ns, observation->cpu_clock_ns);
    if (!observation->is_unchanged)
        wall_ns = end_stretch(fold, thread, wall_ns, fold->period_ns);
    thread->credited = node_of_observation(fold->tree, thread, observation);
    thread->was_running = observation->is_running;
    thread->until_ns = observation->until_ns;
    struct wp_values *self = &tree_node(fold->tree, thread->credited)->self;
    self->samples++;
    self->wall_ns += wall_ns;
    if (observation->is_running)
        self->cpu_ns += take_cpu(thread, UINT64_MAX);
    else
        self->offcpu_ns += take_offcpu(thread, UINT64_MAX, fold->period_ns);
    fold->samples++;
}

void fold_thread_end(struct wp_fold *fold, struct fold_thread *thread, uint64_t time_ns,
                     uint64_t cpu_clock_ns, enum fold_rest rest)
{
    struct wp_tree *tree = fold->tree;
    uint64_t wall_ns = advance(thread, time_ns, cpu_clock_ns);
    arena_ref node = thread->node;
    if (rest != FOLD_REST_UNCHANGED)
        wall_ns = end_stretch(fold, thread, wall_ns, 1);
    uint64_t cpu_ns = take_cpu(thread, UINT64_MAX), offcpu_ns = take_offcpu(thread, UINT64_MAX, 1);
    thread->offcpu_owed_ns = 0;
    if (wall_ns + cpu_ns + offcpu_ns == 0)
        return;
    if (rest == FOLD_REST_UNSAMPLED)
        node = tree_pseudo_child(tree, thread->root, PSEUDO_UNSAMPLED);
    else if (rest == FOLD_REST_NOT_RESPONDING)
        node = tree_pseudo_child(tree, thread->root, PSEUDO_NOT_RESPONDING);
    struct wp_values *self = &tree_node(tree, node)->self;
    self->wall_ns += wall_ns;
    self->cpu_ns += cpu_ns;
    self->offcpu_ns += offcpu_ns;
}
