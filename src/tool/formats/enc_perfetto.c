/*
 * A trace for Perfetto and chrome://tracing, as Chrome's trace events in JSON: for each thread a track of its
 * states, from when to when. docs/formats.md has what readers demand of it.
 *
 * Each interval of a thread (intervals.h) is a complete event, whose name is the state. So the events of a
 * thread do not overlap, and those of one name add up to what reports say.
 *
 * Times are microseconds from the recording's start. Readers add a duration to a beginning as doubles. They
 * would take an event for a part of the one before if that ended later by a rounding. So times are whole
 * eighths, whose sums are exact.
 *
 * Source: "Trace Event Format" (the Chromium project).
 */
#include "base/intern_table.h"
#include "base/json.h"
#include "encode/profile_notes.h"
#include "formats.h"
#include "profile/wait_labels.h"
#include "thread_order.h"
#include "tool/meaning/intervals.h"

#include <errno.h>
#include <string.h>

/* Readers tell threads, and processes, by their ids alone. One whose id is not known, or which another one
 * has had before, gets a number that the kernel gives to none (PID_MAX_LIMIT). */
enum { MADE_UP_ID = 1 << 22 };

struct perfetto_writer {
    const struct profile *profile;
    struct json json;
    struct meaning meaning;
    struct intervals intervals;
    struct thread_order order;
    struct intern_table processes, threads; /* by id: their number among ours */
    uint32_t pid, tid;                      /* of the thread that is being written */
    char *stack;                            /* of an interval, as text */
    size_t stack_bytes;                     /* that it has room for */
    bool failed;
};

struct perfetto_id {
    struct {
        uint32_t pid, id; /* pid: of a thread's process; 0 for a process */
    } key;
    uint32_t number; /* 1 + of the process or the thread that has it */
};

/* ---- ids ---- */

/* The kernel's id, or a made-up one if that is 0 or another's. pid: of a thread's process, else 0. number: of
 * the process or thread, from 0 on. */
static uint32_t id_of(struct intern_table *table, uint32_t pid, uint32_t kernels, uint32_t number)
{
    const struct perfetto_id wanted = {.key = {pid, kernels}};
    struct perfetto_id *id = intern_table_at(table, intern_table_intern(table, &wanted.key));
    if (!id->number && kernels)
        id->number = 1 + number;
    return id->number == 1 + number ? kernels : MADE_UP_ID + number;
}

/* ---- names ---- */

/* A metadata event: what a process or thread is called, or where it stands. */
static void begin_metadata(struct perfetto_writer *writer, const char *name)
{
    struct json *json = &writer->json;
    json_begin_object(json);
    json_member_string(json, "ph", "M");
    json_member_string(json, "name", name);
    json_member_uint(json, "pid", writer->pid);
    json_member_uint(json, "tid", writer->tid);
    json_member_object(json, "args");
}

static void end_event(struct perfetto_writer *writer)
{
    json_end_object(&writer->json);
    json_end_object(&writer->json);
    json_newline(&writer->json);
}

static void write_process_name(struct perfetto_writer *writer, uint32_t i)
{
    char name[THREAD_NAME_BYTES + 1];
    begin_metadata(writer, "process_name");
    json_member_string(&writer->json, "name", thread_order_process_name(&writer->order, i, name));
    end_event(writer);
}

static void write_thread_names(struct perfetto_writer *writer, uint32_t i)
{
    char name[THREAD_NAME_BYTES + 1];
    profile_thread_name(writer->order.threads[i], name);
    begin_metadata(writer, "thread_name");
    json_member_string(&writer->json, "name", name);
    end_event(writer);
    begin_metadata(writer, "thread_sort_index");
    json_member_uint(&writer->json, "sort_index", i);
    end_event(writer);
}

/* ---- stacks ---- */

static bool reserve_stack(struct perfetto_writer *writer, size_t bytes)
{
    writer->stack = scratch_reserve(writer->stack, &writer->stack_bytes, bytes, SCRATCH_FIRST_BYTES);
    writer->failed |= !writer->stack;
    return !writer->failed;
}

/* Adds a name in front of a text that ends where the memory does. Returns where it begins now. */
static size_t put_before(struct perfetto_writer *writer, size_t begin, const char *name)
{
    const size_t length = strlen(name), used = writer->stack_bytes - begin;
    if (begin < length + 1) {
        size_t old_bytes = writer->stack_bytes;
        if (!reserve_stack(writer, 2 * old_bytes + length + 1))
            return 0;
        begin = writer->stack_bytes - used;
        memmove(writer->stack + begin, writer->stack + old_bytes - used, used);
    }
    if (used > 1)
        writer->stack[--begin] = ';';
    begin -= length;
    for (size_t i = 0; i < length; i++)
        writer->stack[begin + i] = name[i] == ';' ? ':' : name[i];
    return begin;
}

/* As in folded files: the outermost function first, with semicolons. NULL without memory. */
static const char *stack_of(struct perfetto_writer *writer, arena_ref node)
{
    const struct tree *tree = writer->profile->tree;
    const struct symbols *symbols = writer->profile->symbols;
    if (!reserve_stack(writer, 1))
        return NULL;
    size_t begin = writer->stack_bytes - 1;
    writer->stack[begin] = '\0';
    node = wait_label_leaf(tree, tree, node);
    for (; tree_node(tree, node)->parent && !writer->failed; node = tree_node(tree, node)->parent) {
        uint32_t count;
        const struct symbol_frame *frames =
            symbols_frames(symbols, tree_location_at(tree, tree_node(tree, node)->location)->index, &count);
        for (uint32_t i = 0; i < count && !writer->failed; i++)
            begin = put_before(writer, begin, symbols->functions[frames[i].function].name);
    }
    return writer->failed ? NULL : writer->stack + begin;
}

