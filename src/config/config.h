/*
 * The user's settings: the variables of options.def, which has their values and defaults. Read once, at the
 * start, in the program's main thread.
 *
 * A value that cannot be used is logged, with what is used instead. The program runs on in any case.
 */
#ifndef WALLPROF_CONFIG_H
#define WALLPROF_CONFIG_H

#include "base/log.h"
#include "profile/profile.h"
#include "sample/sampler.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { CONFIG_MORE_OUTS_MAX = 7 };

/* Whether samples are kept with their times, and whether pprof files have them too. */
enum config_timeline { TIMELINE_OFF, TIMELINE_ON, TIMELINE_PPROF };

/* Which programs `wallprof run` records from outside: those that the library cannot be loaded into, all or
 * none. */
enum config_external { EXTERNAL_AUTO, EXTERNAL_ALWAYS, EXTERNAL_NEVER };

/* What profiles say of the command line: the program, all but passwords and the like, or everything. */
enum config_arguments { ARGUMENTS_PROGRAM, ARGUMENTS_REDACTED, ARGUMENTS_ALL };

struct config {
    uint32_t more_out_count;
    struct sampler_options sampler;
    int signal;                      /* samples threads */
    enum label_policy labels;        /* how threads are told apart */
    bool follows_fork, follows_exec; /* WALLPROF_FOLLOW */
    enum config_arguments arguments; /* WALLPROF_ARGS */
    enum config_external external;   /* WALLPROF_EXTERNAL; only for wallprof run */
    bool hides;                      /* the program's environment is without these variables */
    bool is_strict;                  /* WALLPROF_SECCOMP=strict: only everyday system calls */
    bool store_is_run;    /* the value was "run:" or "merge:" and the directory of a run (wallprof-run) */
    bool store_is_merged; /* it was "merge:": the run has one profile at its end */
    enum config_timeline timeline; /* as the user wants it, or as the endings of the outputs need it */
    uint64_t timeline_bytes;       /* memory for the timeline */
    bool waits;                    /* WALLPROF_START=0: nothing is recorded until it is started */
    uint64_t delay_ns;             /* the recording starts after it; 0: at once */
    uint64_t duration_ns;          /* the recording is stopped and written after it; 0: at the end */
    uint64_t interval_ns;          /* a profile for each; 0: one for all */
    uint32_t interval_keep;        /* how many of these profiles are kept; 0: all */
    int control_signal;            /* starts and stops the recording; 0: none */
    bool has_seed;                 /* random numbers are fixed, for tests */
    uint64_t seed;
    int32_t rank;                                   /* in a parallel run (rank.h); else PROCESS_NO_RANK */
    enum log_level log_level;                       /* WALLPROF_LOG=LEVEL or LEVEL:FILE */
    char out[PATH_MAX];                             /* the first name of WALLPROF_OUT; "" for the default */
    char more_outs[CONFIG_MORE_OUTS_MAX][PATH_MAX]; /* the other names: files of the same recording */
    char store[PATH_MAX]; /* WALLPROF_STORE: a directory, a file name pattern, "auto"; "" for none */
    char tool[PATH_MAX];  /* the path of `wallprof`, "off", or "" for the one beside the library */
    char
        written[PATH_MAX]; /* a file that has a line for each file that was written (export.h); "" for none */
    char log_path[PATH_MAX]; /* "" for stderr */
};

/* The name of an output, "" for the default: the first, and then config->more_out_count others. */
static inline const char *config_out(const struct config *config, uint32_t index)
{
    return index == 0 ? config->out : config->more_outs[index - 1];
}

/* Fills in *config, which is zeroed memory, from an environment (environ's form). Complaints go to the log.
 * Never fails. */
void config_read(struct config *config, struct log *log, char *const *environment);

#endif
