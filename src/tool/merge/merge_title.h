/*
 * What tells the processes of a family apart for people: the title that a process has given itself, or the
 * source or script that its program works on: "cc1 src/arena.c", "python3 server.py".
 */
#ifndef WALLPROF_MERGE_TITLE_H
#define WALLPROF_MERGE_TITLE_H

#include "profile/profile.h"

/* command: the process's command line, "" if it is not known. "" where its name says all. Returns ret. */
const char *merge_title(const struct process_record *process, const char *command,
                        char ret[PROCESS_TITLE_TEXT_BYTES]);

#endif
