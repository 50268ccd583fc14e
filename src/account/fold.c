/* See fold.h for the rules. Cost: for each frame one hash lookup, and one step up for the call counts. At a
 * thread's end: two steps for each node. */
#include "fold.h"
#include "fold_gaps.h"
#include "base/smaller.h"

void fold_thread_begin(struct fold_thread *thread, arena_ref root, uint64_t time_ns, uint64_t cpu_clock_ns)
{
    *thread = (struct fold_thread){.root = root,
                                   .node = root,
                                   .time_ns = time_ns,
                                   .cpu_clock_ns = cpu_clock_ns,
                                   .begin_ns = time_ns,
                                   .begin_cpu_clock_ns = cpu_clock_ns};
}

void fold_stretch_ended(struct fold_thread *thread, uint64_t end_ns)
{
    if (thread->until_ns == FOLD_GOES_ON)
        thread->until_ns = end_ns;
}

struct passed {
    uint64_t wall_ns, cpu_ns;
};

/* Moves the moment up to which the thread is accounted for. Returns what has passed since. */
static struct passed advance(struct fold_thread *thread, uint64_t time_ns, uint64_t cpu_clock_ns)
{
    struct passed passed = {
        .wall_ns = time_ns > thread->time_ns ? time_ns - thread->time_ns : 0,
        .cpu_ns = cpu_clock_ns > thread->cpu_clock_ns ? cpu_clock_ns - thread->cpu_clock_ns : 0,
    };
    thread->time_ns += passed.wall_ns;
    thread->cpu_clock_ns += passed.cpu_ns;
    return passed;
}

/* The spare root, for lack of memory, is shared by threads. It holds no claims: nobody would know whose. */
static bool has_shared_root(const struct tree *tree, const struct fold_thread *thread)
{
    return tree_node(tree, thread->root)->thread == 0;
}

static void claim(const struct fold *fold, const struct fold_thread *thread, struct values *self,
                  uint64_t wall_ns, uint64_t cpu_ns)
{
    bool is_shared = has_shared_root(fold->tree, thread);
    self->wall_ns += wall_ns;
    self->cpu_ns += is_shared ? 0 : cpu_ns;
    self->offcpu_ns += is_shared ? 0 : wall_ns - cpu_ns;
}

/*
 * Gives the part of the passed time that lies in the last observation's stretch to its node. Returns the
 * rest, with the CPU time that cannot have been used in that part.
 */
static struct passed end_stretch(const struct fold *fold, const struct fold_thread *thread,
                                 arena_ref credited, struct passed passed)
{
    uint64_t begin_ns = thread->time_ns - passed.wall_ns;
    uint64_t end_ns = smaller(thread->until_ns, thread->time_ns);
    if (end_ns <= begin_ns)
        return passed;
    uint64_t wall_ns = end_ns - begin_ns;
    claim(fold, thread, &tree_node(fold->tree, credited)->self, wall_ns, thread->was_running ? wall_ns : 0);
    uint64_t used_ns = thread->was_running ? smaller(passed.cpu_ns, wall_ns) : 0;
    return (struct passed){passed.wall_ns - wall_ns, passed.cpu_ns - used_ns};
}

/* ---- gaps ---- */

/*
 * Gaps in the passed time get their nodes, and the time before them that of the last observation's stretch.
 * Takes both out of *all, but for the CPU time of the stretch. Returns what is left for the next observation.
 */
static struct passed leave_out_gaps(const struct fold *fold, struct fold_thread *thread, struct passed *all)
{
    struct fold_missed missed = fold_gaps_take(fold->gaps, thread, &all->wall_ns, &all->cpu_ns);
    if (missed.wall_ns == 0)
        return *all;
    struct passed passed = end_stretch(fold, thread, thread->credited, *all);
    fold_gaps_give(fold, thread, &missed, all->wall_ns - passed.wall_ns);
    thread->changes.last.weight_ns += (double)(all->wall_ns - passed.wall_ns);
    all->wall_ns = passed.wall_ns;
    return passed;
}

/* The node for a path. Where memory ends, [overflow] stands for the rest of it. */
static arena_ref node_of_path(struct tree *tree, arena_ref root, const arena_ref *path, size_t depth)
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

