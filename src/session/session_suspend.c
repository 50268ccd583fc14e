/* The sampler's thread ends for a moment, and another one takes over. */
#include "session_internal.h"
#include "base/clock.h"
#include "base/raw_calls.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "base/number_names.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

/* The set-up takes milliseconds; a sampler that waits for this thread must not be waited for. */
static const uint64_t set_up_patience_ns = 5 * (uint64_t)NS_PER_S;

/* While a thread forks or executes, maybe for long. */
static const uint64_t held_patience_ns = 100 * NS_PER_MS;

/*
 * pthread_join returns when the thread has released its memory. The kernel removes it from the process later,
 * under a lock for which a signal to the process group waits (kernel/exit.c: release_task).
 */
static void wait_until_gone(const struct session *session, pid_t tid)
{
    while (sig_syscall4(SYS_tgkill, session->birth.pid, tid, 0, 0) == 0)
        sched_yield();
    sig_syscall4(SYS_kill, 0, 0, 0, 0);
}

void session_hasten_set_up(void)
{
    struct session *session = session_own();
    if (!session || session_state_now(&session->handshake.state) > STATE_STARTING || session_is_held_here())
        return;
    uint64_t begin_ns = clock_monotonic_ns(), deadline_ns = begin_ns + set_up_patience_ns,
             held_deadline_ns = begin_ns + held_patience_ns;
    sig_store_seq_cst(&session->handshake.is_wanted, 1); /* partner: the load in session_sleep_until */
    session_wake(&session->requests);
    for (uint64_t now_ns = begin_ns; now_ns < deadline_ns; now_ns = clock_monotonic_ns()) {
        enum session_state now = session_state_now(&session->handshake.state);
        bool is_held = sig_load_seq_cst(&session->handshake.pause.holds) != 0;
        if (now > STATE_STARTING || (is_held && now_ns > held_deadline_ns))
            return;
        session_state_await_other(&session->handshake.state, now, now_ns + held_patience_ns);
    }
}

/* For one thread at a time. Refused while another thread ends the session, and within a suspension. */
void session_suspend(struct session_suspension *suspension)
{
    struct session *session = session_own();
    *suspension = (struct session_suspension){0};
    if (!session)
        return;
    if (session->handshake.ignores_children) {
        session_end("a seccomp filter does not allow a thread to be created");
        return;
    }
    session_let_go();
    session_hasten_set_up();
    session_wait_for_writing(&session->handshake);
    suspension->mask = raw_set_mask(~(uint64_t)0);
    suspension->is_suspended = session_state_move(&session->handshake.state, ON_SUSPEND, NULL) == 0;
    if (!suspension->is_suspended) {
        raw_set_mask(suspension->mask);
        return;
    }
    pid_t tid = session->sampler.thread_scan.own_tid;
    if (session_join_sampler(session)) {
        wait_until_gone(session, tid);
        return;
    }
    suspension->is_suspended = false; /* it waits for ever: the recording ends here, and its store is left */
    raw_set_mask(suspension->mask);
}

/* Creates another sampler thread. */
static int start_sampler(struct session *session)
{
    session->surroundings.is_resumed = true;
    sig_store_seq_cst(&session->handshake.is_sampler_gone, 0);
    session_outputs_forget_descriptors(&session->outputs);
    session->surroundings.stderr_handle = -1;
    session_state_move(&session->handshake.state, ON_RESUME, NULL);
    int status = session_create_thread(&session->surroundings.thread, session_run, session);
    if (status == 0)
        session_state_await_other(&session->handshake.state, STATE_RESUMING, 0);
    return status;
}

void session_resume(const struct session_suspension *suspension)
{
    struct session *session = session_current();
    int error = errno;
    if (!suspension->is_suspended)
        return;
    int status = start_sampler(session);
    if (status < 0) {
        log_add(&session->log, LOG_WARNING,
                "recording ends here, no thread can be created after unshare(), setns() or capset(): %s",
                error_text(-status));
        session->recording.end_ns = clock_monotonic_ns();
        session_state_move(&session->handshake.state, ON_GONE, NULL);
    }
    raw_set_mask(suspension->mask);
    errno = error;
}
