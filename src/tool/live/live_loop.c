#include "live_loop.h"
#include "base/clock.h"
#include "base/number_names.h"
#include "encode/format.h"
#include "live_screen.h"
#include "live_source.h"
#include "live_terminal.h"
#include "tool/io/command.h"
#include "tool/io/output_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One reading. */
struct reading {
    struct recording recording;
    unsigned users; /* how many members of the loop lead to it */
};

struct loop {
    const struct live_options *options;
    struct live_view *view;
    struct live_source source;
    struct live_terminal terminal;
    struct reading *base, *before; /* where what is shown began; NULL: with the recording */
    struct reading *now;           /* NULL: there is none yet */
    uint64_t deadline_ns;          /* of the next reading */
    long shown;
    bool is_over, has_ended;
    int status;
};

/* ---- readings ---- */

static struct reading *hold(struct reading *reading)
{
    reading->users++;
    return reading;
}

static void let_go(struct reading **reading)
{
    if (*reading && --(*reading)->users == 0) {
        recording_close(&(*reading)->recording);
        free(*reading);
    }
    *reading = NULL;
}

/* Whether a later reading is of the same recording. */
static bool goes_on(const struct recording *before, const struct recording *now)
{
    return before->profile.start_utc_ns == now->profile.start_utc_ns &&
           before->process.pid == now->process.pid && before->profile.duration_ns <= now->profile.duration_ns;
}

/* Readings of another recording, that has ended, are of no use any more. */
static void take_over(struct loop *loop, struct reading *reading)
{
    let_go(&loop->before);
    loop->before = loop->now;
    loop->now = hold(reading);
    if (loop->before && !goes_on(&loop->before->recording, &reading->recording)) {
        let_go(&loop->base);
        let_go(&loop->before);
    }
}

static void say(const struct loop *loop, const char *reason)
{
    if (loop->terminal.is_on)
        snprintf(loop->view->message, sizeof loop->view->message, "it cannot be read: %.200s", reason);
    else
        command_fail("process %d cannot be read: %s", (int)loop->options->pid, reason);
}

/* What cannot be read this time is said, and may be read the next time. 0; -ENODATA: there is nothing yet, or
 * nothing any more; or another -errno. */
static int read_now(struct loop *loop)
{
    struct reading *reading = calloc(1, sizeof *reading);
    const int status = reading ? live_source_read(&loop->source, &reading->recording) : -ENOMEM;
    if (status == 0) {
        take_over(loop, reading);
        return 0;
    }
    if (status != -ENODATA)
        say(loop, reading && *reading->recording.reason ? reading->recording.reason : error_text(-status));
    free(reading);
    return status;
}

/* ---- showing ---- */

static int write_text(const struct loop *loop, char **ret)
{
    char title[64];
    size_t bytes = 0;
    struct live_screen screen = {.now = loop->now ? &loop->now->recording.profile : NULL,
                                 .before = loop->before ? &loop->before->recording.profile : NULL,
                                 .base = loop->base ? &loop->base->recording.profile : NULL,
                                 .view = loop->view,
                                 .title = title,
                                 .how = live_source_how(&loop->source),
                                 .lines = loop->options->lines,
                                 .columns = loop->options->columns,
                                 .has_colour = loop->options->has_colour};
    snprintf(title, sizeof title, "PID %d", (int)loop->options->pid);
    if (loop->terminal.is_on)
        live_terminal_size(&screen.rows, &screen.columns);
    FILE *stream = open_memstream(ret, &bytes);
    int status = stream ? live_screen_write(&screen, stream) : -ENOMEM;
    if (stream && fclose(stream) != 0)
        status = -ENOMEM;
    return status;
}

/* A table is of a reading, and followed by an empty line. */
static void show(struct loop *loop)
{
    char *text = NULL;
    if (!loop->now && !loop->terminal.is_on)
        return;
    const int status = write_text(loop, &text);
    if (status == 0 && loop->terminal.is_on)
        live_terminal_show(text);
    else if (status == 0) {
        printf("%s%s", loop->shown > 0 ? "\n" : "", text);
        loop->status = output_printed();
    } else if (loop->terminal.is_on)
        snprintf(loop->view->message, sizeof loop->view->message, "there is not enough memory");
    else
        loop->status = command_fail("there is not enough memory");
    loop->is_over |= loop->status != 0;
    loop->shown++;
    free(text);
}

