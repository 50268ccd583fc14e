#include "narrow_page.h"

#include "tool/formats/formats.h"

#include "narrow_memory.h"

#include <errno.h>

enum { BYTES_MAX = 4 << 20, STEP_BYTES = 32 << 10 };

void narrow_page_assert(const struct profile *profile, int directory)
{
    int error, refused = 0;
    for (uint64_t bytes = 0; bytes < BYTES_MAX; bytes += STEP_BYTES) {
        struct sink *sink = sink_create(directory, "page.html", SINK_PLAIN, &error);
        assert_non_null(sink);
        struct rlimit before = narrow_memory_begin(bytes);
        int status = enc_html_write(profile, sink);
        narrow_memory_end(before);
        assert_int_equal(sink_commit(sink), 0);
        assert_true(status == 0 || status == -ENOMEM);
        refused += status < 0;
    }
    assert_in_range(refused, 3, 100);
}
