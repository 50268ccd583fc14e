/*
 * Records another process, from outside, with the engine that records a process from inside: struct sampler,
 * with a target.
 *
 * Called from: cmd_attach.c, attach_child.c, the child of tool/live/live_recorder.c. Only one process at a
 * time is recorded (sig_memory.h).
 */
#ifndef WALLPROF_ATTACH_H
#define WALLPROF_ATTACH_H

#include "attach_follow.h"
#include "attach_modules.h"
#include "attach_observe.h"
#include "base/log.h"
#include "config/config.h"
#include "names/perf_map.h"
#include "profile/profile.h"
#include "sample/sampler.h"
#include "target/target.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct attach {
    /* Set by the caller. */
    pid_t pid;
    const struct config *config; /* of it: sampler, labels, timeline, duration_ns */
    struct log *log;
    int directory; /* an open /proc/PID */
    bool is_held;  /* the calling thread traces it, and it stands still at its exec */
    bool is_deaf;  /* no signal ends the recording: what comes to its process group is for the program */
    int leash;     /* the recording ends when nobody can write to this pipe any more; -1: none */
    struct attach_follow follow; /* its children; all 0: they are not followed */
    const char *run; /* the directory of a run, where the recording is kept while it is made; NULL: none */
    int store;       /* without a run: a new and empty file for that, taken over; 0: none */

    /* The recording. */
    struct target target;
    struct threads threads;
    struct sampler *sampler;    /* owned: scratch memory, as it is large */
    struct label_table *labels; /* owned, empty: a process that is looked at has none */
    struct attach_modules modules;
    struct attach_observer observer;
    int ended; /* a pidfd, which can be read from when the process has ended; -1 where there is none */
    bool has_ended;
    uint64_t start_ns, start_utc_ns, end_ns;

    /* What is said of the process. */
    char name[PATH_MAX], root[64], command[512], ending[64];
    struct process_record process;
    struct perf_maps perf_maps;
};

/* Begins with the environment's settings, a log and an open /proc/PID, all 0 but what is the caller's to
 * choose. The caller closes the directory. 0; or -errno, as where there is no such process. */
int attach_open(struct attach *ret, pid_t pid, struct config *config, struct log *log);

/* Looks at the process, which attach_check has found fit. 0 or -errno; deinit either way. observer.counts can
 * still be read after it. */
int attach_init(struct attach *attach);
void attach_deinit(struct attach *attach);

/*
 * Records until the process ends, the time is over, the leash ends, or SIGINT, SIGTERM or SIGHUP comes,
 * unless is_deaf. All signals are blocked meanwhile. Afterwards no thread of the process is traced. 0 or
 * -errno.
 */
int attach_record(struct attach *attach);

/*
 * The same of a process that is held, in the calling thread, which has all signals blocked and ends soon
 * afterwards. The process goes on when everything is ready. No signal ends the recording.
 */
int attach_record_held(struct attach *attach);

/* A process that is held goes on. One that was killed meanwhile is reaped: its parent is told only after its
 * tracer, which is the calling thread. */
void attach_let_go(pid_t pid);

/*
 * All of it, for a process that runs and what it starts: from attach_init to attach_deinit, into attach->run.
 * is_first, and false for a process that could not be recorded: as attach_follow.h has them. 0 or -errno.
 */
int attach_record_family(struct attach *attach, bool is_first, bool *ret_is_whole);

/* The message for a -errno of attach_record or attach_store_end. Returns 1. */
int attach_fail(const struct attach *attach, int error);

/* Fills in attach->process: of the program that it has run last. */
void attach_describe_process(struct attach *attach);

/* Writes the recording into a file, as a store. 0 or -errno. */
int attach_write_store(struct attach *attach, int fd);

#endif
