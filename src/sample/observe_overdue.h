/*
 * Threads whose reply is overdue, or that do not reply: a part of observe.c, and called from there only.
 */
#ifndef WALLPROF_OBSERVE_OVERDUE_H
#define WALLPROF_OBSERVE_OVERDUE_H

#include "observe.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What has become of an overdue reply. The signal is blocked and still pending: held back. Neither: lost,
 * because the signal was ignored for a moment, or one of the program's own merged with it. While our handler
 * runs, the signal is blocked too, but not pending any more: the reply will come.
 */
enum overdue { OVERDUE_COMES, OVERDUE_HELD_BACK, OVERDUE_LOST };
enum overdue observe_overdue(struct observer *observer, const struct thread *thread, uint64_t now_ns);

/* Whether a thread has our signal blocked. */
bool observe_is_blocked(const struct observer *observer, pid_t tid);

/* A thread has our signal blocked: the observation of that, and no other request to it for a while. */
void observe_report_silent(struct observer *observer, struct thread *thread, uint64_t now_ns,
                           struct observation *ret);

#endif
