/*
 * What the files of the reader of stores share. Everything is copied first, so that nothing changes under it,
 * and then checked record by record; whatever fails says why (recording_refuse), and the whole is refused.
 *
 *     store_read.c           the header, and the arena: modules, locations, trees, threads
 *     store_mend.c           what a process left that did not end by itself
 *     store_read_names.c     what the process called its code
 *     store_read_timeline.c  records and events
 */
#ifndef WALLPROF_TOOL_STORE_READER_H
#define WALLPROF_TOOL_STORE_READER_H

#include "recording.h"
#include "profile/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sums of four of these cannot overflow, nor can a reader's signed 64 bits. */
#define STORE_VALUE_MAX (UINT64_C(1) << 61)

/* Which kind of record begins at a unit of the arena, or goes on there. */
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

enum { UNITS_PER_NODE = sizeof(struct wp_node) / ARENA_UNIT_BYTES };

struct store_reader {
    struct recording *recording;
    const unsigned char *bytes;
    size_t count;
    const struct store_header *header; /* a copy */
    uint8_t *kinds;                    /* one per unit of the arena */
    size_t unit_count;
    uint32_t *thread_of_node; /* by where the node lies */
    uint8_t *has_tree;        /* by thread number */
    uint64_t total[4];        /* samples, CPU, off-CPU, wall */
    uint64_t timed_ns;        /* of all records of the timeline */
    uint64_t text_bytes;      /* of all names taken so far */
};

/* "it is damaged: what"; returns the error. */
int store_damaged(struct store_reader *reader, const char *what);

/* Zeroed memory for as many, or NULL; for none of them, too. */
void *store_array(size_t count, size_t bytes);

/* Whether so many bytes lie there at all; and that they are a record's of that kind, and no other's. */
bool store_fits(const struct store_reader *reader, arena_ref ref, size_t bytes);
bool store_claim(struct store_reader *reader, arena_ref ref, size_t bytes, enum store_kind kind);

/* Whether the module, which has been claimed, can be believed. */
bool store_is_module(const struct store_reader *reader, arena_ref ref);

/* Whether a record of that kind begins there; whether a string does that ends. */
bool store_is_kind(const struct store_reader *reader, arena_ref ref, enum store_kind kind);
bool store_is_string(const struct store_reader *reader, arena_ref ref);

/* So that no sum overflows: 0, or what is to be returned where all of them are longer than anything lasts. */
int store_add_values(struct store_reader *reader, const struct wp_values *values);

/* Whether what claims to be a label has a key, and behind it a value, with which samples can be written. */
bool store_is_label(const struct store_reader *reader, const struct wp_location *location);

/*
 * Of a recording that nobody has closed: first what was being added is taken out, so that what is left can be
 * checked like any other; and when it has been, the time of threads that lived is closed. header: what the
 * store says, which is mended too. 0 or -errno.
 */
int store_mend(struct store_reader *reader, struct store_header *header);
int store_settle(struct store_reader *reader, const struct store_header *header);

/* What a store says that has not been closed, and has no note of an end. */
#define STORE_NOT_ENDED "it had not ended"

/* What the process said of its end, if it has not gone on after that; or STORE_END_UNKNOWN. */
enum store_end store_believed_end(const struct store_live *live);

/* Of a store that has been settled: how the process ended, if that was not the ordinary way; and how long it
 * was recorded. */
void store_describe_end(const struct store_header *header, char *ret, size_t capacity);
uint64_t store_duration_ns(const struct store_header *header);

/* The parts behind the arena, once that has been checked: 0 or -errno. */
int store_read_names(struct store_reader *reader);
int store_read_timeline(struct store_reader *reader);

#endif
