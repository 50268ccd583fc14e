/*
 * Writes the profiles and documents of commands: to files, which appear whole or not at all, or to standard
 * output.
 *
 * Called from: the commands. Failures are reported on stderr.
 */
#ifndef WALLPROF_OUTPUT_FILE_H
#define WALLPROF_OUTPUT_FILE_H

#include "encode/format.h"

#include <limits.h>
#include <stdbool.h>

struct json;

/* Writes a profile. The path "-" is standard output. 0 or 1. */
int output_file_write(const char *path, enum file_format format, const struct profile *profile);

/* The same for a page that compares two. */
int output_file_write_comparison(const char *path, const struct profile *before, const struct profile *after);

/*
 * The same as output_file_write for a profile that must not be lost: where it cannot be written to the path,
 * it goes under that name to the working directory or to TMPDIR, which is said on stderr. No file there is
 * replaced: `number`, the process's, is inserted then. *ret is where it is, from the root on. 0, or 1 if it
 * is nowhere.
 */
int output_file_write_somewhere(const char *path, enum file_format format, const struct profile *profile,
                                int number, char ret[PATH_MAX]);

/* 0, or EXIT_USAGE with a message for a path whose ending means no format. */
int output_file_check_ending(const char *command, const char *path);

/* The part of a path after the last slash. */
const char *output_file_name(const char *path);

/* Opens a sink on standard output; NULL without memory. Closes it; 0 or 1. */
struct sink *output_stdout_open(enum sink_coding coding);
int output_stdout_close(struct sink *sink);

/* The same, for a JSON document there, which *ret writes. */
struct sink *output_json_open(struct json *ret);

/*
 * A report's -o: makes standard output that file; "-" and NULL leave it. A name that means a format of
 * `wallprof export` is refused, unless the report is JSON. 0; or 1 or EXIT_USAGE with a message.
 */
int output_redirect(const char *command, const char *path, bool is_json);

/* Checks that all that stdio printed was written (a disk may be full). 0 or 1. */
int output_printed(void);

/* Prints a text, or the last part of one: 0 or 1. */
int output_print(const char *text);

/* The files that a command is to write, each in its format: -o OUT, which can be repeated, and --format. */
enum { OUTPUT_FILES_MAX = 16 };

struct output_files {
    const char *command; /* for messages */
    const char *paths[OUTPUT_FILES_MAX], *format;
    enum file_format formats[OUTPUT_FILES_MAX];
    int count;
    bool takes_any_ending; /* an unknown one means pprof, as for the library */
    bool is_verbose;       /* says what was written */
};

/* Prints the words of --format, for help. */
void output_files_print_formats(void);

/* Adds a file to write. 0, or EXIT_USAGE with a message if there are too many. */
int output_files_add(struct output_files *files, const char *path);

/* Finds each file's format, once all options are read. 0, or EXIT_USAGE with a message. */
int output_files_choose_formats(struct output_files *files);

/* Writes all files, also after one could not be written. 0 or 1. */
int output_files_write(const struct output_files *files, const struct profile *profile);

#endif
