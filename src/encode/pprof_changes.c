#include "pprof_changes.h"

static const double unit = 100, number_max = 1e18, squared_ns_max = 1e30;

uint64_t pprof_changes_encode(float squared_ns, uint64_t period_ns)
{
    double number = period_ns ? unit * (double)squared_ns / (double)period_ns / (double)period_ns : 0;
    if (!(number > -number_max && number < number_max))
        return 0;
    int64_t whole = (int64_t)(number < 0 ? number - 0.5 : number + 0.5);
    return ((uint64_t)whole << 1) ^ (whole < 0 ? UINT64_MAX : 0);
}

float pprof_changes_decode(uint64_t number, uint64_t period_ns)
{
    int64_t whole = (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
    double squared_ns = (double)whole / unit * (double)period_ns * (double)period_ns;
    return squared_ns > -squared_ns_max && squared_ns < squared_ns_max ? (float)squared_ns : 0;
}

/* A root has no use for its changes: nobody asks what entered or left all of a thread. */
static void write_passed(const struct pprof_changes *changes, const struct tree *tree, arena_ref node,
                         struct protobuf_writer *ret)
{
    uint32_t depth = tree_node(tree, node)->depth;
    for (arena_ref at = tree_node(tree, node)->parent;
         at && tree_node(tree, at)->parent && tree_node(tree, at)->depth >= changes->above;
         at = tree_node(tree, at)->parent) {
        const struct changes *passed = &tree_node(tree, at)->changes;
        if (tree_has_weight(&tree_node(tree, at)->self) || (passed->cum_near == 0 && passed->cum_far == 0))
            continue;
        protobuf_varint(ret, depth - tree_node(tree, at)->depth);
        protobuf_varint(ret, pprof_changes_encode(passed->cum_near, changes->period_ns));
        protobuf_varint(ret, pprof_changes_encode(passed->cum_far, changes->period_ns));
    }
}

void pprof_changes_write(struct pprof_changes *changes, const struct tree *tree, arena_ref node,
                         struct protobuf_writer *ret)
{
    const struct changes *own = &tree_node(tree, node)->changes;
    protobuf_clear(ret);
    protobuf_varint(ret, pprof_changes_encode(own->flat_near, changes->period_ns));
    protobuf_varint(ret, pprof_changes_encode(own->flat_far, changes->period_ns));
    protobuf_varint(ret, pprof_changes_encode(own->cum_near, changes->period_ns));
    protobuf_varint(ret, pprof_changes_encode(own->cum_far, changes->period_ns));
    write_passed(changes, tree, node, ret);
    changes->above = UINT32_MAX;
    bool has_any =
        ret->used > 4 || own->flat_near != 0 || own->flat_far != 0 || own->cum_near != 0 || own->cum_far != 0;
    if (!has_any)
        protobuf_clear(ret);
}
