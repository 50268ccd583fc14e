/* A forked child's session: begun at the fork with as little as can be, set up by its sampler soon after. */
#include "session_internal.h"
#include "libc.h"
#include "base/clock.h"
#include "base/futex.h"
#include "modules/loader.h"
#include "sig/sys/sig_atomic.h"
#include "sig/signal/sig_control.h"
#include "sig/signal/sig_setup.h"
#include "base/raw_calls.h"
#include "base/number_names.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* If the loader's lock has not been free for so long, nobody will ever release it. */
static const uint64_t loader_patience_ns = 200 * NS_PER_MS;

/* ---- in the thread that forked ---- */

static void inherit_settings(struct session *session, const struct session *parent)
{
    log_init(&session->log, parent->config->log_level);
    if (*parent->log.path)
        strcpy(session->log.path, parent->log.path);
    strcpy(session->birth.command_text, parent->birth.command_text);
    session->birth.argument_hash = parent->birth.argument_hash;
}

/* The child without us: the program's actions are the kernel's again. */
static void leave_child_alone(void)
{
    sig_control_uninstall();
    sig_setup_uninstall();
}

static int begin_session(struct session *session, struct session *parent, const struct thread *forking)
{
    if (forking && session->birth.main_thread) /* it goes on where the parent's thread was */
        session->birth.main_thread->annotations = forking->annotations;
    if (session->birth.main_thread) { /* neither a tracer nor an exec is inherited */
        session->birth.main_thread->annotations.asks_for_tracer = 0;
        session->birth.main_thread->annotations.exec_cpu_ns = 0;
    }
    session->birth.is_child = true;
    session->birth.inherited = parent;
    sampler_inherit(&session->sampler, &parent->sampler);
    perf_maps_init(&session->birth.perf_maps, session->birth.pid, session->birth.start_utc_ns,
                   &parent->birth.perf_maps);
    inherit_settings(session, parent);
    session_control_inherit(&session->recording, &parent->recording);
    if (session->config->control_signal)
        sig_control_wake(&session->requests.page->wake);
    return session_create_thread(&session->surroundings.thread, session_run, session);
}

/*
 * In the child only this thread exists. The parent's sampler was paused at the fork (session_hold_for_fork),
 * so the copy of its memory is consistent, but of no use here. Little is done at once, because many children
 * do not live to see more.
 */
void session_restart_in_child(void)
{
    struct session *parent = session_current(), *session = NULL;
    if (parent && parent->birth.pid == getpid())
        return;
    const struct thread *forking = session_thread_adopt(NULL);
    if (!parent)
        return;
    session_forget_holds();
    sig_setup_forget_parent();
    session_make_current(NULL);
    if (parent->handshake.ignores_children) {
        sig_control_uninstall();
        sig_setup_retire();
        return;
    }
    if (parent->config->follows_fork)
        session = session_create(parent->config, forking ? forking->stack_low : 0,
                                 forking ? forking->stack_high : 0);
    int status = session ? begin_session(session, parent, forking) : 0;
    if (!session || status < 0)
        leave_child_alone();
    if (session && status == 0) {
        session_make_current(session);
        session_thread_adopt(session->birth.main_thread);
    } else if (session) {
        log_add(&session->log, LOG_ERROR, "cannot record a child: %s", error_text(-status));
        log_flush(&session->log);
    }
}

/* ---- in the sampler ---- */

static void *probe_main(void *argument)
{
    struct session *session = argument;
    struct loader_state state;
    raw_prctl(PR_SET_NAME, (long)"wallprof");
    loader_read(LOADER_WITH_LOCK, &state);
    sig_store_seq_cst(&session->surroundings.loader_is_free, 1);
    futex_wake_all(&session->surroundings.loader_is_free);
    return NULL;
}

/*
 * In the child of a fork the loader's list may be locked for ever, by a thread that was reading it and is not
 * in the child. The C library does not repair that (glibc 2.36: _dl_load_write_lock). To find out, a thread
 * has to take the lock. If it does not return, the list is read without the lock, as nobody can change it.
 */
void session_test_loader_lock(struct session *session)
{
    pthread_t probe;
    if (session_create_thread(&probe, probe_main, session) < 0)
        return;
    uint64_t deadline_ns = clock_monotonic_ns() + loader_patience_ns;
    while (!sig_load_seq_cst(&session->surroundings.loader_is_free) && clock_monotonic_ns() < deadline_ns)
        futex_wait(&session->surroundings.loader_is_free, 0, deadline_ns);
    bool is_lost = !sig_load_seq_cst(&session->surroundings.loader_is_free);
    session->surroundings.has_probe = is_lost; /* also if the recording has ended meanwhile */
    if (!is_lost)
        libc()->pthread_join(probe, NULL);
}

/* The copies of its ancestors' sessions are of no use to a child. One that was at work at the fork is not
 * consistent, and is left where it is. */
static void discard_inherited(struct session *session)
{
    struct session *ancestor = session->birth.inherited, *next;
    session->birth.inherited = NULL;
    for (; ancestor; ancestor = next) {
        next = ancestor->birth.inherited;
        if (!sig_load_seq_cst(&ancestor->handshake.pause.busy))
            session_destroy(ancestor);
    }
}

void session_settle_inherited(struct session *session)
{
    if (session->surroundings.has_probe)
        session->sampler.modules.loader_is_free = &session->surroundings.loader_is_free;
    discard_inherited(session);
}
