/*
 * A profile added up for people: the values of each function (line, file, module, thread) itself, and
 * together with all that it called; and what each thread did.
 *
 * Sums are exact, in ns. A row that is on a stack twice, by recursion, counts once in its cumulative values.
 *
 * Called from: the commands. Malloc; without memory a report fails as a whole.
 */
#ifndef WALLPROF_REPORT_H
#define WALLPROF_REPORT_H

#include "profile/profile.h"
#include "base/string_table.h"
#include "report_error.h"
#include "tool/meaning/meaning.h"
#include "wait_sums.h"

#include <regex.h>
#include <stdbool.h>

enum report_by {
    REPORT_BY_FUNCTION, /* functions of one name are one row; a row's own time is the user's (meaning.h) */
    REPORT_BY_LEAF,     /* the same, but a row's own time is what it is innermost in */
    REPORT_BY_LINE,
    REPORT_BY_FILE,
    REPORT_BY_MODULE,
    REPORT_BY_THREAD,
    REPORT_BY_PROCESS,
    REPORT_BY_LABEL, /* all samples that have the label: labels of different keys overlap */
    /* What time was spent on, and of waits on what and who held it (profile/wait_labels.h): as far as that is
     * not known, in rows in brackets. */
    REPORT_BY_WAIT,
    REPORT_BY_ON,
    REPORT_BY_HOLDER,
    REPORT_BY_COUNT
};

/* Whether rows are no code: a row's cumulative time is its own. */
static inline bool report_is_of_labels(enum report_by by)
{
    return by >= REPORT_BY_LABEL;
}

/* One of the values. */
enum report_metric { METRIC_WALL, METRIC_CPU, METRIC_OFFCPU, METRIC_RUNDELAY, METRIC_SAMPLES, METRIC_COUNT };

uint64_t report_metric(const struct values *values, enum report_metric metric);

/* The words of the command line and of JSON: "function" and so on. */
extern const char *const report_by_words[REPORT_BY_COUNT];
extern const char *const report_metric_words[METRIC_COUNT];

struct report_request {
    enum report_by by;
    /* Filters, NULL for none. Names and labels are patterns of fnmatch(3). */
    const char *thread;                   /* only threads of that name or id */
    const char *process;                  /* only threads of processes of that title, name or pid */
    const char *label;                    /* only stacks with that label: a key, or key=value */
    const regex_t *focus;                 /* only stacks with a function, file or module like this */
    const regex_t *ignore;                /* only stacks without one like this */
    const char *focus_text, *ignore_text; /* what they were made of, for messages */
    bool shows_idle;                      /* else what is waited for work is left out, and only added up */
    bool has_no_lines;                    /* rows are not named by where a script's function begins */
    bool keeps_stacks;                    /* the report has them */
};

struct report_row {
    const char *name;
    struct values flat, cum;
    struct report_error flat_error, cum_error;
    struct changes changes;
    bool is_inlined;                     /* changes say nothing of it (report_error.h) */
    uint64_t waited_ns[WAIT_KIND_COUNT]; /* of what flat waits */
};

/* A stack: the way from a node out to its thread's root. */
struct report_stack {
    arena_ref node;
    struct values values; /* of the node itself */
};

struct report_thread {
    arena_ref root;                    /* of its tree */
    const struct process_record *of;   /* NULL in a profile of one process */
    char name[THREAD_NAME_BYTES + 1];  /* in brackets for time of no known thread */
    char process[PROCESS_TITLE_BYTES]; /* profile_process_title: "" in a profile of one process */
    bool has_name;                     /* it is a known thread's */
    int32_t tid;                       /* 0 where it is not known */
    uint32_t merged_threads;           /* other threads that are in it */
    struct values total;
    const char *mostly_in; /* the function with the most wall time of its own; NULL for none */
    const char *waits_for; /* what it mostly does there: a word of wait_kind_words, NULL: it does not wait */
    uint64_t mostly_ns;    /* wall time in mostly_in */
};

struct report {
    struct report_row *rows; /* those with values; not sorted */
    size_t row_count;
    struct report_thread *threads; /* those with values, by wall time */
    size_t thread_count;
    size_t idle_thread_count;            /* that only waited for work, and have no values for that */
    uint64_t start_utc_ns;               /* of the profile */
    struct values total;                 /* of the whole profile */
    struct values selected;              /* of what the filters leave */
    uint64_t waited_ns[WAIT_KIND_COUNT]; /* of what the filters leave, idle waits included */
    struct wait_sums wait_sums;          /* of the same: for what, and who held it */
    struct values pseudo[PSEUDO_KINDS];  /* of what is selected, on stacks with such a frame */
    struct string_table names;           /* holds the rows' names */
    struct meaning meaning;              /* of the nodes of the profile */
    bool has_changes;                    /* the profile has any */
    bool has_stacks;                     /* the request wanted them */
    struct report_stack *stacks;         /* of what the filters leave, those of a thread together */
    uint32_t stack_count, stack_capacity;
};

/* A thread's name that tells it from others: "worker (1236)", "app (1234): worker (1236)", "worker (28
 * threads)", or "app (1234)" for the thread that main runs in. Returns ret. */
enum { REPORT_THREAD_NAME_BYTES = THREAD_TITLE_BYTES + 24 };
const char *report_thread_name(const struct report_thread *thread, char ret[REPORT_THREAD_NAME_BYTES]);

/* 0 or -ENOMEM with nothing held. The profile must outlive the report, and have symbols. */
int report_make(struct report *report, const struct profile *profile, const struct report_request *request);
void report_free(struct report *report);

/* Sorts the rows by a metric, largest first. With by_cum, cumulative values come before their own. */
void report_sort(struct report *report, enum report_metric metric, bool by_cum);

/* Sorts the threads by another metric than wall time, largest first. */
void report_sort_threads(struct report *report, enum report_metric metric);

#endif
