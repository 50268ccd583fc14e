/*
 * A pprof file that is being written: what its samples and its tables have in common.
 *
 * Called from: enc_pprof.c and pprof_tables.c. What runs out of memory is remembered in the writer's parts.
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
    struct protobuf_writer message, part; /* a field of the profile, and a field of that */
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

/* What is finished goes to the sink. */
void pprof_flush(struct pprof_writer *writer);

#endif
