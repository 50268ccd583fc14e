/*
 * Firefox Profiler's processed profile format, for profiler.firefox.com: what happened when, thread by
 * thread. docs/formats.md has what readers demand of it.
 *
 * The order of writing is: meta, libraries, threads, and last what all threads share. Only then are all
 * strings and all stacks of waits known. Readers take members in any order.
 *
 * A thread's samples begin with one at its start that has no stack and no weight: readers ignore the CPU time
 * of the first sample, since there is none before it.
 */
#include "base/clock.h"
#include "encode/profile_notes.h"
#include "encode/version.h"
#include "firefox_tables.h"
#include "formats.h"
#include "thread_order.h"
#include "base/sort.h"
#include "profile/timeline_index.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* PROCESSED is the version that these files keep to. GECKO means nothing here, but readers require it. */
enum { PROCESSED_VERSION = 66, GECKO_VERSION = 27, VISIBLE_MAX = 32 };

struct firefox_writer {
    const struct profile *profile;
    struct json json;
    struct firefox_tables tables;
    struct intervals intervals; /* its index is the timeline's */
    struct thread_order order;
};

static void write_ms(struct firefox_writer *writer, const char *key, uint64_t ns)
{
    json_key(&writer->json, key);
    json_ms(&writer->json, (int64_t)ns);
}

/* ---- samples ---- */

/* A range is two samples of one stack: its beginning weighs as much as a tick, and its end the rest. */
struct sample {
    int64_t time_ns, stack;
    uint64_t cpu_ns, wall_ns;
};

typedef void sample_cell_fn(struct json *json, const struct sample *sample);

static void sample_stack(struct json *json, const struct sample *sample)
{
    if (sample->stack == FIREFOX_NO_STACK)
        json_null(json);
    else
        json_int(json, sample->stack);
}

static void sample_time(struct json *json, const struct sample *sample)
{
    json_ms(json, sample->time_ns);
}

static void sample_weight(struct json *json, const struct sample *sample)
{
    json_ms(json, (int64_t)sample->wall_ns);
}

static void sample_cpu(struct json *json, const struct sample *sample)
{
    json_uint(json, sample->cpu_ns);
}

static bool is_range(const struct timeline_record *record)
{
    return record->last_ns > record->first_ns;
}

static void write_record(struct firefox_writer *writer, const struct timeline_record *record,
                         sample_cell_fn *cell)
{
    const int64_t stack = firefox_tables_stack(&writer->tables, record);
    const uint64_t tick_ns = record->wall_ns / (record->ticks > 1 ? record->ticks : 1);
    const uint64_t first_ns = is_range(record) ? tick_ns : record->wall_ns;
    cell(&writer->json, &(struct sample){firefox_since_start(writer->profile, record->first_ns), stack,
                                         record->cpu_ns, first_ns});
    if (is_range(record))
        cell(&writer->json, &(struct sample){firefox_since_start(writer->profile, record->last_ns), stack,
                                             record->later_cpu_ns, record->wall_ns - first_ns});
}

static void write_sample_column(struct firefox_writer *writer, const struct thread_record *thread,
                                const char *key, sample_cell_fn *cell)
{
    struct json *json = &writer->json;
    const struct sample beginning = {firefox_since_start(writer->profile, thread->start_ns), FIREFOX_NO_STACK,
                                     0, 0};
    json_member_array(json, key);
    cell(json, &beginning);
    for (uint32_t i = 0; i < timeline_index_count(&writer->intervals.index, thread->number); i++)
        write_record(writer, timeline_index_at(&writer->intervals.index, thread->number, i), cell);
    json_end_array(json);
}

static void write_samples(struct firefox_writer *writer, const struct thread_record *thread)
{
    struct json *json = &writer->json;
    uint64_t count = 1;
    for (uint32_t i = 0; i < timeline_index_count(&writer->intervals.index, thread->number); i++)
        count += is_range(timeline_index_at(&writer->intervals.index, thread->number, i)) ? 2 : 1;
    json_member_object(json, "samples");
    write_sample_column(writer, thread, "stack", sample_stack);
    write_sample_column(writer, thread, "time", sample_time);
    write_sample_column(writer, thread, "weight", sample_weight);
    json_member_string(json, "weightType", "tracing-ms");
    write_sample_column(writer, thread, "threadCPUDelta", sample_cpu);
    json_member_uint(json, "length", count);
    json_end_object(json);
}

