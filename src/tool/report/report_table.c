/*
 * Numbers stand before names and are never cut. Names get what is left of the line. Where that is too little,
 * columns are left out, from the right.
 */
#include "report_table.h"
#include "hints.h"
#include "report_answer.h"
#include "short_name.h"
#include "tool/io/text.h"
#include "encode/profile_notes.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum {
    CELL_COLUMNS = REPORT_CELL_COLUMNS,
    SHARE_COLUMNS = REPORT_SHARE_COLUMNS,
    NAME_COLUMNS_MIN = REPORT_NAME_COLUMNS_MIN,
    THREADS_MAX = 10,
    THREAD_COLUMNS_MAX = 28,
    NOTED_PARTS = 100,
    PROCESS_COLUMNS_MAX = 44 /* where they are of several processes */
};

const char *const report_metric_headings[METRIC_COUNT] = {"WALL", "CPU", "OFF-CPU", "DELAY", "SAMPLES"};
const char *const report_by_headings[REPORT_BY_COUNT] = {
    "FUNCTION", "FUNCTION", "LINE", "FILE", "MODULE", "THREAD", "PROCESS", "LABEL", "WAIT", "ON", "HOLDER"};

void report_bold(FILE *stream, bool has_colour, bool is_bold)
{
    if (has_colour)
        fputs(is_bold ? "\033[1m" : "\033[0m", stream);
}

/* Of a program that hardly ever waits for a CPU there is no column of it. Another program's profile has one
 * measure. */
bool report_shows_metric(const struct report_table *table, enum report_metric metric)
{
    const struct values *all = &table->report->selected;
    if (table->profile->measure)
        return metric == METRIC_WALL;
    return metric != METRIC_RUNDELAY || table->metric == METRIC_RUNDELAY ||
           all->rundelay_ns > tree_wall_ns(all) / 100;
}

const char *report_heading(const struct report_table *table, enum report_metric metric)
{
    return table->profile->measure ? "VALUE" : report_metric_headings[metric];
}

void report_put_metric(const struct report_table *table, FILE *stream, const struct values *values,
                       enum report_metric metric)
{
    char number[TEXT_NUMBER_BYTES];
    uint64_t value = report_metric(values, metric);
    if (table->profile->measure)
        text_amount(number, value, table->profile->measure->unit);
    else if (metric == METRIC_SAMPLES)
        snprintf(number, sizeof number, "%" PRIu64, value);
    else
        text_time(number, value);
    text_put_number(stream, number, CELL_COLUMNS);
}

void report_put_share(FILE *stream, uint64_t part, uint64_t whole)
{
    char number[TEXT_NUMBER_BYTES];
    text_share(number, part, whole);
    text_put_number(stream, number, SHARE_COLUMNS);
}

/* The columns that are left for a name; -1: no limit. */
static int columns_left(int columns, int used)
{
    if (!columns)
        return -1;
    return columns - used < NAME_COLUMNS_MIN ? NAME_COLUMNS_MIN : columns - used;
}

void report_put_name(FILE *stream, const char *name, enum report_by by, int columns, int used)
{
    const int left = columns_left(columns, used);
    char text[SHORT_NAME_BYTES];
    if (by == REPORT_BY_FILE || by == REPORT_BY_MODULE)
        text_put(stream, name, left, TEXT_CUT_BEGIN);
    else if (by == REPORT_BY_FUNCTION || by == REPORT_BY_LEAF)
        text_put(stream, short_name(name, left, text), left, TEXT_CUT_END);
    else
        text_put(stream, name, left, TEXT_CUT_MIDDLE);
}

/* ---- header ---- */

static void put_line(const struct report_table *table, FILE *stream, const char *text)
{
    text_put_wrapped(stream, text, table->columns);
}

