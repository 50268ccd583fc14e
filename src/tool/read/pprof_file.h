/*
 * A pprof file (google/pprof's profile.proto) as tables. The form of its content is checked here, but not its
 * meaning.
 *
 * After success every string index leads to a string, and every id in a location or line leads to an entry.
 * Ids are different, and numbers that are signed in the format are not negative. Samples are only found and
 * counted; pprof_file_sample reads one. Memory is in proportion to the file.
 *
 * Called from: pprof_read. Malloc.
 */
#ifndef WALLPROF_PPROF_FILE_H
#define WALLPROF_PPROF_FILE_H

#include "recording.h"
#include "base/protobuf_read.h"

enum { PPROF_TYPES_MAX = 16, PPROF_STACK_MAX = 1 << 20, PPROF_LABELS_MAX = 64 };

/* What is read of a sample. Ours have them in this order; where the run delay is not known, it is left out.
 */
enum pprof_value {
    PPROF_SAMPLES,
    PPROF_CPU,
    PPROF_OFFCPU,
    PPROF_RUNDELAY,
    PPROF_BLAME,
    PPROF_WALL,
    PPROF_VALUES
};

struct pprof_value_type {
    const char *type, *unit;
};

struct pprof_mapping {
    uint64_t id, start, limit, file_offset;
    const char *path, *build_id;
    bool has_functions, has_files, has_lines, has_inlines;
};

struct pprof_function {
    uint64_t id;
    const char *name, *system_name, *file;
    uint32_t start_line;
};

struct pprof_line {
    uint32_t function; /* index into functions */
    uint32_t line;
};

struct pprof_location {
    uint64_t id, address;
    uint32_t mapping;                /* 1 + index into mappings, 0 for none */
    uint32_t first_line, line_count; /* in lines */
};

/* From an id to an index. Ids that run 1..N are found without a search. */
struct pprof_ids {
    struct pprof_id {
        uint64_t id;
        uint32_t index;
    } * sorted; /* by id */
    uint32_t count;
};

struct pprof_file {
    char *text;           /* all strings, NUL-terminated, valid UTF-8 */
    const char **strings; /* into text */
    struct pprof_mapping *mappings;
    struct pprof_location *locations;
    struct pprof_function *functions;
    struct pprof_line *lines;
    struct protobuf_reader *samples; /* messages, in the file's bytes */
    const char **comments;
    uint32_t string_count, mapping_count, location_count, function_count, line_count, sample_count,
        comment_count;
    struct pprof_ids mapping_ids, location_ids, function_ids;
    struct pprof_value_type types[PPROF_TYPES_MAX], period_type;
    uint32_t type_count;
    const char *default_type;        /* "" without */
    int place_of[PPROF_TYPES_MAX];   /* by type: its enum pprof_value, -1: left out (pprof_measures.h) */
    uint64_t scale[PPROF_TYPES_MAX]; /* and what a value is multiplied by */
    uint64_t time_ns, duration_ns, period;
    size_t stack_ids;   /* upper bound of the location ids of all samples together */
    size_t label_count; /* of all samples together */
};

struct pprof_sample {
    uint32_t *stack; /* indices of locations, innermost first; owned by the caller */
    uint32_t depth, capacity;
    uint64_t values[PPROF_VALUES]; /* those that are left out are 0 */
    const char *thread;            /* label `thread`; NULL without */
    uint64_t thread_id;
    bool has_thread_id;
    const char *process; /* label `process`; NULL without */
    int32_t pid, rank;   /* labels of that name; 0 and PROCESS_NO_RANK without */
    struct pprof_label {
        const char *key, *value;
    } labels[PPROF_LABELS_MAX]; /* other labels with text, in the order of their keys */
    uint32_t label_count;
    const char *on, *holder;         /* labels of that name (profile/wait_labels.h); NULL without */
    struct protobuf_numbers changes; /* pprof_changes.h */
    bool has_changes;
};

/* 0; or -errno with the reason in recording->reason and nothing held. The bytes must outlive the file. */
int pprof_file_read(struct pprof_file *file, const unsigned char *bytes, size_t count,
                    struct recording *recording);
void pprof_file_free(struct pprof_file *file);

/*
 * Reads a sample into *ret, whose stack is reused and grows as needed. 0, or -errno with the reason. After
 * pprof_measures_choose.
 */
int pprof_file_sample(struct pprof_file *file, uint32_t index, struct pprof_sample *ret,
                      struct recording *recording);

#endif
