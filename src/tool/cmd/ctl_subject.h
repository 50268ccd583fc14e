/*
 * The process that `wallprof ctl` talks to, and the page that its sampler shares (control_page.h).
 *
 * The page is found among the descriptors of the thread named wallprof, in /proc/PID/task/TID/fd: the thread
 * has a table of its own. Only the same user and root can open it.
 */
#ifndef WALLPROF_CTL_SUBJECT_H
#define WALLPROF_CTL_SUBJECT_H

#include "profile/control_page.h"

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

#endif
