/*
 * The markers of a Firefox profile: what happened to the process (forks, libraries that come and go), and
 * what each thread waits for, from when to when.
 */
#include "base/clock.h"
#include "firefox_tables.h"
#include "profile/wait_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARKER_INSTANT = 0, MARKER_INTERVAL = 1 };

/* Late ticks are the sampler's. They matter to a reader where as much time as this has no samples. */
static const uint64_t late_shown_ns = 100 * (uint64_t)NS_PER_MS;

struct marker_field {
    const char *key, *label, *format;
};

/* What a marker is in tables, in its row of the chart, and under the pointer. */
static const struct marker_kind {
    const char *name, *label;      /* label: NULL for the name */
    struct marker_field fields[5]; /* without a key: none */
} event_kinds[EVENT_KIND_COUNT] = {
    [EVENT_FORK] = {"Fork", NULL, {{"children", "Children", "integer"}}},
    [EVENT_EXEC] = {.name = "Exec"},
    [EVENT_LOADED] = {"Library loaded", NULL, {{"library", "Library", "file-path"}}},
    [EVENT_UNLOADED] = {"Library unloaded", NULL, {{"library", "Library", "file-path"}}},
    [EVENT_LATE] = {"Late ticks", NULL, {{"missed", "Ticks missed", "integer"}}},
};

/* The summary is the label: fields of a label that are not known would leave its words without a sense. */
static const struct marker_kind wait_marker = {
    "Wait",
    "{marker.data.summary}",
    {{"summary", "Wait", "unique-string"},
     {"kind", "Waits for", "unique-string"},
     {WAIT_LABEL_ON, "On", "unique-string"},
     {WAIT_LABEL_HOLDER, "Held by", "unique-string"},
     {"function", "Function", "unique-string"}},
};

/* ---- schemas ---- */

static void write_label(struct json *json, const struct marker_kind *kind)
{
    char tooltip[64] = "{marker.name}: ";
    if (!kind->label)
        return;
    json_member_string(json, "tooltipLabel", strcat(tooltip, kind->label));
    json_member_string(json, "tableLabel", kind->label);
    json_member_string(json, "chartLabel", kind->label);
}

