/*
 * The formats of files: which one a name means, and writing the two that the preloaded library knows: pprof
 * and the store. tool/formats/formats.h writes all of them.
 *
 * Called from: the exporting thread; format_of_name also where the configuration is read.
 */
#ifndef WALLPROF_FORMAT_H
#define WALLPROF_FORMAT_H

#include "profile/profile.h"
#include "base/sink.h"

enum file_format {
    FORMAT_PPROF,
    FORMAT_CALLGRIND,
    FORMAT_FOLDED,
    FORMAT_HTML,
    FORMAT_PERFETTO,
    FORMAT_FIREFOX,
    FORMAT_STORE,
    FORMAT_COUNT
};

/* By the ending of a name without a directory, or by how it begins; else pprof. */
enum file_format format_of_name(const char *name);

/* Whether the first `length` bytes of a path name a format, as opposed to the default. */
bool format_is_said(const char *path, size_t length);

/* Whether a path has an ending that means no format: letters after a dot. Without one it is a pprof file's.
 */
bool format_is_unknown(const char *path);

/* For messages: the ending of each format. */
#define FORMAT_ENDINGS ".pb.gz, .callgrind, .folded, .html, .perfetto.json.gz, .json.gz and .store"

/* The ending of such a file's name; and how much of a path comes before an ending that names a format. */
const char *format_ending(enum file_format format);
size_t format_stem_length(const char *path);

/* By its name on a command line (pprof, ...): 0 or -EINVAL. */
int format_of_word(const char *word, enum file_format *ret);
const char *format_word(enum file_format format);

/* Whether such a file has times: only a recording with a timeline can be written as one. */
bool format_needs_timeline(enum file_format format);

/* Whether such a file has times if the recording has a timeline. */
bool format_shows_timeline(enum file_format format);

/* How a file of that name and format is compressed. */
enum sink_coding format_coding(enum file_format format, const char *name);

/* Whether the library cannot write it. */
bool format_needs_tool(enum file_format format);

/* Writes the whole profile; the sink is left open. 0, -ENOMEM, or -ENOTSUP if the format needs the tool. */
int format_write(enum file_format format, const struct profile *profile, struct sink *sink);

#endif