/* ---- threads ---- */

static void write_process(struct firefox_writer *writer, uint32_t i)
{
    struct json *json = &writer->json;
    char pid[16], name[THREAD_NAME_BYTES + 1];
    snprintf(pid, sizeof(pid), "%" PRIu32, thread_order_pid(&writer->order, i));
    json_member_string(json, "processType", "default");
    json_member_uint(json, "processStartupTime", 0);
    json_key(json, "processShutdownTime");
    json_null(json);
    json_member_string(json, "processName", thread_order_process_name(&writer->order, i, name));
    json_member_string(json, "pid", pid);
}

static void write_thread(struct firefox_writer *writer, uint32_t i)
{
    struct json *json = &writer->json;
    const struct thread_record *thread = writer->order.threads[i];
    char name[THREAD_NAME_BYTES + 1];
    bool is_main = thread_order_is_first(&writer->order, i);
    profile_thread_name(thread, name);
    json_begin_object(json);
    json_member_string(json, "name", name);
    write_process(writer, i);
    json_member_uint(json, "tid", (uint64_t)thread->tid);
    json_key(json, "isMainThread");
    json_bool(json, is_main);
    json_key(json, "showMarkersInTimeline");
    json_bool(json, is_main);
    json_key(json, "registerTime");
    json_ms(json, firefox_since_start(writer->profile, thread->start_ns));
    json_key(json, "unregisterTime");
    if (thread->end_ns)
        json_ms(json, firefox_since_start(writer->profile, thread->end_ns));
    else
        json_null(json);
    json_member_array(json, "pausedRanges");
    json_end_array(json);
    write_samples(writer, thread);
    firefox_write_markers(&writer->tables, json, &writer->intervals.list, i == 0);
    json_end_object(json);
    json_newline(json);
}

static int write_threads(struct firefox_writer *writer)
{
    int status = 0;
    json_member_array(&writer->json, "threads");
    for (uint32_t i = 0; i < writer->order.count && status == 0; i++) {
        status = intervals_make(&writer->intervals, writer->order.threads[i]);
        write_thread(writer, i);
    }
    json_end_array(&writer->json);
    return status;
}

/* ---- meta ---- */

static void write_note(void *context, const char *text)
{
    struct firefox_writer *writer = context;
    struct json *json = &writer->json;
    json_begin_object(json);
    json_member_string(json, "label", "wallprof");
    json_member_string(json, "format", "string");
    json_member_string(json, "value", text);
    json_end_object(json);
}

static void write_extra(struct firefox_writer *writer)
{
    struct json *json = &writer->json;
    json_member_array(json, "extra");
    json_begin_object(json);
    json_member_string(json, "label", "Recording");
    json_member_array(json, "entries");
    profile_notes_write(writer->profile, write_note, writer);
    json_end_array(json);
    json_end_object(json);
    json_end_array(json);
}

/* Threads in order of their CPU time, the busiest first. The main thread comes before all. */
struct visible {
    uint64_t cpu_ns;
    uint32_t index;
};