static void write_schema(struct json *json, const struct marker_kind *kind)
{
    json_begin_object(json);
    json_member_string(json, "name", kind->name);
    write_label(json, kind);
    json_member_array(json, "display");
    json_string(json, "marker-chart");
    json_string(json, "marker-table");
    json_string(json, "timeline-overview");
    json_end_array(json);
    json_member_array(json, "fields");
    for (size_t i = 0; i < sizeof kind->fields / sizeof *kind->fields && kind->fields[i].key; i++) {
        json_begin_object(json);
        json_member_string(json, "key", kind->fields[i].key);
        json_member_string(json, "label", kind->fields[i].label);
        json_member_string(json, "format", kind->fields[i].format);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

void firefox_write_marker_schemas(struct json *json)
{
    json_member_array(json, "markerSchema");
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++)
        write_schema(json, &event_kinds[kind]);
    write_schema(json, &wait_marker);
    json_end_array(json);
}

/* ---- columns ---- */

/* An event of the process, or else an interval of the thread. */
struct marker {
    const struct timeline_event *event;
    const struct interval *wait;
    uint64_t begin_ns, end_ns;
};

typedef void marker_cell_fn(struct firefox_tables *tables, struct json *json, const struct marker *marker);

static uint32_t category_of(const struct marker *marker)
{
    return marker->event ? CATEGORY_OTHER : CATEGORY_WAITS + marker->wait->state;
}

static uint32_t string_of(struct firefox_tables *tables, const char *text)
{
    return string_table_intern(&tables->strings, text);
}

static void write_event(const struct firefox_tables *tables, struct json *json,
                        const struct timeline_event *event)
{
    const struct marker_field *field = &event_kinds[event->kind].fields[0];
    json_member_string(json, "type", event_kinds[event->kind].name);
    if (field->key && event->name)
        json_member_string(json, field->key, arena_at(tables->profile->arena, event->name));
    else if (field->key)
        json_member_uint(json, field->key, event->number);
}

/* "append: mutex journal_mutex, held by writer-2", or what of it is known. */
static void write_summary(struct firefox_tables *tables, struct json *json, const char *function,
                          const struct wait_labels *waited)
{
    const bool is_known = waited->on || waited->holder;
    char *text;
    if (!function && !is_known)
        return;
    const int length = asprintf(&text, "%s%s%s%s%s", function ?: "", function && is_known ? ": " : "",
                                waited->on ?: "", waited->holder ? ", held by " : "", waited->holder ?: "");
    if (length < 0)
        return;
    json_member_uint(json, "summary", string_of(tables, text));
    free(text);
}

/* Readers show the stack as what has caused the marker. */
static void write_wait(struct firefox_tables *tables, struct json *json, const struct interval *wait)
{
    const char *function = meaning_function(&tables->meaning, tables->profile, wait->node);
    const struct tree *tree = tables->profile->tree;
    struct wait_labels waited = {NULL, NULL};
    if (wait->state != WAIT_CPU)
        waited = wait_labels_of(tree, tree, wait->node);
    int64_t stack = firefox_stack_of(tables, wait->node);
    json_member_string(json, "type", wait_marker.name);
    write_summary(tables, json, function, &waited);
    json_member_uint(json, "kind", string_of(tables, wait_kind_words[wait->state]));
    if (waited.on)
        json_member_uint(json, WAIT_LABEL_ON, string_of(tables, waited.on));
    if (waited.holder)
        json_member_uint(json, WAIT_LABEL_HOLDER, string_of(tables, waited.holder));
    if (function)
        json_member_uint(json, "function", string_of(tables, function));
    if (stack == FIREFOX_NO_STACK)
        return;
    json_member_object(json, "cause");
    json_member_uint(json, "stack", (uint64_t)stack);
    json_end_object(json);
}

static void marker_data(struct firefox_tables *tables, struct json *json, const struct marker *marker)
{
    json_begin_object(json);
    if (marker->event)
        write_event(tables, json, marker->event);
    else
        write_wait(tables, json, marker->wait);
    json_end_object(json);
}

static void marker_name(struct firefox_tables *tables, struct json *json, const struct marker *marker)
{
    json_uint(json, string_of(tables, marker->event ? event_kinds[marker->event->kind].name
                                                    : firefox_category_name(category_of(marker))));
}

static void marker_begin(struct firefox_tables *tables, struct json *json, const struct marker *marker)
{
    json_ms(json, firefox_since_start(tables->profile, marker->begin_ns));
}

static void marker_end(struct firefox_tables *tables, struct json *json, const struct marker *marker)
{
    if (marker->end_ns > marker->begin_ns)
        json_ms(json, firefox_since_start(tables->profile, marker->end_ns));
    else
        json_null(json);
}

static void marker_phase(struct firefox_tables *tables, struct json *json, const struct marker *marker)
{
    (void)tables;
    json_uint(json, marker->end_ns > marker->begin_ns ? MARKER_INTERVAL : MARKER_INSTANT);
}

static void marker_category(struct firefox_tables *tables, struct json *json, const struct marker *marker)
{
    (void)tables;
    json_uint(json, category_of(marker));
}

static bool is_shown(const struct firefox_tables *tables, const struct timeline_event *event)
{
    return event->kind != EVENT_LATE || event->number >= late_shown_ns / (tables->profile->period_ns ?: 1);
}

/* Returns how many there are. */
static uint64_t write_markers(struct firefox_tables *tables, struct json *json,
                              const struct interval_list *intervals, bool is_main, marker_cell_fn *cell)
{
    const struct timeline *timeline = tables->profile->timeline;
    uint64_t count = 0;
    for (uint32_t i = 0; is_main && i < timeline->event_count; i++) {
        const struct timeline_event *event = &timeline->events[i];
        if (!is_shown(tables, event))
            continue;
        cell(tables, json, &(struct marker){event, NULL, event->begin_ns, event->end_ns});
        count++;
    }
    for (uint32_t i = 0; i < intervals->count; i++) {
        const struct interval *wait = &intervals->all[i];
        if (wait->state == STATE_RUNNING)
            continue;
        cell(tables, json, &(struct marker){NULL, wait, wait->begin_ns, wait->end_ns});
        count++;
    }
    return count;
}

void firefox_write_markers(struct firefox_tables *tables, struct json *json,
                           const struct interval_list *intervals, bool is_main)
{
    static const struct {
        const char *key;
        marker_cell_fn *cell;
    } columns[] = {{"data", marker_data},   {"name", marker_name},   {"startTime", marker_begin},
                   {"endTime", marker_end}, {"phase", marker_phase}, {"category", marker_category}};
    uint64_t count = 0;
    json_member_object(json, "markers");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        json_member_array(json, columns[i].key);
        count = write_markers(tables, json, intervals, is_main, columns[i].cell);
        json_end_array(json);
    }
    json_member_uint(json, "length", count);
    json_end_object(json);
}
