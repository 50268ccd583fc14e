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

/* What profile.symbols points into, and the comments. */
struct read_symbols {
    struct symbols symbols; /* first: release gets it */
    struct code_region *regions;
    char *text;
    const char **comments;
    struct process_record *processes; /* NULL: the recording has only its own process */
    struct string_table process_names;
    struct string_pool label_names;
};

struct thread_key {
    const char *name; /* "" without */
    uint64_t id;
    uint32_t process; /* number in processes */
    bool is_spare;    /* no thread: its process's time that no thread has */
    arena_ref root;   /* 0 for a free slot */
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
    uint32_t *region_of;           /* by mapping: 1 + index */
    arena_ref *location_of;        /* by location */
    struct thread_key *threads;    /* open addressing */
    uint32_t thread_slots;         /* a power of two */
    arena_ref *thread_list;        /* in order of appearance */
    struct intern_table processes; /* struct process_key, as samples name them */
    struct path_step *path;        /* of the last sample that was added, outermost first */
    uint32_t path_depth, path_capacity;
    arena_ref path_root;
    uint64_t sums[PPROF_VALUES];
};

/* Notes the reason in the recording; returns -ENOMEM. */
int pprof_no_memory(struct recording *recording);

/* Makes building->names, which the recording owns from then on. False without memory. */
bool pprof_names_make(struct building *building);

/* Modules, functions and locations, as the file numbers them. 0, or -errno with the reason. */
int pprof_names_add(struct building *building);

/* The location of a label, made and named if new; 0 without memory. */
arena_ref pprof_names_label(struct building *building, const struct pprof_label *label);

/* Samples, and the threads that they name. Locations must be there. 0, or -errno with the reason. */
int pprof_samples_add(struct building *building);

#endif
