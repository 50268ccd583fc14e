/*
 * The walk over the trees of all threads, one after the other. It adds the values of their nodes to the rows,
 * pseudo-frames and totals of a report.
 *
 * Called from: report.c.
 */
#ifndef WALLPROF_REPORT_WALK_H
#define WALLPROF_REPORT_WALK_H

#include "report_rows.h"

struct report_walk {
    struct report *report;
    const struct report_rows *rows;
    /* How many frames, locations and labels of the path are in a row, match a filter, and so on. */
    uint32_t *on_path;       /* by row */
    uint32_t focus, ignored; /* ignored: 1 more for a whole thread */
    uint32_t labels, labels_wanted;
    uint32_t pseudo_on_path[PSEUDO_KINDS];
    struct report_level { /* the sum of the subtree so far */
        struct values values;
        struct changes changes;
    } * levels; /* by depth */
    uint32_t level_count, level_capacity;
    /* Of the thread that is walked, by function: wall time in itself, and the node with the most of it. */
    uint64_t *in_function;
    arena_ref *node_of_function;
    uint32_t *touched; /* the functions with an entry in these */
    uint32_t touched_count;
};

/* The report's rows are there, all zero. False without memory; report_walk_deinit also then. */
bool report_walk_init(struct report_walk *walk, struct report *report, const struct report_rows *rows);
void report_walk_deinit(struct report_walk *walk);

/* Adds up the tree of a root; *ret is what the filters leave of it. False without memory. */
bool report_walk_tree(struct report_walk *walk, arena_ref root, bool is_ignored, struct values *ret);

/* Sets the function that the thread of the last tree was mostly in, and clears the sums by function. */
void report_walk_take_mostly_in(struct report_walk *walk, struct report_thread *thread);

#endif
