/*
 * Where the profile goes, settled at the start: the program may change its directory, its root or its name
 * later.
 *
 * Called from: the starting thread.
 */
#ifndef WALLPROF_OUTPUT_H
#define WALLPROF_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct wp_output {
    char directory[PATH_MAX]; /* absolute */
    char name[NAME_MAX + 1];  /* the file in it */
    bool has_pid;             /* the name tells of the process */
};

/*
 * Expands a pattern (config_expand; "" or a directory and a slash: the default name, in there) and makes it
 * absolute. In a forked child a pattern without %p gets the pid inserted, so that it does not overwrite its
 * parent's. 0 or -errno.
 */
int output_choose(struct wp_output *output, const char *pattern, pid_t pid, int32_t rank,
                  uint64_t start_utc_ns, bool is_child);

/* The same afterwards: a name that does not tell of the process does. One that would be too long stays. */
void output_insert_pid(struct wp_output *output, pid_t pid);

/*
 * app.pb.gz -> app.1234.sh.pb.gz: what the file of a process is called that was sh and becomes the program
 * whose file will have the name itself. One that is in the directory already is not used again. 0 or -errno.
 */
int output_name_before_exec(const struct wp_output *output, int directory_fd, pid_t pid, char *ret,
                            size_t capacity);

/* Makes a pattern ("": the default) absolute: the program, and the children it forks, may go elsewhere. One
 * that does not fit is left as it is. */
void output_anchor(char *pattern, size_t capacity, int32_t rank);

/* The program's base name, into a buffer or "program". */
const char *output_program_name(char *buffer, size_t capacity);

/* The command line, for people: arguments separated by blanks, cut to capacity, no control characters. */
void output_command_line(char *ret, size_t capacity);

#endif
