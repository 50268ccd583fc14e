/*
 * Processes that a recorded one starts are recorded too, each by a recorder of its own: `wallprof attach`,
 * which follows in its turn. All keep their recordings in the directory of a run.
 *
 * Children are found in /proc/PID/task/TID/children, every 20 ms, if the machine has made a process or thread
 * since the last time. So one that ends before is not seen. Whoever's parent ends before it was seen is not
 * found either.
 *
 * A leash ends them all at once: a pipe whose only writer is the first recorder. It closes it at its end, and
 * the kernel does if it is killed.
 *
 * Called from: the recording thread (attach_follow_look); before and after it, the thread that began it.
 */
#ifndef WALLPROF_ATTACH_FOLLOW_H
#define WALLPROF_ATTACH_FOLLOW_H

#include "sample/threads.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { ATTACH_LEASH_FD = 3 }; /* in a recorder that was started for a child: the end to be read */

struct attach_follow {
    bool is_on;
    const char *run;     /* the run's directory */
    int leash[2];        /* [1]: -1 in all but the first recorder */
    uint64_t due_ns;     /* when children are looked for again */
    char births[16];     /* the last pid that the kernel had given then */
    unsigned looks;      /* how often to look still: whose thread is not known yet is found later */
    bool has_unrecorded; /* a process could not be recorded, or there were more than could be listed */
    uint32_t count, capacity;
    struct attach_followed { /* children that are known; malloc'd */
        pid_t pid, recorder; /* recorder: 0 when it has ended */
        bool is_seen;        /* among the children, the last time */
    } * children;
};

/* Whether the kernel tells who is whose child (CONFIG_PROC_CHILDREN). */
bool attach_follow_is_possible(void);

/* is_first: the recorder that no other has started. Nothing is followed before that. 0 or -errno. */
int attach_follow_begin(struct attach_follow *ret, const char *run, bool is_first);

/* Looks for children of the process, if that is due. directory: an open /proc/PID. */
void attach_follow_look(struct attach_follow *follow, int directory, const struct threads *threads,
                        uint64_t now_ns);

/* The first recorder ends all others. Returns when those that this one has started have ended: false if a
 * process could not be recorded. */
bool attach_follow_end(struct attach_follow *follow);

/* Says that some could not be recorded which this process has started, and why where that is known. */
void attach_follow_complain(pid_t pid);

#endif
