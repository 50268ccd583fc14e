/*
 * The file that is executed for a program's name, found as a shell finds it, and whether our library can be
 * preloaded into it. Where it cannot, the program is recorded from outside. What cannot be profiled at all is
 * refused before it starts.
 *
 * Called from: cmd_run.c.
 */
#ifndef WALLPROF_EXECUTABLE_H
#define WALLPROF_EXECUTABLE_H

#include "config/config.h"
#include "refusal.h"

#include <limits.h>

enum { OUT_OF_REACH_BYTES = 2 * PATH_MAX };

struct executable {
    char interpreter[PATH_MAX];            /* of a script, the last one; "" for a program that is no script */
    char out_of_reach[OUT_OF_REACH_BYTES]; /* why it is recorded from outside: "FILE: statically linked"; ""
                                              where our library can be loaded into it */
};

/* The file of a program's name: 0, or a shell's status and message. */
int executable_find(const char *name, char ret[PATH_MAX], struct refusal *refusal);

/* Whether it can be profiled: 0, or the status of the refusal. A file that may be executed but not read is
 * not refused for what is in it. Interpreters of scripts are followed, through `env` too. external: whether
 * what our library cannot be loaded into may be recorded from outside. */
int executable_check(const char *path, enum config_external external, struct executable *ret,
                     struct refusal *refusal);

#endif
