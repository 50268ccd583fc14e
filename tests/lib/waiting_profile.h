/*
 * A profile made by hand of threads that wait for locks, and of what they wait for. In ms:
 *
 *     main      join for "thread writer-1"                    1000
 *     writer-1  runs                                           100
 *               mutex journal_mutex   held by writer-2         500
 *                                     held by reader            40
 *                                     nobody knows              60
 *     writer-2  runs                                           100
 *               file /var/journal                              400
 *               mutex table_lock      held by reader           200
 *     reader    runs                                           300
 *               mutex journal_mutex   held by writer-2         100
 *               tcp 10.0.0.7:5432                              150
 *               the network, nobody knows which                 50
 *               waits for work: cond queue_cond               1000
 *
 * So writer-2 and reader wait for each other.
 */
#ifndef WALLPROF_WAITING_PROFILE_H
#define WALLPROF_WAITING_PROFILE_H

#include "fake_profile.h"

struct waiting_profile {
    struct fake_profile fake; /* the caller releases it */
    arena_ref app, libc;
    struct waiting_location {
        const char *name;
        arena_ref ref;
    } locations[32];
    int location_count;
};

void waiting_profile_init(struct waiting_profile *waiting);

/*
 * Adds a stack to a thread's tree: functions, outermost first, ended by NULL, "/NAME" of the program and
 * others of the C library. on, holder: NULL for none. Returns the node that gets the time.
 */
arena_ref waiting_profile_add(struct waiting_profile *waiting, arena_ref root, const char *const *functions,
                              const char *on, const char *holder, uint64_t cpu_ms, uint64_t waited_ms);

/* Blames a stack of a thread, 1 for main up to 4 for reader, for a wait: time that it does not have itself.
 */
void waiting_profile_blame(struct waiting_profile *waiting, uint32_t thread, const char *const *functions,
                           const char *on, const char *holder, uint64_t blame_ms);

#define WAITING_STACK(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
