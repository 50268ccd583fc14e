/*
 * What the readers of a pprof file's tables and of its samples share: messages of numbers, strings and ids,
 * each of which may be wrong. The first error stays in the reader, with its reason in the recording.
 *
 * Called from: pprof_file.c, pprof_sample.c.
 */
#ifndef WALLPROF_PPROF_READER_H
#define WALLPROF_PPROF_READER_H

#include "pprof_file.h"

enum { PPROF_PROFILE_FIELDS = 15, PPROF_FIELDS_MAX = 16 };

struct pprof_reader {
    struct pprof_file *file;
    struct recording *recording;             /* for the reason */
    size_t counts[PPROF_PROFILE_FIELDS + 1]; /* how often each field is in the file; after the first pass */
    int status;
};

/* Refuses the file: it is damaged, or no profile, because of `what`. */
void pprof_fail(struct pprof_reader *reader, const char *what);

/* A message of numbers only: the last one of each field, by the field's number. Other fields are skipped. */
void pprof_read_numbers(struct pprof_reader *reader, struct protobuf_reader message,
                        uint64_t fields[PPROF_FIELDS_MAX], const char *what);

/* The string with this number; "" and an error if there is none. */
const char *pprof_string_at(struct pprof_reader *reader, uint64_t index);

/* Sorts ids, and checks that they are different and not 0. After that: 1 + the index of an id, 0 for none. */
void pprof_sort_ids(struct pprof_reader *reader, struct pprof_ids *ids, uint32_t count);
uint32_t pprof_find_id(const struct pprof_ids *ids, uint64_t id);

#endif
