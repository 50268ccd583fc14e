/* The reader of stores: the header, what is copied, the timeline, and the recording that is made of it. */
#include "store_reader.h"
#include "wait_texts.h"
#include "base/smaller.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* store_settle gives stacks to short lives that had only a record: 50 nodes each. It is address space only.
 */
enum { SETTLED_PARTS = 16 };

/* And for texts that are spelt for people, with what an arena keeps in reserve. */
enum { SPELT_PART = 8, SPELT_BYTES = 1 << 16 };

int store_damaged(struct store_reader *reader, const char *what)
{
    return recording_refuse(reader->recording, -EBADMSG, "it is damaged: %s", what);
}

void *store_array(size_t count, size_t bytes)
{
    return calloc(count ? count : 1, bytes);
}

/* ---- the timeline ---- */

/* Whether a node is in the thread's tree, or in that of threads without one. */
static bool is_node_of(const struct store_reader *reader, arena_ref node, uint32_t thread)
{
    if (!store_is_kind(reader, node, KIND_NODE) && !store_is_kind(reader, node, KIND_ROOT))
        return false;
    uint32_t owner = reader->thread_of_node[tree_node_index(node)];
    return owner == thread || owner == 0;
}

/* Whether the times are small enough for their sums not to overflow. */
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
           is_node_of(reader, record->node, record->thread) && add_times(reader, record);
}

static bool is_event(const struct store_reader *reader, const struct timeline_event *event)
{
    return event->begin_ns <= event->end_ns && event->kind < EVENT_KIND_COUNT &&
           (event->name == 0 || store_is_string(reader, event->name));
}

/* Drops the records that make no sense. */
static void keep_records(struct store_reader *reader, struct timeline *timeline)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < timeline->count; i++) {
        if (is_record(reader, &timeline->records[i]))
            timeline->records[kept++] = timeline->records[i];
    }
    timeline->dropped += timeline->count - kept;
    timeline->count = kept;
}

static void keep_events(const struct store_reader *reader, struct timeline *timeline)
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
    struct timeline *timeline = &reader->recording->timeline;
    const size_t records_bytes = counts->count * sizeof *timeline->records;
    *timeline = (struct timeline){.start_ns = counts->start_ns,
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
        return 0; /* not closed, or mended: the rest will do */
    if (timeline->count < counts->count)
        return store_damaged(reader, "its timeline makes no sense");
    return timeline->event_count == counts->event_count
               ? 0
               : store_damaged(reader, "what happened in it makes no sense");
}

static int read_timeline(struct store_reader *reader)
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

/* ---- the whole ---- */

static int check_header(struct store_reader *reader)
{
    const struct store_header *header = reader->header;
    if (header->byte_order != STORE_BYTE_ORDER)
        return recording_refuse(reader->recording, -EPROTO,
                                "it was written on a machine with another byte order");
    if (header->version != STORE_VERSION)
        return recording_refuse(reader->recording, -EPROTO,
                                "it is a store of version %u, and this wallprof reads version %u",
                                header->version, STORE_VERSION);
    if (header->header_bytes != sizeof *header || header->node_bytes != sizeof(struct tree_node) ||
        header->location_bytes != sizeof(struct location) || header->module_bytes != sizeof(struct module) ||
        header->thread_bytes != sizeof(struct thread_record) ||
        header->counters_bytes != sizeof(struct counters) ||
        header->record_bytes != sizeof(struct timeline_record) ||
        header->event_bytes != sizeof(struct timeline_event))
        return recording_refuse(reader->recording, -EPROTO, "it was written by another build of wallprof");
    if (header->start_utc_ns > INT64_MAX || header->duration_ns > INT64_MAX || header->period_ns > INT64_MAX)
        return store_damaged(reader, "its times make no sense");
    return 0;
}

static bool is_inside(const struct store_reader *reader, const struct store_part *part)
{
    return part->offset % ARENA_UNIT_BYTES == 0 && part->offset <= reader->count &&
           part->bytes <= reader->count - part->offset;
}

static int check_parts(struct store_reader *reader)
{
    const struct store_header *header = reader->header;
    if (header->arena.bytes % ARENA_UNIT_BYTES != 0 ||
        header->arena.bytes / ARENA_UNIT_BYTES > (uint64_t)UINT32_MAX ||
        header->tree.thread_count > header->arena.bytes / ARENA_UNIT_BYTES)
        return store_damaged(reader, "its size makes no sense");
    if (!is_inside(reader, &header->arena) || !is_inside(reader, &header->symbols) ||
        !is_inside(reader, &header->timeline))
        return recording_refuse(reader->recording, -EBADMSG,
                                "it is cut short, or damaged: its end is missing");
    return 0;
}

