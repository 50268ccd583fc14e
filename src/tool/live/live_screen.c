/*
 * Above are the lines of the whole: the process, the interval, where the time of both went. Below are the
 * rows of the view. What does not fit is left out from the end of the rows; the last line is that of the
 * keys.
 */
#include "live_screen.h"
#include "live_interval.h"
#include "tool/io/text.h"
#include "tool/report/report_answer.h"
#include "tool/report/report_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 1024, HELD_COLUMNS_PART = 3, THINGS_MAX = 1000, LEAST_ROWS = 2 };

static const char *const what_words[LIVE_WHAT_COUNT] = {"functions", "threads", "waits"};

static const char *const help[] = {
    "h, ?     this help",
    "q        end; the process goes on",
    "w c o    sort by wall time, CPU time, time off the CPU",
    "m        by time with all that was called, or by a function's own",
    "v 1 2 3  another view: functions, threads, waits",
    "/        only stacks with a function, file or module like a pattern",
    "i        show what is waited for work too",
    "space    freeze the screen, or let it go on",
    "r        begin anew: the start is now",
    "s        write a profile of all that was recorded to a file",
    "",
    "IN ALL: since the start, or since r. q ends wallprof, any other key this help."};

static const char keys[] = "q quit  h help  w/c/o sort  v view  / filter  space freeze  r reset  s save";

/* What has been written so far. */
struct page {
    const struct live_screen *screen;
    FILE *stream;
    int used;
    int most; /* lines above the last one; 0: no limit */
};

static void put_line(struct page *page, const char *text)
{
    if (page->most && page->used >= page->most)
        return;
    text_put(page->stream, text, page->screen->columns ? page->screen->columns : -1, TEXT_CUT_END);
    fputc('\n', page->stream);
    page->used++;
}

static uint64_t passed_ns(const struct profile *now, const struct profile *before)
{
    return since(before ? before->duration_ns : 0, now->duration_ns);
}

/* ---- the lines above ---- */

static void put_state(struct page *page)
{
    const struct live_screen *screen = page->screen;
    const struct live_view *view = screen->view;
    char text[LINE_BYTES], last[TEXT_NUMBER_BYTES], all[TEXT_NUMBER_BYTES];
    text_time(last, passed_ns(screen->now, screen->before));
    text_time(all, passed_ns(screen->now, screen->base));
    int used = snprintf(text, sizeof text, "%slast %s of %s, %s", view->is_frozen ? "FROZEN: " : "", last,
                        all, what_words[view->what]);
    if (view->what != LIVE_WAITS)
        used +=
            snprintf(text + used, sizeof text - (size_t)used, " by %s", report_metric_words[view->metric]);
    snprintf(text + used, sizeof text - (size_t)used, "%s%s%s%s%s",
             view->what == LIVE_FUNCTIONS && view->by_cum ? " with what was called" : "",
             *view->filter_text ? ", only " : "", view->filter_text, *screen->how ? ", " : "", screen->how);
    put_line(page, text);
}

static void put_where(struct page *page, const struct report *report, const char *begin)
{
    char text[LINE_BYTES], where[ANSWER_TEXT_BYTES];
    answer_where(report, page->screen->view->request.shows_idle, where);
    snprintf(text, sizeof text, "%s%s", begin, where);
    put_line(page, text);
}

static void put_head(struct page *page, const struct report *last, const struct report *all)
{
    const struct live_screen *screen = page->screen;
    const bool is_later = screen->before && screen->before != screen->now;
    char text[LINE_BYTES], waiting[ANSWER_TEXT_BYTES], command[PROFILE_COMMAND_BYTES];
    snprintf(text, sizeof text, "%s: %.800s", screen->title, profile_command(screen->now, command));
    put_line(page, text);
    put_state(page);
    if (is_later && passed_ns(screen->now, screen->before) == 0)
        put_line(page, "now: nothing is recorded; the process or its recording is stopped");
    else
        put_where(page, last, "now: ");
    put_where(page, all, "all: ");
    if (answer_waiting(last, waiting))
        put_line(page, waiting);
}

/* ---- waits ---- */

/* Waits for work are no waits that hold somebody up. */
static size_t choose_things(const struct live_screen *screen, const struct report *report,
                            struct wait_thing *things)
{
    size_t kept = 0, count = wait_sums_things(&report->wait_sums, things, THINGS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (things[i].kind != WAIT_IDLE || screen->view->request.shows_idle)
            things[kept++] = things[i];
    }
    return kept;
}

static void put_thing(const struct live_screen *screen, FILE *stream, const struct wait_thing *thing,
                      uint64_t whole_ns, int on_columns, int held_columns)
{
    char number[TEXT_NUMBER_BYTES], held[LINE_BYTES], share[TEXT_NUMBER_BYTES];
    text_time(number, thing->ns);
    text_put_number(stream, number, REPORT_CELL_COLUMNS);
    report_put_share(stream, thing->ns, whole_ns);
    fprintf(stream, "  %-9s  ", wait_kind_words[thing->kind]);
    const char *on = thing->on ?: "[not known]";
    if (thing->holder) {
        text_share(share, thing->holder_ns, thing->ns);
        snprintf(held, sizeof held, "%s %s", thing->holder, share);
        text_put_left(stream, on, on_columns, TEXT_CUT_MIDDLE);
        fputs("  ", stream);
        text_put(stream, held, screen->columns ? held_columns : -1, TEXT_CUT_MIDDLE);
    } else {
        text_put(stream, on, on_columns, TEXT_CUT_MIDDLE);
    }
    fputc('\n', stream);
}

