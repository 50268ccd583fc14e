/*
 * The calling-context tree: one node per distinct path of locations from a thread's root, with what was
 * measured there. And the locations themselves: an address in a module.
 *
 * Nodes and locations live in the arena. When it is full, a path is cut at the deepest node that exists and
 * its weight goes to a pseudo-frame [overflow] there; if even that node cannot be made, to the thread's root
 * or the tree's. Time is never lost.
 *
 * Called from: the sampler thread only; read by the exporting thread once the sampler is at rest.
 * Paper: Ammons, Ball, Larus, "Exploiting hardware performance counters with flow and context sensitive
 * profiling" (PLDI 1997), section 4.
 */
#ifndef WALLPROF_TREE_H
#define WALLPROF_TREE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* Frames that stand for no code. The locations of those before PSEUDO_COUNT exist from tree_init on. */
enum wp_pseudo {
    PSEUDO_UNSAMPLED,      /* a thread's time that no observation covers */
    PSEUDO_NOT_RESPONDING, /* the thread did not answer the signal and may have run meanwhile */
    PSEUDO_TRUNCATED,      /* the callers above this point could not be found, or were too many */
    PSEUDO_OVERFLOW,       /* the arena was full: callees below this point were not recorded */
    PSEUDO_UNLOADED, /* code of a library that was unloaded at about that time: which one is not known */
    PSEUDO_COUNT,
    PSEUDO_UNINTERESTING = PSEUDO_COUNT, /* the program has said that the thread is: it was not looked at */
    PSEUDO_LABEL,                        /* not one location but many: see tree_label */
    PSEUDO_KINDS
};

/* NULL for PSEUDO_LABEL. */
const char *tree_pseudo_name(enum wp_pseudo pseudo);

/* One address in one incarnation of a module. */
struct wp_location {
    uint64_t address;        /* run-time; of a caller, an address inside its call instruction */
    uint64_t function_start; /* run-time address of the function around it, or 0 if not known */
    arena_ref module;        /* struct wp_module, 0 for none (anonymous executable memory) */
    uint32_t index;          /* 0..location_count-1, in order of creation */
    arena_ref next;          /* the location made before this one */
    uint32_t pseudo;         /* 1 + enum wp_pseudo, 0 for real code */
};

/* Of a label the address is no address of code, on any machine, and has where its text lies: this and an
 * arena_ref. */
#define TREE_LABEL_ADDRESS (UINT64_C(1) << 63)

/* What a label's key and value make for people, {key=value}, with the terminator. */
enum { TREE_LABEL_NAME_BYTES = 512 };

/* What was measured at a node itself, its callees not included. */
struct wp_values {
    uint64_t samples;   /* observations */
    uint64_t cpu_ns;    /* CPU time */
    uint64_t offcpu_ns; /* time not on a CPU, in whole periods but for the rest at a thread's end */
    uint64_t wall_ns;   /* elapsed time */
};

static inline void tree_add_values(struct wp_values *to, const struct wp_values *from)
{
    to->samples += from->samples;
    to->cpu_ns += from->cpu_ns;
    to->offcpu_ns += from->offcpu_ns;
    to->wall_ns += from->wall_ns;
}

static inline bool tree_has_weight(const struct wp_values *values)
{
    return values->samples || values->cpu_ns || values->offcpu_ns || values->wall_ns;
}

struct wp_node {
    arena_ref parent;       /* 0 for a root */
    arena_ref location;     /* struct wp_location; 0 for a root */
    arena_ref first_child;  /* newest first */
    arena_ref next_sibling; /* for roots: the root made before this one */
    uint32_t depth;         /* 0 for a root */
    uint32_t thread;        /* roots: the owner's thread number; else 0 */
    uint64_t calls;         /* how many calls of this frame's function from its parent are implied */
    struct wp_values self;
};

