/*
 * A process that runs with the library, and the page that its sampler shares (control_page.h).
 *
 * The page is found among the descriptors of the thread named wallprof, in /proc/PID/task/TID/fd: the thread
 * has a table of its own. Only the same user and root can open it.
 *
 * Called from: `wallprof ctl`, and live_source.c.
 */
#ifndef WALLPROF_CTL_SUBJECT_H
#define WALLPROF_CTL_SUBJECT_H

#include "profile/control_page.h"

#include <stdbool.h>
#include <stdint.h>

struct ctl_subject {
    long pid;
    char task[64]; /* /proc/PID/task/TID of its sampler */
    int fd;
    struct control_page *page;
};

/* Finds and maps the page of process subject->pid, and waits for one that has just begun. 0, or 1 after a
 * message. What is open stays so until we end. */
int ctl_subject_open(struct ctl_subject *subject, uint64_t timeout_ns);

/*
 * Opens what the sampler of process subject->pid has open, and is_wanted says yes to: a path in /proc, by
 * which it can be opened. Sets subject->task. A descriptor; -ESRCH: there is no process; -ENODATA: it has no
 * thread of ours; -ENOENT: that has no such file; or another -errno.
 */
int ctl_subject_find(struct ctl_subject *subject, bool (*is_wanted)(const char *path), int flags);

/* Whether that thread is still there: else the process has ended, or has executed another program. */
bool ctl_subject_lives(const struct ctl_subject *subject);

#endif