/* ---- states ---- */

static const char *state_name(uint8_t state)
{
    return state == STATE_RUNNING ? "running"
           : state == WAIT_CPU    ? "waiting for a CPU"
                                  : wait_kind_words[state];
}

static const char *state_category(uint8_t state)
{
    return state == STATE_RUNNING ? "running" : state == WAIT_CPU ? "runnable" : "blocked";
}

/* A moment of the timeline from the recording's start, in whole eighths of a microsecond. */
static int64_t in_eighths(const struct perfetto_writer *writer, uint64_t time_ns)
{
    enum { EIGHTH_NS = 125 };
    const int64_t ns = (int64_t)(time_ns - writer->profile->timeline->start_ns);
    return (ns + EIGHTH_NS / 2) / EIGHTH_NS * EIGHTH_NS;
}

static void write_waited(struct perfetto_writer *writer, const struct interval *interval)
{
    const struct tree *tree = writer->profile->tree;
    const struct wait_labels waited = wait_labels_of(tree, tree, interval->node);
    if (interval->state == STATE_RUNNING || interval->state == WAIT_CPU)
        return;
    if (waited.on)
        json_member_string(&writer->json, WAIT_LABEL_ON, waited.on);
    if (waited.holder)
        json_member_string(&writer->json, WAIT_LABEL_HOLDER, waited.holder);
}

static void write_interval(struct perfetto_writer *writer, const struct interval *interval)
{
    struct json *json = &writer->json;
    const int64_t begin_ns = in_eighths(writer, interval->begin_ns);
    const int64_t end_ns = in_eighths(writer, interval->end_ns);
    if (begin_ns == end_ns)
        return;
    const char *function = meaning_function(&writer->meaning, writer->profile, interval->node);
    const char *stack = stack_of(writer, interval->node);
    json_begin_object(json);
    json_member_string(json, "ph", "X");
    json_member_string(json, "name", state_name(interval->state));
    json_member_string(json, "cat", state_category(interval->state));
    json_member_uint(json, "pid", writer->pid);
    json_member_uint(json, "tid", writer->tid);
    json_key(json, "ts");
    json_us(json, begin_ns);
    json_key(json, "dur");
    json_us(json, end_ns - begin_ns);
    json_member_object(json, "args");
    if (function)
        json_member_string(json, "function", function);
    if (stack)
        json_member_string(json, "stack", stack);
    write_waited(writer, interval);
    end_event(writer);
}

static int write_thread(struct perfetto_writer *writer, uint32_t i)
{
    const struct thread_record *thread = writer->order.threads[i];
    int status = intervals_make(&writer->intervals, thread);
    writer->pid = id_of(&writer->processes, 0, thread_order_pid(&writer->order, i), thread->process);
    writer->tid = id_of(&writer->threads, writer->pid, (uint32_t)thread->tid, thread->number);
    if (thread_order_is_first(&writer->order, i))
        write_process_name(writer, i);
    write_thread_names(writer, i);
    for (uint32_t j = 0; j < writer->intervals.list.count; j++)
        write_interval(writer, &writer->intervals.list.all[j]);
    return writer->failed || writer->threads.failed || writer->processes.failed ? -ENOMEM : status;
}

/* ---- the whole ---- */

static void write_note(void *context, const char *text)
{
    struct perfetto_writer *writer = context;
    json_string(&writer->json, text);
}

static int write_all(struct perfetto_writer *writer)
{
    struct json *json = &writer->json;
    int status = 0;
    json_begin_object(json);
    json_member_string(json, "displayTimeUnit", "ms");
    json_member_object(json, "otherData");
    json_member_string(json, "command", writer->profile->command);
    json_key(json, "start_utc_ns");
    json_digits(json, writer->profile->start_utc_ns);
    json_member_array(json, "comments");
    profile_notes_write(writer->profile, write_note, writer);
    json_end_array(json);
    json_end_object(json);
    json_member_array(json, "traceEvents");
    json_newline(json);
    for (uint32_t i = 0; i < writer->order.count && status == 0; i++)
        status = write_thread(writer, i);
    json_end_array(json);
    json_end_object(json);
    return status;
}

static int init(struct perfetto_writer *writer)
{
    const size_t key_bytes = sizeof((struct perfetto_id){0}.key);
    int processes = intern_table_init(&writer->processes, sizeof(struct perfetto_id), key_bytes);
    int threads = intern_table_init(&writer->threads, sizeof(struct perfetto_id), key_bytes);
    int status = meaning_init(&writer->meaning, writer->profile);
    if (status == 0)
        status = intervals_init(&writer->intervals, writer->profile, &writer->meaning);
    if (status == 0)
        status = thread_order_init(&writer->order, writer->profile);
    return processes < 0 || threads < 0 ? -ENOMEM : status;
}

int enc_perfetto_write(const struct profile *profile, struct sink *sink)
{
    if (!profile->timeline)
        return -ENODATA;
    struct perfetto_writer writer = {.profile = profile};
    json_init(&writer.json, sink);
    int status = init(&writer);
    if (status == 0)
        status = write_all(&writer);
    thread_order_deinit(&writer.order);
    intervals_deinit(&writer.intervals);
    meaning_deinit(&writer.meaning);
    intern_table_deinit(&writer.processes);
    intern_table_deinit(&writer.threads);
    scratch_free(writer.stack, writer.stack_bytes);
    return status;
}
