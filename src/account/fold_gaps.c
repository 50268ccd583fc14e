#include "fold_gaps.h"
#include "base/smaller.h"

struct fold_missed fold_gaps_take(const struct gaps *gaps, struct fold_thread *thread, uint64_t *wall_ns,
                                  uint64_t *cpu_ns)
{
    struct fold_missed missed = {{{0}}, 0, 0};
    uint64_t begin_ns = thread->time_ns - *wall_ns;
    if (!gaps)
        return missed;
    missed.times = gaps_between(gaps, begin_ns, thread->time_ns);
    missed.wall_ns = gaps_sum(&missed.times);
    if (missed.wall_ns == 0)
        return missed;
    if (thread->until_ns > begin_ns && thread->until_ns < thread->time_ns) {
        struct gap_times after = gaps_between(gaps, thread->until_ns, thread->time_ns);
        thread->until_ns += gaps_sum(&after);
    }
    *wall_ns -= missed.wall_ns;
    missed.cpu_ns = smaller(*cpu_ns - smaller(*cpu_ns, *wall_ns), missed.wall_ns);
    *cpu_ns -= missed.cpu_ns;
    return missed;
}

/* The spare root holds no claims: see fold.c. */
static void claim(struct tree *tree, const struct fold_thread *thread, arena_ref node, uint64_t wall_ns,
                  uint64_t cpu_ns)
{
    struct values *self = &tree_node(tree, node)->self;
    bool is_shared = tree_node(tree, thread->root)->thread == 0;
    self->wall_ns += wall_ns;
    self->cpu_ns += is_shared ? 0 : cpu_ns;
    self->offcpu_ns += is_shared ? 0 : wall_ns - cpu_ns;
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
    uint64_t cpu_ns = missed->cpu_ns;
    for (int kind = GAP_KINDS; kind-- > 0;) { /* the last one: a stopped thread uses no CPU time */
        uint64_t wall_ns = missed->times.wall_ns[kind], used_ns = smaller(cpu_ns, wall_ns);
        if (wall_ns == 0)
            continue;
        cpu_ns -= used_ns;
        arena_ref node = tree_pseudo_child(fold->tree, thread->node, frames[kind]);
        claim(fold->tree, thread, node, wall_ns, used_ns);
        if (fold->timeline)
            show(fold, thread,
                 (struct timeline_observation){
                     .node = node, .cpu_ns = used_ns, .previous_wall_ns = in_stretch_ns, .wall_ns = wall_ns});
        in_stretch_ns = 0;
    }
}
