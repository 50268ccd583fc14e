/*
 * What is shown of a process that runs, and what a key changes of that. Nothing here knows the terminal or
 * the process.
 *
 * Called from: live_screen.c reads it, live_loop.c hands it the keys.
 */
#ifndef WALLPROF_LIVE_VIEW_H
#define WALLPROF_LIVE_VIEW_H

#include "tool/report/report.h"

#include <regex.h>
#include <stdbool.h>

enum live_what { LIVE_FUNCTIONS, LIVE_THREADS, LIVE_WAITS, LIVE_WHAT_COUNT };

/* A line that is being typed. */
enum live_prompt { LIVE_NO_PROMPT, LIVE_FILTER, LIVE_FILE };

enum { LIVE_TEXT_BYTES = 256 };

struct live_view {
    enum live_what what;
    enum report_metric metric;
    bool by_cum, is_help, is_frozen;
    struct report_request request; /* focus is the filter's, as long as it has one */
    regex_t filter;
    char filter_text[LIVE_TEXT_BYTES]; /* "": there is none */
    enum live_prompt prompt;
    char typed[LIVE_TEXT_BYTES];
    char message[LIVE_TEXT_BYTES]; /* in place of the keys, until the next key; "" for none */
};

/* What is to be done after a key besides drawing the screen. */
enum live_act {
    LIVE_NOTHING,
    LIVE_QUIT,
    LIVE_RESET, /* the start is now */
    LIVE_THAW,  /* it is not frozen any more: a new interval begins */
    LIVE_WRITE  /* the profile is to be written to the file `typed` */
};

enum { LIVE_KEY_ENTER = '\r', LIVE_KEY_ESCAPE = 27, LIVE_KEY_DELETE = 127, LIVE_KEY_BACKSPACE = 8 };

/* *view is zeroed, but for what the command line says of what, metric, by_cum and request. */
void live_view_deinit(struct live_view *view);

/* Only stacks with a function, file or module like this; "" for all. False with a message: then it stays as
 * it was. */
bool live_view_filter(struct live_view *view, const char *text);

/* file: what is offered as a name for the profile. */
enum live_act live_view_key(struct live_view *view, int key, const char *file);

#endif
