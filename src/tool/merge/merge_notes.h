/*
 * The notes for people on a merged recording: command lines, endings, what is in it and what was left out.
 *
 * Called from: merge.
 */
#ifndef WALLPROF_MERGE_NOTES_H
#define WALLPROF_MERGE_NOTES_H

#include "tool/read/recording.h"
#include "base/intern_table.h"
#include "base/string_table.h"

enum { MERGE_NOTES_LINES_MAX = 4 }; /* of each kind: every report shows the notes */

struct merge_notes {
    struct string_table text;
    struct intern_table commands; /* distinct command lines, and how many recordings are of each */
    uint32_t restrained_count, left_out_count;
    uint32_t restraint;                       /* in text: the first one */
    uint32_t left_out[MERGE_NOTES_LINES_MAX]; /* in text: the first ones */
    uint64_t min_period_ns, max_period_ns;
    char **lines; /* owned, each of them too: profile.comments, by merge_notes_make */
    uint32_t line_count, line_capacity;
    char command[4096], restrained[512]; /* profile.command and .restraint */
    bool is_out_of_memory;
};

/* 0 or -ENOMEM. */
int merge_notes_init(struct merge_notes *notes);
void merge_notes_deinit(struct merge_notes *notes);

void merge_notes_add(struct merge_notes *notes, const struct recording *recording);
void merge_notes_leave_out(struct merge_notes *notes, const char *path, const char *reason);

/* Sets command, restraint and comments of a complete profile; *notes owns them. 0 or -ENOMEM. */
int merge_notes_make(struct merge_notes *notes, struct profile *profile, uint32_t recording_count);

#endif