static void put_summary(const struct report_table *table, FILE *stream)
{
    const struct profile *profile = table->profile;
    char text[256], start[64] = "";
    time_t seconds = (time_t)(profile->start_utc_ns / 1000000000);
    struct tm utc;
    if (profile->start_utc_ns && gmtime_r(&seconds, &utc))
        strftime(start, sizeof start, "%Y-%m-%d %H:%M:%S UTC, ", &utc);
    snprintf(text, sizeof text, "%s%.5g ticks a second, %" PRIu64 " samples", start,
             1e9 / (double)profile->period_ns, table->report->selected.samples);
    put_line(table, stream, text);
}

/* ", 6 threads". "" where the recording counts all threads as one, or those of one name. */
static void threads_text(const struct report *report, char ret[32])
{
    size_t told_apart = 0, unknown = 0;
    for (size_t i = 0; i < report->thread_count; i++) {
        const struct report_thread *thread = &report->threads[i];
        bool is_known = thread->tid != 0 || thread->merged_threads > 0;
        told_apart += is_known ? 1 + thread->merged_threads : 0;
        unknown += thread->has_name && !is_known;
    }
    *ret = '\0';
    told_apart += told_apart > 0 ? report->idle_thread_count : 0;
    if (told_apart > 0 && unknown == 0)
        snprintf(ret, 32, ", %zu thread%s", told_apart, told_apart == 1 ? "" : "s");
}

/* How long no thread could be observed. The pseudo-frames have that for each thread. */
static void put_gaps(const struct report_table *table, FILE *stream)
{
    const struct counters *counters = &table->profile->counters;
    char text[160], time[TEXT_NUMBER_BYTES];
    if (counters->stopped_ns > 0) {
        text_time(time, counters->stopped_ns);
        snprintf(text, sizeof text, "the process was stopped for %s of that", time);
        put_line(table, stream, text);
    }
    if (counters->unobserved_ns > 0) {
        text_time(time, counters->unobserved_ns);
        snprintf(text, sizeof text, "the profiler could not look for %s of that", time);
        put_line(table, stream, text);
    }
}

/* Wall time is a sum over threads, so it may be more than the run took: the line says of how many threads. */
static void put_totals(const struct report_table *table, FILE *stream)
{
    const struct report *report = table->report;
    const uint64_t hidden_ns = table->shows_idle ? 0 : report->waited_ns[WAIT_IDLE];
    const uint64_t shown_ns = tree_wall_ns(&report->selected);
    char text[256], threads[32], wall[TEXT_NUMBER_BYTES], duration[TEXT_NUMBER_BYTES],
        share[TEXT_NUMBER_BYTES], all[TEXT_NUMBER_BYTES], where[ANSWER_TEXT_BYTES],
        waiting[ANSWER_TEXT_BYTES], hint[HINT_BYTES];
    text_time(wall, shown_ns + hidden_ns);
    text_time(duration, table->profile->duration_ns);
    threads_text(table->report, threads);
    snprintf(text, sizeof text, "%s of thread time in %s%s", wall, duration, threads);
    put_line(table, stream, text);
    put_gaps(table, stream);
    answer_where(table->report, table->shows_idle, where);
    put_line(table, stream, where);
    if (answer_waiting(table->report, waiting))
        put_line(table, stream, waiting);
    if (table->by == REPORT_BY_FUNCTION && table->metric == METRIC_WALL) {
        answer_findings(table->report, table->columns, stream);
        if (hints_of_code(table->report, table->profile, hint))
            put_line(table, stream, hint);
        if (hints_of_children(table->report, table->profile, hint))
            put_line(table, stream, hint);
    }
    if (!table->is_filtered)
        return;
    text_share(share, shown_ns + hidden_ns, tree_wall_ns(&report->total));
    text_time(all, tree_wall_ns(&report->total));
    snprintf(text, sizeof text, "what was asked for: %s of all wall time, %s", *share ? share : "nothing",
             all);
    put_line(table, stream, text);
}

static void put_ending(const struct report_table *table, FILE *stream)
{
    char text[256];
    if (table->profile->process_count != 1 || !*table->profile->processes[0].ending)
        return;
    snprintf(text, sizeof text, "ended: %s", table->profile->processes[0].ending);
    put_line(table, stream, text);
}

