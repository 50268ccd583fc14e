/* The options that top and diff have in common. */
#ifndef WALLPROF_REPORT_OPTIONS_H
#define WALLPROF_REPORT_OPTIONS_H

#include "tool/report/report.h"

#include <getopt.h>

struct report_options {
    const char *command;         /* its name, for messages */
    const char *output, *colour; /* what --output and --color say */
    struct report_request request;
    regex_t focus, ignore; /* compiled where request points to them */
    enum report_metric metric;
    const char *sort; /* what --sort says: report_options_settle sets metric; NULL without */
    bool by_cum, has_colour, is_json, is_without_errors, is_help;
    size_t lines; /* JSON has all, unless a number is given */
    int columns;  /* 0: names are not cut */
};

enum { REPORT_OPTION_NO_ERROR = 'E', REPORT_OPTION_IDLE = 'I', REPORT_OPTION_STACKS = 'S' };

/* For report_options_read; a command appends its own. */
#define REPORT_LONG_OPTIONS                                                                                  \
    {"sort", required_argument, NULL, 's'}, {"cum", no_argument, NULL, 'c'},                                 \
        {"lines", required_argument, NULL, 'n'}, {"by", required_argument, NULL, 'b'},                       \
        {"thread", required_argument, NULL, 't'}, {"process", required_argument, NULL, 'p'},                 \
        {"label", required_argument, NULL, 'l'}, {"focus", required_argument, NULL, 'f'},                    \
        {"ignore", required_argument, NULL, 'i'}, {"width", required_argument, NULL, 'w'},                   \
        {"colour", required_argument, NULL, 'C'}, {"color", required_argument, NULL, 'C'},                   \
        {"json", no_argument, NULL, 'j'}, {"output", required_argument, NULL, 'o'},                          \
        {"no-error", no_argument, NULL, REPORT_OPTION_NO_ERROR},                                             \
        {"idle", optional_argument, NULL, REPORT_OPTION_IDLE},                                               \
    {                                                                                                        \
        "help", no_argument, NULL, 'h'                                                                       \
    }

/* A command's options: all, by name. Those whose values are above 255 are its own, and are handed to read,
 * which returns 0 or EXIT_USAGE with a message. NULL: there are none. */
struct report_own_options {
    const struct option *names;
    int (*read)(void *context, int option, const char *argument);
    void *context;
};

/* Reads a command line; files begin at optind. 0, or EXIT_USAGE with a message. Then deinit in any case. */
int report_options_read(struct report_options *options, int argc, char **argv,
                        const struct report_own_options *own);

/* Once the profile is read: --sort's word is a metric of ours, or has been a measure of another program's
 * (recording_open_measure). 0, or EXIT_USAGE with a message. */
int report_options_settle(struct report_options *options, const struct profile *profile);
void report_options_deinit(struct report_options *options);

/* Prints a command's help, with these options between its parts: 0 or 1. */
int report_options_print_help(const char *begin, const char *end);

#endif
