/*
 * What the files of a session share: its state, and what they call of one another.
 *
 *     session.c          a recording's beginning, its end, and its threads
 *     session_run.c      the sampler thread
 *     session_store.c    the file that it is kept in while it is made
 *     session_write.c    where the recording goes, and the writing of it
 *     session_child.c    a forked child's
 *     session_absence.c  without the sampler's thread for a moment
 *     session_control.c  starting and stopping it (session_control.h)
 *     session_interval.c a profile for each interval
 *
 * The sampler thread and the program's threads meet in five words, and in requests (session_control.h):
 * `standstill` (fork and exec against a tick), `command` (what the sampler is to do, and that it has done
 * it), `phase` (how far the sampler is), `finishing` and `absent`. All are seq_cst; nothing else is shared.
 */
#ifndef WALLPROF_SESSION_PARTS_H
#define WALLPROF_SESSION_PARTS_H

#include "base/clock.h"
#include "config/config.h"
#include "base/log.h"
#include "export/profile_path.h"
#include "names/perf_map.h"
#include "sample/sampler.h"
#include "session.h"
#include "session_control.h"
#include "sampler_pause.h"
#include "sample/threads.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SESSION_COMMAND_TEXT_BYTES = 512 };

/* Less than that before an exec is not worth a file of its own: most processes that execute another program
 * were begun for nothing else. */
#define SESSION_WORTH_NS (100 * (uint64_t)NS_PER_MS)

enum session_command { COMMAND_RUN, COMMAND_FINISH, COMMAND_LEAVE, COMMAND_PAUSE, COMMAND_WRITE };
enum session_phase { PHASE_STARTING, PHASE_RUNNING };

struct session {
    struct session_libc libc;
    struct wp_config config;
    struct wp_log log;
    struct wp_threads threads;
    struct wp_sampler sampler;
    struct wp_thread *main_thread;
    pthread_t thread;
    pid_t pid;
    uid_t start_user; /* effective */
    uint64_t start_ns, start_utc_ns, end_ns;
    uint64_t process_utc_ns; /* when the process began, maybe as another program; 0: nobody has asked */
    struct perf_maps perf_maps;
    struct wp_standstill standstill;
    uint32_t command;          /* atomic, futex: enum session_command */
    uint32_t phase;            /* atomic, futex: enum session_phase */
    uint32_t finishing;        /* atomic: session_finish has begun */
    uint32_t loader_is_free;   /* atomic, futex: it was, once */
    int enter_status;          /* of the set-up, once the phase is PHASE_RUNNING */
    bool is_child;             /* of a fork */
    bool has_probe;            /* a thread that waits for the loader's lock for ever */
    struct session *inherited; /* a child's, until it is set up: its parent's, in the child's copy of it */
    uint32_t absent;           /* atomic, futex: the sampler stands down */
    bool is_resumed;           /* the sampler is not the first */
    uint32_t is_over;          /* atomic: session_end has been */
    uint32_t forks;            /* atomic: begun so far */
    uint32_t forks_noted;      /* of them, by the sampler, on the timeline */
    bool leaves_children;      /* session_leave_children */
    struct wp_output store;    /* as it was asked for */
    char store_name[NAME_MAX + 1]; /* what it is called */
    bool has_store;                /* one is wanted */
    bool store_is_named;           /* and its name */
    uint32_t is_joined;            /* atomic: it is part of a run, and was being gathered */
    bool has_own_descriptors;      /* the sampler has */
    uint64_t keep_from_ns;         /* atomic: when to begin with it; 0: at once */
    struct wp_output output;
    struct wp_output more_outputs[CONFIG_MORE_OUTS_MAX]; /* of the same, at the end */
    uint32_t more_output_count;
    bool has_written;                    /* into these */
    uint64_t worth_writing_ns;           /* atomic: from when on an exec is worth a file */
    char name_before_exec[NAME_MAX + 1]; /* of the file that has been written for one, or "" */
    int directory_fd;                    /* of the output, in the sampler's descriptor table */
    int spare_fd;                        /* there too: sink_spare */
    bool has_fillers;                    /* there too: /dev/null as 0, 1 and 2 */
    int stderr_handle;       /* of the program's stderr, in the sampler's descriptor table; -1 without */
    bool is_output_reported; /* that it cannot be written */
    int signal;              /* what threads are asked with, as far as has been reported */
    bool is_filled_below_reported;
    char command_text[SESSION_COMMAND_TEXT_BYTES];
    struct session_control control;
};

/* ---- session.c ---- */

/* Any thread: this process's session, or its parent's in a child; NULL when nothing is recorded. */
struct session *session_current(void);
void session_make_current(struct session *session);

/*
 * The process's own: what it is called, when it began, and the calling thread, whose stack lies between the
 * two. NULL without memory.
 */
struct session *session_create(const struct session_libc *libc, uint64_t stack_low, uint64_t stack_high);

/* Creates a thread of ours with every signal blocked, so that it never runs a handler of the program. 0 or
 * -errno. */
int session_create_thread(const struct session *session, pthread_t *ret, void *(*routine)(void *),
                          void *argument);

