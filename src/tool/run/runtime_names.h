/*
 * Names for code that a runtime compiles: --runtime-names. node and java write the names of such code only if
 * they are told to when they start (docs/names.md), so `wallprof run` tells them.
 *
 *     node   arguments, which it hands on to what it forks. A script of node's: NODE_OPTIONS, which all of
 * its children read. Node 12 or later. java   arguments, as its variables are announced on stderr. Java 17 or
 * later.
 *
 * What the user has set already is left out, and the user's own arguments come last, so that they count.
 *
 * Called from: cmd_run.c, before the program starts and after it has ended.
 */
#ifndef WALLPROF_RUNTIME_NAMES_H
#define WALLPROF_RUNTIME_NAMES_H

#include <stdbool.h>
#include <sys/types.h>

enum { RUNTIME_NAMES_TEXT_BYTES = 512 };

struct runtime_names {
    char **argv;                            /* the caller's, or malloc'd with arguments of ours */
    char options[RUNTIME_NAMES_TEXT_BYTES]; /* what was added, for the user; "": nothing */
    const char *where;                      /* " to NODE_OPTIONS"; "": to the arguments */
};

/* interpreter: of the script `path`; "" if that is a program. 0 or -ENOMEM. */
int runtime_names_ask(struct runtime_names *ret, const char *path, const char *interpreter, char **argv);

/* Removes the list that the program has written because it was told to. Not to be called while a store is
 * left that has no names yet. */
void runtime_names_end(const struct runtime_names *names, pid_t program);

#endif
