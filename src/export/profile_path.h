/*
 * Where the profile goes, settled at the start: the program may change its directory, its root or its name
 * later.
 *
 * Called from: the starting thread.
 */
#ifndef WALLPROF_PROFILE_PATH_H
#define WALLPROF_PROFILE_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct profile_path {
    char directory[PATH_MAX]; /* absolute */
    char name[NAME_MAX + 1];  /* the file in it */
    bool has_pid;             /* the name tells of the process */
};

/*
 * Expands a pattern (name_pattern_expand; "" or a directory and a slash: the default name, in there) and
 * makes it absolute. In a forked child a pattern without %p gets the pid inserted, so that it does not
 * overwrite its parent's. 0 or -errno.
 */
int profile_path_choose(struct profile_path *output, const char *pattern, pid_t pid, int32_t rank,
                        uint64_t start_utc_ns, bool is_child);

/* The same afterwards: a name that does not tell of the process does. One that would be too long stays. */
void profile_path_insert_pid(struct profile_path *output, pid_t pid);

/*
 * app.pb.gz -> app.1234.sh.pb.gz: what the file of a process is called that was sh and becomes the program
 * whose file will have the name itself. The ending is added to it. One that is in the directory already is
 * not used again. 0 or -errno.
 */
int profile_path_name_before_exec(const struct profile_path *output, int directory_fd, pid_t pid,
                                  const char *ending, char ret[NAME_MAX + 1]);

/* Makes a pattern ("": the default) absolute: the program, and the children it forks, may go elsewhere. One
 * that does not fit is left as it is. */
void profile_path_anchor(char *pattern, size_t capacity, int32_t rank);

/* The program's base name, into a buffer or "program". */
const char *profile_path_program_name(char *buffer, size_t capacity);

/* The command line, for people: arguments separated by blanks, cut to capacity, no control characters. */
void profile_path_command_line(char *ret, size_t capacity);

#endif