/* The limits of the recording, and the pseudo-frames with a hundredth of what is shown or more. */
static void put_notes(const struct report_table *table, FILE *stream)
{
    static const char *const meanings[PSEUDO_KINDS] = {
        [PSEUDO_UNSAMPLED] = "no sample saw what was done then",
        [PSEUDO_NOT_RESPONDING] = "the thread had our signal blocked",
        [PSEUDO_TRUNCATED] = "who called is not known",
        [PSEUDO_OVERFLOW] = "WALLPROF_MEM was full",
        [PSEUDO_UNLOADED] = "in a library that was being unloaded",
        [PSEUDO_UNINTERESTING] = "the program wanted it left alone",
        [PSEUDO_STOPPED] = "the process was stopped",
        [PSEUDO_NOT_OBSERVED] = "the profiler got no CPU, or the machine stood still",
    };
    const struct report *report = table->report;
    char text[PROFILE_NOTES_DEADLOCK_BYTES], time[TEXT_NUMBER_BYTES], share[TEXT_NUMBER_BYTES];
    const char *before = "\n";
    if (*profile_notes_deadlock(table->profile, text)) {
        fputs(before, stream);
        put_line(table, stream, text);
        before = "";
    }
    if (*table->profile->restraint) {
        fputs(before, stream);
        put_line(table, stream, table->profile->restraint);
        before = "";
    }
    if (*profile_notes_throttled(table->profile, text)) {
        fputs(before, stream);
        put_line(table, stream, text);
        before = "";
    }
    for (int pseudo = 0; pseudo < PSEUDO_KINDS; pseudo++) {
        const uint64_t wall_ns = tree_wall_ns(&report->pseudo[pseudo]);
        const uint64_t all_ns = tree_wall_ns(&report->selected);
        if (wall_ns == 0 || wall_ns < all_ns / NOTED_PARTS || !meanings[pseudo])
            continue;
        fputs(before, stream);
        before = "";
        text_time(time, wall_ns);
        text_share(share, wall_ns, all_ns);
        snprintf(text, sizeof text, "%s %s (%s of wall): %s", tree_pseudo_name((enum pseudo_frame)pseudo),
                 time, share, meanings[pseudo]);
        put_line(table, stream, text);
    }
}

/* ---- threads ---- */

/* The width of the longest name that is shown. */
static int thread_columns(const struct report *report, size_t most)
{
    int columns = (int)strlen("THREAD");
    for (size_t i = 0; i < report->thread_count && i < most; i++) {
        char name[REPORT_THREAD_NAME_BYTES];
        report_thread_name(&report->threads[i], name);
        if (text_width(name) > columns)
            columns = text_width(name);
    }
    int limit =
        report->thread_count > 0 && *report->threads[0].process ? PROCESS_COLUMNS_MAX : THREAD_COLUMNS_MAX;
    return columns < limit ? columns : limit;
}

static void put_mostly(FILE *stream, const struct report_thread *thread, int columns)
{
    char share[TEXT_NUMBER_BYTES], waits[32] = "", name[SHORT_NAME_BYTES];
    if (thread->waits_for)
        snprintf(waits, sizeof waits, " (%s)", thread->waits_for);
    if (columns >= 0)
        columns -= SHARE_COLUMNS + (int)strlen(waits);
    text_share(share, thread->mostly_ns, tree_wall_ns(&thread->total));
    text_put_number(stream, share, SHARE_COLUMNS - 1);
    fputc(' ', stream);
    text_put(stream, short_name(thread->mostly_in, columns, name), columns, TEXT_CUT_END);
    fputs(waits, stream);
}

/* How many of wall, CPU and off-CPU fit. */
static int thread_cells(const struct report_table *table, int columns)
{
    int cells = 0;
    while (cells <= METRIC_RUNDELAY && report_shows_metric(table, (enum report_metric)cells))
        cells++;
    while (table->columns && cells > 1 &&
           table->columns - cells * CELL_COLUMNS - 4 - columns < NAME_COLUMNS_MIN)
        cells--;
    return cells;
}

