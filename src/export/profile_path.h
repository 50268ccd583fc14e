/*
 * Where the profile goes. This is settled at the start, because the program may change its directory, its
 * root or its name later.
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
 * Expands a pattern (name_pattern_expand) and makes it absolute. "" or a directory and a slash stand for the
 * default name in there. In a forked child a pattern without %p gets the pid inserted, so that the child does
 * not overwrite its parent's file. 0 or -errno.
 */
int profile_path_choose(struct profile_path *output, const char *pattern, pid_t pid, int32_t rank,
                        uint64_t start_utc_ns, bool is_child);

/* The same for another process than this, by its program's base name. */
int profile_path_choose_of(struct profile_path *output, const char *pattern, const char *program, pid_t pid,
                           int32_t rank, uint64_t start_utc_ns, bool is_child);

/* Whether the name of a pattern ("": the default) tells of the process. */
bool profile_path_has_pid(const char *pattern);

/* Inserts the pid later. A name that would become too long stays as it is. */
void profile_path_insert_pid(struct profile_path *output, pid_t pid);

/*
 * app.pb.gz -> app.1234.sh.pb.gz: the file of a process that was sh, before it executes the program whose
 * file will be app.pb.gz. The ending is added. A name that is in the directory already is not used again. 0
 * or -errno.
 */
int profile_path_name_before_exec(const struct profile_path *output, int directory_fd, pid_t pid,
                                  const char *ending, char ret[NAME_MAX + 1]);

/* Makes a pattern ("": the default) absolute, because the program and its children may change their
 * directory. A pattern that does not fit is left as it is. */
void profile_path_anchor(char *pattern, size_t capacity, int32_t rank);

/* The pattern of a file's name that nobody has chosen. */
const char *profile_path_default(int32_t rank);

/* The program's base name, which is in the buffer, or "program". */
const char *profile_path_program_name(char *buffer, size_t capacity);

#endif
