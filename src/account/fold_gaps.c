#include "fold_gaps.h"
#include "base/smaller.h"

/* What of a clock's advance fits into neither the time beside the gaps nor what others have taken of them. */
static uint64_t take_rest(uint64_t *advance_ns, uint64_t *beside_ns, uint64_t *gap_ns)
{
    uint64_t fits_ns = smaller(*advance_ns, *beside_ns), rest_ns = smaller(*advance_ns - fits_ns, *gap_ns);
    *beside_ns -= fits_ns;
    *gap_ns -= rest_ns;
    *advance_ns -= rest_ns;
    return rest_ns;
}

struct fold_missed fold_gaps_take(const struct gaps *gaps, struct fold_thread *thread, struct passed *passed)
{
    struct fold_missed missed = {0};
    uint64_t begin_ns = thread->time_ns - passed->wall_ns;
    if (!gaps)
        return missed;
    missed.times = gaps_between(gaps, begin_ns, thread->time_ns);
    missed.passed.wall_ns = gaps_sum(&missed.times);
    if (missed.passed.wall_ns == 0)
        return missed;
    if (thread->until_ns > begin_ns && thread->until_ns < thread->time_ns) {
        struct gap_times after = gaps_between(gaps, thread->until_ns, thread->time_ns);
        thread->until_ns += gaps_sum(&after);
    }
    passed->wall_ns -= missed.passed.wall_ns;
    uint64_t beside_ns = passed->wall_ns, gap_ns = missed.passed.wall_ns;
    missed.passed.cpu_ns = take_rest(&passed->cpu_ns, &beside_ns, &gap_ns);
    missed.passed.delay_ns = take_rest(&passed->delay_ns, &beside_ns, &gap_ns);
    return missed;
}

static void show(const struct fold *fold, struct fold_thread *thread, struct timeline_observation rest)
{
    rest.state = TIMELINE_UNKNOWN;
    rest.is_rest = true;
    rest.time_ns = thread->time_ns;
    timeline_observe(fold->timeline, &thread->timeline, &rest);
}

void fold_gaps_give(const struct fold *fold, struct fold_thread *thread, const struct fold_missed *missed,
                    uint64_t in_stretch_ns)
{
    static const enum pseudo_frame frames[GAP_KINDS] = {PSEUDO_STOPPED, PSEUDO_NOT_OBSERVED};
    struct passed left = missed->passed;
    for (int kind = GAP_KINDS; kind-- > 0;) { /* the last one: a stopped thread uses no CPU time */
        uint64_t wall_ns = missed->times.wall_ns[kind];
        if (wall_ns == 0)
            continue;
        struct values part = by_clocks(&left, wall_ns);
        left.cpu_ns -= part.cpu_ns;
        left.delay_ns -= part.rundelay_ns;
        arena_ref node = tree_pseudo_child(fold->tree, thread->node, frames[kind]);
        tree_add_values(&tree_node(fold->tree, node)->self, &part);
        if (fold->timeline)
            show(fold, thread,
                 (struct timeline_observation){.node = node,
                                               .cpu_ns = part.cpu_ns,
                                               .previous_wall_ns = in_stretch_ns,
                                               .wall_ns = wall_ns});
        in_stretch_ns = 0;
    }
}
