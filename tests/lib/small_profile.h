/*
 * A small profile made by hand, with something of everything: three threads (two with equal names), two
 * modules and code outside of them, inlined frames, lines, recursion, pseudo-frames, call counts.
 *
 *     main (11):     main < start          20 samples, cpu 100, blocked  50, wall 150
 *                    work < main < start    3 samples, cpu  40, blocked   7, wall  47
 *                    [unsampled]                                             wall   5
 *     worker (12):   fact < fact < fact < run   4 samples, cpu 30, wall 30
 *                    helper (inlined) < fact < run    2 samples, cpu 1, blocked 9, wall 10
 *     worker (13):   jitted < run           1 sample, blocked 1000, wall 1000
 *
 * Values are in units of UNIT_NS.
 */
#ifndef WALLPROF_SMALL_PROFILE_H
#define WALLPROF_SMALL_PROFILE_H

#include "unit.h"
#include "profile/profile.h"

enum { SMALL_UNIT_NS = 1000003, SMALL_THREADS = 3, SMALL_LOCATIONS_MAX = 32, SMALL_FUNCTIONS = 16 };

enum small_function {
    SMALL_START,
    SMALL_MAIN,
    SMALL_WORK,
    SMALL_RUN,
    SMALL_FACT,
    SMALL_HELPER,
    SMALL_JITTED
};

struct small_profile {
    struct profile profile;
    struct arena arena;
    struct tree tree;
    struct module_list modules;
    struct symbols symbols;
    struct timeline timeline; /* for tests that set profile.timeline to it */
    struct timeline_record records[4];
    struct timeline_event events[2];
    arena_ref thread_of_number[SMALL_THREADS + 1], program, library;
    struct symbol_function functions[SMALL_FUNCTIONS];
    struct symbol_frame frames[2 * SMALL_LOCATIONS_MAX];
    uint32_t first_frame[SMALL_LOCATIONS_MAX + 1], region_of[SMALL_LOCATIONS_MAX];
    struct code_region region;
    struct symbols_module known[2];
};

void small_profile_create(struct small_profile *small);
void small_profile_destroy(struct small_profile *small);

#endif
