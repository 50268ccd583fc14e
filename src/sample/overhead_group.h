/*
 * How many processes of one group are being profiled at the moment: processes that were forked from one
 * another, which share a page of memory, or all those of a run (wallprof-run), which share that of a file. So
 * that they can share what one core allows all of them (overhead_limit.h), instead of each taking it for
 * itself.
 *
 * A member tells the page now and then that it is there. One that has not done so for
 * OVERHEAD_GROUP_SILENT_NS counts no longer: it may have been killed, and no other process would take its
 * mark away. A program that is started by exec begins a group of its own, unless it is part of a run.
 *
 * Called from: the thread that starts a session, then the sampler of each process; processes need no lock.
 * But overhead_group_pause: any thread, in any state.
 */
#ifndef WALLPROF_OVERHEAD_GROUP_H
#define WALLPROF_OVERHEAD_GROUP_H

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

enum { OVERHEAD_GROUP_MARKS = 512 };

#define OVERHEAD_GROUP_SILENT_NS (60 * (uint64_t)NS_PER_S)

struct overhead_group_page;

struct overhead_group {
    /* Atomic; partner of each is overhead_group_pause. */
    struct overhead_group_page *page; /* NULL: no other process is known */
    uint32_t mark;                    /* this process's, OVERHEAD_GROUP_MARKS when it has none */
    bool is_shared;                   /* the page is a file's */
};

/* Without memory for the page every process is alone. */
void overhead_group_begin(struct overhead_group *group);

/* In a forked child: of the parent's group, with no mark yet. */
void overhead_group_join(struct overhead_group *group, const struct overhead_group *parent);

/*
 * From now on of the group whose page is in this file, which is made as long as that is if it is shorter.
 * The page is kept when the descriptor, the caller's, goes. Only once for a process: later calls change
 * nothing. 0, or -errno with nothing changed.
 */
int overhead_group_share(struct overhead_group *group, int fd);

/*
 * This process is there at now_ns (CLOCK_MONOTONIC). Returns how many are, itself included; with more than
 * there are marks for, some do not count.
 */
uint32_t overhead_group_tell(struct overhead_group *group, uint64_t now_ns);

/* It counts no longer, until it tells that it is there: it is about to end, or to become another program. */
void overhead_group_pause(const struct overhead_group *group);

/* It takes part no longer. The page stays, for the children that it may yet have. */
void overhead_group_leave(struct overhead_group *group);

#endif
