/* What wallprof waits and wallprof blame have in common: their options, and one recording of ours. */
#ifndef WALLPROF_WAITS_OPTIONS_H
#define WALLPROF_WAITS_OPTIONS_H

#include "profile/profile.h"
#include "tool/io/command.h"

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

struct waits_options {
    const char *command; /* its name, for messages */
    const char *output;
    size_t lines; /* 0 if nothing is said */
    bool is_json;
};

#define WAITS_SHORT_OPTIONS "n:jo:h"

/* After a command's own, for getopt_long. */
#define WAITS_LONG_OPTIONS                                                                                   \
    {"lines", required_argument, NULL, 'n'}, {"json", no_argument, NULL, 'j'},                               \
        {"output", required_argument, NULL, 'o'}, {"help", no_argument, NULL, 'h'},                          \
    {                                                                                                        \
        0                                                                                                    \
    }

/* Any of these but help. 0, or EXIT_USAGE with a message, also for any other option. */
int waits_options_take(struct waits_options *asked, int option, char **argv, const struct option *names);

/* How many lines are wanted, of so many: all in JSON, unless a number is given. */
size_t waits_options_lines(const struct waits_options *asked, size_t otherwise, size_t count);

/* After the options: opens the one FILE and shows it. what: a file of another program has none of that. The
 * exit status. */
int waits_options_show(const struct waits_options *asked, int argc, char **argv, const char *what,
                       int (*show)(const void *context, const struct profile *profile), const void *context);

#endif
