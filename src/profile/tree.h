/*
 * The calling-context tree: one node for each distinct path of locations from a thread's root, with the
 * values measured there. And the locations: each is an address in a module.
 *
 * Nodes and locations live in the arena. When that is full, a path is cut at the deepest node that exists,
 * and its weight goes to a pseudo-frame [overflow] there. If even that node cannot be made, it goes to the
 * deepest node itself, or to the spare root. Time is never lost.
 *
 * Nodes of a tree that was merged into another one are dropped, and serve again for new paths. So a list of
 * nodes may lead to older and to newer ones.
 *
 * Called from: the sampler thread only; read by the exporting thread once the sampler is at rest.
 * Paper: Ammons, Ball, Larus, "Exploiting hardware performance counters with flow and context sensitive
 * profiling" (PLDI 1997), section 4.
 */
#ifndef WALLPROF_TREE_H
#define WALLPROF_TREE_H

#include "base/arena.h"
#include "base/smaller.h"

#include <stdbool.h>
#include <stdint.h>

/* Frames that stand for no code. The locations of those before PSEUDO_COUNT exist from tree_init on. */
enum pseudo_frame {
    PSEUDO_UNSAMPLED,      /* a thread's time that no sample stands for */
    PSEUDO_NOT_RESPONDING, /* the thread did not reply to the request and may have run meanwhile */
    PSEUDO_TRUNCATED,      /* the callers above this point could not be found, or were too many */
    PSEUDO_OVERFLOW,       /* the arena was full: callees below this point were not recorded */
    PSEUDO_UNLOADED, /* code of a library that was unloaded at about that time: which one is not known */
    PSEUDO_COUNT,
    PSEUDO_UNINTERESTING = PSEUDO_COUNT, /* the program has excluded the thread from sampling */
    PSEUDO_LABEL,                        /* not one location but many: see tree_label */
    PSEUDO_STOPPED,                      /* the process was stopped: no thread ran (account/gaps.h) */
    PSEUDO_NOT_OBSERVED,                 /* the sampler could not run */
    PSEUDO_KINDS
};

/* NULL for PSEUDO_LABEL. */
const char *tree_pseudo_name(enum pseudo_frame pseudo);

/* One address in one incarnation of a module. */
struct location {
    uint64_t address;        /* run-time; of a caller, an address inside its call instruction */
    uint64_t function_start; /* run-time address of the function around it, or 0 if not known */
    arena_ref module;        /* struct module, 0 for none (anonymous executable memory) */
    uint32_t index;          /* 0..location_count-1, in order of creation */
    arena_ref next;          /* the location made before this one */
    uint32_t pseudo;         /* 1 + enum pseudo_frame, 0 for real code */
};

/* The address of a label's location: this bit, which no address of code has, and its text's arena_ref. */
#define TREE_LABEL_ADDRESS (UINT64_C(1) << 63)

/* A label's name, {key=value}, with the terminator. */
enum { TREE_LABEL_NAME_BYTES = 512 };

/* The value of a label that stands for those of its key that there was no room for (account/labels.h). */
#define LABELS_OTHER "[other]"

/* The largest labels of a sample; terminators included. */
enum { LABELS_KEY_BYTES = 64, LABELS_VALUE_BYTES = 256, LABELS_DEPTH_MAX = 16 };

/*
 * What was measured at a node itself, its callees not included. The three times are the parts of the wall
 * time, as samples claim them; they are scaled when the thread is settled (fold.h).
 */
struct values {
    uint64_t samples;
    uint64_t cpu_ns;      /* on a CPU */
    uint64_t rundelay_ns; /* runnable, and waiting for a CPU */
    uint64_t blocked_ns;  /* the rest: waiting for something else; for a CPU too if that is not known */
};

static inline uint64_t tree_offcpu_ns(const struct values *values)
{
    return values->rundelay_ns + values->blocked_ns;
}

/* Elapsed time. */
static inline uint64_t tree_wall_ns(const struct values *values)
{
    return values->cpu_ns + values->rundelay_ns + values->blocked_ns;
}

static inline void tree_add_values(struct values *to, const struct values *from)
{
    to->samples += from->samples;
    to->cpu_ns += from->cpu_ns;
    to->rundelay_ns += from->rundelay_ns;
    to->blocked_ns += from->blocked_ns;
}

/* Takes from the values what was waited for anything but a CPU, and returns it. The number of samples stays
 * with the longer part. */
static inline struct values tree_take_waited(struct values *values)
{
    bool is_mostly_waited = values->blocked_ns > values->cpu_ns + values->rundelay_ns;
    const struct values waited = {.samples = is_mostly_waited ? values->samples : 0,
                                  .blocked_ns = values->blocked_ns};
    values->samples -= waited.samples;
    values->blocked_ns = 0;
    return waited;
}

