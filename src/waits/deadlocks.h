/*
 * Deadlocks: circles of threads each of which waits, without a limit, for a lock that the next one holds.
 *
 * A circle is certain if it was seen at two ticks, and no thread of it has run in between. At the second tick
 * each lock has the holder that it had, and that has not run since before. So all of them waited at one
 * moment, and only a thread outside, which holds none of these locks, could end that. A lock with a time
 * limit is in no such circle.
 *
 * Called from: the sampler thread.
 */
#ifndef WALLPROF_DEADLOCKS_H
#define WALLPROF_DEADLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { DEADLOCKS_KEPT = 16, DEADLOCK_TEXT_BYTES = 960 /* a line of the log */ };

/* Zeroed memory: none was seen. */
struct deadlocks {
    struct {
        uint64_t key, tick;
        bool is_said;
    } seen[DEADLOCKS_KEPT];
    uint32_t next;                  /* to be forgotten for a new one */
    char text[DEADLOCK_TEXT_BYTES]; /* what is to be said; "" for nothing */
};

/* One of a circle. */
struct deadlock_member {
    pid_t tid;
    uint64_t runs;    /* its run count */
    uint64_t lock_at; /* the word that names the holder of its lock */
};

/* What tells a circle from others, wherever one begins; members are those of the circle, in any order. */
uint64_t deadlocks_key(const struct deadlock_member *members, uint32_t count);

/* A circle is seen. Whether it was seen before, at an earlier tick, and was not said yet. */
bool deadlocks_see(struct deadlocks *deadlocks, uint64_t key, uint64_t tick);

/* After that: it is certain, and is said from now on. The text begins. One that is too long ends in "...". */
void deadlocks_begin_text(struct deadlocks *deadlocks, uint64_t key);

/* Adds one of the circle, after the one that waits for it; last of all the first one again, with its name
 * alone. */
void deadlocks_add_text(struct deadlocks *deadlocks, pid_t tid, const char *name, const char *function,
                        const char *on);
void deadlocks_end_text(struct deadlocks *deadlocks, pid_t tid, const char *name);

#endif
