#include "report_rows.h"
#include "report_title.h"
#include "base/name_pattern.h"
#include "profile/wait_labels.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *path_of(const struct report_rows *rows, const struct location *location)
{
    const char *path = profile_code_path(rows->profile, location);
    return *path ? path : NULL;
}

static bool matches(const regex_t *expression, const char *text)
{
    return text && regexec(expression, text, 0, NULL, 0) == 0;
}

static bool location_matches(const struct report_rows *rows, const struct location *location,
                             const regex_t *expression)
{
    const struct symbols *symbols = rows->profile->symbols;
    uint32_t count;
    char title[REPORT_TITLE_BYTES];
    const struct symbol_frame *frames = symbols_frames(symbols, location->index, &count);
    if (!expression)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct symbol_function *function = &symbols->functions[frames[i].function];
        if (matches(expression, report_title(function, true, title)) || matches(expression, function->file))
            return true;
    }
    return matches(expression, path_of(rows, location));
}

/* In the buffer, or in the profile. */
static const char *row_name(const struct report_rows *rows, const struct symbol_frame *frame,
                            const char *path, char *buffer, size_t bytes)
{
    const struct symbol_function *function = &rows->profile->symbols->functions[frame->function];
    switch (rows->request->by) {
    case REPORT_BY_LINE:
        snprintf(buffer, bytes, frame->line ? "%s %s:%u" : "%s", function->name,
                 function->file ? function->file : "?", frame->line);
        return buffer;
    case REPORT_BY_FILE:
        if (function->file)
            return function->file;
        snprintf(buffer, bytes, *path == '[' ? "%s" : "[%s]", name_last_part(path));
        return buffer;
    case REPORT_BY_MODULE:
        return path;
    default:
        return report_title(function, !rows->request->has_no_lines, buffer);
    }
}

static const char *row_of_label(const struct report_rows *rows, const char *key, const char *value,
                                const char *name)
{
    switch (rows->request->by) {
    case REPORT_BY_LABEL:
        return wait_label_is_key(key) ? NULL : name;
    case REPORT_BY_ON:
        return strcmp(key, WAIT_LABEL_ON) == 0 ? value : NULL;
    case REPORT_BY_HOLDER:
        return strcmp(key, WAIT_LABEL_HOLDER) == 0 ? value : NULL;
    default:
        return NULL;
    }
}

/* A label has a row only where rows are labels. */
static void choose_label_row(struct report_rows *rows, const struct location *location)
{
    char name[TREE_LABEL_NAME_BYTES];
    const struct arena *arena = rows->profile->arena;
    const char *wanted = rows->request->label, *key = tree_label_key(arena, location);
    const char *value = tree_label_value(arena, location);
    snprintf(name, sizeof name, "%s=%s", key, value);
    const char *row = row_of_label(rows, key, value, name);
    rows->locations[location->index].is_label_wanted =
        wanted && fnmatch(wanted, strchr(wanted, '=') ? name : key, 0) == 0;
    rows->row_of_frame[rows->profile->symbols->first_frame[location->index]] =
        row ? string_table_intern(rows->names, row) : REPORT_NO_ROW;
}

static void choose_rows(struct report_rows *rows, const struct location *location)
{
    if (tree_is_label(location)) {
        choose_label_row(rows, location);
        return;
    }
    char buffer[1 << 16];
    const bool has_rows = !report_is_of_labels(rows->request->by);
    const struct symbols *symbols = rows->profile->symbols;
    const bool has_inlined =
        symbols->first_frame[location->index + 1] - symbols->first_frame[location->index] > 1;
    struct report_location *known = &rows->locations[location->index];
    known->path = path_of(rows, location);
    known->is_focus = location_matches(rows, location, rows->request->focus);
    known->is_ignored = location_matches(rows, location, rows->request->ignore);
    for (uint32_t i = symbols->first_frame[location->index]; i < symbols->first_frame[location->index + 1];
         i++) {
        const struct symbol_frame *frame = &symbols->frames[i];
        const char *path = known->path ? known->path : symbols->functions[frame->function].name;
        const char *name = row_name(rows, frame, path, buffer, sizeof buffer);
        rows->row_of_frame[i] = has_rows ? string_table_intern(rows->names, name) : REPORT_NO_ROW;
        if (has_rows && (has_inlined || rows->request->by == REPORT_BY_LINE))
            rows->is_inlined[rows->row_of_frame[i]] = true;
    }
}

/* Their changes are not counted. */
static void choose_spent_rows(struct report_rows *rows)
{
    char name[32];
    const enum report_by by = rows->request->by;
    for (int spent = 0; spent < REPORT_SPENT_COUNT; spent++) {
        const bool is_waiting = spent != REPORT_RUNNING && spent != WAIT_CPU;
        const char *word = spent == REPORT_RUNNING ? "running" : wait_kind_words[spent];
        snprintf(name, sizeof name, by == REPORT_BY_WAIT ? "%s" : "[%s]",
                 by == REPORT_BY_HOLDER && is_waiting ? "no holder known" : word);
        rows->spent_rows[spent] =
            by >= REPORT_BY_WAIT ? string_table_intern(rows->names, name) : REPORT_NO_ROW;
        if (by >= REPORT_BY_WAIT)
            rows->is_inlined[rows->spent_rows[spent]] = true;
    }
}

bool report_rows_init(struct report_rows *rows, const struct profile *profile,
                      const struct report_request *request, struct string_table *names)
{
    const struct symbols *symbols = profile->symbols;
    const struct tree *tree = profile->tree;
    const size_t frame_count = symbols->first_frame[symbols->location_count];
    *rows = (struct report_rows){.profile = profile, .request = request, .names = names};
    rows->locations = calloc((size_t)symbols->location_count + 1, sizeof *rows->locations);
    rows->row_of_frame = calloc(frame_count + 1, sizeof *rows->row_of_frame);
    rows->is_inlined =
        calloc(frame_count + 2 + REPORT_SPENT_COUNT, sizeof *rows->is_inlined); /* as many rows */
    if (!rows->locations || !rows->row_of_frame || !rows->is_inlined)
        return false;
    rows->no_label_row =
        request->by == REPORT_BY_LABEL ? string_table_intern(names, "[no label]") : REPORT_NO_ROW;
    choose_spent_rows(rows);
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next)
        choose_rows(rows, tree_location_at(tree, ref));
    return !names->failed;
}

void report_rows_deinit(struct report_rows *rows)
{
    free(rows->locations);
    free(rows->row_of_frame);
    free(rows->is_inlined);
}
