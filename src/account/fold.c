/* See fold.h for the rules. Cost: for each frame one hash lookup, and one step up for the call counts. At a
 * thread's end: settle_claims.h. */
#include "fold.h"
#include "fold_found.h"
#include "fold_gaps.h"
#include "fold_timeline.h"
#include "profile/wait_nodes.h"
#include "folded_stack.h"
#include "base/smaller.h"

void fold_thread_begin(struct fold_thread *thread, arena_ref root, const struct fold_clocks *clocks)
{
    uint64_t delay_ns = clocks->delay_ns == FOLD_NO_DELAY ? 0 : clocks->delay_ns;
    *thread = (struct fold_thread){.root = root,
                                   .node = root,
                                   .time_ns = clocks->time_ns,
                                   .cpu_clock_ns = clocks->cpu_ns,
                                   .delay_clock_ns = delay_ns,
                                   .begin_ns = clocks->time_ns,
                                   .begin_cpu_clock_ns = clocks->cpu_ns,
                                   .begin_delay_clock_ns = delay_ns};
}

void fold_first_stretch(struct fold_thread *thread, uint64_t begin_ns)
{
    thread->knows_birth = true;
    thread->before_ns = (int64_t)(thread->begin_ns - begin_ns);
}

void fold_stretch_ended(struct fold_thread *thread, uint64_t end_ns)
{
    if (thread->until_ns == FOLD_GOES_ON)
        thread->until_ns = end_ns;
}

/* Moves the moment up to which the thread is accounted for. Returns what has passed since. */
static struct passed advance(struct fold_thread *thread, const struct fold_clocks *clocks)
{
    bool is_known = clocks->delay_ns != FOLD_NO_DELAY;
    struct passed passed = {
        .wall_ns = since(thread->time_ns, clocks->time_ns),
        .cpu_ns = since(thread->cpu_clock_ns, clocks->cpu_ns),
        .delay_ns = is_known ? since(thread->delay_clock_ns, clocks->delay_ns) : 0,
    };
    thread->time_ns += passed.wall_ns;
    thread->cpu_clock_ns += passed.cpu_ns;
    thread->delay_clock_ns += passed.delay_ns;
    thread->knows_delay |= is_known;
    fold_found_told(thread, passed.delay_ns);
    return passed;
}

static void claim(const struct fold *fold, arena_ref node, const struct values *values)
{
    tree_add_values(&tree_node(fold->tree, node)->self, values);
}

/* How much of the passed time lies in the last observation's stretch. */
static uint64_t in_stretch(const struct fold_thread *thread, const struct passed *passed)
{
    return since(thread->time_ns - passed->wall_ns, smaller(thread->until_ns, thread->time_ns));
}

/* Gives the part of the passed time that lies in the last observation's stretch to its node. Returns the
 * rest. */
static struct passed end_stretch(const struct fold *fold, struct fold_thread *thread, arena_ref credited,
                                 struct passed passed)
{
    uint64_t wall_ns = in_stretch(thread, &passed);
    if (wall_ns == 0)
        return passed;
    fold_blame_pass(fold->tree, &thread->blame, wall_ns);
    struct passed own = share_of(&passed, wall_ns);
    struct values part = fold_as_found(fold, thread, &own, wall_ns);
    fold_found_claims(thread, &part);
    claim(fold, credited, &part);
    return share_of(&passed, passed.wall_ns - wall_ns);
}

/* ---- gaps ---- */

/*
 * Gaps in the passed time get their nodes, and the time before them that of the last observation's stretch.
 * Takes both out of *all, but for the CPU time of the stretch. Returns what is left for the next observation.
 */
static struct passed leave_out_gaps(const struct fold *fold, struct fold_thread *thread, struct passed *all)
{
    struct fold_missed missed = fold_gaps_take(fold->gaps, thread, all);
    if (missed.passed.wall_ns == 0)
        return *all;
    struct passed passed = end_stretch(fold, thread, thread->credited, *all);
    fold_gaps_give(fold, thread, &missed, all->wall_ns - passed.wall_ns);
    thread->changes.last.weight_ns += (double)(all->wall_ns - passed.wall_ns);
    all->wall_ns = passed.wall_ns;
    return passed;
}

