/*
 * What the user asked for, out of the environment. Read once, at start, in the program's main thread.
 *
 * A value that cannot be used is named on stderr with what is used instead; the program runs on in every
 * case.
 */
#ifndef WALLPROF_CONFIG_H
#define WALLPROF_CONFIG_H

#include "base/log.h"
#include "profile/profile.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONFIG_MORE_OUTS_MAX = 7 };

/* Whether observations are kept with their times, and whether pprof files are to have them too. */
enum config_timeline { TIMELINE_OFF, TIMELINE_ON, TIMELINE_PPROF };

struct wp_config {
    char out[PATH_MAX]; /* WALLPROF_OUT as given, its first element; "" for the default name */
    char more_outs[CONFIG_MORE_OUTS_MAX][PATH_MAX]; /* and those behind it: the same recording */
    uint32_t more_out_count;
    uint32_t hz;           /* WALLPROF_HZ: ticks per second, 1..10000, default 100 */
    uint32_t threads;      /* WALLPROF_THREADS: observed per tick, 1..1024, default 8 */
    uint32_t depth;        /* WALLPROF_DEPTH: frames per stack, 1..65536, default 1024 */
    uint64_t memory_bytes; /* WALLPROF_MEM: for the profile while recording, default 64 MiB */
    int signal;            /* WALLPROF_SIGNAL, default SIGPROF */
    enum wp_labels labels; /* WALLPROF_LABELS: none, name or id (default: name and id) */
    bool by_signal_only; /* WALLPROF_OBSERVE=signal: every thread is asked (auto, the default: if need be) */
    bool follows_fork, follows_exec; /* WALLPROF_FOLLOW: none, fork, exec or both (the default) */
    uint32_t overhead_ppm; /* WALLPROF_OVERHEAD in millionths, default 1 %; 0: none. With HZ alone: 0 */
    bool hides;            /* WALLPROF_HIDE=1: the program's environment is without these variables */
    bool is_strict;        /* WALLPROF_SECCOMP=strict: only everyday system calls (auto, the default: all) */
    char store[PATH_MAX];  /* WALLPROF_STORE: a directory, a file name pattern, "auto", or "" for none */
    bool store_is_run;     /* it is "run:" and the directory of a run (wallprof-run) */
    bool store_is_merged;  /* or "merge:": which has one profile, at its end */
    char tool[PATH_MAX];   /* WALLPROF_TOOL: the path of `wallprof`, "off", or "" for the one beside us */
    enum config_timeline
        timeline;            /* WALLPROF_TIMELINE: 0 (the default), 1 or pprof; or by what OUT ends in */
    uint64_t timeline_bytes; /* WALLPROF_TIMELINE_MEM, default 32 MiB */
    bool waits;              /* WALLPROF_START=0: nothing is recorded until somebody starts it */
    uint64_t delay_ns;       /* WALLPROF_DELAY: nor until then; 0: at once */
    uint64_t duration_ns;    /* WALLPROF_DURATION: then it is stopped, and written; 0: at the end */
    uint64_t interval_ns;    /* WALLPROF_INTERVAL_DUMP: a profile for each; 0: one for all */
    uint32_t interval_keep;  /* WALLPROF_INTERVAL_KEEP: how many of them are kept, default 100; 0: all */
    int control_signal;      /* WALLPROF_CONTROL_SIGNAL: starts and stops; 0: none */
    bool has_seed;           /* WALLPROF_SEED: fixed random numbers, for tests */
    uint64_t seed;
    int32_t rank;             /* in a parallel run, by what started it (config.c); else PROCESS_NO_RANK */
    enum log_level log_level; /* WALLPROF_LOG=LEVEL or LEVEL:FILE */
    char log_path[PATH_MAX];  /* "" for stderr */
};

/* Fills in config from an environment (environ's form); complaints go to the log. Never fails. */
void config_read(struct wp_config *config, struct wp_log *log, char *const *environment);

/* What a pattern's %-sequences stand for. */
struct config_names {
    uint32_t pid;
    const char *program;  /* %n: base name */
    const char *host;     /* %h */
    uint64_t start_utc_s; /* %t: as 20261121T041500Z */
    int32_t rank;         /* %r; without one 0, that of the only one */
};

/*
 * Expands %p %n %h %t %r %% %, in a file name pattern; another sequence is kept as it stands. has_pid says
 * whether %p occurred. 0, or -ENAMETOOLONG.
 */
int config_expand(const char *pattern, const struct config_names *names, char *ret, size_t capacity,
                  bool *ret_has_pid);

/* app.pb.gz and 1234 -> app.1234.pb.gz: into the last part of a path, before its endings. 0 or
 * -ENAMETOOLONG. */
int config_insert(char *path, size_t capacity, const char *text);

#endif
