/* The events of a recording as markers of a Firefox profile: forks, libraries that come and go, late ticks.
 */
#include "firefox_tables.h"

enum { MARKER_INSTANT = 0, MARKER_INTERVAL = 1 };

static const struct marker_kind {
    const char *name;
    const char *field, *label, *format; /* of its only field; NULL without one */
} marker_kinds[EVENT_KIND_COUNT] = {
    [EVENT_FORK] = {"Fork", "children", "Children", "integer"},
    [EVENT_EXEC] = {"Exec", NULL, NULL, NULL},
    [EVENT_LOADED] = {"Library loaded", "library", "Library", "file-path"},
    [EVENT_UNLOADED] = {"Library unloaded", "library", "Library", "file-path"},
    [EVENT_LATE] = {"Late ticks", "missed", "Ticks missed", "integer"},
};

static void write_marker_schema(struct json *json, const struct marker_kind *kind)
{
    json_begin_object(json);
    json_member_string(json, "name", kind->name);
    json_member_array(json, "display");
    json_string(json, "marker-chart");
    json_string(json, "marker-table");
    json_string(json, "timeline-overview");
    json_end_array(json);
    json_member_array(json, "fields");
    if (kind->field) {
        json_begin_object(json);
        json_member_string(json, "key", kind->field);
        json_member_string(json, "label", kind->label);
        json_member_string(json, "format", kind->format);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

void firefox_write_marker_schemas(struct json *json)
{
    json_member_array(json, "markerSchema");
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++)
        write_marker_schema(json, &marker_kinds[kind]);
    json_end_array(json);
}

typedef void marker_cell_fn(struct firefox_tables *tables, struct json *json,
                            const struct timeline_event *event);

static void marker_data(struct firefox_tables *tables, struct json *json, const struct timeline_event *event)
{
    const struct marker_kind *kind = &marker_kinds[event->kind];
    json_begin_object(json);
    json_member_string(json, "type", kind->name);
    if (kind->field && event->name)
        json_member_string(json, kind->field, arena_at(tables->profile->arena, event->name));
    else if (kind->field)
        json_member_uint(json, kind->field, event->number);
    json_end_object(json);
}

static void marker_name(struct firefox_tables *tables, struct json *json, const struct timeline_event *event)
{
    json_uint(json, string_table_intern(&tables->strings, marker_kinds[event->kind].name));
}

static void marker_begin(struct firefox_tables *tables, struct json *json, const struct timeline_event *event)
{
    json_ms(json, firefox_since_start(tables->profile, event->begin_ns));
}

static bool is_interval(const struct timeline_event *event)
{
    return event->end_ns > event->begin_ns;
}

static void marker_end(struct firefox_tables *tables, struct json *json, const struct timeline_event *event)
{
    if (is_interval(event))
        json_ms(json, firefox_since_start(tables->profile, event->end_ns));
    else
        json_null(json);
}

static void marker_phase(struct firefox_tables *tables, struct json *json, const struct timeline_event *event)
{
    (void)tables;
    json_uint(json, is_interval(event) ? MARKER_INTERVAL : MARKER_INSTANT);
}

static void write_marker_column(struct firefox_tables *tables, struct json *json, const char *key,
                                uint32_t count, marker_cell_fn *cell)
{
    json_member_array(json, key);
    for (uint32_t i = 0; i < count; i++)
        cell(tables, json, &tables->profile->timeline->events[i]);
    json_end_array(json);
}

void firefox_write_markers(struct firefox_tables *tables, struct json *json, bool is_main)
{
    uint32_t count = is_main ? tables->profile->timeline->event_count : 0;
    json_member_object(json, "markers");
    write_marker_column(tables, json, "data", count, marker_data);
    write_marker_column(tables, json, "name", count, marker_name);
    write_marker_column(tables, json, "startTime", count, marker_begin);
    write_marker_column(tables, json, "endTime", count, marker_end);
    write_marker_column(tables, json, "phase", count, marker_phase);
    firefox_write_same(json, "category", count, CATEGORY_OTHER);
    json_member_uint(json, "length", count);
    json_end_object(json);
}
