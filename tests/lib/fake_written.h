/* What an encoder writes of a profile, by way of a file. */
#ifndef WALLPROF_FAKE_WRITTEN_H
#define WALLPROF_FAKE_WRITTEN_H

#include "profile/profile.h"
#include "base/sink.h"

#include "fake_files.h"

typedef int fake_write_fn(const struct profile *profile, struct sink *sink);
struct fake_bytes fake_written(const struct fake_directory *directory, fake_write_fn *write,
                               const struct profile *profile);

#endif