struct wp_tree {
    struct wp_arena *arena; /* not owned */
    arena_ref newest_root;
    arena_ref newest_location;
    arena_ref spare_root; /* takes the time of threads whose own root found no room */
    uint32_t node_count, location_count;
    uint64_t overflows; /* how often a path was cut for lack of memory */
    arena_ref pseudo[PSEUDO_COUNT];
    struct tree_index { /* open addressing; scratch memory, rebuilt when half full */
        arena_ref *slots;
        uint32_t capacity, used; /* capacity is a power of two */
    } node_index, location_index;
};

/* 0 or -errno; the arena must be fresh enough for a few hundred bytes. */
int tree_init(struct wp_tree *tree, struct wp_arena *arena);
void tree_deinit(struct wp_tree *tree); /* the index only; records belong to the arena */

/* As after tree_init, and with no more memory than then. The arena has been cleared. */
void tree_clear(struct wp_tree *tree);

/* A root for one thread; never 0 (the shared spare root when memory is out). */
arena_ref tree_root(struct wp_tree *tree, uint32_t thread_number);

/* The location of an address in a module, made if new; 0 when memory is out. */
arena_ref tree_location(struct wp_tree *tree, arena_ref module, uint64_t address, uint64_t function_start);

/* The indexes of a tree whose records were not made here, so that it can be added to. 0 or -ENOMEM. */
int tree_index_all(struct wp_tree *tree);

/* The existing location or 0. */
arena_ref tree_find_location(const struct wp_tree *tree, arena_ref module, uint64_t address);

/* The location of a pseudo-frame, made if new; 0 when memory is out. */
arena_ref tree_pseudo_location(struct wp_tree *tree, enum wp_pseudo pseudo);

/*
 * The location of a label, made if new; 0 when memory is out. A thread's samples that have labels hang from
 * nodes for these, right below the root, in the order of their keys: the same stack with other labels is
 * another path.
 */
arena_ref tree_label(struct wp_tree *tree, const char *key, const char *value);

static inline bool tree_is_label(const struct wp_location *location)
{
    return location->pseudo == 1 + PSEUDO_LABEL;
}

const char *tree_label_key(const struct wp_arena *arena, const struct wp_location *label);
const char *tree_label_value(const struct wp_arena *arena, const struct wp_location *label);

/* The name of a frame that stands for no code; in the buffer if it is a label's. */
const char *tree_frame_name(const struct wp_arena *arena, const struct wp_location *location,
                            char buffer[TREE_LABEL_NAME_BYTES]);

/* The child of a node for a location, made if new; 0 when memory is out. */
arena_ref tree_child(struct wp_tree *tree, arena_ref parent, arena_ref location);

/* The child that stands for a pseudo-frame. When memory is out: the one for [overflow], else the node itself.
 */
arena_ref tree_pseudo_child(struct wp_tree *tree, arena_ref parent, enum wp_pseudo pseudo);

/* The node after this one in a root's tree, depth first; 0 after the last. */
arena_ref tree_next(const struct wp_tree *tree, arena_ref root, arena_ref node);

/*
 * Adds a root's tree to another root's: values and calls, node by node. Where the two are in different trees,
 * location_of leads from the index of a location to the one in `into`; NULL: they are the same. node_of, if
 * not NULL, is told where each node went, by tree_place. 0 or -ENOMEM.
 */
struct tree_merging {
    const struct wp_tree *from;
    struct wp_tree *into;
    const arena_ref *location_of;
    arena_ref *node_of;
};
int tree_merge(const struct tree_merging *merging, arena_ref root, arena_ref into_root);

/* A number that no other node of the arena has: below the arena's bytes / sizeof(struct wp_node), and 1. */
static inline size_t tree_place(arena_ref node)
{
    return node / (sizeof(struct wp_node) / ARENA_UNIT_BYTES);
}

/* Another location of its own, also for an address that has one already; tree_find_location does not find it.
 * 0 when memory is out. */
arena_ref tree_add_location(struct wp_tree *tree, arena_ref module, uint64_t address,
                            uint64_t function_start);

static inline struct wp_node *tree_node(const struct wp_tree *tree, arena_ref ref)
{
    return arena_at(tree->arena, ref);
}

static inline struct wp_location *tree_location_at(const struct wp_tree *tree, arena_ref ref)
{
    return arena_at(tree->arena, ref);
}

#endif
