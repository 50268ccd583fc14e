/*
 * The locations of a merged recording, and the names that the recordings had for them.
 *
 * Locations in a module are the same if they are at the same offset of the file. Code in no module (run-time
 * code) has another address in each process, and one address is other code in each. Such locations are the
 * same if they have the same names; they get the address of the first. So the number of locations is bounded
 * by the programs, not by the processes.
 *
 * Names are made once, at the end (store_names.h). Locations from stores get them from the files, with the
 * processes' names as hints. Locations from pprof files only keep the frames and lines that they had.
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
        uint32_t name, system_name;        /* by a process, in text; 0 for none */
        uint32_t region;                   /* 1 + index into regions, 0 for none */
        uint32_t first_frame, frame_count; /* by a pprof file, in frames */
        bool is_in_store, is_known_to_process_only;
    } * list; /* owned; by index of location */
    uint32_t count, capacity;
    struct merge_frame {
        uint32_t name, system_name, file, start_line, line;
        bool is_symbol;
    } * frames; /* owned */
    uint32_t frame_count, frame_capacity;
    struct merge_region {
        struct code_region region; /* its path is set at the end */
        uint32_t path;             /* in text */
        uint32_t number;           /* 1 + index, before they are sorted */
    } * regions;                   /* owned */
    uint32_t region_count, region_capacity;
    struct intern_table anonymous; /* locations in no module by their names */
    bool names_are_due;            /* some processes left the names of their code to be read from the files */
};

/* 0 or -ENOMEM; merge_locations_deinit also then. */
int merge_locations_init(struct merge_locations *locations, struct tree *tree, struct module_list *modules);
void merge_locations_deinit(struct merge_locations *locations);

/* For each location of a recording, by index, the one of the merged tree. 0 or -ENOMEM. */
int merge_locations_add(struct merge_locations *locations, const struct recording *recording, arena_ref *ret);

/* Names all locations. The caller releases the names by names_release. 0 or -ENOMEM. */
int merge_locations_name(struct merge_locations *locations, const struct profile *profile,
                         struct symbols **ret);

#endif
