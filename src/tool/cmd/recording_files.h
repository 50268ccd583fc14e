/* The recordings that a command line names: files, and directories that stand for the recordings in them. */
#ifndef WALLPROF_RECORDING_FILES_H
#define WALLPROF_RECORDING_FILES_H

#include <stdint.h>

/* Zero at first. */
struct recording_files {
    char **names; /* owned, each of them too */
    uint32_t count, capacity;
};

/* A file; or the stores and pprof files in a directory, in the order of their names. A store beside a pprof
 * file of its name is the same recording, and is left out. "-" is a file. 0 or -errno. */
int recording_files_add(struct recording_files *files, const char *path);
void recording_files_free(struct recording_files *files);

#endif
