/*
 * The files that a command is to write, each in its format: -o OUT, as often as wanted, and --format.
 *
 * Called from: export and merge.
 */
#ifndef WALLPROF_TOOL_OUTPUTS_H
#define WALLPROF_TOOL_OUTPUTS_H

#include "encode/format.h"

enum { OUTPUTS_MAX = 16 };

struct outputs {
    const char *command; /* for messages */
    const char *paths[OUTPUTS_MAX], *format;
    enum wp_format formats[OUTPUTS_MAX];
    int count;
    bool is_verbose; /* says what has been written */
};

/* "--format"'s words, for help: printed behind what is there. */
void outputs_print_formats(void);

/* 0, or EXIT_USAGE with a message. */
int outputs_add(struct outputs *outputs, const char *path);

/* When all options are read: which format each has. 0, or EXIT_USAGE with a message. */
int outputs_settle(struct outputs *outputs);

/* Writes all of them; one that cannot be written does not keep the others from being. 0 or 1. */
int outputs_write(const struct outputs *outputs, const struct wp_profile *profile);

#endif
