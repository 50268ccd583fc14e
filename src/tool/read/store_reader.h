/*
 * What the files of the store reader share. Everything is copied first, so that it cannot change, and then
 * checked record by record. One check that fails refuses the whole store, with a reason (recording_refuse).
 *
 *     store_read.c        the header, the timeline, and the whole
 *     store_arena.c       modules, locations, trees, threads
 *     store_mend.c        what a process left that did not end in the ordinary way
 *     store_ending.c      how it ended then, for people
 *     store_read_names.c  what the process called its code
 */
#ifndef WALLPROF_STORE_READER_H
#define WALLPROF_STORE_READER_H

#include "recording.h"
#include "base/smaller.h"
#include "profile/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sum of four of these fits into 64 bits, and each sum into a reader's signed 64 bits. */
#define STORE_VALUE_MAX   (UINT64_C(1) << 61)
#define STORE_CHANGES_MAX 1e30f

/* The kind of the record that begins at a unit of the arena. KIND_REST: it goes on there. */
enum store_kind {
    KIND_NONE,
    KIND_MODULE,
    KIND_LOCATION,
    KIND_NODE,
    KIND_ROOT,
    KIND_THREAD,
    KIND_STATE,
    KIND_REST
};

struct store_reader {
    struct recording *recording;
    const unsigned char *bytes;
    size_t count;
    struct store_header *header; /* a copy; store_mend changes it */
    uint8_t *kinds;              /* one per unit of the arena */
    size_t unit_count;
    size_t steps;             /* that store_mend has made along lists */
    uint32_t *thread_of_node; /* by tree_node_index */
    uint8_t *has_tree;        /* by thread number */
    uint64_t total[4];        /* samples, CPU, off-CPU, wall */
    uint64_t timed_ns;        /* of all records of the timeline */
    uint64_t text_bytes;      /* of all names taken so far */
};

/* Refuses the store with "it is damaged: WHAT"; returns the error. */
int store_damaged(struct store_reader *reader, const char *what);

/* Zeroed memory for so many elements, also for 0 of them; NULL without memory. */
void *store_array(size_t count, size_t bytes);

/* Whether so many bytes lie there. store_claim also claims them for a record of that kind: each byte is
 * claimed once. */
bool store_fits(const struct store_reader *reader, arena_ref ref, size_t bytes);
bool store_claim(struct store_reader *reader, arena_ref ref, size_t bytes, enum store_kind kind);

/* Whether a module that was claimed can be believed. */
bool store_is_module(const struct store_reader *reader, arena_ref ref);

/* Whether a record of that kind begins there; whether a string that ends begins there. */
bool store_is_kind(const struct store_reader *reader, arena_ref ref, enum store_kind kind);
bool store_is_string(const struct store_reader *reader, arena_ref ref);

/* Whether changes are neither infinite nor NaN, and no sum of theirs overflows. */
bool store_is_sound(const struct changes *changes);

/* Adds up all values, so that no sum overflows later. 0, or the error to return when they are too large. */
int store_add_values(struct store_reader *reader, const struct values *values);

/* Whether a location that claims to be a label or a script has its texts, and they can be written. */
bool store_has_text(const struct store_reader *reader, const struct location *location);

/* The tree's lists in the recording begin where the header says. */
void store_take_lists(struct store_reader *reader);

/*
 * For a recording that was not closed. store_mend takes out what was being added, also from the header, so
 * that the rest can be checked like any other store. After the checks store_settle closes the time of the
 * threads that lived. 0 or -errno.
 */
int store_mend(struct store_reader *reader);
int store_settle(struct store_reader *reader);

/* The ending of a store that was not closed and has no note of an end. */
#define STORE_NOT_ENDED "it had not ended"

/* What the process noted about its end, unless it went on after that; else STORE_END_UNKNOWN. */
enum store_end store_believed_end(const struct store_live *live);

/* For a store that was settled: how the process ended, if not in the ordinary way, and how long it was
 * recorded.
 */
void store_describe_end(const struct store_header *header, char *ret, size_t capacity);
uint64_t store_duration_ns(const struct store_header *header);

/* Checks all records of the arena. Then the process's names, which come after it, can be read. 0 or -errno.
 */
int store_check_arena(struct store_reader *reader);
int store_read_names(struct store_reader *reader);

#endif
