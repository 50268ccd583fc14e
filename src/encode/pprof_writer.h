/*
 * A pprof file that is being written: its output, and its tables of mappings, locations and functions.
 *
 * Called from: enc_pprof.c. The writer's parts remember if memory has run out.
 */
#ifndef WALLPROF_PPROF_WRITER_H
#define WALLPROF_PPROF_WRITER_H

#include "base/protobuf_write.h"
#include "base/sink.h"
#include "base/string_table.h"
#include "profile/profile.h"

#include <stdint.h>

struct pprof_writer {
    const struct profile *profile;
    struct sink *sink;
    struct string_table strings;
    struct protobuf_writer message, part; /* a field of the profile, and a field of that field */
    struct protobuf_writer output;
    arena_ref *modules; /* in mapping order: modules[id - 1] */
    uint32_t module_count;
    arena_ref *locations;                  /* by index */
    uint32_t *location_ids, *function_ids; /* by index; 0 for a label's */
    struct timed_samples *timed;           /* NULL: samples are of the whole recording */
};

/* The number of a string in the string table. */
uint64_t pprof_intern(struct pprof_writer *writer, const char *text);

/* The finished body in `message` becomes one field of the profile. */
void pprof_emit(struct pprof_writer *writer, uint32_t field);

/* Writes the finished fields to the sink. */
void pprof_flush(struct pprof_writer *writer);

/* Gives everything its id: fills in modules, locations, location_ids and function_ids. 0 or -ENOMEM; deinit
 * is to be called in both cases. */
int pprof_tables_init(struct pprof_writer *writer);
void pprof_tables_deinit(struct pprof_writer *writer);

/* Writes the three tables, and interns their strings. */
void pprof_tables_emit(struct pprof_writer *writer);

#endif
