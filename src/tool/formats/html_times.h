/*
 * When the time of a page's nodes was spent. The run is divided into slices of one length, and of each node
 * the page has how much of its time is in each of them.
 *
 * It is made of the timeline's intervals (intervals.h), so a node's slices add up to its CPU time, its run
 * delay and its blocked time. They are written in thousandths of a slice. Of a node's last slice only is said
 * which one it is: it has the rest of the node's time. So sums are exact, and a stack that was seen in one
 * slice costs two bytes. What lies before or after the run is in the first or the last slice.
 *
 * Called from: html_trees.c, tree by tree. Memory: that of intervals.h, 12 bytes for each node, and 32 for
 * each slice of each node of one tree.
 */
#ifndef WALLPROF_HTML_TIMES_H
#define WALLPROF_HTML_TIMES_H

#include "html_numbers.h"
#include "encode/thread_groups.h"
#include "tool/meaning/intervals.h"

enum { HTML_TIMES_SLICES = 240, HTML_TIMES_UNITS = 1000 /* of a slice */ };

struct html_time;

struct html_times {
    const struct profile *profile; /* not owned; it has a timeline */
    struct meaning meaning;
    struct intervals intervals;
    uint64_t begin_ns, slice_ns; /* of the timeline's clock; a unit is whole nanoseconds */
    uint32_t *place_of;    /* owned; by tree_node_index: 1 + the node's place in the page's tree; 0: none */
    struct html_time *all; /* owned; of the tree that was gathered last */
    size_t count, capacity;
};

/* Whether the profile knows when its time was spent. */
bool html_times_are_known(const struct profile *profile);

/* 0 or -ENOMEM; deinit in any case. */
int html_times_init(struct html_times *times, const struct profile *profile);
void html_times_deinit(struct html_times *times);

/* A node of the profile's tree is the place-th one of the page's tree. */
void html_times_place(struct html_times *times, arena_ref node, uint32_t place);

/* Gathers the times of the threads of a tree, whose nodes have their places, and forgets the places. Each
 * thread is gathered once. 0 or -ENOMEM. */
int html_times_gather(struct html_times *times, const struct thread_group_member *members, size_t count);

/* The columns of what was gathered; nodes: how many the page's tree has. */
void html_times_put(const struct html_times *times, struct html_numbers *numbers, uint64_t nodes);

#endif
