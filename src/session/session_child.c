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

#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/*
 * A forked child is recorded from the start, but the recorder is set up only when it has lived for so long,
 * or a period if that is less: most children execute another program or end before, and it takes ten times
 * as long as their fork.
 */
static const uint64_t birth_min_ns = NS_PER_MS, birth_max_ns = 10 * NS_PER_MS;

/* A loader's lock that has not been free for so long is one that nobody will ever release. */
static const uint64_t loader_patience_ns = 200 * NS_PER_MS;

/* ---- in the thread that forked ---- */

static void inherit_settings(struct session *session, const struct session *parent)
{
    session->config = parent->config;
    log_init(&session->log, parent->config.log_level);
    strcpy(session->log.path, parent->log.path);
    strcpy(session->birth.command_text, parent->birth.command_text);
}

/*
 * In the child only this thread exists, and the parent's sampler stood still at the fork
 * (session_hold_for_fork): its memory is whole, but of no use here. Little is done at once, as many children
 * do not live to see more.
 */
void session_restart_in_child(void)
{
    struct session *parent = session_current();
    if (parent && parent->birth.pid == getpid())
        return;
    const struct thread *forking = session_thread_adopt(NULL);
    if (!parent)
        return;
    session_forget_holds();
    sig_setup_forget_parent();
    if (parent->handshake.ignores_children) {
        sig_control_uninstall();
        sig_setup_retire();
        session_make_current(NULL);
        return;
    }
    session_make_current(NULL);
    struct session *session = NULL;
    if (parent->config.follows_fork)
        session = session_create(forking ? forking->stack_low : 0, forking ? forking->stack_high : 0);
    if (!session) {
        sig_control_uninstall();
        sig_setup_uninstall();
        return;
    }
    if (forking && session->birth.main_thread)
        session->birth.main_thread->annotations =
            forking->annotations; /* it goes on where the parent's thread was */
    session->birth.is_child = true;
    session->birth.inherited = parent;
    sampler_inherit(&session->sampler, &parent->sampler);
    perf_maps_init(&session->birth.perf_maps, session->birth.pid, session->birth.start_utc_ns,
                   &parent->birth.perf_maps);
    inherit_settings(session, parent);
    session_control_inherit(&session->recording, &parent->recording);
    if (session->config.control_signal)
        sig_control_wake(&session->requests.page->wake);
    int status = session_create_thread(&session->surroundings.thread, session_run, session);
    if (status == 0) {
        session_make_current(session);
        session_thread_adopt(session->birth.main_thread);
        return;
    }
    sig_control_uninstall();
    sig_setup_uninstall();
    log_add(&session->log, LOG_ERROR, "cannot record a child: %s", strerrordesc_np(-status));
    log_flush(&session->log);
}

/* ---- in the sampler ---- */

static void *probe_main(void *argument)
{
    struct session *session = argument;
    struct loader_state state;
    raw_prctl(PR_SET_NAME, (long)"wallprof");
    loader_read(false, &state);
    sig_store_seq_cst(&session->surroundings.loader_is_free, 1);
    futex_wake_all(&session->surroundings.loader_is_free);
    return NULL;
}

/*
 * In the child of a fork the loader's list may be locked for ever: by a thread that was looking at it, and is
 * not in the child. The C library does not mend that (glibc 2.36: _dl_load_write_lock). To find out, a thread
 * has to try; if it does not come back, the list is read without the lock: nobody can change it any more.
 */
static void find_out_about_loader(struct session *session)
{
    pthread_t probe;
    if (session_create_thread(&probe, probe_main, session) < 0)
        return;
    uint64_t deadline_ns = clock_monotonic_ns() + loader_patience_ns;
    while (!sig_load_seq_cst(&session->surroundings.loader_is_free) && clock_monotonic_ns() < deadline_ns)
        futex_wait(&session->surroundings.loader_is_free, 0, deadline_ns);
    session->surroundings.has_probe = !sig_load_seq_cst(&session->surroundings.loader_is_free);
    if (session->surroundings.has_probe)
        session->sampler.modules.loader_is_free = &session->surroundings.loader_is_free;
    else
        libc()->pthread_join(probe, NULL);
}

/* What the child has of its ancestors' sessions is of no use to it. One that was at work at the fork is not
 * whole, and is left where it is. */
static void discard_inherited(struct session *session)
{
    struct session *ancestor = session->birth.inherited, *next;
    session->birth.inherited = NULL;
    for (; ancestor; ancestor = next) {
        next = ancestor->birth.inherited;
        if (sig_load_seq_cst(&ancestor->handshake.pause.busy))
            continue;
        session_destroy(ancestor);
    }
}

/* In a forked child's sampler: when the time has come, or somebody is in need of it. */
int session_be_born(struct session *session)
{
    uint64_t period_ns = NS_PER_S / session->config.sampler.hz;
    uint64_t after_ns = period_ns < birth_min_ns   ? birth_min_ns
                        : period_ns > birth_max_ns ? birth_max_ns
                                                   : period_ns;
    session_sleep_until(session, session->birth.start_ns + after_ns);
    sampler_pause_work(
        &session->handshake.pause); /* a fork meanwhile would leave its child our locks in the C library */
    find_out_about_loader(session);
    discard_inherited(session);
    int status = session_prepare(session);
    if (status == 0) /* its first tick, too, at random */
        tick_init(&session->sampler.tick, period_ns, clock_monotonic_ns(), &session->sampler.random);
    sampler_pause_rest(&session->handshake.pause);
    session_report_settings(session);
    return status;
}
