/*
 * Who made others wait for locks, and what for: the blame of a profile (profile/wait_labels.h).
 *
 * A culprit is a function of the user's, in the threads of one name, that held others up. Its stacks are what
 * these threads did meanwhile. Who waited is told by the waits themselves: those for the same lock and the
 * same holder.
 *
 * Called from: `wallprof blame`. Malloc.
 */
#ifndef WALLPROF_BLAME_H
#define WALLPROF_BLAME_H

#include "base/intern_table.h"
#include "base/string_table.h"
#include "profile/profile.h"

#include <stdint.h>

struct blame_culprit {
    struct {
        uint32_t process;  /* texts, as all of these: its title, "" in a profile of one */
        uint32_t thread;   /* with that title */
        uint32_t function; /* "" if there is none with a name */
    } key;
    uint64_t ns;
};

/* What a culprit held up. */
struct blame_lock {
    struct {
        uint32_t culprit, on;
        uint32_t holder; /* of that lock: the culprit, or a thread that waits for it */
    } key;
    uint32_t is_direct; /* the culprit holds that lock itself */
    uint64_t ns;
};

struct blame_stack {
    struct {
        uint32_t culprit, text; /* the text is all names, so that equal stacks are one */
    } key;
    arena_ref leaf; /* one node with that stack */
    uint64_t ns;
};

struct blame_waiter {
    struct {
        uint32_t process, on, holder; /* as a culprit's and a lock's */
        uint32_t thread, function;
    } key;
    uint64_t ns;
};

struct blame_sums {
    struct string_table texts;
    struct intern_table culprits, locks, stacks, waiters; /* structs of these names, in no order */
    uint64_t blame_ns;                                    /* of all culprits */
    uint64_t waited_ns;                                   /* of all waiters */
};

/* 0 or -ENOMEM; free in any case. The profile has symbols. */
int blame_make(struct blame_sums *sums, const struct profile *profile);
void blame_free(struct blame_sums *sums);

static inline const char *blame_text(const struct blame_sums *sums, uint32_t text)
{
    return string_table_at(&sums->texts, text);
}

/* The name of one of the frames of a location, innermost first. frame_count: how many
 * frames the location has. */
const char *blame_frame_name(const struct profile *profile, const struct location *location,
                             uint32_t *frame_count, uint32_t frame);

#endif
