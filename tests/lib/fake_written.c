#include "fake_written.h"

struct fake_bytes fake_written(const struct fake_directory *directory, fake_write_fn *write,
                               const struct profile *profile)
{
    int error;
    struct sink *sink = sink_create(directory->fd, "out", SINK_PLAIN, &error);
    assert_non_null(sink);
    assert_int_equal(write(profile, sink), 0);
    assert_int_equal(sink_commit(sink), 0);
    return fake_read(directory, "out");
}
