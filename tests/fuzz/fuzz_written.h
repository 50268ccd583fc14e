/* For fuzzers of what the encoders write, linked with --wrap=sink_write: it is kept in memory. */
#ifndef WALLPROF_FUZZ_WRITTEN_H
#define WALLPROF_FUZZ_WRITTEN_H

#include "fuzz.h"
#include "base/sink.h"

#include <string.h>

struct written {
    unsigned char *bytes; /* NUL after the end; malloc'd */
    size_t used, capacity, max_bytes;
};

static struct written *writing; /* where it goes: set before an encoder runs */

void __wrap_sink_write(struct sink *sink, const void *data, size_t bytes);

void __wrap_sink_write(struct sink *sink, const void *data, size_t bytes)
{
    FUZZ_ASSERT(!sink && writing->used + bytes <= writing->max_bytes);
    if (writing->used + bytes >= writing->capacity) {
        writing->capacity = 2 * (writing->used + bytes + 1);
        writing->bytes = realloc(writing->bytes, writing->capacity);
        FUZZ_ASSERT(writing->bytes);
    }
    if (bytes > 0)
        memcpy(writing->bytes + writing->used, data, bytes);
    writing->used += bytes;
    writing->bytes[writing->used] = '\0';
}

#endif
