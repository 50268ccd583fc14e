#include "report.h"
#include "report_walk.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const report_by_words[REPORT_BY_COUNT] = {"function", "leaf",  "line", "file", "module", "thread",
                                                      "process",  "label", "wait", "on",   "holder"};
const char *const report_metric_words[METRIC_COUNT] = {"wall", "cpu", "offcpu", "rundelay", "samples"};

uint64_t report_metric(const struct values *values, enum report_metric metric)
{
    return metric == METRIC_WALL       ? tree_wall_ns(values)
           : metric == METRIC_CPU      ? values->cpu_ns
           : metric == METRIC_OFFCPU   ? tree_offcpu_ns(values)
           : metric == METRIC_RUNDELAY ? values->rundelay_ns
                                       : values->samples;
}

/* ---- threads ---- */

/* The number 0 is nobody's. */
static bool is_called(const char *wanted, const char *name, int32_t number)
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    return !wanted || fnmatch(wanted, name, 0) == 0 || (number && strcmp(wanted, text) == 0);
}

/* By its title, or the name before what its title says of it: "postgres" of "postgres: walwriter". */
static bool is_process_called(const char *wanted, const struct process_record *process)
{
    char name[PROCESS_TITLE_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(process->name, " :"), process->name);
    return fnmatch(wanted, process->name, 0) == 0 || fnmatch(wanted, name, 0) == 0;
}

static bool is_wanted(const struct report_request *request, const struct report_thread *thread)
{
    const char *process = request->process;
    int32_t pid = thread->of ? thread->of->pid : 0;
    return is_called(request->thread, thread->name, thread->tid) &&
           (is_called(process, thread->process, pid) ||
            (thread->of && is_process_called(process, thread->of)));
}

/*
 * Without labels a profile does not tell its threads apart. With them, [no thread] has the time of threads
 * for whose record there was no memory.
 */
static struct report_thread thread_of(const struct profile *profile, const struct tree_node *root)
{
    struct report_thread thread = {.tid = 0};
    const struct thread_record *record = profile_thread(profile, root->thread);
    enum label_policy labels = profile->labels;
    thread.has_name = profile_tells_thread(profile, record);
    thread.of = profile->is_merged ? profile_process(profile, record) : NULL;
    profile_process_title(profile, record, thread.process);
    if (thread.has_name)
        profile_thread_name(record, thread.name);
    else
        strcpy(thread.name, labels == LABELS_NONE ? "[all threads]" : "[no thread]");
    if (thread.has_name && labels == LABELS_ID)
        thread.tid = record->tid;
    thread.merged_threads = record ? record->merged_threads : 0;
    return thread;
}

/* False without memory. */
static bool add_thread(struct report_walk *walk, arena_ref root)
{
    struct report *report = walk->report;
    const struct profile *profile = walk->rows->profile;
    struct report_thread *thread = &report->threads[report->thread_count];
    const uint64_t idle_ns = report->waited_ns[WAIT_IDLE];
    *thread = thread_of(profile, tree_node(profile->tree, root));
    thread->root = root;
    if (!report_walk_tree(walk, root, !is_wanted(walk->rows->request, thread), &thread->total))
        return false;
    report_walk_take_mostly_in(walk, thread);
    tree_add_values(&report->selected, &thread->total);
    if (tree_has_weight(&thread->total))
        report->thread_count++;
    else
        report->idle_thread_count += report->waited_ns[WAIT_IDLE] > idle_ns;
    return true;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b); /* largest first */
}

static int compare_threads(const void *left, const void *right, void *context)
{
    const struct report_thread *a = left, *b = right;
    const enum report_metric *metric = context;
    int order = compare_numbers(report_metric(&a->total, *metric), report_metric(&b->total, *metric));
    if (order == 0)
        order = strcmp(a->process, b->process);
    if (order == 0)
        order = strcmp(a->name, b->name);
    return order ? order : (a->tid > b->tid) - (a->tid < b->tid);
}

void report_sort_threads(struct report *report, enum report_metric metric)
{
    qsort_r(report->threads, report->thread_count, sizeof *report->threads, compare_threads, &metric);
}

static bool add_threads(struct report_walk *walk)
{
    const struct tree *tree = walk->rows->profile->tree;
    struct report *report = walk->report;
    size_t count = 0;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling)
        count++;
    report->threads = calloc(count + 1, sizeof *report->threads);
    if (!report->threads)
        return false;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        if (!add_thread(walk, root))
            return false;
    }
    report_sort_threads(report, METRIC_WALL);
    return true;
}

/* ---- the whole ---- */

/* The sums of threads and processes are what the clocks say. */
static void set_errors(const struct report *report, struct report_row *row, enum report_by by,
                       uint64_t period_ns)
{
    const struct changes *changes = &row->changes;
    if (by == REPORT_BY_THREAD || by == REPORT_BY_PROCESS)
        return;
    bool is_known = report->has_changes && !row->is_inlined;
    row->cum_error = is_known ? report_error_of(&row->cum, changes->cum_near, changes->cum_far, period_ns)
                              : report_error_of_samples(&row->cum, &report->selected);
    row->flat_error = report_is_of_labels(by) ? row->cum_error
                      : is_known
                          ? report_error_of(&row->flat, changes->flat_near, changes->flat_far, period_ns)
                          : report_error_of_samples(&row->flat, &report->selected);
}

