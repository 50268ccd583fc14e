/*
 * The names of many recordings: from the command line, from directories and from lists.
 *
 * Called from: merge.
 */
#ifndef WALLPROF_INPUT_NAMES_H
#define WALLPROF_INPUT_NAMES_H

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

/* Removes the names that lead to the same file as this one, if that exists. */
void input_names_drop(struct input_names *names, const char *path);

void input_names_deinit(struct input_names *names);

#endif