static int put_waits(const struct live_screen *screen, const struct report *report, FILE *stream, size_t most)
{
    struct wait_thing *things = calloc(THINGS_MAX, sizeof *things);
    const int columns = screen->columns ? screen->columns : TEXT_DEFAULT_COLUMNS,
              left = columns - REPORT_CELL_COLUMNS - REPORT_SHARE_COLUMNS - 15,
              held_columns = left > 0 ? left / HELD_COLUMNS_PART : 1,
              on_columns = left - held_columns > REPORT_NAME_COLUMNS_MIN ? left - held_columns
                                                                         : REPORT_NAME_COLUMNS_MIN;
    if (!things)
        return -ENOMEM;
    const size_t count = choose_things(screen, report, things);
    fprintf(stream, "\n    TIME     %%  %-9s  %-*s  HELD BY\n", "WAITS FOR", on_columns, "ON");
    for (size_t i = 0; i < count && i < most; i++)
        put_thing(screen, stream, &things[i], tree_wall_ns(&report->selected), on_columns, held_columns);
    if (count > most)
        fprintf(stream, "          %zu more things were waited for\n", count - most);
    free(things);
    return 0;
}

/* ---- the rows ---- */

static int put_view(const struct live_screen *screen, struct report *last, struct report *all, FILE *stream,
                    size_t most)
{
    const struct live_view *view = screen->view;
    const struct report_table table = {.report = last,
                                       .profile = screen->now,
                                       .by = view->request.by,
                                       .metric = view->metric,
                                       .by_cum = view->by_cum,
                                       .shows_idle = view->request.shows_idle,
                                       .lines = most,
                                       .columns = screen->columns,
                                       .all = all};
    if (view->what == LIVE_WAITS)
        return put_waits(screen, last, stream, most);
    if (view->what == LIVE_FUNCTIONS) {
        report_sort(last, view->metric, view->by_cum);
        report_put_rows(&table, stream);
        return 0;
    }
    report_sort_threads(last, view->metric);
    const size_t more = report_put_thread_rows(&table, stream, most);
    if (more > 0)
        fprintf(stream, "          %zu more threads\n", more);
    return 0;
}

/* The lines of a text, as far as there is room. The second one has the headings. */
static void copy_lines(struct page *page, char *text)
{
    const bool has_colour = page->screen->has_colour;
    for (int i = 0; *text; i++) {
        char *end = text + strcspn(text, "\n"), *next = end + (*end == '\n');
        *end = '\0';
        if (i == 1)
            report_bold(page->stream, has_colour, true);
        put_line(page, text);
        if (i == 1)
            report_bold(page->stream, has_colour, false);
        text = next;
    }
}

static int put_rows(struct page *page, struct report *last, struct report *all)
{
    enum { AROUND = 3 }; /* an empty line, the headings, and how many more there are */
    char *text = NULL;
    size_t bytes = 0;
    const int left = page->most - page->used - AROUND;
    const size_t most = !page->most ? page->screen->lines : left > LEAST_ROWS ? (size_t)left : LEAST_ROWS;
    FILE *lines = open_memstream(&text, &bytes);
    int status = lines ? put_view(page->screen, last, all, lines, most) : -ENOMEM;
    if (lines && fclose(lines) != 0)
        status = -ENOMEM;
    if (status == 0)
        copy_lines(page, text);
    free(text);
    return status;
}

/* ---- the last line ---- */

static void put_last_line(struct page *page)
{
    const struct live_screen *screen = page->screen;
    const struct live_view *view = screen->view;
    char text[LINE_BYTES];
    while (page->used < page->most) {
        fputc('\n', page->stream);
        page->used++;
    }
    if (view->prompt)
        snprintf(text, sizeof text, "%s: %s_", view->prompt == LIVE_FILTER ? "only" : "write to",
                 view->typed);
    else
        snprintf(text, sizeof text, "%s", *view->message ? view->message : keys);
    page->most = 0;
    put_line(page, text);
}

/* ---- the whole ---- */

/* Of what has passed since `before`. The tree has the values of that only as long as the report is made. */
static int make_report(const struct live_screen *screen, const struct profile *before, struct report *ret)
{
    struct values *values;
    int status = live_interval_make(screen->now, before, &values);
    if (status < 0)
        return status;
    live_interval_swap(screen->now->tree, values);
    status = report_make(ret, screen->now, &screen->view->request);
    live_interval_swap(screen->now->tree, values);
    free(values);
    return status;
}

static int put_reports(struct page *page)
{
    struct report last, all;
    int status = make_report(page->screen, page->screen->before, &last);
    if (status < 0)
        return status;
    status = make_report(page->screen, page->screen->base, &all);
    if (status == 0) {
        put_head(page, &last, &all);
        status = put_rows(page, &last, &all);
        report_free(&all);
    }
    report_free(&last);
    return status;
}

int live_screen_write(const struct live_screen *screen, FILE *stream)
{
    struct page page = {.screen = screen, .stream = stream, .most = screen->rows ? screen->rows - 1 : 0};
    int status = 0;
    if (screen->view->is_help && screen->rows) {
        for (size_t i = 0; i < sizeof help / sizeof *help; i++)
            put_line(&page, help[i]);
    } else if (screen->now) {
        status = put_reports(&page);
    } else {
        put_line(&page, screen->title);
        put_line(&page, "nothing is recorded yet");
    }
    if (screen->rows)
        put_last_line(&page);
    return status;
}
