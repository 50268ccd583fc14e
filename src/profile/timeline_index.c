/* A counting sort: stable, and two passes over the records. */
#include "timeline_index.h"

#include <errno.h>

static size_t order_bytes(const struct timeline_index *index)
{
    return sizeof(uint32_t) * ((size_t)index->timeline->count + 1);
}

/* One entry more for the end of the last thread's records, and one more for the sort. */
static size_t first_bytes(const struct timeline_index *index)
{
    return sizeof(uint32_t) * ((size_t)index->thread_count + 3);
}

int timeline_index_init(struct timeline_index *index, const struct timeline *timeline, uint32_t thread_count)
{
    *index = (struct timeline_index){.timeline = timeline, .thread_count = thread_count};
    index->order = scratch_alloc(order_bytes(index));
    index->first = scratch_alloc(first_bytes(index));
    if (!index->order || !index->first) {
        timeline_index_deinit(index);
        return -ENOMEM;
    }
    uint32_t *next = index->first + 1; /* next[t]: where the next record of thread t goes */
    for (uint32_t i = 0; i < timeline->count; i++) {
        if (timeline->records[i].thread <= thread_count)
            next[timeline->records[i].thread + 1]++;
    }
    for (uint32_t thread = 0; thread <= thread_count; thread++)
        next[thread + 1] += next[thread];
    for (uint32_t i = 0; i < timeline->count; i++) {
        if (timeline->records[i].thread <= thread_count)
            index->order[next[timeline->records[i].thread]++] = i;
    }
    return 0;
}

void timeline_index_deinit(struct timeline_index *index)
{
    scratch_free(index->order, order_bytes(index));
    scratch_free(index->first, first_bytes(index));
    *index = (struct timeline_index){.timeline = index->timeline};
}

uint32_t timeline_index_count(const struct timeline_index *index, uint32_t thread)
{
    return index->first[thread + 1] - index->first[thread];
}

const struct timeline_record *timeline_index_at(const struct timeline_index *index, uint32_t thread,
                                                uint32_t i)
{
    return &index->timeline->records[index->order[index->first[thread] + i]];
}
