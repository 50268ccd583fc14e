/*
 * The profiles that a run has left, and the lines at its end that say where they are.
 *
 * Called from: run_end.c for a run, cmd_attach.c.
 */
#ifndef WALLPROF_RUN_FILES_H
#define WALLPROF_RUN_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct run_file {
    char *path;
    bool is_programs; /* of the process that was started, not of another */
    bool is_more;     /* one more file of the same profile */
};

struct run_files {
    struct run_file *files; /* malloc'd */
    uint32_t count, capacity;
    unsigned going_on;  /* processes that still record */
    const char *hidden; /* a file of which nothing is said, or NULL */
    void *seen;         /* a tree of tsearch(3): paths */
};

/*
 * Adds the lines of a stream, each file once. A process notes "PID WORD PATH"; that of this number is the
 * program. `wallprof gather` prints "WORD: PATH" of all processes, and "going on: N".
 */
void run_files_add(struct run_files *files, FILE *lines, pid_t program);

/* The program's profile, or else the one that another process has written last; NULL without one. */
const char *run_files_main(const struct run_files *files);

/* Says where they are, and how to look at them. is_counted: there is one for each interval. ending: why there
 * may be none, "" or as ": SIGTERM ended the program". */
void run_files_say(const struct run_files *files, bool is_counted, const char *ending, FILE *stream);

#endif
