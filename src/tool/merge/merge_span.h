/*
 * How long the recordings of a merge took together: the time that at least one of them covers.
 *
 * Each recording's duration is of a clock that nobody sets, but its beginning is of the system's clock. That
 * may be set meanwhile, by years where a machine starts without a clock of its own. So the time from the
 * first beginning to the last end may be anything; what the recordings cover is never more than their sum.
 */
#ifndef WALLPROF_MERGE_SPAN_H
#define WALLPROF_MERGE_SPAN_H

#include <stdbool.h>
#include <stdint.h>

struct merge_span_part {
    uint64_t begin_ns, end_ns;
};

/* Zeroed memory: none yet. */
struct merge_span {
    struct merge_span_part *parts;
    uint32_t count, capacity;
};

void merge_span_deinit(struct merge_span *span);

/* A recording. False without memory. */
bool merge_span_add(struct merge_span *span, uint64_t begin_ns, uint64_t duration_ns);

/* Sorts them. */
uint64_t merge_span_covered_ns(struct merge_span *span);

#endif
