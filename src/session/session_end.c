/* One recording's end: by the sampler, or by the thread that ends the process where there is no sampler. */
#include "session_internal.h"
#include "libc.h"
#include "base/log.h"
#include "base/clock.h"
#include "base/futex.h"
#include "export/profile_path.h"
#include "sig/signal/sig_setup.h"
#include "sig/sys/sig_atomic.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

/* A sampler that has used no CPU time for so long waits for something that may be the ending thread's. */
enum { IDLE_CHECKS = 50 };
static const uint64_t idle_check_ns = 100 * NS_PER_MS;

/* For an end, while another thread makes a call without the sampler, or the sampler leaves. */
static const uint64_t end_patience_ns = 10 * (uint64_t)NS_PER_S;

/* For a forked child's sampler that has not begun. */
static const uint64_t unbegun_patience_ns = NS_PER_S;

/* For an end without exit handlers, which a program may want to be quick. */
static const uint64_t at_once_patience_ns = 5 * (uint64_t)NS_PER_S;

static uint64_t sampler_cpu_ns(const struct session *session)
{
    clockid_t clock;
    return pthread_getcpuclockid(session->surroundings.thread, &clock) == 0 ? clock_read_ns(clock) : 0;
}

/* Counted are checks and not time: the whole process may have been stopped, or waits for a CPU. */
bool session_await_sampler(struct session *session, uint64_t deadline_ns)
{
    uint32_t *is_gone = &session->handshake.is_sampler_gone;
    uint64_t now_ns = clock_monotonic_ns(), cpu_ns = 0;
    session_wake(&session->requests);
    for (int idle = 0; idle < IDLE_CHECKS && (!deadline_ns || now_ns < deadline_ns); idle++) {
        uint64_t before_ns = cpu_ns, next_ns = now_ns + idle_check_ns;
        do {
            if (sig_load_seq_cst(is_gone)) /* partner: the store in session_run */
                return true;
            futex_wait(is_gone, 0, next_ns);
            now_ns = clock_monotonic_ns();
        } while (now_ns < next_ns);
        cpu_ns = sampler_cpu_ns(session);
        idle = cpu_ns == before_ns ? idle : 0;
    }
    return sig_load_seq_cst(is_gone);
}

bool session_join_sampler(struct session *session)
{
    int cancel_state;
    if (!session_await_sampler(session, 0))
        return false;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state); /* pthread_join is a cancellation point */
    libc()->pthread_join(session->surroundings.thread, NULL);
    pthread_setcancelstate(cancel_state, NULL);
    return true;
}

/*
 * Whether a recording that ends before its first tick is written. There is no sample in it. Most processes of
 * a family are as short, and nobody reads a file for each; but a run has the part of each of its processes.
 */
static bool is_written_without_sample(const struct session *session)
{
    bool is_named = !session->birth.is_child && !profile_path_has_pid(session->config->out);
    return (session->config->store_is_run || is_named) && !sig_load_relaxed(&session->recording.is_stopped);
}

/* 0 or -errno. */
static int set_up_at_end(struct session *session)
{
    session_surroundings_enter(&session->surroundings, session->config->is_strict);
    int status = session_prepare(session);
    if (status == 0)
        status = sampler_enter_at_end(&session->sampler);
    if (status == 0)
        session_control_begin(session);
    return status;
}

void session_end_before_first_tick(struct session *session)
{
    bool is_end = session_state_now(&session->handshake.state) == STATE_ENDING;
    if (!is_end || !is_written_without_sample(session))
        return;
    sampler_pause_work(&session->handshake.pause);
    session->handshake.set_up_status = set_up_at_end(session);
    if (session->handshake.set_up_status == 0)
        session_close_and_write(session);
    log_flush_through(&session->log, session->surroundings.stderr_handle);
    sampler_pause_rest(&session->handshake.pause);
}

/* The sampler thread has ended, and its descriptors with it. */
static void write_without_sampler(struct session *session)
{
    bool is_begun = session->sampler.threads != NULL; /* else the last thread left before the first tick */
    if (!is_begun || session->handshake.set_up_status < 0)
        return;
    session_outputs_forget_descriptors(&session->outputs);
    session->surroundings.stderr_handle = -1;
    sampler_drop_descriptors(&session->sampler);
    session_keep_on(session);
    session_close_and_write(session);
    session_outputs_close(&session->outputs);
}

/* Waits for the sampler, which writes. A forked child's may wait for a lock that this thread holds, before it
 * has begun: then a part without a sample is lost. */
static bool await_end(struct session *session, bool is_begun, bool goes_on)
{
    bool is_short = !is_begun && session->birth.is_child;
    if (!is_begun && !goes_on && !is_written_without_sample(session))
        return true;
    return goes_on
               ? session_join_sampler(session)
               : session_await_sampler(session, is_short ? clock_monotonic_ns() + unbegun_patience_ns : 0);
}

/*
 * Whether this thread has ended the recording, and not another one, nor nobody in time. why: the process goes
 * on, and the log says why; it is the sampler's until the sampler has ended. NULL: the process ends. Then the
 * sampler's thread is not joined, as that takes a lock of the C library, which this thread may hold.
 */
static bool finish_recording(struct session *session, const char *why)
{
    enum session_state before;
    if (!session)
        return false;
    session_let_go();
    uint64_t deadline_ns = clock_monotonic_ns() + end_patience_ns;
    if (session_state_reach(&session->handshake.state, ON_END, deadline_ns, &before) < 0)
        return false;
    if (before == STATE_LEFT)
        write_without_sampler(session);
    else if (!await_end(session, before != STATE_WAITING, why != NULL))
        return false;
    session_requests_end(&session->requests);
    if (why)
        log_add(&session->log, LOG_WARNING, "recording ends here: %s", why);
    log_flush(&session->log);
    return true;
}

void session_finish(void)
{
    finish_recording(session_own(), NULL);
}

/*
 * Before the first tick there is no sample, and a short child has few. If another thread ends the recording
 * already, this one waits for the same profile; without a sampler that one writes it, and may be the thread
 * that this handler is in.
 */
void session_finish_at_once(struct session *session)
{
    enum session_state before;
    uint32_t *state = &session->handshake.state;
    uint64_t now_ns = clock_monotonic_ns(), deadline_ns = now_ns + at_once_patience_ns;
    bool is_short = session->birth.is_child && now_ns < session->birth.start_ns + SESSION_WORTH_NS;
    if (is_short || session_state_now(state) <= STATE_STARTING)
        return;
    session_let_go();
    int status = session_state_reach(state, ON_END, deadline_ns, &before);
    if (status == 0 && before == STATE_LEFT)
        write_without_sampler(session);
    else if (status == 0 || before == STATE_ENDING)
        session_await_sampler(session, deadline_ns);
}

void session_end(const char *why)
{
    struct session *session = session_own();
    if (!finish_recording(session, why))
        return;
    sched_yield(); /* what is queued is delivered */
    sig_setup_retire();
    session_state_move(&session->handshake.state, ON_RETIRE, NULL);
}
