/*
 * The session: its parts, and what its files call of one another. docs/design/session.md lists the files.
 *
 * Each part has a header, which says who owns it, and its functions take the part. The program's threads and
 * the sampler thread share three parts: the handshake, the requests and the registry of threads. What else
 * the program's threads touch are single words, which their part names as atomic.
 *
 * The other parts are the sampler thread's as long as there is one. Before it is created, and after it was
 * joined, they belong to the thread that does so: the state lets only one thread suspend, resume, leave or
 * end at a time. A thread that holds the sampler may also discard the store (session_hold.c).
 */
#ifndef WALLPROF_SESSION_INTERNAL_H
#define WALLPROF_SESSION_INTERNAL_H

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "sample/sampler.h"
#include "sample/thread.h"
#include "sample/threads.h"
#include "session.h"
#include "session_birth.h"
#include "session_control.h"
#include "session_handshake.h"
#include "session_interval.h"
#include "session_outputs.h"
#include "session_request.h"
#include "session_store.h"
#include "session_surroundings.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A shorter recording is not worth a file of its own before an exec: most processes that execute another
 * program were started for nothing else. */
#define SESSION_WORTH_NS (100 * (uint64_t)NS_PER_MS)

/* What has been said in the log, or noted on the timeline. The sampler's own. */
struct session_reported {
    int signal;           /* the one that threads are sent */
    bool is_starved;      /* a real-time thread keeps the sampler from its CPU */
    bool is_filled_below; /* a thread blocks all signals */
    uint32_t forks;       /* of handshake.forks */
    bool is_interp_refused;
};

/* The order keeps what a short process writes in few pages, since each page costs it 2 us: the end of the
 * requests, the beginning of the registry, and all between. The end of the log and the beginning of the
 * sampler. */
struct session {
    struct session_requests requests; /* any thread's */
    struct config
        *config; /* written before there is a sampler; children use their parent's, at its address */
    struct session_birth birth;
    struct session_handshake handshake; /* any thread's */
    struct session_recording recording; /* the sampler's, as all that is not said to be another's */
    struct session_surroundings surroundings;
    struct session_reported reported;
    struct threads threads; /* any thread's (threads.h) */
    struct log log;         /* the sampler's, as soon as its thread is created */
    struct sampler sampler;
    struct session_store store;
    struct session_outputs outputs;
    struct session_intervals intervals;
};

/* ---- session.c ---- */

/* Any thread: this process's session, or its parent's in a child; NULL when nothing is recorded. */
struct session *session_current(void);
void session_make_current(struct session *session);

/* This process's session only: NULL in a child that has its parent's memory. */
struct session *session_own(void);

/* A session of the calling process and thread, whose stack lies between the two. config is not owned: it
 * stays for the process's life. NULL without memory. */
struct session *session_create(struct config *config, uint64_t stack_low, uint64_t stack_high);

/* Sets config->tool, unless the user has. Called twice: while paths are relative to the program's directory,
 * and by the sampler when they are not (is_anchored). The tool is beside the library, whose path is of one
 * kind or the other. */
void session_find_tool(struct session *session, bool is_anchored);

/* Also for a forked child's copy of its parent's session. No sampler runs. */
void session_destroy(struct session *session);

/* Creates a thread of ours with all signals blocked, so that no program's handler runs in it. 0 or -errno. */
int session_create_thread(pthread_t *ret, void *(*routine)(void *), void *argument);

/*
 * Wakes the sampler, which the state tells to end, and waits until it uses nothing of the session any more.
 * False if it has not done so by the deadline (CLOCK_MONOTONIC, 0: none), or has used no CPU time for 5 s:
 * then it may be waiting for a lock that the calling thread holds, and its parts stay its own. Any thread,
 * also in a handler. join also frees its thread, which takes a lock of the C library: for one thread.
 */
bool session_await_sampler(struct session *session, uint64_t deadline_ns);
bool session_join_sampler(struct session *session);

/* In the sampler, which was to begin when the recording ended: writes what is to be written without a sample.
 */
void session_end_before_first_tick(struct session *session);

/* session_note_exit without a store: see session.h. */
void session_finish_at_once(struct session *session);

