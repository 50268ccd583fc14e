/*
 * Where the commands write profiles and documents to: files, whole or not at all, or standard output.
 *
 * Called from: the commands. What goes wrong is said on stderr.
 */
#ifndef WALLPROF_TOOL_OUTPUT_FILE_H
#define WALLPROF_TOOL_OUTPUT_FILE_H

#include "encode/format.h"

/* "-" is standard output. 0 or 1. */
int output_file_write(const char *path, enum wp_format format, const struct wp_profile *profile);

/* What follows the last slash. */
const char *output_file_name(const char *path);

/* A sink on standard output, or NULL; and its end, as 0 or 1. */
struct sink *output_stdout_open(enum sink_coding coding);
int output_stdout_close(struct sink *sink);

/* The same for what was printed by stdio: a full disk is an error. */
int output_printed(void);

#endif
