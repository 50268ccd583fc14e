/* What an encoder writes of a profile, by way of a file. */
#ifndef WALLPROF_FAKE_WRITTEN_H
#define WALLPROF_FAKE_WRITTEN_H

#include "profile/profile.h"
#include "base/sink.h"

#include "fake_files.h"

typedef int fake_write_fn(const struct wp_profile *profile, struct sink *sink);

static inline struct fake_bytes fake_written(const struct fake_directory *directory, fake_write_fn *write,
                                             const struct wp_profile *profile)
{
    int error;
    struct sink *sink = sink_create(directory->fd, "out", SINK_PLAIN, &error);
    assert_non_null(sink);
    assert_int_equal(write(profile, sink), 0);
    assert_int_equal(sink_commit(sink), 0);
    return fake_read(directory, "out");
}

#endif
