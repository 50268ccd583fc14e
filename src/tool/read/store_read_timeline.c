#include "store_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* In the tree of the record's thread, or in that of those without one. */
static bool is_node_of(const struct store_reader *reader, arena_ref node, uint32_t thread)
{
    if (!store_is_kind(reader, node, KIND_NODE) && !store_is_kind(reader, node, KIND_ROOT))
        return false;
    uint32_t owner = reader->thread_of_node[node / UNITS_PER_NODE];
    return owner == thread || owner == 0;
}

/* Their sums cannot overflow. */
static bool add_times(struct store_reader *reader, const struct timeline_record *record)
{
    const uint64_t each[] = {record->cpu_ns, record->later_cpu_ns, record->wall_ns, record->observations};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        if (each[i] > STORE_VALUE_MAX || (reader->timed_ns += each[i]) > 4 * STORE_VALUE_MAX)
            return false;
    }
    return true;
}

static bool is_record(struct store_reader *reader, const struct timeline_record *record)
{
    return record->first_ns <= record->last_ns && record->thread <= reader->header->tree.thread_count &&
           is_node_of(reader, record->node, record->thread) && record->state <= TIMELINE_UNKNOWN &&
           add_times(reader, record);
}

static bool is_event(const struct store_reader *reader, const struct timeline_event *event)
{
    return event->begin_ns <= event->end_ns && event->kind < EVENT_KIND_COUNT &&
           (event->name == 0 || store_is_string(reader, event->name));
}

/* Those that make sense. */
static void keep_records(struct store_reader *reader, struct wp_timeline *timeline)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < timeline->count; i++) {
        if (is_record(reader, &timeline->records[i]))
            timeline->records[kept++] = timeline->records[i];
    }
    timeline->dropped += timeline->count - kept;
    timeline->count = kept;
}

static void keep_events(const struct store_reader *reader, struct wp_timeline *timeline)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < timeline->event_count; i++) {
        if (is_event(reader, &timeline->events[i]))
            timeline->events[kept++] = timeline->events[i];
    }
    timeline->dropped_events += timeline->event_count - kept;
    timeline->event_count = kept;
}

static int take_timeline(struct store_reader *reader, const struct store_timeline *counts,
                         const unsigned char *bytes)
{
    struct wp_timeline *timeline = &reader->recording->timeline;
    const size_t records_bytes = counts->count * sizeof *timeline->records;
    *timeline = (struct wp_timeline){.start_ns = counts->start_ns,
                                     .thinned = counts->thinned,
                                     .dropped = counts->dropped,
                                     .dropped_events = counts->dropped_events,
                                     .count = counts->count,
                                     .event_count = counts->event_count};
    timeline->records = store_array(counts->count, sizeof *timeline->records);
    timeline->events = store_array(counts->event_count, sizeof *timeline->events);
    if (!timeline->records || !timeline->events)
        return recording_refuse(reader->recording, -ENOMEM, "there is not enough memory for its timeline");
    memcpy(timeline->records, bytes, records_bytes);
    memcpy(timeline->events, bytes + records_bytes, counts->event_count * sizeof *timeline->events);
    keep_records(reader, timeline);
    keep_events(reader, timeline);
    if (reader->header->live.state != STORE_WHOLE)
        return 0; /* of one that was not closed, or whose trees had to be mended, the others will do */
    if (timeline->count < counts->count)
        return store_damaged(reader, "its timeline makes no sense");
    return timeline->event_count == counts->event_count
               ? 0
               : store_damaged(reader, "what happened in it makes no sense");
}

int store_read_timeline(struct store_reader *reader)
{
    const struct store_part *part = &reader->header->timeline;
    struct store_timeline counts;
    if (part->bytes == 0)
        return 0;
    if (part->bytes < sizeof counts)
        return store_damaged(reader, "its timeline is missing");
    memcpy(&counts, reader->bytes + part->offset, sizeof counts);
    if (sizeof counts + counts.count * sizeof(struct timeline_record) +
            counts.event_count * sizeof(struct timeline_event) >
        part->bytes)
        return store_damaged(reader, "its timeline is not as long as it says");
    return take_timeline(reader, &counts, reader->bytes + part->offset + sizeof counts);
}