/* The stack of a node, without the labels that its path begins with. */
struct folded_stack {
    arena_ref node;
    uint32_t label_depth;
};

static uint32_t stack_depth(const struct tree *tree, struct folded_stack stack)
{
    uint32_t depth = tree_node(tree, stack.node)->depth;
    return depth > stack.label_depth ? depth - stack.label_depth : 0;
}

/*
 * Below the last common frame every frame of the new stack is a new call. The first of them is not if the old
 * stack had the same function there: the same call went on to another place in that function. Frames are
 * common while they have equal call sites at equal depths; below the same labels these are the same nodes.
 */
static void count_calls(struct tree *tree, struct folded_stack before, struct folded_stack now)
{
    uint32_t depth = stack_depth(tree, now), common = depth;
    if (stack_depth(tree, before) < depth)
        common = stack_depth(tree, before);
    arena_ref old = tree_ancestor_at(tree, before.node, common + before.label_depth);
    arena_ref new = tree_ancestor_at(tree, now.node, common + now.label_depth);
    bool goes_on = false;
    for (uint32_t at = common; at > 0 && old != new; at--) {
        if (tree_node(tree, old)->location != tree_node(tree, new)->location) {
            goes_on = tree_same_function(tree, old, new);
            common = at - 1;
        }
        old = tree_node(tree, old)->parent;
        new = tree_node(tree, new)->parent;
    }
    for (arena_ref node = now.node; depth > common; node = tree_node(tree, node)->parent, depth--) {
        bool is_first = depth == common + 1;
        if (!is_first || !goes_on)
            tree_node(tree, node)->calls++;
    }
}

/* The node that takes the time of a stack. One with labels only, or without any frame, had only frames of
 * ours, in a hook for example: there is nothing of the program to name. */
static arena_ref node_of_stack(struct tree *tree, struct folded_stack stack)
{
    return stack_depth(tree, stack) == 0 ? tree_pseudo_child(tree, stack.node, PSEUDO_UNSAMPLED) : stack.node;
}

/* How many labels a path begins with: fewer than label_count where there was no memory for one. */
static uint32_t labels_of_path(const struct tree *tree, arena_ref end, uint32_t label_count)
{
    const struct tree_node *node = tree_node(tree, end);
    if (node->depth > label_count || node->depth == 0)
        return node->depth ? label_count : 0;
    return tree_is_label(tree_location_at(tree, node->location)) ? node->depth : node->depth - 1;
}

static void follow_stack(struct tree *tree, struct fold_thread *thread,
                         const struct fold_observation *observation)
{
    struct folded_stack before = {thread->node, thread->label_depth}, now = before;
    now.node = node_of_path(tree, observation->base ? observation->base : thread->root, observation->path,
                            observation->depth);
    now.label_depth = labels_of_path(tree, now.node, observation->label_count);
    count_calls(tree, before, now);
    thread->node = now.node;
    thread->label_depth = now.label_depth;
}

/* The node that an observation's time goes to. thread->node follows a stack that was seen. */
static arena_ref node_of_observation(struct tree *tree, struct fold_thread *thread,
                                     const struct fold_observation *observation)
{
    if (observation->is_left_out)
        return tree_pseudo_child(tree, thread->root, PSEUDO_UNINTERESTING);
    if (observation->is_unknown)
        return tree_pseudo_child(tree, thread->root, PSEUDO_NOT_RESPONDING);
    if (!observation->is_unchanged)
        follow_stack(tree, thread, observation);
    return node_of_stack(tree, (struct folded_stack){thread->node, thread->label_depth});
}

/* ---- the timeline ---- */

/* all: what has passed since the last observation; own: the part of it that this one stands for. */
static void show(const struct fold *fold, struct fold_thread *thread, struct timeline_observation sample,
                 struct passed all, struct passed own)
{
    sample.time_ns = thread->time_ns;
    sample.cpu_ns = all.cpu_ns;
    sample.previous_wall_ns = all.wall_ns - own.wall_ns;
    sample.wall_ns = own.wall_ns;
    timeline_observe(fold->timeline, &thread->timeline, &sample);
}

