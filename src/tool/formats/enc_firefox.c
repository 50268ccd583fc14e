/*
 * Order of writing: meta, libraries, threads, and last what all share, because only then are all strings and
 * all the stacks of waits known. Readers take members in any order.
 *
 * A thread's samples begin with one at its start that has no stack and no weight: readers ignore the CPU time
 * of the first sample, as they know of none before it.
 */
#include "enc_firefox.h"
#include "base/clock.h"
#include "encode/profile_notes.h"
#include "firefox_tables.h"
#include "base/sort.h"
#include "profile/timeline_index.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* PROCESSED is the version that these files keep to. GECKO means nothing here, but readers ask for it. */
enum { PROCESSED_VERSION = 66, GECKO_VERSION = 27, VISIBLE_MAX = 32 };

struct firefox_writer {
    const struct profile *profile;
    struct json json;
    struct firefox_tables tables;
    struct timeline_index index;
};

static void write_text(struct firefox_writer *writer, const char *key, const char *text)
{
    json_key(&writer->json, key);
    json_string(&writer->json, text);
}

static void write_number(struct firefox_writer *writer, const char *key, uint64_t number)
{
    json_key(&writer->json, key);
    json_uint(&writer->json, number);
}

static void write_ms(struct firefox_writer *writer, const char *key, uint64_t ns)
{
    json_key(&writer->json, key);
    json_ms(&writer->json, (int64_t)ns);
}

static int64_t since_start(const struct firefox_writer *writer, uint64_t monotonic_ns)
{
    return (int64_t)(monotonic_ns - writer->profile->timeline->start_ns);
}

/* ---- samples ---- */

/* A range is two samples of one stack: its beginning weighs a tick, and its end the rest. */
struct sample {
    int64_t time_ns, stack;
    uint64_t cpu_ns;
    uint32_t ticks;
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
    json_uint(json, sample->ticks);
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
    uint32_t first_ticks = is_range(record) && record->ticks > 1 ? 1 : record->ticks;
    const int64_t stack = firefox_tables_stack(&writer->tables, record);
    cell(&writer->json,
         &(struct sample){since_start(writer, record->first_ns), stack, record->cpu_ns, first_ticks});
    if (is_range(record))
        cell(&writer->json, &(struct sample){since_start(writer, record->last_ns), stack,
                                             record->later_cpu_ns, record->ticks - first_ticks});
}

static void write_sample_column(struct firefox_writer *writer, const struct thread_record *thread,
                                const char *key, sample_cell_fn *cell)
{
    const struct sample beginning = {since_start(writer, thread->start_ns), FIREFOX_NO_STACK, 0, 0};
    json_key(&writer->json, key);
    json_begin_array(&writer->json);
    cell(&writer->json, &beginning);
    for (uint32_t i = 0; i < timeline_index_count(&writer->index, thread->number); i++)
        write_record(writer, timeline_index_at(&writer->index, thread->number, i), cell);
    json_end_array(&writer->json);
}

static void write_samples(struct firefox_writer *writer, const struct thread_record *thread)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < timeline_index_count(&writer->index, thread->number); i++)
        count += is_range(timeline_index_at(&writer->index, thread->number, i)) ? 2 : 1;
    json_key(&writer->json, "samples");
    json_begin_object(&writer->json);
    write_sample_column(writer, thread, "stack", sample_stack);
    write_sample_column(writer, thread, "time", sample_time);
    write_sample_column(writer, thread, "weight", sample_weight);
    write_text(writer, "weightType", "samples");
    write_sample_column(writer, thread, "threadCPUDelta", sample_cpu);
    write_number(writer, "length", count);
    json_end_object(&writer->json);
}
/* ---- threads ---- */

/* The first one whose number is at least that; NULL after the last. */
static const struct thread_record *next_thread(const struct firefox_writer *writer, uint32_t number)
{
    for (; number <= writer->profile->thread_count; number++) {
        const struct thread_record *thread = profile_thread(writer->profile, number);
        if (thread)
            return thread;
    }
    return NULL;
}

/* The process is called by its first thread, which is the one that main runs in or that was forked. */
static void write_process(struct firefox_writer *writer)
{
    char pid[16], name[THREAD_NAME_BYTES + 1];
    const struct thread_record *first = next_thread(writer, 1);
    snprintf(pid, sizeof(pid), "%d", first->tid);
    profile_thread_name(first, name);
    write_text(writer, "processType", "default");
    write_number(writer, "processStartupTime", 0);
    json_key(&writer->json, "processShutdownTime");
    json_null(&writer->json);
    write_text(writer, "processName", name);
    write_text(writer, "pid", pid);
}

static void write_thread(struct firefox_writer *writer, const struct thread_record *thread)
{
    char name[THREAD_NAME_BYTES + 1];
    bool is_main = thread == next_thread(writer, 1);
    profile_thread_name(thread, name);
    json_begin_object(&writer->json);
    write_text(writer, "name", name);
    write_process(writer);
    write_number(writer, "tid", (uint64_t)thread->tid);
    json_key(&writer->json, "isMainThread");
    json_bool(&writer->json, is_main);
    json_key(&writer->json, "showMarkersInTimeline");
    json_bool(&writer->json, is_main);
    json_key(&writer->json, "registerTime");
    json_ms(&writer->json, since_start(writer, thread->start_ns));
    json_key(&writer->json, "unregisterTime");
    if (thread->end_ns)
        json_ms(&writer->json, since_start(writer, thread->end_ns));
    else
        json_null(&writer->json);
    json_key(&writer->json, "pausedRanges");
    json_begin_array(&writer->json);
    json_end_array(&writer->json);
    write_samples(writer, thread);
    firefox_write_markers(&writer->tables, &writer->json, is_main);
    json_end_object(&writer->json);
    json_newline(&writer->json);
}

