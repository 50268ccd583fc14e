/*
 * The stores that processes have left, or still record into (mapped_store.h), as files: who recorded them,
 * how these processes ended, and where their profiles go.
 *
 * Called from: the commands that make profiles of them.
 */
#ifndef WALLPROF_LEFT_STORE_H
#define WALLPROF_LEFT_STORE_H

#include "tool/read/recording.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct left_store {
    char path[PATH_MAX];
    int fd; /* locked, unless is_running; -1 when it is not open */
    bool is_running;
    bool is_own;         /* only this user can write to it, so its paths of profiles are believed */
    bool is_closed;      /* the process has completed it */
    bool became_another; /* the process executed another program */
    bool says_its_end;   /* the process has noted that it is about to end */
    bool has_exited;     /* the process ended by _exit */
    bool is_external;    /* another process has recorded it, and "the process" here is that one */
    pid_t pid;
    uint64_t start_utc_ns;
    uint64_t beat_ns;                        /* CLOCK_MONOTONIC: its last sign of life */
    struct store_death deaths[STORE_DEATHS]; /* of its children; unused ones have no pid */
};

/*
 * Opens a store and locks it, so that no other process converts it. Where its process still runs, it is not
 * locked (is_running). 0; -EPROTO if it is no store; -errno. left_close releases it.
 */
int left_open(struct left_store *store, const char *path);
void left_close(struct left_store *store);

/*
 * Whether the process has ended since, and left the store. Waits for it up to patience_ms, while the store
 * says that the process is about to end. A process that writes its own profile removes its store.
 */
bool left_has_ended(struct left_store *store, unsigned patience_ms);

/*
 * Whether a process still has an open store mapped. A process whose sampler's thread ends for a moment has
 * not locked its store meanwhile. False as well where the file system cannot tell; true while somebody reads
 * it.
 */
bool left_is_mapped(const struct left_store *store);

/* Lists the stores of a directory, the oldest first, not open. Their number, or -errno. *ret is malloc'd. */
int left_list(const char *directory, struct left_store **ret);

/* Removes a directory's stores whose processes ended before they had written anything. */
void left_remove_empty(const char *directory);

/* Sets recording->ending to how the process ended. signal_number: of the signal that killed it, or 0. */
void left_describe_end(const struct left_store *store, struct recording *recording, int signal_number);

/* After it: no signal has killed the process, whose exit status is known. */
void left_describe_status(struct recording *recording, long status);

/*
 * Writes the profile into all files that the process would have written or, unless it is NULL, into
 * `instead`. `insertion` is inserted into their names unless it is NULL. Prints "WORD: PATH" for the first
 * file, and "also: PATH" for others. 0, or 1 after a message.
 */
int left_write(const struct left_store *store, const struct recording *recording, const char *instead,
               const char *insertion, const char *word);

/* The path of the first file that left_write would write. */
void left_profile_path(const struct left_store *store, const struct recording *recording, const char *instead,
                       const char *insertion, char ret[PATH_MAX]);

#endif
