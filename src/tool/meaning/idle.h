/*
 * What the user says of idle time: WALLPROF_IDLE, which --idle=WHAT sets for its command. A list with commas:
 *
 *     show, hide    whether reports show waits for work; the last of them counts, and hide is the default
 *     PATTERN       functions in which a thread waits for work, like Pool::take* (fnmatch(3))
 *
 * Called from: commands and meaning.c.
 */
#ifndef WALLPROF_IDLE_H
#define WALLPROF_IDLE_H

#include <stdbool.h>

enum { IDLE_PATTERNS_MAX = 64, IDLE_TEXT_BYTES = 4096 };

struct idle_setting {
    char text[IDLE_TEXT_BYTES]; /* the patterns lead into it: do not move it */
    const char *patterns[IDLE_PATTERNS_MAX];
    int pattern_count;
    bool shows;
};

/* What is too long or too much is left out. */
void idle_setting_read(struct idle_setting *ret);

/* Whether a function is like one of the patterns, with its arguments or without. */
bool idle_setting_has(const struct idle_setting *setting, const char *function);

/* Whether reports are to show idle time. */
bool idle_is_shown(void);

#endif
