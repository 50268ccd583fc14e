/*
 * Several recordings as one: of a program and its children, of the ranks of a parallel run, of one program on
 * many days. Stores and pprof files of ours, in any mixture; merged ones too.
 *
 * What is merged is a profile like any other, whose samples say of which process they are. Sums are exact:
 * each process, thread and function has what it had. Memory is in proportion to the result, which is distinct
 * stacks for distinct labels, and to the largest recording that goes in; not to how many there are.
 *
 * Called from: the commands. One thread.
 */
#ifndef WALLPROF_MERGE_H
#define WALLPROF_MERGE_H

#include "tool/read/recording.h"

struct merge_options {
    /* Of each recording's labels at most those: LABELS_ID has pid, rank and thread_id, LABELS_NAME only what
     * processes and threads are called, LABELS_NONE neither. */
    enum label_policy labels;
};

struct merge;

/* NULL without memory. */
struct merge *merge_begin(const struct merge_options *options);

/*
 * Adds a recording as it was opened; nothing of it is kept, and it may be closed. 0; or -errno with
 * recording->reason: -ERANGE, and then nothing of it has been added; or -ENOMEM, and then the merge can only
 * be released.
 */
int merge_add(struct merge *merge, struct recording *recording);

/* Notes one that could not be added: the merged recording's comments say so. */
void merge_leave_out(struct merge *merge, const char *path, const char *reason);

/* How many recordings have been added, and how many processes they are of. */
uint32_t merge_recording_count(const struct merge *merge);
uint32_t merge_process_count(const struct merge *merge);

/*
 * The merged recording, named; it lives as long as the merge, and is not to be closed. After this nothing can
 * be added. 0; or -ENOMEM; or -ENODATA when nothing has been added.
 */
int merge_finish(struct merge *merge, struct recording **ret);

/* NULL may be released. */
void merge_release(struct merge *merge);

#endif
