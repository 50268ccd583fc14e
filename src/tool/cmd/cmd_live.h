/* What wallprof top does with a PID instead of a FILE. */
#ifndef WALLPROF_CMD_LIVE_H
#define WALLPROF_CMD_LIVE_H

#include "report_options.h"

#include <stdbool.h>
#include <stdint.h>

enum { LIVE_OPTION_INTERVAL = 256, LIVE_OPTION_COUNT };

/* What these options say. */
struct live_words {
    uint64_t interval_ns; /* 0: nothing */
    long count;           /* 0: nothing */
    bool is_said;         /* one of them */
};

/* For struct report_own_options, with struct live_words. */
int live_read_option(void *context, int option, const char *argument);

/* An argument of digits only that is no file. */
bool live_is_pid(const char *argument);

/* The exit status. */
int live_show(const char *argument, struct report_options *options, const struct live_words *words);

#endif
