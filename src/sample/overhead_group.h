/*
 * How many processes of one group are being profiled at the moment. A group is the processes that were forked
 * from one another, which share a page of memory, or those of a run (wallprof-run), which share a page of a
 * file. They share what one core allows (overhead_limit.h), instead of each taking it for itself.
 *
 * A member writes the time to its mark in the page now and then. After OVERHEAD_GROUP_SILENT_NS without that
 * it counts no longer, as it may have been killed. A program that is started by exec begins a group of its
 * own, unless it is part of a run.
 *
 * Called from: the thread that starts a session, then the sampler of each process; processes need no lock.
 * overhead_group_begin and overhead_group_pause: any thread, in any state.
 */
#ifndef WALLPROF_OVERHEAD_GROUP_H
#define WALLPROF_OVERHEAD_GROUP_H

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

enum { OVERHEAD_GROUP_MARKS = 512 };

#define OVERHEAD_GROUP_SILENT_NS (60 * (uint64_t)NS_PER_S)

/* Zeroed memory is a process that is alone. */
struct overhead_group {
    /* page and mark are atomic: the partners are overhead_group_begin and overhead_group_pause. */
    uint64_t *page; /* when each mark's process was last alive; 0: free. NULL: this process is alone */
    uint32_t mark;  /* this process's, counted from 1; 0: none */
    bool is_shared; /* the page is in a file */
};

/* Before a fork; later calls change nothing. Without memory for the page the process stays alone. */
void overhead_group_begin(struct overhead_group *group);

/* In a forked child: of the parent's group, with no mark yet. */
void overhead_group_join(struct overhead_group *group, const struct overhead_group *parent);

/*
 * Moves to the group whose page is in this file; a shorter file is made longer. The descriptor stays the
 * caller's, and may be closed. Later calls in the process change nothing. 0, or -errno with nothing changed.
 */
int overhead_group_share(struct overhead_group *group, int fd);

/*
 * This process is alive at now_ns (CLOCK_MONOTONIC). Returns how many are, this one included; those beyond
 * OVERHEAD_GROUP_MARKS do not count.
 */
uint32_t overhead_group_tell(struct overhead_group *group, uint64_t now_ns);

/* It does not count until overhead_group_tell: it is about to end, or to execute another program. */
void overhead_group_pause(const struct overhead_group *group);

/* It leaves the group. The page stays, for children that it may still fork. */
void overhead_group_leave(struct overhead_group *group);

#endif
