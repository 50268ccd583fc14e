/*
 * The names of many recordings: as they are given, out of directories, and out of lists.
 *
 * Called from: merge.
 */
#ifndef WALLPROF_TOOL_INPUT_NAMES_H
#define WALLPROF_TOOL_INPUT_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct input_names {
    char **names; /* owned, each of them too */
    uint32_t count, capacity;
};

/*
 * A file, or what is in a directory and ends in .store, .pb.gz or .pb, in the order of the names. 0, or
 * -errno of the directory, or -ENOMEM.
 */
int input_names_add(struct input_names *names, const char *path);

/* The same for each line of a list; "-" is standard input. 0 or -errno. */
int input_names_add_list(struct input_names *names, const char *path);

/* Takes a name out that leads to the same file as this one, which need not be there. */
void input_names_drop(struct input_names *names, const char *path);

void input_names_deinit(struct input_names *names);

#endif