/* ---- session_unrecorded.c ---- */

/* At the start: why this process cannot be recorded without a difference to it; NULL: it can. */
const char *session_why_unrecorded(char *const *arguments, char *const *environment);

/* ---- session_thread.c ---- */

/* Makes a record the calling thread's own; NULL: it has none. Returns the one that it had. */
struct thread *session_thread_adopt(struct thread *thread);

/* ---- session_run.c ---- */

/* The sampler thread's routine; argument: the session. Another thread takes over after it was suspended. */
void *session_run(void *argument);

/* In the sampler: reads the program's title, if that is due or must be, for the profile and the store. */
void session_read_title(struct session *session, uint64_t now_ns, bool must);

/* Chooses the outputs, and sets up the sampler and the handler. In the sampler.
 * 0 or -errno. */
int session_prepare(struct session *session);

/* In the sampler: until the deadline (CLOCK_MONOTONIC; 0: none), or until the state or a request wants
 * something of it. */
void session_sleep_until(struct session *session, uint64_t deadline_ns);

/* ---- session_write.c ---- */

/* In the sampler, in STATE_WRITING: writes what has been recorded so far, before an exec. The recording goes
 * on; if it ends after all, the file is removed. */
void session_write_so_far(struct session *session);

/* Completes the store, with or without the names that only the process knows. */
void session_close_store(struct session *session, bool with_names);

/* Ends the recording. In the sampler, or in the exiting thread when the sampler is gone. */
void session_close_and_write(struct session *session);

/* In the sampler, on a request: writes what has been recorded so far to another path ("": the profile's own).
 * The recording goes on. 0 or -errno. */
int session_write_dump(struct session *session, const char *path, uint64_t now_ns);

/* In the sampler, while recording is stopped: writes all of the profile, as at the end. */
void session_write_stopped(struct session *session, uint64_t now_ns);

/*
 * Writes files of a recording that is settled, stopped or closed; end_ns: its end so far. The request says
 * which files (name, more, more_count), where (directory_fd and directory; -1: the first output's), and with
 * which tool. The rest is filled in. 0 or -errno, which the log has.
 */
struct export_request;
int session_write(struct session *session, struct export_request *request, uint64_t end_ns);

/* Calls a function that writes while the recording goes on. The descriptors of the output are as before
 * afterwards, so that a file can be written later. */
void session_write_on_the_way(struct session *session, uint64_t now_ns,
                              void write(struct session *session, uint64_t now_ns));

/* ---- session_store.c ---- */

/* Settles where the recording is kept while it is made, if at all. A failure is reported: then the recording
 * is in memory only. */
void session_choose_store(struct session *session);

/* In the sampler, at a tick: says in the log what is new about the recording. */
void session_report(struct session *session);

/* In the sampler, at a tick: begins a store if one is wanted and due. A failure is reported. */
void session_keep(struct session *session, uint64_t now_ns);

/* At the end, when all threads' time is closed: whether the store is left to `wallprof gather`. */
bool session_leave_store(struct session *session);

/* The sampler's descriptors are gone, and this thread goes on with the recording: opens the store again. */
void session_keep_on(struct session *session);

/*
 * Before an exec, in the thread that makes it: a store of a run is left as it is. True: nothing else is to be
 * done. Another store is discarded when the profile so far is written, or is not worth it. It is begun anew
 * if the process is still the same program after a second. The sampler discards the store too when the
 * recording was stopped and written.
 */
bool session_leave_store_at_exec(struct session *session, uint64_t now_ns);
void session_discard_store(struct session *session, uint64_t now_ns);

/* In the sampler: the recording is about to begin anew, so its store is removed, and another one is begun. */
void session_reopen_store(struct session *session);

/* There is a profile, or will be. Any thread. */
void session_remove_store(const struct session *session);

/* ---- session_child.c ---- */

/*
 * In a forked child's sampler. At the end of STATE_WAITING: whether a thread that is not in the child has the
 * loader's lock. Once the set-up has begun: gives back the memory of the parent's session.
 */
void session_test_loader_lock(struct session *session);
void session_settle_inherited(struct session *session);

#endif
