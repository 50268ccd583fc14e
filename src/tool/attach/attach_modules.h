/*
 * What is mapped in the process, by /proc/PID/maps and by the ELF headers in its memory.
 *
 * The map is read every 0.25 s, and more rarely where that takes long. A new program is
 * read more often at first, as it loads its libraries then. A library that comes in between has no
 * name until then. No file is opened: a file that was removed or replaced, or that is in another mount
 * namespace, does not matter here.
 *
 * Called from: the sampler thread, as struct target demands.
 */
#ifndef WALLPROF_ATTACH_MODULES_H
#define WALLPROF_ATTACH_MODULES_H

#include "names/memory_map.h"
#include "modules/modules.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct attach_modules {
    int directory;          /* an open /proc/PID. Not owned */
    const char *root;       /* what precedes the paths of its files, where we have other mounts; "" without */
    char program[PATH_MAX]; /* the file of its program, by that path; another one after an exec */
    uint64_t entry;         /* the address at which the program began: tells which object that is */
    uint64_t random;   /* the address of its random bytes (AT_RANDOM): another one after nearly each exec */
    uint64_t since_ns; /* CLOCK_MONOTONIC: when this program was first seen */
    bool is_due;       /* the map may be read now: set before each tick */
    uint64_t due_ns;   /* when it is to be read again */
    uint64_t hash;     /* of the executable regions in the last snapshot */
    uint64_t changes;  /* how often they have changed */
};

/* Finds out what the process runs. */
void attach_modules_init(struct attach_modules *ret, int directory, const char *root);

/* As struct target has it: makes a snapshot if one is due and the map has changed. */
bool attach_modules_refresh(struct attach_modules *mapped, struct modules *modules);

#endif