static int take_arena(struct store_reader *reader)
{
    struct recording *recording = reader->recording;
    const struct store_header *header = reader->header;
    const size_t bytes = header->arena.bytes;
    const size_t room = header->live.state == STORE_WHOLE ? bytes + bytes / SPELT_PART + SPELT_BYTES
                                                          : (1 + SETTLED_PARTS) * bytes;
    int status = arena_init(&recording->arena, smaller(room, (size_t)UINT32_MAX * ARENA_UNIT_BYTES));
    reader->unit_count = bytes / ARENA_UNIT_BYTES;
    reader->kinds = store_array(reader->unit_count, 1);
    recording->profile.thread_count = header->tree.thread_count;
    recording->thread_of_number = scratch_alloc(sizeof(arena_ref) * ((size_t)header->tree.thread_count + 1));
    if (status < 0 || !arena_open(&recording->arena, bytes) || !reader->kinds || !recording->thread_of_number)
        return recording_no_memory(recording);
    memcpy(recording->arena.base, reader->bytes + header->arena.offset, bytes);
    recording->arena.used_bytes = bytes;
    recording->modules.arena = recording->tree.arena = &recording->arena;
    recording->tree.node_count = header->tree.node_count;
    recording->tree.overflows = header->tree.overflows;
    store_take_lists(reader);
    return 0;
}

static void describe_process(struct recording *recording, const struct store_header *header)
{
    const struct store_process *process = &header->process;
    _Static_assert(sizeof recording->program == sizeof process->program, "copied as a whole");
    _Static_assert(sizeof recording->ending == sizeof process->ending, "copied as a whole");
    memcpy(recording->program, process->program, sizeof process->program);
    memcpy(recording->ending, process->ending, sizeof process->ending);
    recording->program[sizeof recording->program - 1] = '\0';
    recording->ending[sizeof recording->ending - 1] = '\0';
    const size_t after_name = strlen(recording->program) + 1;
    if (after_name < sizeof recording->program)
        snprintf(recording->title, sizeof recording->title, "%s", recording->program + after_name);
    utf8_repair(recording->title);
    if (!*recording->ending)
        store_describe_end(header, recording->ending, sizeof recording->ending);
    recording->process = (struct process_record){
        .name = recording->program,
        .pid = process->pid > 0 ? process->pid : 0,
        .rank = process->pid > 0 && process->rank >= 0 ? process->rank : PROCESS_NO_RANK,
        .ending = recording->ending,
        .title = recording->title,
    };
}

static void read_profile_paths(struct store_reader *reader)
{
    const struct store_live *live = &reader->header->live;
    struct recording *recording = reader->recording;
    for (uint32_t i = 0; i < live->profile_path_count && i < STORE_PROFILE_PATHS_MAX; i++) {
        if (store_is_string(reader, live->profile_paths[i]))
            recording->profile_paths[recording->profile_path_count++] =
                arena_at(&recording->arena, live->profile_paths[i]);
    }
}

static void describe_recording(struct recording *recording, const struct store_header *header)
{
    memcpy(recording->command, header->command, sizeof header->command);
    memcpy(recording->restraint, header->restraint, sizeof header->restraint);
    recording->command[sizeof header->command - 1] = '\0';
    recording->restraint[sizeof header->restraint - 1] = '\0';
    describe_process(recording, header);
    recording->profile = (struct profile){
        .processes = &recording->process,
        .process_count = 1,
        .arena = &recording->arena,
        .tree = &recording->tree,
        .modules = &recording->modules,
        .symbols = recording->symbols,
        .thread_of_number = recording->thread_of_number,
        .timeline = header->timeline.bytes ? &recording->timeline : NULL,
        .thread_count = header->tree.thread_count,
        .labels = header->labels <= LABELS_ID ? (enum label_policy)header->labels : LABELS_ID,
        .start_utc_ns = header->start_utc_ns,
        .duration_ns = store_duration_ns(header),
        .period_ns = header->period_ns ? header->period_ns : 1,
        .threads_per_tick = header->threads_per_tick,
        .has_rundelay = header->has_rundelay != 0,
        .throttled_count = header->throttled_count,
        .throttled_ns = header->throttled_ns,
        .has_timed_samples = header->has_timed_samples != 0 && header->timeline.bytes > 0,
        .counters = header->counters,
        .restraint = recording->restraint,
        .command = recording->command,
    };
}

static int read_parts(struct store_reader *reader)
{
    static int (*const steps[])(struct store_reader *) = {
        check_header,      check_parts,      take_arena,    store_mend,
        store_check_arena, store_read_names, read_timeline, store_settle,
    };
    int status = 0;
    for (size_t i = 0; status == 0 && i < sizeof steps / sizeof *steps; i++)
        status = steps[i](reader);
    return status;
}

int recording_read_store(struct recording *recording, const unsigned char *bytes, size_t count)
{
    struct store_header header;
    struct store_reader reader = {.recording = recording, .bytes = bytes, .count = count, .header = &header};
    if (count < sizeof header)
        return recording_refuse(recording, -EBADMSG, "it is cut short: there is not even a whole header");
    memcpy(&header, bytes, sizeof header);
    int status = read_parts(&reader);
    if (status == 0) {
        describe_recording(recording, &header);
        if (store_is_string(&reader, header.messages))
            recording->profile.messages = header.messages;
        read_profile_paths(&reader);
        wait_texts_spell(recording);
    }
    recording->is_store = true;
    free(reader.kinds);
    free(reader.thread_of_node);
    free(reader.has_tree);
    return status;
}
