#include "known_objects.h"
#include "lock_names.h"
#include "base/arena.h"
#include "base/hash.h"
#include "profile/wait_labels.h"

#include <stdio.h>
#include <string.h>

static bool provide(struct known_objects *objects)
{
    if (!objects->objects)
        objects->objects = scratch_alloc(sizeof *objects->objects * KNOWN_OBJECTS_MAX);
    if (!objects->buckets)
        objects->buckets = scratch_alloc(sizeof *objects->buckets * KNOWN_OBJECTS_BUCKETS);
    return objects->objects && objects->buckets;
}

uint32_t known_objects_get(struct known_objects *objects, const char *name)
{
    char text[KNOWN_OBJECT_BYTES];
    if (!provide(objects))
        return KNOWN_OBJECT_OTHER;
    snprintf(text, sizeof text, "%s", name);
    lock_names_make_plain(text);
    uint32_t *bucket =
        &objects->buckets[hash_bytes(hash_of_nothing, text, strlen(text)) % KNOWN_OBJECTS_BUCKETS];
    for (uint32_t number = *bucket; number; number = objects->objects[number - 1].next) {
        if (strcmp(objects->objects[number - 1].name, text) == 0)
            return number;
    }
    if (objects->count >= KNOWN_OBJECTS_MAX)
        return KNOWN_OBJECT_OTHER;
    struct known_object *object = &objects->objects[objects->count];
    object->next = *bucket;
    strcpy(object->name, text);
    return *bucket = ++objects->count;
}

arena_ref known_objects_label(struct known_objects *objects, uint32_t number)
{
    struct known_object *object = number < KNOWN_OBJECT_OTHER ? &objects->objects[number - 1] : NULL;
    arena_ref *location = object ? &object->location : &objects->other;
    if (!*location)
        *location = tree_label(objects->tree, WAIT_LABEL_ON, object ? object->name : LABELS_OTHER);
    return *location;
}

void known_objects_forget(struct known_objects *objects)
{
    for (uint32_t i = 0; i < objects->count; i++)
        objects->objects[i].location = 0;
    objects->other = 0;
}

void known_objects_deinit(struct known_objects *objects)
{
    scratch_free(objects->objects, sizeof *objects->objects * KNOWN_OBJECTS_MAX);
    scratch_free(objects->buckets, sizeof *objects->buckets * KNOWN_OBJECTS_BUCKETS);
    objects->objects = NULL;
    objects->buckets = NULL;
    objects->count = 0;
}
