/*
 * What threads have been found waiting for beside locks, by its name: "tcp 10.0.0.7:5432", "join worker-3".
 *
 * Their number is bounded, because each is a label: the others are one, "[other]". A number stands for a name
 * as long as the recording lasts, also when the tree is emptied.
 *
 * Called from: the sampler thread. Scratch memory, from the first name on.
 */
#ifndef WALLPROF_KNOWN_OBJECTS_H
#define WALLPROF_KNOWN_OBJECTS_H

#include "profile/tree.h"

#include <stdint.h>

enum { KNOWN_OBJECTS_MAX = 1024, KNOWN_OBJECTS_BUCKETS = 1024, KNOWN_OBJECT_BYTES = 224 };

/* The number of all that are too many. */
enum { KNOWN_OBJECT_OTHER = KNOWN_OBJECTS_MAX + 1 };

struct known_object {
    arena_ref location; /* of its label; 0: to be made anew */
    uint32_t next;      /* in its bucket: index + 1 */
    char name[KNOWN_OBJECT_BYTES];
};

struct known_objects {
    struct tree *tree; /* not owned */
    struct known_object *objects;
    uint32_t *buckets; /* index + 1 */
    uint32_t count;
    arena_ref other; /* of the label of all others; 0 before the first */
};

/* The number of a name, from 1 on. Bytes that are no text are replaced. */
uint32_t known_objects_get(struct known_objects *objects, const char *name);

/* The label of a number. 0 without memory. */
arena_ref known_objects_label(struct known_objects *objects, uint32_t number);

/* The tree was emptied. */
void known_objects_forget(struct known_objects *objects);
void known_objects_deinit(struct known_objects *objects);

#endif