static void show_observation(const struct fold *fold, struct fold_thread *thread,
                             const struct fold_observation *observation, struct passed all, struct passed own)
{
    const struct timeline_observation sample = {
        .node = thread->credited,
        .state = observation->is_unknown || observation->is_left_out ? TIMELINE_UNKNOWN
                 : observation->is_running                           ? TIMELINE_RUNNING
                                                                     : TIMELINE_WAITING,
        .is_unchanged = observation->is_unchanged,
        .until_tick = observation->until_tick,
    };
    show(fold, thread, sample, all, own);
}

/* The time up to the thread's end, or so far. own: what no observation stands for, which goes to `node`. */
static void show_rest(const struct fold *fold, struct fold_thread *thread, arena_ref node,
                      enum fold_rest rest, struct passed all, struct passed own)
{
    enum timeline_state state = rest == FOLD_REST_UNCHANGED ? TIMELINE_WAITING
                                : own.wall_ns > 0           ? TIMELINE_UNKNOWN
                                : thread->was_running       ? TIMELINE_RUNNING
                                                            : TIMELINE_WAITING;
    const struct timeline_observation sample = {
        .node = node,
        .state = state,
        .is_unchanged = rest == FOLD_REST_UNCHANGED,
        .is_rest = true,
        .until_tick = fold->timeline->tick,
    };
    show(fold, thread, sample, all, own);
}

static void count_changes(struct fold *fold, struct fold_thread *thread, bool is_running, uint64_t before_ns,
                          uint64_t after_ns)
{
    const struct changes_sample sample = {thread->credited, thread->label_depth, is_running,
                                          (double)after_ns};
    changes_next(&fold->newcomers, fold->tree, &thread->changes, before_ns, &sample);
}

void fold_observe(struct fold *fold, struct fold_thread *thread, const struct fold_observation *observation)
{
    struct passed all = advance(thread, observation->time_ns, observation->cpu_clock_ns), passed = all;
    if (!observation->is_unchanged)
        passed = leave_out_gaps(fold, thread, &all);
    arena_ref before = thread->credited;
    thread->credited = node_of_observation(fold->tree, thread, observation);
    bool goes_on = observation->is_unchanged || (observation->is_left_out && thread->credited == before);
    if (!goes_on) {
        struct passed rest = end_stretch(fold, thread, before, passed);
        count_changes(fold, thread, observation->is_running, passed.wall_ns - rest.wall_ns, rest.wall_ns);
        passed = rest;
    } else
        changes_same(fold->tree, &thread->changes);
    thread->was_running = observation->is_running;
    thread->until_ns = observation->until_ns;
    struct values *self = &tree_node(fold->tree, thread->credited)->self;
    uint64_t cpu_ns = observation->is_running ? passed.wall_ns : 0;
    if (observation->is_unknown || observation->is_left_out) /* only the clock is known */
        cpu_ns = smaller(passed.cpu_ns, passed.wall_ns);
    claim(fold, thread, self, passed.wall_ns, cpu_ns);
    self->samples++;
    fold->samples++;
    if (fold->timeline)
        show_observation(fold, thread, observation, all, passed);
}

/* ---- the end ---- */

/* Claims are scaled one after the other, so that nothing is lost by rounding. */
struct scale {
    uint64_t claimed_ns, true_ns, done_ns;
};

static uint64_t scale(struct scale *scale, uint64_t claim_ns)
{
    uint64_t from_ns = scale->done_ns;
    scale->done_ns += claim_ns;
    if (scale->claimed_ns == 0)
        return 0;
    unsigned __int128 before = (unsigned __int128)from_ns * scale->true_ns / scale->claimed_ns;
    unsigned __int128 after = (unsigned __int128)scale->done_ns * scale->true_ns / scale->claimed_ns;
    return (uint64_t)(after - before);
}

/* Scales the claims to the thread's clocks. Returns what no sample has claimed: the CPU time of a thread that
 * was never seen running, or the off-CPU time of one that always was. */
