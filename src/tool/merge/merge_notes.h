/*
 * What is said for people of a merged recording: the sums of what is said of each, and of whom it is made.
 *
 * Called from: merge.
 */
#ifndef WALLPROF_MERGE_NOTES_H
#define WALLPROF_MERGE_NOTES_H

#include "tool/read/recording.h"
#include "base/intern_table.h"
#include "base/string_table.h"

struct merge_comments {
    struct string_table text;
    struct intern_table commands; /* distinct command lines, and how many recordings are of each */
    uint32_t restrained_count, left_out_count;
    uint32_t restraint;    /* in text: of the first that was */
    uint32_t left_out[16]; /* in text: the first that were */
    uint64_t min_period_ns, max_period_ns;
    char *lines; /* owned: made by merge_comments_make, NUL-terminated each */
    size_t line_bytes;
    const char **list; /* owned: profile.comments */
    uint32_t line_count;
    char command[4096], restrained[512]; /* profile.command and .restraint */
    bool is_out_of_memory;
};

/* 0 or -ENOMEM. */
int merge_comments_init(struct merge_comments *comments);
void merge_comments_deinit(struct merge_comments *comments);

void merge_comments_add(struct merge_comments *comments, const struct recording *recording);
void merge_comments_leave_out(struct merge_comments *comments, const char *path, const char *reason);

/* Sets command, restraint and comments of a profile that is complete but for them; they live in *comments. 0
 * or -ENOMEM. */
int merge_comments_make(struct merge_comments *comments, struct profile *profile, uint32_t recording_count);

#endif
