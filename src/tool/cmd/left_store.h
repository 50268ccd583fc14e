/*
 * Stores that processes have left behind, or are still recording into (live.h), as files: whose they are, and
 * where their profiles belong.
 *
 * Called from: the commands that make profiles of them.
 */
#ifndef WALLPROF_TOOL_LEFT_STORE_H
#define WALLPROF_TOOL_LEFT_STORE_H

#include "tool/read/recording.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct left_store {
    char path[PATH_MAX];
    int fd; /* locked, unless the process is there; -1 when it is not open */
    bool is_running;
    bool is_own;         /* the caller's own file: what it says of where to write is believed */
    bool is_closed;      /* the process has completed it */
    bool became_another; /* the process executed another program */
    bool says_its_end;   /* it has done so, or it is about to be over in another way that it knew of */
    bool has_exited;     /* by _exit, with a status of its own */
    pid_t pid;
    uint64_t start_utc_ns;
    uint64_t beat_ns;                        /* CLOCK_MONOTONIC, when it was last seen */
    struct store_death deaths[STORE_DEATHS]; /* of its children; those with a pid */
};

/*
 * Takes a store: its process is gone, and nobody else will see to it; or is_running. 0; -EPROTO if it is
 * none; -errno. left_close lets go of it.
 */
int left_open(struct left_store *store, const char *path);
void left_close(struct left_store *store);

/*
 * Whether its process has gone meanwhile and has left the store; waits for that as long, but no longer than
 * it seems to be about to end. A process that has written its own profile has removed the store.
 */
bool left_has_ended(struct left_store *store, unsigned patience_ms);

/* Those of a directory, by the time they were begun: *ret is to be freed, and paths are all that is known.
 * Their number, or -errno. */
int left_list(const char *directory, struct left_store **ret);

/* Removes those of a directory that were not begun yet when their processes ended: there is nothing in them.
 */
void left_remove_empty(const char *directory);

/* Of a store whose process has gone, what its recording says of how: signal_number if it is known, or 0. */
void left_describe_end(const struct left_store *store, struct recording *recording, int signal_number);

/*
 * Writes the profile, into all files that the process would have written, or into `instead`; with "insertion"
 * in their names unless that is NULL. Says "WORD: PATH" on stdout, and "also: PATH" of each after the first.
 * 0 or 1, which has been said.
 */
int left_write(const struct left_store *store, const struct recording *recording, const char *instead,
               const char *insertion, const char *word);

/* Where the first file goes, as left_write has it: for who wants to know whether that is taken. */
void left_output(const struct left_store *store, const struct recording *recording, const char *instead,
                 const char *insertion, char ret[PATH_MAX]);

#endif
