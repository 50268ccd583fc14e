/*
 * A recording as the tool reads it: from a store that the library left, or from a pprof file of ours. Either
 * way it becomes the profile that the encoders and the reports know (profile.h).
 *
 * Files are hostile: whatever is in them, a recording that was opened is consistent (every reference leads to
 * a record of its kind, trees have no cycles, strings end), and what cannot be used is refused with a reason.
 *
 * Called from: the commands. One thread.
 */
#ifndef WALLPROF_TOOL_RECORDING_H
#define WALLPROF_TOOL_RECORDING_H

#include "profile/profile.h"
#include "profile/store.h"

#include <stdbool.h>
#include <stddef.h>

enum { RECORDING_REASON_BYTES = 256 };

/* Pointers of the profile lead into what the recording owns, itself included: it is not to be moved. */
struct recording {
    struct wp_profile profile; /* of a store, symbols are what the process itself knew */
    bool is_store;
    struct wp_arena arena;
    struct wp_tree tree;
    struct wp_modules modules; /* only arena, newest and count */
    arena_ref *thread_of_number;
    struct wp_timeline timeline; /* only what an encoder reads; without records when there is none */
    struct wp_symbols *symbols;  /* made by whoever set it, */
    void (*release_symbols)(struct wp_symbols *symbols); /* and released by this */
    char command[4096], restraint[512];                  /* what profile.command and .restraint lead to */
    const char *outputs[STORE_OUTPUTS_MAX]; /* of a store that is kept while recording: where the profile */
    uint32_t output_count;                  /* was to go, in the arena */
    struct wp_process process;              /* and profile.processes */
    char program[256], ending[128];         /* and its name and ending */
    bool is_part;                           /* of a merged one to be */
    bool names_are_due;                     /* of what is in modules: nobody has looked into the files yet */
    uint32_t merged_count;                  /* of a merged one: how many recordings it was made of; else 0 */
    char reason[RECORDING_REASON_BYTES];    /* why it could not be opened, for people */
};

/* By what the file begins with. 0, or -errno with a reason in it; then there is nothing to close. */
int recording_open(struct recording *recording, const char *path);

/* The same, for one that is to be merged with others: what of its names would have to be found in files is
 * left for who makes the names of all, so that no file is read for each recording. */
int recording_open_part(struct recording *recording, const char *path);
void recording_close(struct recording *recording);

/* For the readers: says why and returns the error. */
int recording_refuse(struct recording *recording, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The readers of each kind: the whole file in memory, aligned to 8. As recording_open, but what is held when
 * they fail is left to recording_close. *recording is zeroed. */
int recording_read_store(struct recording *recording, const unsigned char *bytes, size_t count);
int recording_read_pprof(struct recording *recording, const unsigned char *bytes, size_t count);

#endif