/* The node that takes the time of a stack. One with labels only, or without any frame, had only frames of
 * ours, in a hook for example: there is nothing of the program to name. */
static arena_ref node_of_stack(struct tree *tree, struct folded_stack stack)
{
    return folded_stack_depth(tree, stack) == 0 ? tree_pseudo_child(tree, stack.node, PSEUDO_UNSAMPLED)
                                                : stack.node;
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
    now.node = tree_path(tree, observation->base ? observation->base : thread->root, observation->path,
                         observation->depth);
    now.label_depth = labels_of_path(tree, now.node, observation->label_count);
    folded_stack_count_calls(tree, before, now);
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
    arena_ref node = node_of_stack(tree, (struct folded_stack){thread->node, thread->label_depth});
    return thread->waiting = wait_node_below(tree, node, &observation->wait);
}

/* ---- an observation ---- */

/* Samples of a runnable thread are of one kind: what its clocks say of the time is shared among them. */
static void count_changes(struct fold *fold, struct fold_thread *thread,
                          const struct fold_observation *observation, uint64_t before_ns, uint64_t after_ns)
{
    bool is_running = observation->is_running || (observation->is_queued && thread->knows_delay);
    const struct changes_sample sample = {thread->credited, thread->label_depth, is_running,
                                          (double)after_ns};
    changes_next(&fold->newcomers, fold->tree, &thread->changes, before_ns, &sample);
}

void fold_observe(struct fold *fold, struct fold_thread *thread, const struct fold_observation *observation)
{
    const struct fold_clocks clocks = {observation->time_ns, observation->cpu_clock_ns,
                                       observation->delay_clock_ns};
    struct passed all = advance(thread, &clocks), passed = all;
    if (!observation->is_unchanged)
        passed = leave_out_gaps(fold, thread, &all);
    arena_ref before = thread->credited, waited = thread->waiting;
    fold->knows_delay |= thread->knows_delay;
    thread->credited = node_of_observation(fold->tree, thread, observation);
    bool goes_on = (observation->is_unchanged && (thread->waiting == waited || !waited)) ||
                   (observation->is_left_out && thread->credited == before);
    uint64_t own_ns = goes_on ? in_stretch(thread, &passed) : 0;
    if (!goes_on) {
        struct passed rest = end_stretch(fold, thread, before, passed);
        count_changes(fold, thread, observation, passed.wall_ns - rest.wall_ns, rest.wall_ns);
        passed = rest;
    } else {
        fold_blame_pass(fold->tree, &thread->blame, own_ns);
        changes_same(fold->tree, &thread->changes);
    }
    thread->blame.before_ns = passed.wall_ns - own_ns;
    thread->was_running = observation->is_running;
    thread->was_queued = observation->is_queued;
    thread->was_woken = observation->is_woken;
    thread->until_ns = observation->until_ns;
    bool is_blind = observation->is_unknown || observation->is_left_out; /* only the clocks are known */
    struct values part =
        is_blind ? by_clocks(&passed, passed.wall_ns) : fold_as_found(fold, thread, &passed, passed.wall_ns);
    part.samples = 1;
    fold_found_claims(thread, &part);
    claim(fold, thread->credited, &part);
    if (!thread->first) {
        thread->first = thread->credited;
        uint64_t between_ns = (uint64_t)(thread->before_ns < 0 ? -thread->before_ns : thread->before_ns);
        thread->before = fold_as_found(fold, thread, &passed, between_ns);
    }
    fold->samples++;
    if (fold->timeline)
        fold_show_observation(fold, thread, observation, goes_on, all, passed);
}

/* ---- the end ---- */

/* What the thread's clocks say of its life. They are not read at one instant: together they are its life. */
static struct values true_values(const struct fold_thread *thread)
{
    const struct passed life = {.cpu_ns = thread->cpu_clock_ns - thread->begin_cpu_clock_ns,
                                .delay_ns = thread->delay_clock_ns - thread->begin_delay_clock_ns};
    return by_clocks(&life, thread->time_ns - thread->begin_ns);
}

