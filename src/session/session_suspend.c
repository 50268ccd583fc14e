/* Standing down: the sampler's thread ends for a moment, and another takes over. */
#include "session_internal.h"
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
    while (sig_syscall4(SYS_tgkill, session->pid, tid, 0, 0) == 0)
        sched_yield();
    sig_syscall4(SYS_kill, 0, 0, 0, 0);
}

static uint64_t swap_mask(uint64_t mask)
{
    uint64_t before = 0;
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)&before, sizeof(mask));
    return before;
}

/* One thread at a time; not while another ends the session, nor for a second time within one. */
void session_stand_down(struct session_absence *absence)
{
    struct session *session = session_current();
    uint32_t run = COMMAND_RUN, no = 0;
    *absence = (struct session_absence){0};
    if (!session || session->pid != getpid() || sig_load_seq_cst(&session->finishing))
        return;
    if (session->leaves_children) {
        session_end("a seccomp filter does not allow a thread to be created");
        return;
    }
    session_let_go();
    if (session->is_child)
        session_wait_for_sampler(session); /* it may still be asleep before its birth */
    if (sig_load_seq_cst(&session->phase) != PHASE_RUNNING || session->enter_status < 0)
        return;
    session_wait_for_writing(session);
    absence->mask = swap_mask(~(uint64_t)0);
    bool is_alone = sig_cas_acq_rel(&session->absent, &no, 1);
    absence->is_down = is_alone && sig_cas_acq_rel(&session->command, &run, COMMAND_PAUSE);
    if (!absence->is_down) {
        if (is_alone)
            sig_store_seq_cst(&session->absent, 0);
        swap_mask(absence->mask);
        return;
    }
    pid_t tid = session->sampler.census.own_tid;
    session_wake(session);
    session->libc.pthread_join(session->thread, NULL);
    wait_until_gone(session, tid);
}

/* The sampler's thread, for what is left of the run. */
static int resume(struct session *session)
{
    session->is_resumed = true;
    session->directory_fd = session->spare_fd = session->stderr_handle = -1;
    sig_store_seq_cst(&session->phase, PHASE_STARTING);
    sig_store_seq_cst(&session->command, COMMAND_RUN);
    int status = session_create_thread(session, &session->thread, session_run, session);
    if (status == 0)
        session_wait_for_sampler(session);
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
        session->end_ns = clock_monotonic_ns();
        sig_store_seq_cst(&session->command, COMMAND_LEAVE);
    }
    sig_store_seq_cst(&session->absent, 0);
    futex_wake_all(&session->absent);
    swap_mask(absence->mask);
}

void session_wait_for_presence(struct session *session)
{
    while (sig_load_seq_cst(&session->absent) != 0)
        futex_wait(&session->absent, 1, 0);
}