/* ---- what comes ---- */

static void write_profile(struct loop *loop)
{
    struct live_view *view = loop->view;
    const char *path = view->typed;
    if (strcmp(path, "-") == 0 || format_is_unknown(path)) {
        snprintf(view->message, sizeof view->message, "%.100s: the name must end with " FORMAT_ENDINGS, path);
        return;
    }
    const int status =
        output_file_write(path, format_of_name(output_file_name(path)), &loop->now->recording.profile);
    live_terminal_take_message(&loop->terminal, view->message, sizeof view->message);
    if (status == 0)
        snprintf(view->message, sizeof view->message, "written: %.200s", path);
}

static void begin_anew(struct loop *loop)
{
    if (read_now(loop) != 0)
        return;
    let_go(&loop->base);
    let_go(&loop->before);
    loop->base = hold(loop->now);
    loop->before = hold(loop->now);
}

static void take_key(struct loop *loop, int key)
{
    char file[64];
    snprintf(file, sizeof file, "wallprof.%d.pb.gz", (int)loop->options->pid);
    switch (live_view_key(loop->view, key, file)) {
    case LIVE_QUIT:
        loop->is_over = true;
        break;
    case LIVE_RESET:
        begin_anew(loop);
        break;
    case LIVE_THAW:
        loop->deadline_ns = clock_monotonic_ns();
        break;
    case LIVE_WRITE:
        if (loop->now)
            write_profile(loop);
        break;
    case LIVE_NOTHING:
        break;
    }
    show(loop);
}

/* A reading that came late does not make the next ones early. */
static void take_reading(struct loop *loop)
{
    const uint64_t now_ns = clock_monotonic_ns();
    loop->deadline_ns += loop->options->interval_ns;
    if (loop->deadline_ns <= now_ns)
        loop->deadline_ns = now_ns + loop->options->interval_ns;
    loop->has_ended = live_source_has_ended(&loop->source);
    if (loop->view->is_frozen && !loop->has_ended)
        return;
    loop->view->is_frozen = false;
    const int status = read_now(loop);
    if (status == 0 || loop->terminal.is_on)
        show(loop);
    loop->is_over |= loop->has_ended || (loop->options->count && loop->shown >= loop->options->count);
}

static void one_event(struct loop *loop)
{
    int key;
    switch (live_terminal_wait(&loop->terminal, loop->source.ended, loop->deadline_ns, &key)) {
    case LIVE_TIME:
        take_reading(loop);
        break;
    case LIVE_ENDED:
        loop->view->is_frozen = false;
        take_reading(loop);
        loop->is_over = loop->has_ended = true;
        break;
    case LIVE_KEY:
        take_key(loop, key);
        break;
    case LIVE_RESIZE:
        show(loop);
        break;
    case LIVE_END:
        loop->is_over = true;
        break;
    }
}

/* ---- the whole ---- */

/* Where the process has ended, the last table stays to be read. */
static int say_end(struct loop *loop)
{
    const int pid = (int)loop->options->pid;
    if (!loop->has_ended)
        return loop->status;
    if (loop->options->has_screen)
        show(loop);
    fflush(stdout);
    if (!live_source_process_has_ended(&loop->source))
        return command_fail("the recording of process %d has ended, and the process goes on", pid);
    fprintf(stderr, "wallprof: process %d has ended\n", pid);
    return loop->status;
}

static int run(struct loop *loop)
{
    const int error = live_terminal_begin(&loop->terminal, loop->options->has_screen);
    if (error == 0) {
        loop->deadline_ns = clock_monotonic_ns() + loop->options->interval_ns;
        const int status = read_now(loop);
        if (loop->terminal.is_on)
            show(loop);
        else if (status == -ENODATA)
            fprintf(stderr, "wallprof: process %d records nothing yet\n", (int)loop->options->pid);
        while (!loop->is_over)
            one_event(loop);
    }
    live_terminal_end(&loop->terminal);
    if (error < 0)
        return command_fail("the terminal cannot be used: %s", error_text(-error));
    return say_end(loop);
}

int live_loop(const struct live_options *options, struct live_view *view)
{
    struct loop loop = {.options = options, .view = view};
    int status = live_source_open(&loop.source, options->pid);
    if (status == 0)
        status = run(&loop);
    live_source_close(&loop.source);
    let_go(&loop.base);
    let_go(&loop.before);
    let_go(&loop.now);
    return status;
}
