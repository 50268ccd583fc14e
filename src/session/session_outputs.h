/*
 * Where the profile goes: the first output, which the recording cannot do without, and further ones.
 *
 * Owned by the sampler thread, or by its successor (session_state.h); worth_writing_ns alone is read by
 * threads before an exec. The descriptors are in the sampler's own table.
 */
#ifndef WALLPROF_SESSION_OUTPUTS_H
#define WALLPROF_SESSION_OUTPUTS_H

#include "config/config.h"
#include "export/profile_path.h"
#include "session_birth.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct session_outputs {
    struct profile_path paths[1 + CONFIG_MORE_OUTS_MAX];
    uint32_t count;
    int directory_fd;                    /* the first one's, or -1 */
    int spare_fd;                        /* of sink_spare, or -1 */
    bool has_written;                    /* into all of them */
    bool is_failure_reported;            /* the first one cannot be written */
    const struct session_store *run;     /* NULL: the process is not one of a run (wallprof-run) */
    char name_before_exec[NAME_MAX + 1]; /* of the file that was written for an exec, or "" */
    uint64_t worth_writing_ns; /* atomic, relaxed: an exec is worth a file from then on; needs no partner. 0:
                                * there is nothing yet that it would have in it */
};

/* Fills in the paths. 0, or -errno of the first one. Failures are reported. */
int session_outputs_choose(struct session_outputs *outputs, const struct config *config,
                           const struct session_birth *birth, struct log *log);

/* Opens the directory of the first output if it is not open. 0 or -errno. */
int session_outputs_open(struct session_outputs *outputs);
void session_outputs_close(struct session_outputs *outputs);

/* The sampler's descriptor table, which the descriptors were in, has gone. */
void session_outputs_forget_descriptors(struct session_outputs *outputs);

/* Reports it if the first one could not be written now. Closes it if the descriptors are the program's. */
void session_outputs_check(struct session_outputs *outputs, bool has_own_descriptors,
                           const struct session_birth *birth, struct log *log);

/* Whether other rights or another root would explain a failure. error: 0 or -errno. */
bool session_outputs_is_reach_error(int error);

/*
 * Whether a failure is of no interest to the user of a run: one of its children, which has other rights or
 * another root, cannot reach its files. error: 0 or -errno.
 */
bool session_outputs_is_out_of_reach(const struct session_outputs *outputs, int error,
                                     const struct session_birth *birth);

/* Says whether the first output was written. A failure is said once. error: 0 or -errno. name: the file. */
void session_outputs_report(struct session_outputs *outputs, const char *name, int error,
                            const struct session_birth *birth, struct log *log);

/* Chooses name_before_exec; it stays "" if the file may have the output's own name. 0 or -errno. */
int session_outputs_name_before_exec(struct session_outputs *outputs, bool follows_exec,
                                     const struct session_birth *birth);

/* The exec failed: removes its file, as a later one has the same in it. */
void session_outputs_forget_exec(struct session_outputs *outputs);

/* Inserts the process id into the names to which another program of the run has written since our start. */
void session_outputs_leave_others(struct session_outputs *outputs, const struct session_birth *birth);

#endif
