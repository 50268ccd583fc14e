/*
 * Where the profile goes: the first output, which the recording cannot do without, and further ones.
 *
 * Owned by the sampler thread, or by its successor (session_state.h); worth_writing_ns alone is read by
 * threads that exec. The descriptors are in the sampler's own table.
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
    char name_before_exec[NAME_MAX + 1]; /* of the file that was written for an exec, or "" */
    uint64_t worth_writing_ns; /* atomic, relaxed: an exec is worth a file from then on; needs no partner */
};

/* 0, or -errno of the first one. What could not be settled is reported. */
int session_outputs_choose(struct session_outputs *outputs, const struct config *config,
                           const struct session_birth *birth, struct log *log);

/* Opens the directory of the first output if it is not open. 0 or -errno. */
int session_outputs_open(struct session_outputs *outputs);
void session_outputs_close(struct session_outputs *outputs);

/* The descriptors were in a table that is no more. */
void session_outputs_forget_descriptors(struct session_outputs *outputs);

/* Whether the first one could be written now; keeps the means to write it later, or closes all. */
void session_outputs_check(struct session_outputs *outputs, bool has_own_descriptors,
                           const struct session_birth *birth, struct log *log);

/* One line for one problem: a failure is reported once. error: 0 or -errno. name: the file. */
void session_outputs_report(struct session_outputs *outputs, const char *name, int error,
                            const struct session_birth *birth, struct log *log);

/* For a file before an exec: name_before_exec, unless it may have the output's own. 0 or -errno. */
int session_outputs_name_before_exec(struct session_outputs *outputs, bool follows_exec,
                                     const struct session_birth *birth);

/* The exec failed: what is in its file is in a later one too. */
void session_outputs_forget_exec(struct session_outputs *outputs);

/* Inserts the process id where another program of a run has written to the name since our start. */
void session_outputs_leave_others(struct session_outputs *outputs, const struct session_birth *birth);

#endif
