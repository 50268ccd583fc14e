/* wallprof top PID: shows a process that runs, as live_loop.h does. */
#include "cmd_live.h"
#include "base/clock.h"
#include "tool/io/command.h"
#include "tool/live/live_loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PID_MAX = 4194304, INTERVAL_MAX_MS = 3600000 };

bool live_is_pid(const char *argument)
{
    return *argument && strspn(argument, "0123456789") == strlen(argument) && access(argument, F_OK) != 0;
}

/* A number of seconds, or of ms: "1s", "0.5", "200ms". */
static bool read_interval(const char *text, uint64_t *ret_ns)
{
    char unit[4] = "s";
    double number = 0;
    int end = 0;
    if (sscanf(text, "%lf%n%3[ms]", &number, &end, unit) < 1 || end == 0)
        return false;
    const bool is_ms = strcmp(unit, "ms") == 0;
    const double ms = number * (is_ms ? 1 : 1000);
    if (text[end] && (strcmp(text + end, unit) != 0 || (!is_ms && strcmp(unit, "s") != 0)))
        return false;
    if (!(ms >= 50) || ms > INTERVAL_MAX_MS)
        return false;
    *ret_ns = (uint64_t)(ms * (double)NS_PER_MS);
    return true;
}

int live_read_option(void *context, int option, const char *argument)
{
    struct live_words *words = context;
    words->is_said = true;
    if (option == LIVE_OPTION_INTERVAL && !read_interval(argument, &words->interval_ns))
        return command_misused("top", "--interval %s is not a time from 50ms to 3600s", argument);
    if (option == LIVE_OPTION_COUNT && !command_number(argument, 1, INT32_MAX, &words->count))
        return command_misused("top", "--count %s is not a number of tables", argument);
    return 0;
}

static enum live_what what_of(enum report_by by)
{
    return by == REPORT_BY_THREAD ? LIVE_THREADS : by >= REPORT_BY_WAIT ? LIVE_WAITS : LIVE_FUNCTIONS;
}

static bool sorts_by(enum report_metric metric)
{
    return metric == METRIC_WALL || metric == METRIC_CPU || metric == METRIC_OFFCPU;
}

/* A terminal that moves its cursor. */
static bool is_screen(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && terminal && *terminal &&
           strcmp(terminal, "dumb") != 0;
}

int live_show(const char *argument, struct report_options *options, const struct live_words *words)
{
    long pid;
    const struct profile none = {.measure = NULL};
    if (!command_number(argument, 1, PID_MAX, &pid))
        return command_misused("top", "%s is neither a file nor the number of a process", argument);
    if (options->is_json)
        return command_misused("top", "--json is for a FILE; 'wallprof ctl %s dump' makes one", argument);
    int status = report_options_settle(options, &none);
    if (status == 0 && !sorts_by(options->metric))
        return command_misused("top", "a process is sorted by wall, cpu or offcpu");
    if (status != 0)
        return status;
    struct live_view view = {.what = what_of(options->request.by),
                             .metric = options->metric,
                             .by_cum = options->by_cum,
                             .request = options->request};
    const bool has_screen = words->count == 0 && is_screen();
    const struct live_options shown = {.pid = (pid_t)pid,
                                       .interval_ns = words->interval_ns ? words->interval_ns : NS_PER_S,
                                       .count = words->count,
                                       .has_screen = has_screen,
                                       .has_colour = options->has_colour,
                                       .lines = options->lines,
                                       .columns = options->columns};
    view.request.focus = NULL;
    if (view.what != LIVE_FUNCTIONS)
        view.request.by = REPORT_BY_FUNCTION;
    if (options->request.focus_text)
        live_view_filter(&view, options->request.focus_text); /* it was compiled before */
    status = live_loop(&shown, &view);
    live_view_deinit(&view);
    return status;
}
