/*
 * What a set of descriptors is called that a thread polls: by its only member, "tcp 10.0.0.7:5432", or by the
 * name that all of them have, "eventfd"; else by their kinds, "epoll of 4 tcp, 1 timerfd". A kind whose
 * members have up to three names has these. What is longer than a name can be is cut off.
 *
 * Pure functions. Source: fs/eventpoll.c (ep_show_fdinfo).
 */
#ifndef WALLPROF_OBJECT_SETS_H
#define WALLPROF_OBJECT_SETS_H

#include "known_objects.h"

#include <stdbool.h>
#include <stdint.h>

/* A larger set is not described. */
enum { OBJECT_SET_MAX = 16 };

struct object_set {
    uint32_t count;
    char names[OBJECT_SET_MAX][KNOWN_OBJECT_BYTES];
};

/* word: "poll", "select", "epoll". The names are sorted. */
void object_set_name(struct object_set *set, const char *word, char ret[KNOWN_OBJECT_BYTES]);

/* The members in the text of an epoll set's file in /proc/PID/fdinfo, as long as they are no more than
 * OBJECT_SET_MAX; else -1. */
int object_set_members(const char *text, int ret[OBJECT_SET_MAX]);

#endif