/*
 * Sets the rows' names, which do not move any more, and drops rows without values. A label's cumulative time
 * is also its own.
 */
static void finish_rows(struct report *report, enum report_by by, uint64_t period_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->row_count; i++) {
        if (report_is_of_labels(by))
            report->rows[i].flat = report->rows[i].cum;
        if (!tree_has_weight(&report->rows[i].cum))
            continue;
        set_errors(report, &report->rows[i], by, period_ns);
        report->rows[kept] = report->rows[i];
        report->rows[kept++].name = string_table_at(&report->names, (uint32_t)i);
    }
    report->row_count = kept;
}

const char *report_thread_name(const struct report_thread *thread, char ret[REPORT_THREAD_NAME_BYTES])
{
    char tid[24] = "";
    const bool is_main = thread->of && thread->tid && thread->tid == thread->of->pid;
    if (is_main && strncmp(thread->process, thread->name, strlen(thread->name)) == 0)
        return strcpy(ret, thread->process); /* its process says all */
    if (thread->tid)
        snprintf(tid, sizeof tid, " (%d)", thread->tid);
    else if (thread->merged_threads)
        snprintf(tid, sizeof tid, " (%u threads)", 1 + thread->merged_threads);
    snprintf(ret, REPORT_THREAD_NAME_BYTES, "%s%s%s%s", thread->process, *thread->process ? ": " : "",
             thread->name, tid);
    return ret;
}

/* One row for all threads of one name and id, or of one process. */
static bool make_thread_rows(struct report *report, enum report_by by)
{
    char name[REPORT_THREAD_NAME_BYTES];
    struct report_row *rows = calloc(report->thread_count + 2, sizeof *rows);
    free(report->rows);
    report->rows = rows;
    string_table_deinit(&report->names);
    string_table_init(&report->names);
    for (size_t i = 0; rows && i < report->thread_count; i++) {
        const struct report_thread *thread = &report->threads[i];
        const char *process = *thread->process ? thread->process : "[all processes]";
        uint32_t row = string_table_intern(
            &report->names, by == REPORT_BY_PROCESS ? process : report_thread_name(thread, name));
        tree_add_values(&rows[row].flat, &thread->total);
        tree_add_values(&rows[row].cum, &thread->total);
    }
    report->row_count = string_table_count(&report->names);
    return rows && !report->names.failed;
}

/* Another program's values are no times that somebody waited. */
static void drop_waits(struct report *report)
{
    memset(report->waited_ns, 0, sizeof report->waited_ns);
    for (size_t i = 0; i < report->row_count; i++)
        memset(report->rows[i].waited_ns, 0, sizeof report->rows[i].waited_ns);
    for (size_t i = 0; i < report->thread_count; i++)
        report->threads[i].waits_for = NULL;
}

/* A row has the number of its name. */
static bool fill_rows(struct report *report, const struct report_rows *rows)
{
    struct report_walk walk;
    report->row_count = string_table_count(&report->names);
    report->rows = calloc(report->row_count + 1, sizeof *report->rows);
    bool is_filled =
        wait_sums_init(&report->wait_sums) == 0 && meaning_init(&report->meaning, rows->profile) == 0;
    is_filled = report_walk_init(&walk, report, rows) && is_filled && report->rows && add_threads(&walk) &&
                !wait_sums_have_failed(&report->wait_sums);
    for (size_t i = 0; is_filled && i < report->row_count; i++)
        report->rows[i].is_inlined = rows->is_inlined[i];
    if (is_filled && rows->profile->measure)
        drop_waits(report);
    report_walk_deinit(&walk);
    return is_filled;
}

int report_make(struct report *report, const struct profile *profile, const struct report_request *request)
{
    struct report_rows rows;
    *report = (struct report){.start_utc_ns = profile->start_utc_ns, .has_stacks = request->keeps_stacks};
    string_table_init(&report->names);
    bool is_made = report_rows_init(&rows, profile, request, &report->names) && fill_rows(report, &rows);
    report_rows_deinit(&rows);
    if (is_made && (request->by == REPORT_BY_THREAD || request->by == REPORT_BY_PROCESS))
        is_made = make_thread_rows(report, request->by);
    if (!is_made) {
        report_free(report);
        return -ENOMEM;
    }
    finish_rows(report, request->by, profile->period_ns);
    return 0;
}

void report_free(struct report *report)
{
    free(report->rows);
    free(report->threads);
    free(report->stacks);
    string_table_deinit(&report->names);
    wait_sums_deinit(&report->wait_sums);
    meaning_deinit(&report->meaning);
    *report = (struct report){.row_count = 0};
}

/* ---- order ---- */

struct sorting {
    enum report_metric metric;
    bool by_cum;
};

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct report_row *a = left, *b = right;
    const struct sorting *sorting = context;
    int flat =
        compare_numbers(report_metric(&a->flat, sorting->metric), report_metric(&b->flat, sorting->metric));
    int cum =
        compare_numbers(report_metric(&a->cum, sorting->metric), report_metric(&b->cum, sorting->metric));
    int order = sorting->by_cum ? cum : flat;
    if (order == 0)
        order = sorting->by_cum ? flat : cum;
    return order ? order : strcmp(a->name, b->name);
}

void report_sort(struct report *report, enum report_metric metric, bool by_cum)
{
    struct sorting sorting = {metric, by_cum};
    qsort_r(report->rows, report->row_count, sizeof *report->rows, compare_rows, &sorting);
}
