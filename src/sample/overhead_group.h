/*
 * How many processes of one family are being profiled at the moment: processes that were forked from one
 * another, which share a page of memory, or all those of a run (wallprof-run), which share that of a file. So
 * that they can share what one core allows all of them (restraint.h), instead of each taking it for itself.
 *
 * A member tells the page now and then that it is there. One that has not done so for FAMILY_SILENT_NS counts
 * no longer: it may have been killed, and nobody else would take its mark away. A program that is started by
 * exec begins a family of its own, unless it is part of a run.
 *
 * Called from: the thread that starts a session, then the sampler of each process; processes need no lock.
 * But family_pause: any thread, in any state.
 */
#ifndef WALLPROF_FAMILY_H
#define WALLPROF_FAMILY_H

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

enum { FAMILY_MARKS = 512 };

#define FAMILY_SILENT_NS (60 * (uint64_t)NS_PER_S)

struct family_page;

struct wp_family {
    /* Atomic; partner of each is family_pause. */
    struct family_page *page; /* NULL: nobody else is known of */
    uint32_t mark;            /* this process's, FAMILY_MARKS when it has none */
    bool is_shared;           /* the page is a file's */
};

/* Without memory for the page every process is alone. */
void family_begin(struct wp_family *family);

/* In a forked child: of the parent's family, with no mark yet. */
void family_join(struct wp_family *family, const struct wp_family *parent);

/*
 * From now on of the family whose page is in this file, which is made as long as that is if it is shorter.
 * The page is kept when the descriptor, the caller's, goes. Only once for a process: later calls change
 * nothing. 0, or -errno with nothing changed.
 */
int family_share(struct wp_family *family, int fd);

/*
 * This process is there at now_ns (CLOCK_MONOTONIC). Returns how many are, itself included; with more than
 * there are marks for, some do not count.
 */
uint32_t family_tell(struct wp_family *family, uint64_t now_ns);

/* It counts no longer, until it tells that it is there: it is about to end, or to become another program. */
void family_pause(const struct wp_family *family);

/* It takes part no longer. The page stays, for the children that it may yet have. */
void family_leave(struct wp_family *family);

#endif
