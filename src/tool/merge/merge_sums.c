#include "merge_sums.h"

struct values merge_sums_of(const struct tree *tree)
{
    struct values total = {0};
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref node = root; node; node = tree_next(tree, root, node))
            tree_add_values(&total, &tree_node(tree, node)->self);
    }
    return total;
}

void merge_sums_add_counters(struct counters *to, const struct counters *from)
{
    to->ticks += from->ticks;
    to->late_ticks += from->late_ticks;
    to->stopped_ns += from->stopped_ns;
    to->unobserved_ns += from->unobserved_ns;
    to->samples += from->samples;
    to->unchanged += from->unchanged;
    to->walked += from->walked;
    to->replies += from->replies;
    to->missing_replies += from->missing_replies;
    to->truncated += from->truncated;
    to->full_walks += from->full_walks;
    to->interp_stacks += from->interp_stacks;
    to->interp_misfits += from->interp_misfits;
    to->interp_nameless += from->interp_nameless;
    to->stray += from->stray;
    to->sampler_cpu_ns += from->sampler_cpu_ns;
    to->handler_cpu_ns += from->handler_cpu_ns;
}
