/*
 * A profile added up for people: what each function (line, file, module, thread) took itself, and together
 * with what it called; and what each thread did.
 *
 * Sums are exact, in ns. A row on a stack twice, by recursion, counts once in what it is cumulative of.
 *
 * Called from: the commands. Malloc; without memory a report fails as a whole.
 */
#ifndef WALLPROF_REPORT_H
#define WALLPROF_REPORT_H

#include "profile/profile.h"
#include "base/string_table.h"

#include <regex.h>
#include <stdbool.h>

enum report_by {
    REPORT_BY_FUNCTION, /* functions of one name are one row */
    REPORT_BY_LINE,
    REPORT_BY_FILE,
    REPORT_BY_MODULE,
    REPORT_BY_THREAD,
    REPORT_BY_PROCESS,
    REPORT_BY_LABEL, /* of one label all that was done with it: labels of different keys overlap */
    REPORT_BY_COUNT
};

/* Command line words: "function" and so on. NULL and false for one that there is not. */
const char *report_by_word(enum report_by by);
bool report_by_of_word(const char *word, enum report_by *ret);

/* One of what is measured. */
enum report_metric { METRIC_WALL, METRIC_CPU, METRIC_OFFCPU, METRIC_SAMPLES, METRIC_COUNT };

const char *report_metric_word(enum report_metric metric);
bool report_metric_of_word(const char *word, enum report_metric *ret);
uint64_t report_metric(const struct values *values, enum report_metric metric);

struct report_request {
    enum report_by by;
    const char *thread;  /* only threads of that name (a pattern of fnmatch) or id; NULL for all */
    const char *process; /* only of processes of that title (a pattern of fnmatch) or pid; NULL for all */
    /* Only stacks with a label like this: a key, or key=value, as of fnmatch; NULL for all. */
    const char *label;
    const regex_t *focus;  /* only stacks with a function, file or module like this; NULL for all */
    const regex_t *ignore; /* none with one like this */
};

struct report_row {
    const char *name;
    struct values flat, cum;
};

struct report_thread {
    const struct process_record *of;   /* NULL in a profile of one process */
    char name[THREAD_NAME_BYTES + 1];  /* of a thread or, in brackets, of time that has none */
    char process[PROCESS_TITLE_BYTES]; /* profile_process_title: "" in a profile of one */
    bool has_name;                     /* the former */
    int32_t tid;                       /* 0 where it is not known */
    struct values total;
    const char *mostly_in;   /* the function in which it was longest; NULL when it was in none */
    const char *called_from; /* the nearest function in another module that it was called from, or NULL */
    uint64_t mostly_ns;      /* how long (wall) */
};

struct report {
    struct report_row *rows; /* with anything in them; not sorted */
    size_t row_count;
    struct report_thread *threads; /* those with anything in them, by wall time */
    size_t thread_count;
    struct values total;                /* of the whole profile */
    struct values selected;             /* of what the filters leave */
    struct values pseudo[PSEUDO_KINDS]; /* of what is selected, on stacks with such a frame */
    struct string_table names;          /* what the rows' names lead to */
};

/* What a thread is called among all: "worker (1236)", or "app (1234): worker (1236)". Returns ret. */
enum { REPORT_THREAD_NAME_BYTES = THREAD_TITLE_BYTES + 24 };
const char *report_thread_name(const struct report_thread *thread, char ret[REPORT_THREAD_NAME_BYTES]);

/* 0 or -ENOMEM with nothing held. The profile must outlive the report, and have symbols. */
int report_make(struct report *report, const struct profile *profile, const struct report_request *request);
void report_free(struct report *report);

/* By a metric, largest first; then by the other sum, then by name. */
void report_sort(struct report *report, enum report_metric metric, bool by_cum);

static inline void report_add(struct values *to, const struct values *from)
{
    to->samples += from->samples;
    to->cpu_ns += from->cpu_ns;
    to->offcpu_ns += from->offcpu_ns;
    to->wall_ns += from->wall_ns;
}

static inline bool report_is_any(const struct values *values)
{
    return values->samples || values->cpu_ns || values->offcpu_ns || values->wall_ns;
}

#endif
