/*
 * Several recordings as one: of a program and its children, of the ranks of a parallel run, of one program on
 * many days. They are stores and pprof files of ours, in any mixture, merged ones too.
 *
 * The result is a profile like any other; its samples say which process they are of. Sums are exact: each
 * process, thread and function keeps its values. Memory is in proportion to the result, which is distinct
 * stacks for distinct labels, and to the largest recording; not to the number of recordings, unless a
 * timeline is kept (merge_timeline.h).
 *
 * Called from: the commands. One thread.
 */
#ifndef WALLPROF_MERGE_H
#define WALLPROF_MERGE_H

#include "encode/format.h"
#include "tool/read/recording.h"

struct merge;

/*
 * Keeps at most these labels of each recording: LABELS_ID has pid, rank and thread_id, LABELS_NAME only the
 * names of processes and threads, LABELS_NONE neither. NULL without memory.
 */
struct merge *merge_begin(enum label_policy labels);

/* Before anything is added, of each format that the merged recording is to be written in. If one shows times
 * the recording has a timeline, provided that each of its parts has one, and that threads are told apart by
 * their numbers (LABELS_ID). */
void merge_keep_timeline(struct merge *merge, enum file_format format);

/*
 * Adds an open recording. The merge keeps no reference to it: the caller may close it. 0; or -errno with
 * recording->reason. After -ERANGE nothing of it has been added. After -ENOMEM the caller can only release
 * the merge.
 */
int merge_add(struct merge *merge, struct recording *recording);

/* Notes a recording that could not be added, in the merged recording's comments. */
void merge_leave_out(struct merge *merge, const char *path, const char *reason);

/*
 * The merged recording, with names. It is the merge's: the caller does not close it. After this nothing can
 * be added. 0; or -ENOMEM; or -ENODATA when nothing has been added.
 */
int merge_finish(struct merge *merge, struct recording **ret);

/* NULL may be released. */
void merge_release(struct merge *merge);

#endif
