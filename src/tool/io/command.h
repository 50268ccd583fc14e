/* What every command says when it fails, and how it reads a number. */
#ifndef WALLPROF_COMMAND_H
#define WALLPROF_COMMAND_H

#include <stdbool.h>

enum { EXIT_USAGE = 2 };

/* Writes "wallprof: " and a line to stderr; returns 1. */
int command_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For a wrong command line: writes the message and where help is; returns EXIT_USAGE. */
int command_misused(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* After getopt_long returned '?': names the option and what is wrong with it; returns EXIT_USAGE. Letters
 * have to be those of the long options. getopt itself is silent (main.c). */
struct option;
int command_wrong_option(const char *command, char **argv, const struct option *options);

/* Whether a text is a number from `least` to `most` and nothing else. */
bool command_number(const char *text, long least, long most, long *ret);

/* The index of a word in a list, or -1. */
int command_word(const char *const *words, int count, const char *word);

#endif
