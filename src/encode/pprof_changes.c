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

/* The next two numbers. True if they are not both 0. */
static bool write_pair(const struct pprof_changes *changes, float near, float far,
                       struct protobuf_writer *ret)
{
    const uint64_t numbers[2] = {pprof_changes_encode(near, changes->period_ns),
                                 pprof_changes_encode(far, changes->period_ns)};
    protobuf_varint(ret, numbers[0]);
    protobuf_varint(ret, numbers[1]);
    return numbers[0] || numbers[1];
}

static void write_passed_node(const struct pprof_changes *changes, const struct changes *passed,
                              uint32_t levels, struct protobuf_writer *ret)
{
    const size_t before = ret->used;
    protobuf_varint(ret, levels);
    if (!write_pair(changes, passed->cum_near, passed->cum_far, ret))
        ret->used = before;
}

/* A root has no use for its changes: nobody asks what entered or left all of a thread. */
static void write_passed(const struct pprof_changes *changes, const struct tree *tree, arena_ref node,
                         struct protobuf_writer *ret)
{
    uint32_t depth = tree_node(tree, node)->depth;
    for (arena_ref at = tree_node(tree, node)->parent;
         at && tree_node(tree, at)->parent && tree_node(tree, at)->depth >= changes->above;
         at = tree_node(tree, at)->parent)
        if (!tree_has_weight(&tree_node(tree, at)->self))
            write_passed_node(changes, &tree_node(tree, at)->changes, depth - tree_node(tree, at)->depth,
                              ret);
}

void pprof_changes_write(struct pprof_changes *changes, const struct tree *tree, arena_ref node,
                         struct protobuf_writer *ret)
{
    const struct changes *own = &tree_node(tree, node)->changes;
    protobuf_clear(ret);
    const bool has_flat = write_pair(changes, own->flat_near, own->flat_far, ret),
               has_cum = write_pair(changes, own->cum_near, own->cum_far, ret);
    const size_t own_bytes = ret->used;
    write_passed(changes, tree, node, ret);
    changes->above = UINT32_MAX;
    if (!has_flat && !has_cum && ret->used == own_bytes)
        protobuf_clear(ret);
}
