#include "merge_notes.h"
#include "encode/profile_notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 4 }; /* of each kind: every report shows the comments */

static const char restrained_in[] = " (so it was in ";

struct merged_command {
    uint32_t text, count;
};

int merge_comments_init(struct merge_comments *comments)
{
    *comments = (struct merge_comments){.min_period_ns = UINT64_MAX};
    string_table_init(&comments->text);
    return intern_table_init(&comments->commands, sizeof(struct merged_command), sizeof(uint32_t));
}

void merge_comments_deinit(struct merge_comments *comments)
{
    string_table_deinit(&comments->text);
    intern_table_deinit(&comments->commands);
    free(comments->lines);
    free(comments->list);
    *comments = (struct merge_comments){0};
}

/* One that was merged before says of how many it is. */
static void add_restraint(struct merge_comments *comments, const char *restraint)
{
    char text[512];
    unsigned count = 1;
    snprintf(text, sizeof text, "%s", restraint);
    char *merged = strstr(text, restrained_in);
    if (merged) {
        sscanf(merged + strlen(restrained_in), "%u", &count);
        *merged = '\0';
    }
    if (comments->restrained_count == 0)
        comments->restraint = string_table_intern(&comments->text, text);
    comments->restrained_count += count;
}

void merge_comments_add(struct merge_comments *comments, const struct recording *recording)
{
    const struct profile *profile = &recording->profile;
    const uint32_t text = string_table_intern(&comments->text, profile->command);
    struct merged_command *command =
        intern_table_at(&comments->commands, intern_table_intern(&comments->commands, &text));
    command->count++;
    if (*profile->restraint)
        add_restraint(comments, profile->restraint);
    if (profile->period_ns < comments->min_period_ns)
        comments->min_period_ns = profile->period_ns;
    if (profile->period_ns > comments->max_period_ns)
        comments->max_period_ns = profile->period_ns;
}

void merge_comments_leave_out(struct merge_comments *comments, const char *path, const char *reason)
{
    char text[1024];
    snprintf(text, sizeof text, "left out: %.700s: %s", path, reason);
    if (comments->left_out_count < sizeof comments->left_out / sizeof *comments->left_out)
        comments->left_out[comments->left_out_count] = string_table_intern(&comments->text, text);
    comments->left_out_count++;
}

/* ---- lines ---- */

static void add_line(void *context, const char *text)
{
    struct merge_comments *comments = context;
    size_t bytes = strlen(text) + 1;
    char *moved = realloc(comments->lines, comments->line_bytes + bytes);
    if (!moved) {
        comments->is_out_of_memory = true;
        return;
    }
    comments->lines = moved;
    memcpy(comments->lines + comments->line_bytes, text, bytes);
    comments->line_bytes += bytes;
    comments->line_count++;
}

static void add_more(struct merge_comments *comments, uint32_t count, const char *what)
{
    char text[128];
    snprintf(text, sizeof text, "and %u more %s", count - LINES_MAX, what);
    if (count > LINES_MAX)
        add_line(comments, text);
}

static void add_counts(struct merge_comments *comments, const struct profile *profile,
                       uint32_t recording_count)
{
    char text[192];
    snprintf(text, sizeof text, "merged: %u recordings, %u processes told apart", recording_count,
             profile->process_count);
    add_line(comments, text);
    snprintf(text, sizeof text, "rates differ: from %.5g to %.5g ticks a second",
             1e9 / (double)comments->max_period_ns, 1e9 / (double)comments->min_period_ns);
    if (comments->min_period_ns != comments->max_period_ns)
        add_line(comments, text);
}

/* One that all share stands among the others already. */
static void add_commands(struct merge_comments *comments)
{
    char text[4096 + 64];
    const uint32_t count = comments->commands.count;
    for (uint32_t i = 0; count > 1 && i < count && i < LINES_MAX; i++) {
        const struct merged_command *command = intern_table_at(&comments->commands, i);
        snprintf(text, sizeof text, "of %u: %s", command->count,
                 string_table_at(&comments->text, command->text));
        add_line(comments, text);
    }
    add_more(comments, count, "command lines");
}

static void add_endings(struct merge_comments *comments, const struct profile *profile)
{
    char text[PROCESS_TITLE_BYTES + 256], title[PROCESS_TITLE_BYTES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->process_count; i++) {
        const struct thread_record of = {.process = i};
        if (!*profile->processes[i].ending || count++ >= LINES_MAX)
            continue;
        snprintf(text, sizeof text, "%s: %s", profile_process_title(profile, &of, title),
                 profile->processes[i].ending);
        add_line(comments, text);
    }
    add_more(comments, count, "that did not end in the ordinary way");
}

static void add_left_out(struct merge_comments *comments)
{
    for (uint32_t i = 0; i < comments->left_out_count && i < LINES_MAX; i++)
        add_line(comments, string_table_at(&comments->text, comments->left_out[i]));
    add_more(comments, comments->left_out_count, "that were left out");
}

/* ---- the whole ---- */

static void make_command(struct merge_comments *comments)
{
    char more[64] = "";
    const struct merged_command *first = intern_table_at(&comments->commands, 0);
    if (comments->commands.count > 1)
        snprintf(more, sizeof more, " (and %u other command lines)", comments->commands.count - 1);
    snprintf(comments->command, sizeof comments->command, "%.*s%s",
             (int)(sizeof comments->command - sizeof more), string_table_at(&comments->text, first->text),
             more);
}

static void make_restraint(struct merge_comments *comments, uint32_t recording_count)
{
    if (comments->restrained_count > 0)
        snprintf(comments->restrained, sizeof comments->restrained, "%.400s%s%u of %u)",
                 string_table_at(&comments->text, comments->restraint), restrained_in,
                 comments->restrained_count, recording_count);
}

static void make_list(struct merge_comments *comments)
{
    comments->list = calloc((size_t)comments->line_count + 1, sizeof *comments->list);
    comments->is_out_of_memory |= !comments->list;
    const char *at = comments->lines;
    for (uint32_t i = 0; comments->list && i < comments->line_count; i++) {
        comments->list[i] = at;
        at += strlen(at) + 1;
    }
}

int merge_comments_make(struct merge_comments *comments, struct profile *profile, uint32_t recording_count)
{
    if (comments->text.failed || comments->commands.failed)
        return -ENOMEM;
    make_command(comments);
    make_restraint(comments, recording_count);
    profile->command = comments->command;
    profile->restraint = comments->restrained;
    profile->comments = NULL;
    profile_notes_write(profile, add_line, comments);
    add_counts(comments, profile, recording_count);
    add_commands(comments);
    add_endings(comments, profile);
    add_left_out(comments);
    make_list(comments);
    profile->comments = comments->list;
    profile->comment_count = comments->line_count;
    return comments->is_out_of_memory ? -ENOMEM : 0;
}
