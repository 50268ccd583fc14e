/* How a process ended whose store was not closed, for people. */
#include "store_reader.h"

#include "base/number_names.h"

#include <stdio.h>

/* A process that says that it is about to end may be observed for a little longer. */
static const uint64_t end_patience_ns = UINT64_C(100000000);

enum store_end store_believed_end(const struct store_live *live)
{
    bool is_believed = live->end.time_ns > 0 && live->beat_ns < live->end.time_ns + end_patience_ns;
    return is_believed ? live->end.kind : STORE_END_UNKNOWN;
}

static void describe_unknown_end(const struct store_header *header, char *ret, size_t capacity)
{
    const struct store_live *live = &header->live;
    enum store_end end = store_believed_end(live);
    if (live->state == STORE_GIVEN_UP)
        snprintf(ret, capacity, "no longer kept in this file from there on: %s",
                 live->error < 0 && live->error > -4096 ? error_text(-live->error)
                                                        : "it became another program");
    else if (end == STORE_END_EXIT)
        snprintf(ret, capacity, "ended by _exit(%d)", live->end.value);
    else if (end == STORE_END_ABORT)
        snprintf(ret, capacity, "aborted");
    else if (end == STORE_END_EXEC)
        snprintf(ret, capacity, "became another program");
    else
        snprintf(ret, capacity, STORE_NOT_ENDED);
}

void store_describe_end(const struct store_header *header, char *ret, size_t capacity)
{
    if (header->live.state == STORE_LIVE || header->live.state == STORE_GIVEN_UP)
        describe_unknown_end(header, ret, capacity);
}
