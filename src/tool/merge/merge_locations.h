/*
 * The locations of a merged recording, and all that the recordings called them.
 *
 * In a module a location is the same if its place in the file is. Code in no module (run-time code) lies
 * somewhere else in each process, and at one address there is something else in each: it is the same if it is
 * called the same, and has the address at which it was met first. So their number is bounded by the programs
 * and not by the processes.
 *
 * Names are made once, at the end (store_names.h): for what was in stores from the files, with what the
 * processes said as hints; what comes out of pprof files only keeps the frames and lines that it had.
 *
 * Called from: merge.
 */
#ifndef WALLPROF_MERGE_LOCATIONS_H
#define WALLPROF_MERGE_LOCATIONS_H

#include "merge_modules.h"
#include "base/intern_table.h"
#include "base/string_table.h"

struct merge_locations {
    struct tree *tree; /* the merged recording's; not owned */
    struct merge_modules modules;
    struct string_table text;
    struct merge_location {
        uint32_t name, system_name;        /* what a process called it; 0: nothing */
        uint32_t region;                   /* 1 + index into regions, 0 for none */
        uint32_t first_frame, frame_count; /* what a pprof file called it, in frames; of 0: nothing */
        bool is_in_store, is_known_to_process_only;
    } * places; /* owned; by index of location */
    uint32_t place_count, place_capacity;
    struct merge_frame {
        uint32_t name, system_name, file, start_line, line;
        bool is_symbol;
    } * frames; /* owned */
    uint32_t frame_count, frame_capacity;
    struct code_region *regions; /* owned; their paths are numbers in region_paths */
    uint32_t *region_paths;      /* owned; in text */
    uint32_t region_count, region_capacity, region_path_capacity;
    struct intern_table outside; /* locations in no module by what they are called */
    bool names_are_due; /* some processes have said none: what they would have said is in the files */
};

/* 0 or -ENOMEM; merge_locations_deinit also then. */
int merge_locations_init(struct merge_locations *places, struct tree *tree, struct module_list *modules);
void merge_locations_deinit(struct merge_locations *places);

/* For each location of a recording, by index, the one of the merged tree. 0 or -ENOMEM. */
int merge_locations_add(struct merge_locations *places, const struct recording *recording, arena_ref *ret);

/* The names of all of them; names_release is for who has them. 0 or -ENOMEM. */
int merge_locations_name(struct merge_locations *places, const struct profile *profile, struct symbols **ret);

#endif