static int compare_visible(const void *a, const void *b)
{
    const struct visible *x = a, *y = b;
    if (x->cpu_ns != y->cpu_ns)
        return x->cpu_ns > y->cpu_ns ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static uint64_t cpu_of(const struct firefox_writer *writer, uint32_t thread)
{
    uint64_t cpu_ns = 0;
    for (uint32_t i = 0; i < timeline_index_count(&writer->intervals.index, thread); i++) {
        const struct timeline_record *record = timeline_index_at(&writer->intervals.index, thread, i);
        cpu_ns += record->cpu_ns + record->later_cpu_ns;
    }
    return cpu_ns;
}

/* Without this list readers hide threads that wait most of the time. */
static int write_visible_threads(struct firefox_writer *writer)
{
    struct json *json = &writer->json;
    const uint32_t count = writer->order.count;
    size_t bytes = sizeof(struct visible) * ((size_t)count + 1);
    struct visible *threads = scratch_alloc(bytes);
    if (!threads)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        threads[i] =
            (struct visible){i > 0 ? cpu_of(writer, writer->order.threads[i]->number) : UINT64_MAX, i};
    sort_records(threads, count, sizeof(*threads), compare_visible);
    json_member_array(json, "initialVisibleThreads");
    for (uint32_t i = 0; i < count && i < VISIBLE_MAX; i++)
        json_uint(json, threads[i].index);
    json_end_array(json);
    scratch_free(threads, bytes);
    return 0;
}

static void write_units(struct firefox_writer *writer)
{
    struct json *json = &writer->json;
    json_member_object(json, "sampleUnits");
    json_member_string(json, "time", "ms");
    json_member_string(json, "eventDelay", "ms");
    json_member_string(json, "threadCPUDelta", "ns");
    json_end_object(json);
}

/* Readers take the product's name for the title. Of several processes it is that of the first one. */
static void write_title(struct firefox_writer *writer)
{
    const struct profile *profile = writer->profile;
    char title[256];
    const char *name = profile->process_count > 0 ? profile->processes[0].name : "";
    snprintf(title, sizeof title, profile->process_count > 1 ? "%.200s and %" PRIu32 " more" : "%.200s",
             *name ? name : "wallprof", profile->process_count - 1);
    json_member_string(&writer->json, "product", title);
}

/* When the last thread has ended. The recordings of a merged profile may cover less than the time up to then.
 */
static uint64_t last_end_ns(const struct firefox_writer *writer)
{
    const uint64_t start_ns = writer->profile->timeline->start_ns;
    uint64_t end_ns = start_ns + writer->profile->duration_ns;
    for (uint32_t i = 0; writer->profile->is_merged && i < writer->order.count; i++)
        end_ns = writer->order.threads[i]->end_ns > end_ns ? writer->order.threads[i]->end_ns : end_ns;
    return end_ns - start_ns;
}

static int write_meta(struct firefox_writer *writer)
{
    struct json *json = &writer->json;
    const struct profile *profile = writer->profile;
    json_member_object(json, "meta");
    json_member_uint(json, "version", GECKO_VERSION);
    json_member_uint(json, "preprocessedProfileVersion", PROCESSED_VERSION);
    write_title(writer);
    json_member_string(json, "importedFrom", "wallprof " WALLPROF_VERSION);
    json_member_string(json, "arguments", profile->command);
    write_ms(writer, "interval", profile->period_ns);
    write_ms(writer, "startTime", profile->start_utc_ns);
    if (!profile->is_merged) /* else the timeline has the system's clock */
        json_member_uint(json, "startTimeAsClockMonotonicNanosecondsSinceBoot", profile->timeline->start_ns);
    json_member_uint(json, "profilingStartTime", 0);
    write_ms(writer, "profilingEndTime", last_end_ns(writer) + 1); /* else readers leave out what ends then */
    json_member_uint(json, "processType", 0);
    json_member_uint(json, "stackwalk", 1);
    json_member_string(json, "platform", "X11"); /* what readers take for Unix */
    json_member_string(json, "oscpu", "Linux " FIREFOX_ARCH);
    json_key(json, "symbolicated");
    json_bool(json, true);
    json_key(json, "sourceCodeIsNotOnSearchfox");
    json_bool(json, true);
    write_units(writer);
    firefox_write_categories(json);
    firefox_write_marker_schemas(json);
    write_extra(writer);
    int status = write_visible_threads(writer);
    json_end_object(json);
    json_newline(json);
    return status;
}

static int write_all(struct firefox_writer *writer)
{
    struct json *json = &writer->json;
    json_begin_object(json);
    int status = write_meta(writer);
    firefox_write_libs(&writer->tables, json);
    if (status == 0)
        status = write_threads(writer);
    firefox_write_shared(&writer->tables, json);
    json_end_object(json);
    return firefox_tables_failed(&writer->tables) ? -ENOMEM : status;
}

int enc_firefox_write(const struct profile *profile, struct sink *sink)
{
    if (!profile->timeline)
        return -ENODATA;
    struct firefox_writer writer = {.profile = profile};
    json_init(&writer.json, sink);
    int status = firefox_tables_init(&writer.tables, profile);
    if (status == 0)
        status = intervals_init(&writer.intervals, profile, &writer.tables.meaning);
    if (status == 0)
        status = thread_order_init(&writer.order, profile);
    if (status == 0)
        status = write_all(&writer);
    thread_order_deinit(&writer.order);
    intervals_deinit(&writer.intervals);
    firefox_tables_deinit(&writer.tables);
    return status;
}
