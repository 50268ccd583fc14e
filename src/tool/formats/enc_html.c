/*
 * A profile as a page to look at: a flame graph in one HTML file that needs nothing else.
 *
 * The page is src/tool/formats/html/. scripts/html-page puts it together
 * when the tool is built, in two pieces (html_page.S). Between them stands the data, as JSON that
 * src/tool/formats/html/profile.js reads. docs/formats.md describes the data.
 *
 * The trees are written first (html_trees.h). Then comes what they refer to, and the string table last,
 * because only then is it complete. The page reads all of it at once. Nothing but the string table is kept in
 * memory.
 *
 * A page that compares has the data of two profiles, one after the other.
 */
#include "formats.h"
#include "html_trees.h"
#include "encode/profile_notes.h"
#include "profile/wait_labels.h"
#include "tool/meaning/wait_kind.h"
#include "base/json.h"
#include "base/string_table.h"

#include <errno.h>
#include <string.h>

/* html_page.S */
extern const char html_page_before[], html_page_before_end[], html_page_after[], html_page_after_end[];

struct html_writer {
    struct json json;
    const struct profile *profile;
    struct string_table strings;
};

static void put_string(struct html_writer *writer, const char *text)
{
    json_uint(&writer->json, string_table_intern(&writer->strings, text));
}

/* ---- tables ---- */

/* Frames stand innermost first, as in the profile. A wait label is no frame. */
static void put_location(struct html_writer *writer, const struct location *location)
{
    uint32_t count;
    const struct symbol_frame *frames = symbols_frames(writer->profile->symbols, location->index, &count);
    json_begin_array(&writer->json);
    put_string(writer, profile_code_path(writer->profile, location));
    for (uint32_t i = 0; i < count && !wait_label_is(writer->profile->tree, location); i++) {
        json_uint(&writer->json, frames[i].function);
        json_uint(&writer->json, frames[i].line);
    }
    json_end_array(&writer->json);
    json_newline(&writer->json);
}

/* The tree lists its locations newest first; the page wants them in order. */
static int put_locations(struct html_writer *writer)
{
    const struct tree *tree = writer->profile->tree;
    size_t bytes = sizeof(arena_ref) * tree->location_count;
    arena_ref *by_index = scratch_alloc(bytes);
    if (!by_index)
        return -ENOMEM;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next)
        by_index[tree_location_at(tree, ref)->index] = ref;
    json_member_array(&writer->json, "locations");
    for (uint32_t i = 0; i < tree->location_count; i++)
        put_location(writer, tree_location_at(tree, by_index[i]));
    json_end_array(&writer->json);
    scratch_free(by_index, bytes);
    return 0;
}

static void put_wait_label(struct html_writer *writer, const struct location *location)
{
    const struct arena *arena = writer->profile->arena;
    json_begin_array(&writer->json);
    json_uint(&writer->json, location->index);
    put_string(writer, tree_label_value(arena, location));
    json_uint(&writer->json, strcmp(tree_label_key(arena, location), WAIT_LABEL_HOLDER) == 0);
    json_end_array(&writer->json);
}

/* The locations that say what is waited for, if there are any. */
static void put_wait_labels(struct html_writer *writer)
{
    const struct tree *tree = writer->profile->tree;
    bool has_begun = false;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        if (!wait_label_is(tree, tree_location_at(tree, ref)))
            continue;
        if (!has_begun)
            json_member_array(&writer->json, "wait_labels");
        has_begun = true;
        put_wait_label(writer, tree_location_at(tree, ref));
    }
    if (has_begun)
        json_end_array(&writer->json);
}

static void put_functions(struct html_writer *writer)
{
    const struct symbols *symbols = writer->profile->symbols;
    json_member_array(&writer->json, "functions");
    for (uint32_t i = 0; i < symbols->function_count; i++) {
        const struct symbol_function *function = &symbols->functions[i];
        put_string(writer, function->name);
        put_string(writer, function->file ? function->file : "");
        json_uint(&writer->json, function->start_line);
        json_newline(&writer->json);
    }
    json_end_array(&writer->json);
}

/* The words for the numbers in the column `wait`. */
static void put_waits(struct html_writer *writer)
{
    json_member_array(&writer->json, "waits");
    for (int kind = 0; kind < WAIT_KIND_COUNT; kind++)
        json_string(&writer->json, wait_kind_words[kind]);
    json_end_array(&writer->json);
}

static void put_strings(struct html_writer *writer)
{
    json_member_array(&writer->json, "strings");
    for (uint32_t i = 0; i < string_table_count(&writer->strings); i++) {
        json_string(&writer->json, string_table_at(&writer->strings, i));
        json_newline(&writer->json);
    }
    json_end_array(&writer->json);
}

/* ---- all of it ---- */

static void write_note(void *context, const char *text)
{
    struct html_writer *writer = context;
    json_string(&writer->json, text);
}

/* Another program's: [TYPE, UNIT]. */
static void put_measure(struct json *json, const struct profile_measure *measure)
{
    json_member_array(json, "measure");
    json_string(json, measure->name);
    json_string(json, measure->unit);
    json_end_array(json);
}

static void put_header(struct html_writer *writer)
{
    char command[PROFILE_COMMAND_BYTES];
    struct json *json = &writer->json;
    const struct profile *profile = writer->profile;
    json_member_string(json, "command", profile_command(profile, command));
    if (profile->process_count == 1 && *profile->processes[0].name)
        json_member_string(json, "program", profile->processes[0].name);
    json_key(json, "start_utc_ns");
    json_digits(json, profile->start_utc_ns);
    json_key(json, "duration_ns");
    json_digits(json, profile->duration_ns);
    json_member_uint(json, "period_ns", profile->period_ns);
    if (profile->measure)
        put_measure(json, profile->measure);
    json_member_array(json, "comments");
    profile_notes_write(profile, write_note, writer);
    json_end_array(json);
}

static int put_object(struct html_writer *writer)
{
    json_begin_object(&writer->json);
    put_header(writer);
    int status = html_trees_put(&writer->json, writer->profile);
    put_waits(writer);
    if (status == 0)
        status = put_locations(writer);
    put_wait_labels(writer);
    put_functions(writer);
    put_strings(writer);
    json_end_object(&writer->json);
    return status < 0 ? status : writer->strings.failed ? -ENOMEM : 0;
}

static int put_data(const struct profile *profile, struct sink *sink)
{
    struct html_writer writer = {.profile = profile};
    json_init(&writer.json, sink);
    string_table_init(&writer.strings);
    int status = put_object(&writer);
    string_table_deinit(&writer.strings);
    return status;
}

int enc_html_write(const struct profile *profile, struct sink *sink)
{
    return enc_html_write_comparison(NULL, profile, sink);
}

int enc_html_write_comparison(const struct profile *before, const struct profile *after, struct sink *sink)
{
    static const char other[] = "</script>\n<script type=\"application/json\" id=\"before\">\n";
    sink_write(sink, html_page_before, (size_t)(html_page_before_end - html_page_before));
    int status = put_data(after, sink);
    if (before && status == 0) {
        sink_write(sink, other, sizeof other - 1);
        status = put_data(before, sink);
    }
    sink_write(sink, html_page_after, (size_t)(html_page_after_end - html_page_after));
    return status;
}
