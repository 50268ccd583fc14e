/*
 * What the parts of the pprof reader share while they make a recording from a file's tables. pprof_read.c
 * creates and releases it, pprof_names.c adds modules, locations and names, and pprof_trees.c adds threads
 * and trees.
 */
#ifndef WALLPROF_PPROF_BUILDING_H
#define WALLPROF_PPROF_BUILDING_H

#include "base/string_pool.h"
#include "pprof_file.h"
#include "base/intern_table.h"
#include "base/string_table.h"

/* What profile.symbols points to, and what else the profile points into. */
struct read_symbols {
    struct symbols symbols; /* first: recording.release_symbols gets it */
    struct code_region *regions;
    char *text;
    const char **comments;
    struct process_record *processes; /* NULL: the recording has only its own process */
    struct string_table process_names;
    struct string_pool label_names;
};

/* A thread as samples name it. */
struct thread_key {
    char name[THREAD_NAME_BYTES]; /* "" without */
    uint64_t id;
    uint32_t process;  /* number in building.processes */
    uint32_t is_spare; /* 1: no thread, but its process's time that no thread has */
};

struct read_thread {
    struct thread_key key;
    arena_ref root, record; /* record: struct thread_record */
};

/* A process as samples name it. */
struct process_key {
    uint32_t name; /* number in read_symbols.process_names; 0: none */
    int32_t pid, rank;
};

struct path_step {
    arena_ref location, node;
};

struct building {
    struct recording *recording;
    struct pprof_file *file;
    struct read_symbols *names;
    arena_ref *module_of;          /* by mapping; 0 for a region */
    uint32_t *region_of;           /* by mapping: 1 + index; 0 for a module */
    arena_ref *location_of;        /* by location */
    struct intern_table threads;   /* struct read_thread, in order of appearance */
    struct intern_table processes; /* struct process_key, in order of appearance */
    struct path_step *path;        /* of the last sample that was added, outermost first */
    uint32_t path_depth, path_capacity;
    arena_ref path_root;
    uint64_t sums[PPROF_VALUES];
    bool is_foreign; /* another program's: it may lack what ours have */
};

/* Makes building->names, which the recording owns from then on. False without memory. */
bool pprof_names_make(struct building *building);

/* Modules, functions and locations, as the file numbers them. 0, or -errno with the reason. */
int pprof_names_add(struct building *building);

/* The location of a label, made and named if new; 0 without memory. */
arena_ref pprof_names_label(struct building *building, const struct pprof_label *label);

/* The location of what is waited for, or who holds it, as people spell it; 0 without memory. */
arena_ref pprof_names_wait(struct building *building, const char *key, const char *text);

/* Samples, and the threads that they name; after pprof_names_add. 0, or -errno with the reason. */
int pprof_samples_add(struct building *building);

#endif
