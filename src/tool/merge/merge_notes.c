#include "merge_notes.h"
#include "encode/profile_notes.h"
#include "tool/io/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char restrained_in[] = " (so it was in ";

struct merged_command {
    uint32_t text, count;
};

int merge_notes_init(struct merge_notes *notes)
{
    *notes = (struct merge_notes){.min_period_ns = UINT64_MAX};
    string_table_init(&notes->text);
    return intern_table_init(&notes->commands, sizeof(struct merged_command), sizeof(uint32_t));
}

void merge_notes_deinit(struct merge_notes *notes)
{
    string_table_deinit(&notes->text);
    intern_table_deinit(&notes->commands);
    for (uint32_t i = 0; i < notes->line_count; i++)
        free(notes->lines[i]);
    free(notes->lines);
    *notes = (struct merge_notes){0};
}

/* The text of an earlier merge says how many recordings it is about. */
static void add_restraint(struct merge_notes *notes, const char *restraint)
{
    char text[512];
    unsigned count = 1;
    snprintf(text, sizeof text, "%s", restraint);
    char *merged = strstr(text, restrained_in);
    if (merged) {
        sscanf(merged + strlen(restrained_in), "%u", &count);
        *merged = '\0';
    }
    if (notes->restrained_count == 0)
        notes->restraint = string_table_intern(&notes->text, text);
    notes->restrained_count += count;
}

void merge_notes_add(struct merge_notes *notes, const struct recording *recording)
{
    const struct profile *profile = &recording->profile;
    const uint32_t text = string_table_intern(&notes->text, profile->command);
    struct merged_command *command =
        intern_table_at(&notes->commands, intern_table_intern(&notes->commands, &text));
    command->count++;
    if (*profile->restraint)
        add_restraint(notes, profile->restraint);
    if (profile->period_ns < notes->min_period_ns)
        notes->min_period_ns = profile->period_ns;
    if (profile->period_ns > notes->max_period_ns)
        notes->max_period_ns = profile->period_ns;
}

void merge_notes_leave_out(struct merge_notes *notes, const char *path, const char *reason)
{
    char text[1024];
    snprintf(text, sizeof text, "left out: %.700s: %s", path, reason);
    if (notes->left_out_count < MERGE_NOTES_LINES_MAX)
        notes->left_out[notes->left_out_count] = string_table_intern(&notes->text, text);
    notes->left_out_count++;
}

/* ---- lines ---- */

static void add_line(void *context, const char *text)
{
    struct merge_notes *notes = context;
    char *line = strdup(text);
    if (line && array_grow(&notes->lines, &notes->line_capacity, notes->line_count, sizeof *notes->lines)) {
        notes->lines[notes->line_count++] = line;
        return;
    }
    free(line);
    notes->is_out_of_memory = true;
}

static void add_more(struct merge_notes *notes, uint32_t count, const char *what)
{
    char text[128];
    snprintf(text, sizeof text, "and %u more %s", count - MERGE_NOTES_LINES_MAX, what);
    if (count > MERGE_NOTES_LINES_MAX)
        add_line(notes, text);
}

static void add_counts(struct merge_notes *notes, const struct profile *profile, uint32_t recording_count)
{
    char text[192];
    snprintf(text, sizeof text, "merged: %u recordings, %u processes told apart", recording_count,
             profile->process_count);
    add_line(notes, text);
    snprintf(text, sizeof text, "rates differ: from %.5g to %.5g ticks a second",
             1e9 / (double)notes->max_period_ns, 1e9 / (double)notes->min_period_ns);
    if (notes->min_period_ns != notes->max_period_ns)
        add_line(notes, text);
}

/* A command line that all share is in the profile's other notes already. */
static void add_commands(struct merge_notes *notes)
{
    char text[4096 + 64];
    const uint32_t count = notes->commands.count;
    for (uint32_t i = 0; count > 1 && i < count && i < MERGE_NOTES_LINES_MAX; i++) {
        const struct merged_command *command = intern_table_at(&notes->commands, i);
        snprintf(text, sizeof text, "of %u: %s", command->count,
                 string_table_at(&notes->text, command->text));
        add_line(notes, text);
    }
    add_more(notes, count, "command lines");
}

static void add_endings(struct merge_notes *notes, const struct profile *profile)
{
    char text[PROCESS_TITLE_BYTES + 256], title[PROCESS_TITLE_BYTES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->process_count; i++) {
        const struct thread_record of = {.process = i};
        if (!*profile->processes[i].ending || count++ >= MERGE_NOTES_LINES_MAX)
            continue;
        snprintf(text, sizeof text, "%s: %s", profile_process_title(profile, &of, title),
                 profile->processes[i].ending);
        add_line(notes, text);
    }
    add_more(notes, count, "that did not end in the ordinary way");
}

static void add_left_out(struct merge_notes *notes)
{
    for (uint32_t i = 0; i < notes->left_out_count && i < MERGE_NOTES_LINES_MAX; i++)
        add_line(notes, string_table_at(&notes->text, notes->left_out[i]));
    add_more(notes, notes->left_out_count, "that were left out");
}

/* ---- the whole ---- */

static void make_command(struct merge_notes *notes)
{
    char more[64] = "";
    const struct merged_command *first = intern_table_at(&notes->commands, 0);
    if (notes->commands.count > 1)
        snprintf(more, sizeof more, " (and %u other command line%s)", notes->commands.count - 1,
                 notes->commands.count == 2 ? "" : "s");
    snprintf(notes->command, sizeof notes->command, "%.*s%s", (int)(sizeof notes->command - sizeof more),
             string_table_at(&notes->text, first->text), more);
}

static void make_restraint(struct merge_notes *notes, uint32_t recording_count)
{
    if (notes->restrained_count > 0 && recording_count == 1)
        snprintf(notes->restrained, sizeof notes->restrained, "%.400s",
                 string_table_at(&notes->text, notes->restraint));
    else if (notes->restrained_count > 0)
        snprintf(notes->restrained, sizeof notes->restrained, "%.400s%s%u of %u)",
                 string_table_at(&notes->text, notes->restraint), restrained_in, notes->restrained_count,
                 recording_count);
}

int merge_notes_make(struct merge_notes *notes, struct profile *profile, uint32_t recording_count)
{
    if (notes->text.failed || notes->commands.failed)
        return -ENOMEM;
    make_command(notes);
    make_restraint(notes, recording_count);
    profile->command = notes->command;
    profile->restraint = notes->restrained;
    profile->comments = NULL;
    profile_notes_write(profile, add_line, notes);
    add_counts(notes, profile, recording_count);
    add_commands(notes);
    add_endings(notes, profile);
    add_left_out(notes);
    profile->comments = (const char *const *)notes->lines;
    profile->comment_count = notes->line_count;
    return notes->is_out_of_memory ? -ENOMEM : 0;
}
