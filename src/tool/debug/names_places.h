/*
 * The locations that files have to name, by file: modules with one path and one build-id are of one file,
 * however often it was loaded and in however many segments.
 *
 * Called from: names.c.
 */
#ifndef WALLPROF_TOOL_NAMES_PLACES_H
#define WALLPROF_TOOL_NAMES_PLACES_H

#include "modules/modules.h"

#include <stddef.h>
#include <stdint.h>

struct names_place {
    uint64_t elf_address; /* run-time address minus load bias */
    arena_ref module;
    uint32_t location; /* index */
};

/* By path, build-id, address. */
void names_places_sort(const struct wp_arena *arena, struct names_place *places, size_t count);

/* How many of count > 0 sorted places are of the same file as the first; and how many files there are. */
size_t names_places_of_file(const struct wp_arena *arena, const struct names_place *places, size_t count);
size_t names_places_files(const struct wp_arena *arena, const struct names_place *places, size_t count);

/* 0 without one, or where it is longer than a record can have it. */
size_t names_build_id_bytes(const struct wp_module *module);

#endif
