/*
 * A recording as the tool reads it, from a store that the library left or from a pprof file. Either way it
 * becomes the profile that encoders and reports use (profile.h). Of another program's pprof file it is one of
 * its measures.
 *
 * Files are hostile. A recording that was opened is consistent, whatever the file holds: every reference
 * leads to a record of its kind, trees have no cycles, and strings end. What cannot be used is refused with a
 * reason.
 *
 * Called from: the commands. One thread.
 */
#ifndef WALLPROF_RECORDING_H
#define WALLPROF_RECORDING_H

#include "profile/profile.h"
#include "profile/store.h"

#include <stdbool.h>
#include <stddef.h>

enum { RECORDING_REASON_BYTES = 256 };

/* The profile points into the recording, and into what it owns: do not move a recording. */
struct recording {
    struct profile profile; /* of a store: symbols are what the process itself knew */
    bool is_store;
    struct arena arena;
    struct tree tree;
    struct module_list modules;
    arena_ref *thread_of_number;
    struct timeline timeline;                         /* only what an encoder reads; empty if there is none */
    struct symbols *symbols;                          /* owned by its maker */
    void (*release_symbols)(struct symbols *symbols); /* and released by this function */
    char command[4096], restraint[512];               /* what profile.command and .restraint point to */

    /* Of a mapped store: where its profile was to go. Strings in the arena. */
    const char *profile_paths[STORE_PROFILE_PATHS_MAX];
    uint32_t profile_path_count;

    struct process_record process;        /* what profile.processes points to, unless it was merged */
    char program[256], ending[128];       /* what process.name and .ending point to */
    char title[PROCESS_TITLE_TEXT_BYTES]; /* and .title */
    bool is_part;                         /* it will be merged with others */
    bool names_are_due;                   /* of code in modules: the files have not been read yet */
    uint32_t merged_count;                /* how many recordings were merged into it; else 0 */
    struct profile_measure measure;       /* what profile.measure points to, if anything */
    char other_measures[256];             /* and its others */
    char reason[RECORDING_REASON_BYTES];  /* why it could not be opened, for people */
};

/* The beginning of the file says its kind. 0, or -errno with a reason in it and nothing to close. */
int recording_open(struct recording *recording, const char *path);

/* The same, with what to take of another program's file: the name of a type; NULL: what it is about. -EINVAL
 * if it has no such type, with a reason. */
int recording_open_measure(struct recording *recording, const char *path, const char *measure);

/* The same, for one that is to be merged with others. Names that would have to be found in files are left
 * out: whoever merges finds them for all recordings together, so that each file is read once. */
int recording_open_part(struct recording *recording, const char *path);
void recording_close(struct recording *recording);

/* For the readers: notes the reason and returns the error. */
int recording_refuse(struct recording *recording, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses for lack of memory; returns -ENOMEM. */
int recording_no_memory(struct recording *recording);

/* The reader of each kind. The whole file is in memory, aligned to 8; *recording is zeroed. As
 * recording_open, but after a failure recording_close has to be called. */
int recording_read_store(struct recording *recording, const unsigned char *bytes, size_t count);
int recording_read_pprof(struct recording *recording, const unsigned char *bytes, size_t count,
                         const char *measure);

#endif
