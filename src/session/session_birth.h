/*
 * Who the process is: when it and its recording began, who started it, and whose child it is.
 *
 * Written by the thread that starts the recording or forks, before the sampler thread is created. Afterwards
 * only the members that say so change.
 */
#ifndef WALLPROF_SESSION_BIRTH_H
#define WALLPROF_SESSION_BIRTH_H

#include "config/config.h"
#include "names/perf_map.h"
#include "profile/profile.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct session;

enum { SESSION_COMMAND_TEXT_BYTES = 512 };

struct session_birth {
    pid_t pid;
    uid_t user;              /* effective */
    uint64_t start_ns;       /* of the recording, CLOCK_MONOTONIC */
    uint64_t start_utc_ns;   /* the same since the epoch */
    uint64_t process_utc_ns; /* of the process, maybe as another program; the sampler sets it; 0: unknown */
    bool is_child;           /* of a fork */
    struct session
        *inherited; /* a child's copy of its parent's session; the sampler discards it, then NULL */
    struct thread *main_thread; /* the record of the thread that started the recording or forked */
    struct perf_maps perf_maps;
    /* Of the program's title: the sampler's. The hash is of its first argument as it was; a child has its
     * parent's; 0 until it is known. */
    uint64_t title_due_ns, argument_hash;
    char title[PROCESS_TITLE_TEXT_BYTES]; /* what the program has written over its arguments, or "" */
    char command_text[SESSION_COMMAND_TEXT_BYTES]; /* "" until the set-up; a child may have its parent's */
};

/* For the calling process, now. The other members stay 0. */
void session_birth_init(struct session_birth *birth);

/* What tells our signals from others of the same number. */
uint32_t session_birth_cookie(const struct session_birth *birth);

/* Describes the process for a recording. program: memory for its name. */
struct process_record session_birth_describe(const struct session_birth *birth, int32_t rank,
                                             char program[PATH_MAX]);

/* In the sampler: when the process began. task_directory: a descriptor of /proc/self/task, or -1. */
uint64_t session_birth_process_utc_ns(struct session_birth *birth, int task_directory);

/*
 * In the sampler: reads what the program has written over its arguments (setproctitle(3)), as it does to say
 * what it is at. At most once a second, unless it must. True if the title has changed.
 */
bool session_birth_read_title(struct session_birth *birth, int task_directory, enum config_arguments shown,
                              uint64_t now_ns, bool must);

#endif