/* Until it is set up, or has failed to be: enter_status. */
void session_wait_for_sampler(struct session *session);

/* Until no COMMAND_WRITE is under way, for at most 5 s. */
void session_wait_for_writing(struct session *session);

/*
 * Whether this thread holds the sampler (session_hold_*), or is about to: so in a handler that interrupts
 * fork, which must not wait for the sampler then. Who ends or replaces the process in there lets go first. In
 * a forked child, which has its parent's count: it holds nobody.
 */
bool session_is_held_here(void);
void session_let_go(void);
void session_forget_holds(void);

/* ---- session_run.c ---- */

/* The sampler thread's routine; argument: the session. Another one takes over after COMMAND_PAUSE. */
void *session_run(void *argument);

/* Chooses the output, and sets up the sampler and the handler. In the thread that starts the session, or in a
 * child's sampler. 0 or -errno. */
int session_prepare(struct session *session);
void session_report_settings(struct session *session);
void session_report_failure(struct session *session,
                            int status); /* but for what session_choose_output has said */

/* In the sampler: until then (CLOCK_MONOTONIC; 0: for ever), or until there is a command or a request. */
void session_sleep_until(struct session *session, uint64_t deadline_ns);

/* ---- session_write.c ---- */

/* Settles the file's name. 0, or -errno, which has been reported. */
int session_choose_output(struct session *session);

/* In the sampler: whether it could be written now, and something to fall back on. */
void session_check_output(struct session *session, bool has_own_descriptors);

/* In the sampler, on COMMAND_WRITE: what has been recorded so far, for a program that is about to become
 * another one. The recording goes on, and takes the file back when it ends after all. */
void session_write_so_far(struct session *session);

/* What a recording says of this process; its name is in `program`. */
struct wp_process session_describe_process(const struct session *session, char program[PATH_MAX]);

/* The file that it is kept in is complete, with or without what only the process knows of names. */
void session_close_store(struct session *session, bool with_names);

/* Ends the recording. In the sampler, or in the exiting thread when that is gone. */
void session_close_and_write(struct session *session);

/* In the sampler, on a request: what has been recorded so far, to another path ("": the profile's own); it
 * goes on. 0 or -errno. */
int session_write_dump(struct session *session, const char *path, uint64_t now_ns);

/* In the sampler, while it is stopped: all of the profile, as at the end. */
void session_write_stopped(struct session *session, uint64_t now_ns);

/* What is written, of a recording that is settled, stopped or closed. */
struct session_writing {
    const char *name; /* the file, in the output's directory, or in: */
    int directory_fd; /* that one, or -1 */
    uint64_t end_ns;  /* the recording's, so far */
    const struct wp_output *more;
    uint32_t more_count;
    bool by_tool; /* if it may be */
};

/* 0 or -errno, which the log has. */
int session_write(struct session *session, const struct session_writing *writing);

/* Calls one of those that write; the descriptor that lets a file be written later, and the directory's, are
 * as they were. */
void session_write_on_the_way(struct session *session, uint64_t now_ns,
                              void write(struct session *session, uint64_t now_ns));

/* That an exec was about to come, which has failed: what is in its file is in a later one, too. */
void session_forget_exec(struct session *session);

/* ---- session_interval.c ---- */

/* The next number that is free, and control.numbered: where the profiles of its interval go. In the sampler.
 * 0 or -errno. */
int session_name_interval(struct session *session, uint32_t *ret_number);

/* The profile of the interval that ends at end_ns, and away with those that are too many. */
void session_write_interval(struct session *session, uint64_t end_ns);

/* ---- session_store.c ---- */

/* Settles where the recording is kept while it is made, if at all. 0, or -errno, which has been reported:
 * then it is in memory only. */
int session_choose_store(struct session *session);

/* In the sampler, at a tick: begins to keep it if that is wanted and due. What stood in the way is reported.
 */
void session_keep(struct session *session, uint64_t now_ns);

/* At the end, when all threads' time is closed: whether the recording is left to who gathers it. */
bool session_leave_store(struct session *session);

/* The sampler's descriptors are gone, and this thread goes on with the recording: opens the store again. */
void session_keep_on(struct session *session);

/*
 * Before an exec, in the thread that makes it: a store of a run is left as it is. True: nothing else is to be
 * done. Another one is put away, that is removed, when the profile so far is written, or is not worth it; and
 * begun anew if the process is still the same after a second. So it is in the sampler when the recording was
 * stopped and written.
 */
bool session_leave_store_at_exec(struct session *session, uint64_t now_ns);
void session_put_store_away(struct session *session, uint64_t now_ns);

/* The recording is about to begin anew: what is kept of it goes, and what comes is kept in another file. In
 * the sampler. */
void session_begin_another_store(struct session *session);

/* There is a profile, or will be. Any thread. */
void session_remove_store(const struct session *session);

/* ---- session_child.c ---- */

/* In a forked child's sampler: sets the session up when the time has come, or somebody is in need of it. 0 or
 * -errno. */
int session_be_born(struct session *session);

/* ---- session_absence.c ---- */

/* Whoever stands down has its signals blocked, so it is another thread that waits here until it is up. */
void session_wait_for_presence(struct session *session);

#endif