static struct passed settle_claims(const struct tree *tree, const struct fold_thread *thread)
{
    struct scale cpu = {.true_ns = thread->cpu_clock_ns - thread->begin_cpu_clock_ns}, offcpu = {0};
    uint64_t wall_ns = thread->time_ns - thread->begin_ns;
    offcpu.true_ns = wall_ns - smaller(cpu.true_ns, wall_ns);
    arena_ref first = has_shared_root(tree, thread) ? 0 : thread->root;
    for (arena_ref node = first; node; node = tree_next(tree, thread->root, node)) {
        cpu.claimed_ns += tree_node(tree, node)->self.cpu_ns;
        offcpu.claimed_ns += tree_node(tree, node)->self.offcpu_ns;
    }
    for (arena_ref node = first; node; node = tree_next(tree, thread->root, node)) {
        struct values *self = &tree_node(tree, node)->self;
        self->cpu_ns = scale(&cpu, self->cpu_ns);
        self->offcpu_ns = scale(&offcpu, self->offcpu_ns);
    }
    return (struct passed){.wall_ns = offcpu.claimed_ns ? 0 : offcpu.true_ns,
                           .cpu_ns = cpu.claimed_ns ? 0 : cpu.true_ns};
}

static arena_ref node_of_rest(struct tree *tree, const struct fold_thread *thread, enum fold_rest rest)
{
    if (rest == FOLD_REST_UNCHANGED)
        return node_of_stack(tree, (struct folded_stack){thread->node, thread->label_depth});
    return tree_pseudo_child(tree, thread->root,
                             rest == FOLD_REST_UNSAMPLED ? PSEUDO_UNSAMPLED : PSEUDO_NOT_RESPONDING);
}

void fold_thread_end(struct fold *fold, struct fold_thread *thread, uint64_t time_ns, uint64_t cpu_clock_ns,
                     enum fold_rest rest)
{
    struct tree *tree = fold->tree;
    struct passed all = advance(thread, time_ns, cpu_clock_ns), passed = all;
    arena_ref node = thread->credited;
    if (rest != FOLD_REST_UNCHANGED) {
        passed = leave_out_gaps(fold, thread, &all);
        passed = end_stretch(fold, thread, thread->credited, passed);
    }
    changes_settle(&fold->newcomers, tree, &thread->changes, all.wall_ns - passed.wall_ns);
    if (passed.wall_ns > 0) {
        node = node_of_rest(tree, thread, rest);
        claim(fold, thread, &tree_node(tree, node)->self, passed.wall_ns,
              smaller(passed.cpu_ns, passed.wall_ns));
    }
    if (fold->timeline)
        show_rest(fold, thread, node, rest, all, passed);
    struct passed unclaimed = settle_claims(tree, thread);
    if (unclaimed.wall_ns + unclaimed.cpu_ns == 0)
        return;
    struct values *self = &tree_node(tree, node_of_rest(tree, thread, rest))->self;
    self->cpu_ns += unclaimed.cpu_ns;
    self->offcpu_ns += unclaimed.wall_ns;
}

void fold_thread_settle(struct fold *fold, struct fold_thread *thread, uint64_t stretch_end_ns,
                        uint64_t time_ns, uint64_t cpu_clock_ns, enum fold_rest rest)
{
    struct fold_thread now = *thread;
    fold_stretch_ended(&now, stretch_end_ns);
    fold_thread_end(fold, &now, time_ns, cpu_clock_ns, rest);
    thread->time_ns = now.time_ns;
    thread->cpu_clock_ns = now.cpu_clock_ns;
    thread->changes = now.changes;
    thread->timeline = now.timeline;
    if (has_shared_root(fold->tree, thread)) { /* no claims that would be scaled again */
        thread->begin_ns = now.time_ns;
        thread->begin_cpu_clock_ns = now.cpu_clock_ns;
    }
}

void fold_thread_skip(struct fold_thread *thread, uint64_t time_ns, uint64_t cpu_clock_ns)
{
    struct passed gap = advance(thread, time_ns, cpu_clock_ns);
    thread->begin_ns += gap.wall_ns;
    thread->begin_cpu_clock_ns += gap.cpu_ns;
    thread->until_ns = 0;
}
