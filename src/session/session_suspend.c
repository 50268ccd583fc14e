/* Standing down: the sampler's thread ends for a moment, and another takes over. */
#include "session_internal.h"
#include "libc.h"
#include "base/clock.h"
#include "base/futex.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/*
 * pthread_join returns when the thread has let go of its memory, which is before the kernel counts it out.
 * What asks for the whole process group afterwards waits for the lock under which that is done
 * (kernel/exit.c: release_task).
 */
static void wait_until_gone(const struct session *session, pid_t tid)
{
    while (sig_syscall4(SYS_tgkill, session->birth.pid, tid, 0, 0) == 0)
        sched_yield();
    sig_syscall4(SYS_kill, 0, 0, 0, 0);
}

uint64_t session_set_mask(uint64_t mask)
{
    uint64_t before = 0;
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)&before, sizeof(mask));
    return before;
}

/* One thread at a time; not while another ends the session, nor for a second time within one. */
void session_stand_down(struct session_absence *absence)
{
    struct session *session = session_own();
    *absence = (struct session_absence){0};
    if (!session)
        return;
    if (session->handshake.ignores_children) {
        session_end("a seccomp filter does not allow a thread to be created");
        return;
    }
    session_let_go();
    session_state_await_other(&session->handshake.state, STATE_STARTING,
                              0); /* a child's sampler may not be born yet */
    session_wait_for_writing(&session->handshake);
    absence->mask = session_set_mask(~(uint64_t)0);
    absence->is_down = session_state_move(&session->handshake.state, ON_SUSPEND, NULL) == 0;
    if (!absence->is_down) {
        session_set_mask(absence->mask);
        return;
    }
    pid_t tid = session->sampler.thread_scan.own_tid;
    session_wake(&session->requests);
    libc()->pthread_join(session->surroundings.thread, NULL);
    wait_until_gone(session, tid);
}

/* The sampler's thread, for what is left of the run. */
static int resume(struct session *session)
{
    session->surroundings.is_resumed = true;
    session_outputs_forget_descriptors(&session->outputs);
    session->surroundings.stderr_handle = -1;
    session_state_move(&session->handshake.state, ON_RESUME, NULL);
    int status = session_create_thread(&session->surroundings.thread, session_run, session);
    if (status == 0)
        session_state_await_other(&session->handshake.state, STATE_RESUMING, 0);
    return status;
}

void session_stand_up(const struct session_absence *absence)
{
    struct session *session = session_current();
    if (!absence->is_down)
        return;
    int status = resume(session);
    if (status < 0) {
        log_add(&session->log, LOG_WARNING,
                "recording ends here, no thread can be created after unshare(), setns() or capset(): %s",
                strerrordesc_np(-status));
        session->recording.end_ns = clock_monotonic_ns();
        session_state_move(&session->handshake.state, ON_GONE, NULL);
    }
    session_set_mask(absence->mask);
}
