/*
 * The command line of the process, for people. Files that are kept, sent and published have it, so by default
 * it is without passwords and the like.
 *
 * Called from: the thread that starts the recording.
 */
#ifndef WALLPROF_COMMAND_LINE_H
#define WALLPROF_COMMAND_LINE_H

#include "config/config.h"

#include <stddef.h>

/* Blanks between the arguments, no control characters, cut to capacity; "" if it cannot be read. */
void command_line_read(enum config_arguments shown, char *ret, size_t capacity);

/*
 * The same of arguments that each end with NUL. Without the end of an argument, the argument is left out.
 *
 * With ARGUMENTS_REDACTED *** stands for a value. That is what follows a word such as "password" in its
 * argument after "=", ":" or a blank; the whole argument after an option with such a word and no value, and
 * after such a word alone; and what stands between "://user:" and "@". It is also what follows the name in
 * "--user me:x", and a password after an option of a letter where the program is known. The lists are in the
 * source.
 */
void command_line_describe(const char *arguments, size_t bytes, enum config_arguments shown, char *ret,
                           size_t capacity);

#endif
