/*
 * A reader of google/pprof's profile.proto for tests: every field of it, nothing assumed but the wire format.
 * What is not well formed fails the test.
 */
#ifndef WALLPROF_FAKE_PPROF_H
#define WALLPROF_FAKE_PPROF_H

#include "fake_files.h"

enum { FAKE_STACK_MAX = 128, FAKE_FEW_MAX = 16 };

struct fake_numbers {
    uint64_t at[FAKE_STACK_MAX];
    size_t count;
};

struct fake_value_type {
    uint64_t type, unit;
};

struct fake_label {
    uint64_t key, str, num, unit;
};

struct fake_sample {
    struct fake_numbers locations, values;
    struct fake_label labels[FAKE_FEW_MAX];
    size_t label_count;
};

/* By field number. */
struct fake_mapping {
    uint64_t field[11];
};

struct fake_location {
    uint64_t field[6]; /* 4, the lines, aside */
    uint64_t function_ids[FAKE_FEW_MAX], lines[FAKE_FEW_MAX];
    size_t line_count;
};

struct fake_function {
    uint64_t field[6];
};

struct fake_pprof {
    char **strings;
    struct fake_sample *samples;
    struct fake_mapping *mappings;
    struct fake_location *locations;
    struct fake_function *functions;
    size_t string_count, sample_count, mapping_count, location_count, function_count;
    struct fake_value_type sample_types[FAKE_FEW_MAX], period_type;
    size_t sample_type_count;
    struct fake_numbers comments;
    uint64_t field[16]; /* numbers by field */
};

void fake_pprof_read(const struct fake_bytes *plain, struct fake_pprof *ret);
void fake_pprof_free(struct fake_pprof *pprof);
const char *fake_string(const struct fake_pprof *pprof, uint64_t index);

#endif
