/*
 * Which format a file is to have, by its name, and which encoder writes it.
 *
 * Called from: whoever exports; format_of_name also where a configuration is read.
 */
#ifndef WALLPROF_FORMAT_H
#define WALLPROF_FORMAT_H

#include "profile/profile.h"
#include "base/sink.h"

enum wp_format {
    FORMAT_PPROF,
    FORMAT_CALLGRIND,
    FORMAT_FOLDED,
    FORMAT_HTML,
    FORMAT_FIREFOX,
    FORMAT_STORE,
    FORMAT_COUNT
};

/* By a file's ending, or by how its name begins; pprof where it says nothing. Names without a directory. */
enum wp_format format_of_name(const char *name);

/* Whether the first `length` bytes of a path say a format, so that it need not be guessed. */
bool format_is_said(const char *path, size_t length);

/* By what it is called on a command line (pprof, ...): 0, or -EINVAL. */
int format_of_word(const char *word, enum wp_format *ret);
const char *format_word(enum wp_format format);

/* Whether such a file tells when something happened: only a recording with a timeline can be written as one.
 */
bool format_needs_timeline(enum wp_format format);

/* Whether a file of that name and format is compressed. */
enum sink_coding format_coding(enum wp_format format, const char *name);

/* Writes the whole profile; the sink is left open. 0, -ENOMEM, or -ENODATA if it needs a timeline and has
 * none.
 */
int format_write(enum wp_format format, const struct wp_profile *profile, struct sink *sink);

#endif
