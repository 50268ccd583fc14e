/*
 * The options that top and diff have in common.
 *
 * Called from: the commands.
 */
#ifndef WALLPROF_REPORT_OPTIONS_H
#define WALLPROF_REPORT_OPTIONS_H

#include "tool/report/report.h"

#include <getopt.h>

struct report_options {
    const char *command; /* for messages */
    struct report_request request;
    regex_t focus, ignore; /* compiled if request says so */
    enum report_metric metric;
    bool by_cum, has_colour, is_json, is_help;
    size_t lines;
    int columns; /* 0: names are not cut */
};

#define REPORT_SHORT_OPTIONS "s:cn:b:t:p:l:f:i:w:jh"

/* For getopt_long; a command may append its own. */
#define REPORT_LONG_OPTIONS                                                                                  \
    {"sort", required_argument, NULL, 's'}, {"cum", no_argument, NULL, 'c'},                                 \
        {"lines", required_argument, NULL, 'n'}, {"by", required_argument, NULL, 'b'},                       \
        {"thread", required_argument, NULL, 't'}, {"process", required_argument, NULL, 'p'},                 \
        {"label", required_argument, NULL, 'l'}, {"focus", required_argument, NULL, 'f'},                    \
        {"ignore", required_argument, NULL, 'i'}, {"width", required_argument, NULL, 'w'},                   \
        {"colour", required_argument, NULL, 'C'}, {"color", required_argument, NULL, 'C'},                   \
        {"json", no_argument, NULL, 'j'},                                                                    \
    {                                                                                                        \
        "help", no_argument, NULL, 'h'                                                                       \
    }

/* Their part of a command's help. */
extern const char report_options_help[];

void report_options_init(struct report_options *options, const char *command);
void report_options_deinit(struct report_options *options);

/* Sets an option that getopt_long has found: 0, or EXIT_USAGE with a message. */
int report_options_set(struct report_options *options, int option, const char *argument);

#endif