static arena_ref node_of_rest(struct tree *tree, const struct fold_thread *thread, enum fold_rest rest)
{
    if (rest == FOLD_REST_UNCHANGED && thread->waiting)
        return thread->waiting;
    if (rest == FOLD_REST_UNCHANGED)
        return node_of_stack(tree, (struct folded_stack){thread->node, thread->label_depth});
    return tree_pseudo_child(tree, thread->root,
                             rest == FOLD_REST_UNSAMPLED ? PSEUDO_UNSAMPLED : PSEUDO_NOT_RESPONDING);
}

/* The run delay since the last reading of a delay clock that cannot be read any more. */
static void estimate_delay(const struct fold_thread *thread, struct passed *passed)
{
    uint64_t delay_ns = thread->delay_clock_ns - thread->begin_delay_clock_ns;
    uint64_t lived_ns = thread->time_ns - thread->begin_ns - passed->wall_ns;
    uint64_t used_ns = thread->cpu_clock_ns - thread->begin_cpu_clock_ns - passed->cpu_ns;
    uint64_t offcpu_ns = since(used_ns, lived_ns), tail_ns = since(passed->cpu_ns, passed->wall_ns);
    if (offcpu_ns > 0)
        passed->delay_ns = (uint64_t)((unsigned __int128)tail_ns * smaller(delay_ns, offcpu_ns) / offcpu_ns);
}

/* Scales the thread's claims to its life without its gaps, and without what the clocks alone say of its end,
 * as far as it has that. */
static void settle(struct fold *fold, const struct fold_thread *thread, const struct values *end_by_clocks,
                   enum fold_rest rest)
{
    const struct claims_sums sums = claims_sum(fold->tree, thread->root, 0);
    struct values all = true_values(thread), life = clocks_less(&all, &sums.known),
                  observed = values_less(&life, end_by_clocks), end = values_less(&life, &observed);
    struct claims_trader trader = {.group = thread->group, .root = thread->root};
    const struct claims_root root = {thread->root, NULL};
    struct claims_settled settled = settle_claims(fold->tree, &root, &sums.claimed, &observed,
                                                  thread->knows_delay, tree_has_weight(&sums.known));
    tree_add_values(&settled.left, &end);
    if (tree_has_weight(&settled.left)) {
        arena_ref node = node_of_rest(fold->tree, thread, rest);
        claim(fold, node, &settled.left);
        trader.rest = rest == FOLD_REST_UNCHANGED ? 0 : node;
    }
    if (rest == FOLD_REST_UNSAMPLED)
        trader.left = values_less(&settled.left, &end);
    trader.lends = settled.raised;
    tree_add_values(&trader.lends, &trader.left);
    trader.wants = settled.excess;
    claims_trade(&fold->pool, fold->tree, trader);
}

/* Claims the time up to a thread's end, as far as it is in a gap or in the last observation's stretch. *all:
 * what has passed since that observation, without gaps. Returns what is left of it. */
static struct passed claim_end(struct fold *fold, struct fold_thread *thread,
                               const struct fold_clocks *clocks, enum fold_rest rest, struct passed *all)
{
    *all = advance(thread, clocks);
    fold->knows_delay |= thread->knows_delay;
    if (clocks->delay_ns == FOLD_NO_DELAY) {
        estimate_delay(thread, all);
        thread->delay_clock_ns += all->delay_ns;
    }
    struct passed passed = *all;
    if (rest != FOLD_REST_UNCHANGED) {
        passed = leave_out_gaps(fold, thread, all);
        passed = end_stretch(fold, thread, thread->credited, passed);
    } else
        fold_blame_pass(fold->tree, &thread->blame, in_stretch(thread, &passed));
    changes_settle(&fold->newcomers, fold->tree, &thread->changes, all->wall_ns - passed.wall_ns);
    return passed;
}

