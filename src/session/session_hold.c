/* Fork and exec: the sampler is paused around them, and before an exec it writes. */
#include "account/thread_annotations.h"
#include "base/clock.h"
#include "base/raw_calls.h"
#include "session_internal.h"
#include "sig/sys/sig_atomic.h"
#include "sig/signal/sig_numbers.h"
#include "sig/signal/sig_request.h"

/* A fork gains little from the sampler's pause, and must not be held up for longer. */
static const uint64_t fork_patience_ns = 100 * NS_PER_MS;

/* A sampler that is not done by then sends no signals. It waits for something, maybe for this thread. */
static const uint64_t exec_patience_ns = 5 * (uint64_t)NS_PER_S;

/* While the kernel looks for a program the sampler would begin in vain what the exec ends. */
static const uint64_t exec_rest_ns = 100 * NS_PER_MS;

void session_wait_for_writing(struct session_handshake *handshake)
{
    if (session_state_now(&handshake->state) == STATE_WRITING)
        session_state_await_other(&handshake->state, STATE_WRITING, clock_monotonic_ns() + exec_patience_ns);
}

/* How often this thread holds the sampler; and how often it holds it, is about to, or is releasing it. A
 * handler that interrupts fork finds both at 1, or at least the second. */
static __thread uint32_t holds_here __attribute__((tls_model("initial-exec")));
static __thread uint32_t calls_here __attribute__((tls_model("initial-exec")));

/* Volatile: a handler of this thread reads the counts. */
static void count_here(volatile uint32_t *count, int by)
{
    *count = *count + (uint32_t)by;
}

static void hold_sampler(struct sampler_pause *pause, uint64_t patience_ns)
{
    count_here(&calls_here, 1);
    sampler_pause_ask(pause);
    count_here(&holds_here, 1);
    sampler_pause_await(pause, clock_monotonic_ns() + patience_ns);
}

void session_hold_for_fork(void)
{
    struct session *session = session_own();
    if (!session)
        return;
    sig_add_relaxed(&session->handshake.forks, 1);
    overhead_group_begin(&session->sampler.overhead_group); /* the child shares it */
    hold_sampler(&session->handshake.pause, fork_patience_ns);
}

void session_release(void)
{
    struct session *session = session_own();
    if (!session || holds_here == 0)
        return;
    count_here(&holds_here, -1);
    sampler_pause_release(&session->handshake.pause);
    count_here(&calls_here, -1);
}

/* With all signals blocked and the sampler held: no request to this thread is on its way after this. */
static void drop_requests(void)
{
    uint64_t ours = sig_numbers_ours(), unused = 0;
    if (ours != 0) /* else nothing is pending, and a filter may not allow it */
        sig_request_drop_pending(ours, &unused);
}

/* Blocks all signals, and then holds the sampler. False: there is none. */
static bool hold_blocked(uint64_t *ret_mask)
{
    *ret_mask = raw_set_mask(~(uint64_t)0);
    struct session *session = session_own();
    if (session)
        hold_sampler(&session->handshake.pause, fork_patience_ns);
    return session != NULL;
}

uint64_t session_hold_quietly(void)
{
    uint64_t mask;
    if (hold_blocked(&mask))
        drop_requests();
    return mask;
}

uint64_t session_hold_quietly_for_all(void)
{
    uint64_t mask;
    if (hold_blocked(&mask)) {
        raw_set_mask(~sig_numbers_ours() | mask); /* this thread replies, too */
        sig_request_await_replies(clock_monotonic_ns() + fork_patience_ns);
        raw_set_mask(~(uint64_t)0);
    }
    return mask;
}

void session_release_quietly(uint64_t mask)
{
    session_release();
    raw_set_mask(mask);
}

bool session_is_held_here(void)
{
    return calls_here > 0;
}

void session_let_go(void)
{
    struct session *session = session_own();
    if (session)
        sampler_pause_rest_until(&session->handshake.pause, 0);
    for (uint32_t held = holds_here; held > 0; held--)
        session_release();
}

void session_forget_holds(void)
{
    holds_here = calls_here = 0;
}

static void request_writing(struct session *session)
{
    if (session_state_move(&session->handshake.state, ON_WRITE, NULL) == 0)
        session_wake(&session->requests);
    session_wait_for_writing(&session->handshake); /* also if another thread has asked for it */
}

/* On a busy machine the sampler may not have had its turn yet, and would have nothing to write. */
static void await_late_set_up(struct session *session, uint64_t now_ns)
{
    if (now_ns >= session->birth.start_ns + SESSION_WORTH_NS)
        session_state_await(&session->handshake.state, ON_SUSPEND, now_ns + exec_patience_ns);
}

/* The thread gets no request from here on (observe_overdue.h). One that no hook has seen begin has no record,
 * so the sampler stays held for it. */
static void begin_exec(struct session *session)
{
    struct thread_annotations *annotations = session_thread_annotations();
    if (!annotations)
        return;
    /* ordered by the release */
    sig_store_relaxed(&annotations->exec_cpu_ns, clock_read_ns(CLOCK_THREAD_CPUTIME_ID) | 1);
    sampler_pause_rest_until(&session->handshake.pause, clock_monotonic_ns() + exec_rest_ns);
    session_release();
}

/* The store is checked again once the sampler rests, because it may have begun one until then. */
void session_prepare_exec(void)
{
    struct session *session = session_own();
    uint64_t now_ns = clock_monotonic_ns();
    if (!session)
        return;
    session_let_go();
    await_late_set_up(session, now_ns);
    overhead_group_pause(&session->sampler.overhead_group);
    bool is_left = session_leave_store_at_exec(session, now_ns);
    uint64_t worth_ns = sig_load_relaxed(&session->outputs.worth_writing_ns);
    bool is_worth_a_file = worth_ns != 0 && now_ns >= worth_ns;
    if (!is_left && is_worth_a_file)
        request_writing(session);
    uint64_t mask = raw_set_mask(~(uint64_t)0);
    hold_sampler(&session->handshake.pause, exec_patience_ns);
    if (!is_left && !is_worth_a_file && !session_leave_store_at_exec(session, now_ns))
        session_discard_store(session, now_ns);
    begin_exec(session);
    drop_requests();
    raw_set_mask(mask);
}

void session_cancel_exec(void)
{
    struct session *session = session_own();
    struct thread_annotations *annotations = session_thread_annotations();
    session_cancel_exit_note();
    if (!session)
        return; /* a child of vfork: the record is its parent's */
    if (annotations)
        sig_store_relaxed(&annotations->exec_cpu_ns, 0); /* the sampler may see it late */
    sampler_pause_rest_until(&session->handshake.pause, 0);
    session_release();
}
