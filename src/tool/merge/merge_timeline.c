#include "merge_timeline.h"
#include "base/sort.h"
#include "tool/io/array.h"

#include <errno.h>
#include <stdlib.h>

void merge_timeline_deinit(struct merge_timeline *merged)
{
    free(merged->timeline.records);
    merged->timeline = (struct timeline){0};
}

int merge_timeline_begin(struct merge_timeline *merged, const struct profile *profile,
                         struct merge_timeline_part *ret)
{
    const size_t nodes = tree_node_index_count(profile->arena);
    *ret = (struct merge_timeline_part){.profile = profile};
    merged->is_lacking |= !profile->timeline;
    if (!merged->is_wanted || merged->is_lacking)
        return 0;
    ret->node_of = calloc(nodes, sizeof *ret->node_of);
    ret->thread_of = calloc((size_t)profile->thread_count + 1, sizeof *ret->thread_of);
    return ret->node_of && ret->thread_of ? 0 : -ENOMEM;
}

void merge_timeline_end(struct merge_timeline_part *part)
{
    free(part->node_of);
    free(part->thread_of);
}

static uint64_t since_the_epoch(const struct profile *profile, uint64_t time_ns)
{
    return profile->start_utc_ns + (time_ns - profile->timeline->start_ns);
}

static int add_record(struct merge_timeline *merged, const struct merge_timeline_part *part,
                      const struct timeline_record *from)
{
    struct timeline *timeline = &merged->timeline;
    const arena_ref node = part->node_of[tree_node_index(from->node)];
    const uint32_t thread = part->thread_of[from->thread];
    if (!node || !thread)
        return 0;
    if (!array_grow(&timeline->records, &timeline->capacity, timeline->count, sizeof *timeline->records))
        return -ENOMEM;
    struct timeline_record *record = &timeline->records[timeline->count++];
    *record = *from;
    record->first_ns = since_the_epoch(part->profile, from->first_ns);
    record->last_ns = since_the_epoch(part->profile, from->last_ns);
    record->thread = thread;
    record->node = node;
    record->id = ++timeline->newest_id;
    return 0;
}

int merge_timeline_add(struct merge_timeline *merged, const struct merge_timeline_part *part)
{
    const struct timeline *timeline = part->profile->timeline;
    int status = 0;
    if (!part->thread_of)
        return 0;
    for (uint32_t i = 0; i < timeline->count && status == 0; i++)
        status = add_record(merged, part, &timeline->records[i]);
    merged->timeline.thinned += timeline->thinned;
    merged->timeline.dropped += timeline->dropped;
    return status;
}

void merge_timeline_add_thread(const struct merge_timeline_part *part, uint32_t number,
                               struct thread_record *merged)
{
    const struct profile *profile = part->profile;
    const struct thread_record *thread = profile_thread(profile, number);
    if (!part->thread_of)
        return;
    part->thread_of[number] = merged->number;
    uint64_t begin_ns = profile->start_utc_ns, end_ns = begin_ns + profile->duration_ns;
    if (thread)
        begin_ns = since_the_epoch(profile, thread->start_ns);
    if (thread && thread->end_ns)
        end_ns = since_the_epoch(profile, thread->end_ns);
    if (!merged->start_ns || begin_ns < merged->start_ns)
        merged->start_ns = begin_ns;
    if (end_ns > merged->end_ns)
        merged->end_ns = end_ns;
}

/* A process of one number may have left several recordings, and those are read in any order. */
static int compare_records(const void *a, const void *b)
{
    const struct timeline_record *x = a, *y = b;
    if (x->first_ns != y->first_ns)
        return x->first_ns < y->first_ns ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

const struct timeline *merge_timeline_finish(struct merge_timeline *merged, uint64_t start_utc_ns)
{
    struct timeline *timeline = &merged->timeline;
    if (!merged->is_wanted || merged->is_lacking)
        return NULL;
    sort_records(timeline->records, timeline->count, sizeof *timeline->records, compare_records);
    timeline->start_ns = start_utc_ns;
    return timeline;
}