static void put_thread_headings(const struct report_table *table, FILE *stream, int cells, int columns)
{
    report_bold(stream, table->has_colour, true);
    fputc('\n', stream);
    for (int metric = 0; metric < cells; metric++)
        text_put_number(stream, report_heading(table, (enum report_metric)metric), CELL_COLUMNS);
    fprintf(stream, "  %-*s  ", columns, "THREAD");
    text_put(stream, "    % MOSTLY IN", columns_left(table->columns, cells * CELL_COLUMNS + 4 + columns),
             TEXT_CUT_END);
    report_bold(stream, table->has_colour, false);
    fputc('\n', stream);
}

static void put_thread(const struct report_table *table, FILE *stream, const struct report_thread *thread,
                       int cells, int columns)
{
    char name[REPORT_THREAD_NAME_BYTES];
    report_thread_name(thread, name);
    for (int metric = 0; metric < cells; metric++)
        report_put_metric(table, stream, &thread->total, (enum report_metric)metric);
    fputs("  ", stream);
    text_put_left(stream, name, columns, TEXT_CUT_MIDDLE);
    fputs("  ", stream);
    if (thread->mostly_in)
        put_mostly(stream, thread, columns_left(table->columns, cells * CELL_COLUMNS + 4 + columns));
    fputc('\n', stream);
}

size_t report_put_thread_rows(const struct report_table *table, FILE *stream, size_t most)
{
    const struct report *report = table->report;
    const size_t shown = report->thread_count < most ? report->thread_count : most;
    const int columns = thread_columns(report, most), cells = thread_cells(table, columns);
    put_thread_headings(table, stream, cells, columns);
    for (size_t i = 0; i < shown; i++)
        put_thread(table, stream, &report->threads[i], cells, columns);
    return report->thread_count - shown;
}

static void put_threads(const struct report_table *table, FILE *stream)
{
    const struct report *report = table->report;
    struct values rest = {0};
    if (report->thread_count + report->idle_thread_count < 2 || table->by == REPORT_BY_THREAD)
        return;
    const size_t more = report_put_thread_rows(table, stream, THREADS_MAX);
    for (size_t i = report->thread_count - more; i < report->thread_count; i++)
        tree_add_values(&rest, &report->threads[i].total);
    if (more > 0) {
        report_put_metric(table, stream, &rest, METRIC_WALL);
        fprintf(stream, "  in %zu more threads (--by thread has them all)\n", more);
    }
    if (report->idle_thread_count > 0)
        fprintf(stream, "          %zu thread%s only waited for work (--idle shows that)\n",
                report->idle_thread_count, report->idle_thread_count == 1 ? "" : "s");
}

/* In place of where the time went: what another program's profile measures. */
static void put_measure(const struct report_table *table, FILE *stream)
{
    const struct profile_measure *measure = table->profile->measure;
    const uint64_t duration_ns = table->profile->duration_ns;
    char amount[TEXT_NUMBER_BYTES], all[TEXT_NUMBER_BYTES], duration[TEXT_NUMBER_BYTES], text[512];
    text_amount(amount, tree_wall_ns(&table->report->selected), measure->unit);
    text_amount(all, tree_wall_ns(&table->report->total), measure->unit);
    text_time(duration, duration_ns);
    snprintf(text, sizeof text, "%.64s: %s%s%s%s%s%s%s", measure->name, amount,
             table->is_filtered ? " of " : "", table->is_filtered ? all : "", duration_ns ? " in " : "",
             duration_ns ? duration : "", *measure->others ? "; --sort has also " : "", measure->others);
    put_line(table, stream, text);
}

void report_table_write(const struct report_table *table, FILE *stream)
{
    char command[PROFILE_COMMAND_BYTES];
    profile_command(table->profile, command);
    put_line(table, stream, *command ? command : "[command not known]");
    if (table->profile->measure) {
        put_measure(table, stream);
    } else {
        put_summary(table, stream);
        put_ending(table, stream);
        put_totals(table, stream);
    }
    report_put_rows(table, stream);
    put_threads(table, stream);
    put_notes(table, stream);
}
