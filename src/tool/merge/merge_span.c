#include "merge_span.h"
#include "tool/io/array.h"

#include <stdlib.h>

void merge_span_deinit(struct merge_span *span)
{
    free(span->parts);
    *span = (struct merge_span){0};
}

bool merge_span_add(struct merge_span *span, uint64_t begin_ns, uint64_t duration_ns)
{
    if (!array_grow(&span->parts, &span->capacity, span->count, sizeof *span->parts))
        return false;
    span->parts[span->count++] = (struct merge_span_part){begin_ns, begin_ns + duration_ns};
    return true;
}

static int by_begin(const void *left, const void *right)
{
    const struct merge_span_part *a = left, *b = right;
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

uint64_t merge_span_covered_ns(struct merge_span *span)
{
    uint64_t covered_ns = 0, up_to_ns = 0;
    if (span->count > 1)
        qsort(span->parts, span->count, sizeof *span->parts, by_begin);
    for (uint32_t i = 0; i < span->count; i++) {
        const struct merge_span_part *part = &span->parts[i];
        uint64_t from_ns = part->begin_ns > up_to_ns ? part->begin_ns : up_to_ns;
        if (part->end_ns <= from_ns)
            continue;
        covered_ns += part->end_ns - from_ns;
        up_to_ns = part->end_ns;
    }
    return covered_ns;
}
