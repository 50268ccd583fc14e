/*
 * The file that is executed for a program's name, found as a shell finds it, and whether our library can be
 * preloaded into it: what cannot be profiled is refused before it starts.
 *
 * Called from: cmd_run.c.
 */
#ifndef WALLPROF_EXECUTABLE_H
#define WALLPROF_EXECUTABLE_H

#include "refusal.h"

#include <limits.h>

/* The file of a program's name: 0, or a shell's status and message. */
int executable_find(const char *name, char ret[PATH_MAX], struct refusal *refusal);

/* Whether it can be profiled: 0, or the status of the refusal. A file that may be executed but not read is
 * not refused for what is in it. Interpreters of scripts are followed, through `env` too. ret_interpreter:
 * the last of them; "" for a program that is no script. */
int executable_check(const char *path, char ret_interpreter[PATH_MAX], struct refusal *refusal);

#endif
