/*
 * A profile in any format: those that encode/format.h writes, and those that only the tool writes.
 *
 * Called from: the tool. Pure but for the sink, which is left open. All return 0, -ENOMEM, or -ENODATA if the
 * format needs a timeline and the profile has none.
 */
#ifndef WALLPROF_FORMATS_H
#define WALLPROF_FORMATS_H

#include "base/sink.h"
#include "encode/format.h"

/* Writes the whole profile. */
int formats_write(enum file_format format, const struct profile *profile, struct sink *sink);

/* The same in one format. Each is in the file of its name. */
int enc_callgrind_write(const struct profile *profile, struct sink *sink);
int enc_firefox_write(const struct profile *profile, struct sink *sink);
int enc_folded_write(const struct profile *profile, struct sink *sink);
int enc_html_write(const struct profile *profile, struct sink *sink);
int enc_perfetto_write(const struct profile *profile, struct sink *sink);

/* A page of `after` that says how `before` differs; NULL: a page of one profile. */
int enc_html_write_comparison(const struct profile *before, const struct profile *after, struct sink *sink);

#endif