void fold_thread_end(struct fold *fold, struct fold_thread *thread, const struct fold_clocks *clocks,
                     enum fold_rest rest)
{
    struct passed all, passed = claim_end(fold, thread, clocks, rest, &all);
    struct values part = by_clocks(&passed, passed.wall_ns);
    arena_ref node = passed.wall_ns > 0 ? node_of_rest(fold->tree, thread, rest) : thread->credited;
    if (!fold_has_shared_root(fold->tree, thread)) /* else what stands there is true */
        settle(fold, thread, &part, rest);
    else if (passed.wall_ns > 0)
        claim(fold, node, &part);
    if (fold->timeline)
        fold_show_rest(fold, thread, node, rest, all, passed);
}

/* ---- a short life's ---- */

/* Where the kernel's answer or its lack says what the rest of a life was, nothing is shared. */
static bool is_short(const struct fold *fold, const struct fold_thread *thread,
                     const struct fold_clocks *clocks, enum fold_rest rest)
{
    return thread->knows_birth && rest == FOLD_REST_UNSAMPLED && !fold_has_shared_root(fold->tree, thread) &&
           since(thread->begin_ns, clocks->time_ns) < FOLD_SHORT_PERIODS * fold->period_ns;
}

static void take_back(const struct fold *fold, arena_ref node, const struct values *values)
{
    struct values *self = &tree_node(fold->tree, node)->self, left = values_less(self, values);
    left.samples = self->samples;
    *self = left;
}

/* What the first and the last observation stand for beyond the life. end: what has passed since the last. */
static void claim_beyond(const struct fold *fold, const struct fold_thread *thread, const struct passed *end)
{
    bool is_told = thread->until_ns != FOLD_GOES_ON;
    if (!thread->first)
        return;
    struct values after =
        fold_as_found(fold, thread, end, is_told ? since(thread->time_ns, thread->until_ns) : 0);
    if (thread->before_ns < 0)
        take_back(fold, thread->first, &thread->before);
    else
        claim(fold, thread->first, &thread->before);
    claim(fold, thread->credited, &after);
}

struct values fold_life_end(struct fold *fold, struct fold_thread *thread, const struct fold_clocks *clocks,
                            enum fold_rest rest)
{
    if (!is_short(fold, thread, clocks, rest)) {
        fold_thread_end(fold, thread, clocks, rest);
        return (struct values){0};
    }
    struct passed all, passed = claim_end(fold, thread, clocks, rest, &all);
    claim_beyond(fold, thread, &all);
    struct values known = claims_sum(fold->tree, thread->root, 0).known, life = true_values(thread);
    if (fold->timeline) {
        arena_ref node = passed.wall_ns > 0 ? node_of_rest(fold->tree, thread, rest) : thread->credited;
        fold_show_rest(fold, thread, node, rest, all, passed);
    }
    return clocks_less(&life, &known);
}

/* ---- of a thread that goes on ---- */

void fold_thread_settle(struct fold *fold, struct fold_thread *thread, uint64_t stretch_end_ns,
                        const struct fold_clocks *clocks, enum fold_rest rest)
{
    struct fold_thread now = *thread;
    fold_stretch_ended(&now, stretch_end_ns);
    fold_thread_end(fold, &now, clocks, rest);
    thread->time_ns = now.time_ns;
    thread->cpu_clock_ns = now.cpu_clock_ns;
    thread->delay_clock_ns = now.delay_clock_ns;
    thread->woken_ns = now.woken_ns;
    thread->changes = now.changes;
    thread->blame = now.blame;
    thread->timeline = now.timeline;
    if (fold_has_shared_root(fold->tree, thread)) { /* no claims that would be scaled again */
        thread->begin_ns = now.time_ns;
        thread->begin_cpu_clock_ns = now.cpu_clock_ns;
        thread->begin_delay_clock_ns = now.delay_clock_ns;
    }
}

void fold_thread_skip(struct fold_thread *thread, const struct fold_clocks *clocks)
{
    struct passed gap = advance(thread, clocks);
    thread->begin_ns += gap.wall_ns;
    thread->begin_cpu_clock_ns += gap.cpu_ns;
    thread->begin_delay_clock_ns += gap.delay_ns;
    thread->until_ns = 0;
}