static inline bool tree_has_weight(const struct values *values)
{
    return values->samples || tree_wall_ns(values);
}

/*
 * How often a thread's samples changed to and from a node, in squared nanoseconds: each change counts as the
 * square of the time that a sample stands for (account/changes.h). They say how much chance is in a node's
 * time. near: from one sample to the next; far: to the next but one. flat is the node's own. The cumulative
 * ones are summed over a subtree: they leave what changed inside it only, so a node's own may be less than 0.
 */
struct changes {
    float flat_near, flat_far, cum_near, cum_far;
};

static inline void tree_add_changes(struct changes *to, const struct changes *from)
{
    to->flat_near += from->flat_near;
    to->flat_far += from->flat_far;
    to->cum_near += from->cum_near;
    to->cum_far += from->cum_far;
}

struct tree_node {
    arena_ref parent;       /* 0 for a root */
    arena_ref location;     /* struct location; 0 for a root */
    arena_ref first_child;  /* newest first */
    arena_ref next_sibling; /* for roots: the root made before this one */
    uint32_t depth;         /* 0 for a root */
    uint32_t thread;        /* for roots: the thread's number; else 0 */
    union {
        uint64_t calls;    /* how many calls of this frame from its parent the samples imply */
        uint64_t blame_ns; /* of a wait label: how long others waited for that (wait_labels.h) */
    };
    struct values self;
    struct changes changes;
};

struct tree {
    struct arena *arena; /* not owned */
    arena_ref newest_root;
    arena_ref newest_location;
    arena_ref spare_root; /* takes the time of threads for whose own root there was no memory */
    uint32_t node_count, location_count;
    uint64_t overflows; /* how often a path was cut for lack of memory */
    arena_ref dropped;  /* nodes that serve again, linked by their location */
    uint32_t dropped_count;
    arena_ref move; /* struct tree_move */
    arena_ref pseudo[PSEUDO_COUNT];
    struct tree_index { /* open addressing; scratch memory, rebuilt when half full */
        arena_ref *slots;
        uint32_t capacity, used; /* capacity is a power of two */
    } node_index, location_index;
};

/* 0 or -errno; the arena must have a few hundred bytes left. */
int tree_init(struct tree *tree, struct arena *arena);
void tree_deinit(struct tree *tree); /* frees the index only; records belong to the arena */

/* After the arena has been cleared: makes the tree as small as tree_init does. */
void tree_clear(struct tree *tree);

/* A root for one thread; never 0, but the shared spare root without memory. */
arena_ref tree_root(struct tree *tree, uint32_t thread_number);

/* The location of an address in a module, made if new; 0 without memory. */
arena_ref tree_location(struct tree *tree, arena_ref module, uint64_t address, uint64_t function_start);

/* Makes the indexes of a tree that was read from a file, so that it can be added to. 0 or -ENOMEM. */
int tree_index_all(struct tree *tree);

/* The existing location or 0. */
arena_ref tree_find_location(const struct tree *tree, arena_ref module, uint64_t address);

/* The location of a pseudo-frame, made if new; 0 without memory. */
arena_ref tree_pseudo_location(struct tree *tree, enum pseudo_frame pseudo);

/*
 * The location of a label, made if new; 0 without memory. The nodes of a sample's labels stand right below
 * the root, in the order of their keys. Its stack stands below them: with other labels it is another path.
 * Labels of what was waited for stand below the stack (wait_labels.h).
 */
arena_ref tree_label(struct tree *tree, const char *key, const char *value);

static inline bool tree_is_label(const struct location *location)
{
    return location->pseudo == 1 + PSEUDO_LABEL;
}

const char *tree_label_key(const struct arena *arena, const struct location *label);
const char *tree_label_value(const struct arena *arena, const struct location *label);

/*
 * A frame of a program that an interpreter runs: a function of a script, at a line. Its location is in no
 * module. Its address is this bit, which no address of code has, the line, and the arena_ref of the function;
 * its function_start is the same without the line.
 */
#define TREE_SCRIPT_ADDRESS (UINT64_C(1) << 62)
enum { TREE_SCRIPT_LINE_SHIFT = 32, TREE_SCRIPT_LINE_MAX = (1 << 30) - 1 };

struct tree_script {
    const char *function; /* never "" */
    const char *file;     /* "" if not known */
    uint32_t first_line;  /* of the function */
    uint32_t line;        /* 0 if not known */
};

/* The location of a frame, made if new; 0 without memory. The texts are copied, once for each function. */
arena_ref tree_script(struct tree *tree, const struct tree_script *script);

