/*
 * The tool's commands: wallprof COMMAND [OPTIONS] FILE...
 *
 * A command gets its own arguments, itself first, and returns the exit status: 0, 1 for what went wrong (said
 * on stderr, with the file's name), 2 for a command line that makes no sense.
 */
#ifndef WALLPROF_TOOL_COMMAND_H
#define WALLPROF_TOOL_COMMAND_H

#include <stdbool.h>

enum { EXIT_USAGE = 2 };

int command_ctl(int argc, char **argv);
int command_diff(int argc, char **argv);
int command_export(int argc, char **argv);
int command_gather(int argc, char **argv);
int command_recover(int argc, char **argv);
int command_merge(int argc, char **argv);
int command_push(int argc, char **argv);
int command_top(int argc, char **argv);
int command_view(int argc, char **argv);

/* "wallprof: " and a line on stderr; returns 1. */
int command_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For a wrong command line: the message and where help is; returns EXIT_USAGE. */
int command_misused(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether a text is a number, and nothing else, from the least to the most that it may be. */
bool command_number(const char *text, long least, long most, long *ret);

/* Opens a recording with all that can be known of its names. 0; or 1, which has been said, and nothing is
 * open. */
struct recording;
int command_open(struct recording *recording, const char *path);

#endif
