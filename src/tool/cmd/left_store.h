/*
 * Stores that processes have left, or still record into (mapped_store.h), as files: their processes, and
 * where their profiles go.
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
    bool is_own;         /* no other user can write to it: its names of profiles are believed */
    bool is_closed;      /* the process has completed it */
    bool became_another; /* the process executed another program */
    bool says_its_end;   /* the process has noted that it ends, in whatever way */
    bool has_exited;     /* by _exit, with a status of its own */
    pid_t pid;
    uint64_t start_utc_ns;
    uint64_t beat_ns;                        /* CLOCK_MONOTONIC, when it was last seen */
    struct store_death deaths[STORE_DEATHS]; /* of its children; those with a pid */
};

/*
 * Opens a store and locks it, so that no other process converts it; or its process still runs (is_running).
 * 0; -EPROTO if it is no store; -errno. left_close releases it.
 */
int left_open(struct left_store *store, const char *path);
void left_close(struct left_store *store);

/*
 * Whether its process has ended meanwhile and left the store. Waits for that up to patience_ms while the
 * store says that the process is about to end. A process that has written its own profile has removed the
 * store.
 */
bool left_has_ended(struct left_store *store, unsigned patience_ms);

/* Lists the stores of a directory, the oldest first. They are not open. The caller frees *ret. Their number,
 * or -errno. */
int left_list(const char *directory, struct left_store **ret);

/* Removes a directory's stores whose processes ended before they had written anything. */
void left_remove_empty(const char *directory);

/* Sets how the process of a store ended in its recording. signal_number: 0 if it is not known. */
void left_describe_end(const struct left_store *store, struct recording *recording, int signal_number);

/*
 * Writes the profile into all files that the process would have written, or into `instead`; with `insertion`
 * in their names unless that is NULL. Prints "WORD: PATH" for the first file, and "also: PATH" for others. 0,
 * or 1 after a message.
 */
int left_write(const struct left_store *store, const struct recording *recording, const char *instead,
               const char *insertion, const char *word);

/* The path of the first file that left_write would write. */
void left_profile_path(const struct left_store *store, const struct recording *recording, const char *instead,
                       const char *insertion, char ret[PATH_MAX]);

#endif