static void write_threads(struct firefox_writer *writer)
{
    const struct thread_record *thread = next_thread(writer, 1);
    json_key(&writer->json, "threads");
    json_begin_array(&writer->json);
    for (; thread; thread = next_thread(writer, thread->number + 1))
        write_thread(writer, thread);
    json_end_array(&writer->json);
}

/* ---- meta ---- */

static void write_note(void *context, const char *text)
{
    struct firefox_writer *writer = context;
    json_begin_object(&writer->json);
    write_text(writer, "label", "wallprof");
    write_text(writer, "format", "string");
    write_text(writer, "value", text);
    json_end_object(&writer->json);
}

static void write_extra(struct firefox_writer *writer)
{
    json_key(&writer->json, "extra");
    json_begin_array(&writer->json);
    json_begin_object(&writer->json);
    write_text(writer, "label", "Recording");
    json_key(&writer->json, "entries");
    json_begin_array(&writer->json);
    profile_notes_write(writer->profile, write_note, writer);
    json_end_array(&writer->json);
    json_end_object(&writer->json);
    json_end_array(&writer->json);
}

/* By CPU time, the busiest first; the main thread before all. */
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
    for (uint32_t i = 0; i < timeline_index_count(&writer->index, thread); i++) {
        const struct timeline_record *record = timeline_index_at(&writer->index, thread, i);
        cpu_ns += record->cpu_ns + record->later_cpu_ns;
    }
    return cpu_ns;
}

/* Without these, readers hide threads that wait most of the time. */
static int write_visible_threads(struct firefox_writer *writer)
{
    uint32_t count = 0;
    size_t bytes = sizeof(struct visible) * ((size_t)writer->profile->thread_count + 1);
    struct visible *threads = scratch_alloc(bytes);
    if (!threads)
        return -ENOMEM;
    for (const struct thread_record *thread = next_thread(writer, 1); thread;
         thread = next_thread(writer, thread->number + 1)) {
        threads[count] = (struct visible){count ? cpu_of(writer, thread->number) : UINT64_MAX, count};
        count++;
    }
    sort_records(threads, count, sizeof(*threads), compare_visible);
    json_key(&writer->json, "initialVisibleThreads");
    json_begin_array(&writer->json);
    for (uint32_t i = 0; i < count && i < VISIBLE_MAX; i++)
        json_uint(&writer->json, threads[i].index);
    json_end_array(&writer->json);
    scratch_free(threads, bytes);
    return 0;
}

static void write_units(struct firefox_writer *writer)
{
    json_key(&writer->json, "sampleUnits");
    json_begin_object(&writer->json);
    write_text(writer, "time", "ms");
    write_text(writer, "eventDelay", "ms");
    write_text(writer, "threadCPUDelta", "ns");
    json_end_object(&writer->json);
}

static int write_meta(struct firefox_writer *writer)
{
    const struct profile *profile = writer->profile;
    json_key(&writer->json, "meta");
    json_begin_object(&writer->json);
    write_number(writer, "version", GECKO_VERSION);
    write_number(writer, "preprocessedProfileVersion", PROCESSED_VERSION);
    write_text(writer, "product", "wallprof");
    write_text(writer, "importedFrom", "wallprof " WALLPROF_VERSION);
    write_text(writer, "arguments", profile->command);
    write_ms(writer, "interval", profile->period_ns);
    write_ms(writer, "startTime", profile->start_utc_ns);
    write_number(writer, "startTimeAsClockMonotonicNanosecondsSinceBoot", profile->timeline->start_ns);
    write_number(writer, "profilingStartTime", 0);
    write_ms(writer, "profilingEndTime", profile->duration_ns + 1); /* or readers leave out what ends then */
    write_number(writer, "processType", 0);
    write_number(writer, "stackwalk", 1);
    write_text(writer, "platform", "X11"); /* what readers take for Unix */
    write_text(writer, "oscpu", "Linux " FIREFOX_ARCH);
    json_key(&writer->json, "symbolicated");
    json_bool(&writer->json, true);
    json_key(&writer->json, "sourceCodeIsNotOnSearchfox");
    json_bool(&writer->json, true);
    write_units(writer);
    firefox_write_categories(&writer->json);
    firefox_write_marker_schemas(&writer->json);
    write_extra(writer);
    int status = write_visible_threads(writer);
    json_end_object(&writer->json);
    json_newline(&writer->json);
    return status;
}

static int write_all(struct firefox_writer *writer)
{
    int status =
        timeline_index_init(&writer->index, writer->profile->timeline, writer->profile->thread_count);
    if (status == 0)
        status = firefox_tables_init(&writer->tables, writer->profile);
    if (status < 0)
        return status;
    json_begin_object(&writer->json);
    status = write_meta(writer);
    firefox_write_libs(&writer->tables, &writer->json);
    write_threads(writer);
    firefox_write_shared(&writer->tables, &writer->json);
    json_end_object(&writer->json);
    bool failed = writer->tables.failed || writer->tables.strings.failed || writer->tables.files.failed;
    return failed ? -ENOMEM : status;
}

int enc_firefox_write(const struct profile *profile, struct sink *sink)
{
    if (!profile->timeline)
        return -ENODATA;
    struct firefox_writer writer = {.profile = profile, .tables = {.profile = profile}};
    json_init(&writer.json, sink);
    int status = write_all(&writer);
    firefox_tables_deinit(&writer.tables);
    timeline_index_deinit(&writer.index);
    return status;
}