static inline bool tree_is_script(const struct location *location)
{
    return !location->pseudo && !location->module && location->address >> 62 == 1;
}

struct tree_script tree_script_of(const struct arena *arena, const struct location *location);

/* Whether the texts of a location that was read from a file are there. */
bool tree_script_is_sound(const struct arena *arena, const struct location *location);

/* The name of a frame that stands for no code. The name of a label is put into the buffer. */
const char *tree_frame_name(const struct arena *arena, const struct location *location,
                            char buffer[TREE_LABEL_NAME_BYTES]);

/* Whether two nodes are in one function, wherever in it. */
bool tree_same_function(const struct tree *tree, arena_ref a, arena_ref b);

/* The ancestor of a node at a depth, or the node itself. */
arena_ref tree_ancestor_at(const struct tree *tree, arena_ref node, uint32_t depth);

/* The child of a node for a location, 0 if there is none. */
arena_ref tree_find_child(const struct tree *tree, arena_ref parent, arena_ref location);

/* The same, made if new; 0 without memory. */
arena_ref tree_child(struct tree *tree, arena_ref parent, arena_ref location);

/* The node for a path below a node, innermost location first, made if new. Where memory ends, or a location
 * is 0, [overflow] stands for the rest of it. */
arena_ref tree_path(struct tree *tree, arena_ref root, const arena_ref *path, size_t depth);

/* The child for a pseudo-frame. Without memory: that for [overflow] if it exists, else the node itself. */
arena_ref tree_pseudo_child(struct tree *tree, arena_ref parent, enum pseudo_frame pseudo);

/* The node after this one in a root's tree, depth first; 0 after the last. */
arena_ref tree_next(const struct tree *tree, arena_ref root, arena_ref node);

/*
 * Adds a root's tree to the tree of another root: values and calls, node by node. location_of leads from the
 * index of a location to the location in `into`; NULL: both roots are in one tree. node_of, if not NULL, gets
 * the new node of each, by tree_node_index. is_move, in one tree: the values are moved, and their sum is the
 * same at every instant, also for whoever reads the memory after the process was killed. 0 or -ENOMEM.
 */
struct tree_merging {
    const struct tree *from;
    struct tree *into;
    const arena_ref *location_of;
    arena_ref *node_of;
    bool is_move;
};
int tree_merge(const struct tree_merging *merging, arena_ref root, arena_ref into_root);

/* What a node is about to get from another one, which then has nothing. */
struct tree_move {
    arena_ref from, to; /* to is 0 when nothing is moving */
    uint64_t calls;     /* of both */
    struct values sum;
    struct changes changes;
};

/* Finishes a move that has begun, from wherever it was left. */
void tree_finish_move(const struct tree *tree, struct tree_move *move);

/* Takes a root out of the list of roots, where it is not the first. newer: a root before it in that list, to
 * begin the search at; 0 for the list's begin. */
void tree_unlink_root(struct tree *tree, arena_ref newer, arena_ref root);

/* The nodes of an unlinked root's tree, which nothing refers to any more, serve again. */
void tree_drop(struct tree *tree, arena_ref root);

/* A number of the node alone, at most the arena's bytes / sizeof(struct tree_node). */
static inline size_t tree_node_index(arena_ref node)
{
    return node / (sizeof(struct tree_node) / ARENA_UNIT_BYTES);
}

/* How long an array by tree_node_index has to be, for all nodes that are in an arena now. */
static inline size_t tree_node_index_count(const struct arena *arena)
{
    return tree_node_index((arena_ref)(arena->used_bytes / ARENA_UNIT_BYTES)) + 1;
}

/* A new location, even if the address has one; tree_find_location does not find it. 0 without memory. */
arena_ref tree_add_location(struct tree *tree, arena_ref module, uint64_t address, uint64_t function_start);

static inline struct tree_node *tree_node(const struct tree *tree, arena_ref ref)
{
    return arena_at(tree->arena, ref);
}

/* How many nodes there is memory for until it runs short: until less than an eighth of all is left, and less
 * than a sixteenth in nodes that serve again. */
static inline uint64_t tree_nodes_left(const struct tree *tree)
{
    enum { LEFT_PARTS = 8, NODES_LEFT_PARTS = 16 };
    const size_t bytes = tree->arena->size_bytes, node_bytes = tree->dropped_count * sizeof(struct tree_node);
    return (since(bytes / LEFT_PARTS, bytes - tree->arena->used_bytes) +
            since(bytes / NODES_LEFT_PARTS, node_bytes)) /
           sizeof(struct tree_node);
}

static inline struct location *tree_location_at(const struct tree *tree, arena_ref ref)
{
    return arena_at(tree->arena, ref);
}

#endif
