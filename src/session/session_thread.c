/* The threads of the program, from their creation to their end; and the last one, which ends the sampler. */
#include "base/clock.h"
#include "base/raw_calls.h"
#include "session_internal.h"
#include "sig/sys/sig_arch.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>

/* For a file that is being written, and for another thread's call without the sampler. */
static const uint64_t leave_patience_ns = 5 * (uint64_t)NS_PER_S;

/* initial-exec: at a fixed offset from the thread pointer, so that a signal handler can read it. */
static __thread struct thread *own_thread __attribute__((tls_model("initial-exec")));

struct thread *session_thread_prepare(void)
{
    struct session *session = session_own();
    bool has_sampler = session && session_state_now(&session->handshake.state) != STATE_FAILED;
    return has_sampler ? threads_acquire(&session->threads) : NULL; /* else nobody would ever take it back */
}

void session_thread_discard(struct thread *thread)
{
    struct session *session = session_current();
    if (!session)
        return;
    threads_uncount(&session->threads, thread);
    threads_release(&session->threads, thread);
}

void session_thread_enter(struct thread *thread, uint64_t stack_low, uint64_t stack_high)
{
    struct session *session = session_current();
    thread->stack_low = stack_low;
    thread->stack_high = stack_high;
    if (session)
        threads_enter(&session->threads, thread, (pid_t)sig_syscall4(SYS_gettid, 0, 0, 0, 0),
                      clock_monotonic_ns(), 0);
    session_thread_adopt(thread);
}

struct thread_annotations *session_thread_annotations(void)
{
    return own_thread ? &own_thread->annotations : NULL;
}

uint64_t session_thread_stack_high(void)
{
    const struct thread *thread = own_thread;
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    return thread && here >= thread->stack_low && here < thread->stack_high ? thread->stack_high : 0;
}

bool session_thread_has_on_stack(const void *object, size_t bytes)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0), at = (uint64_t)(uintptr_t)object,
             high = session_thread_stack_high();
    return at >= here && at < high && bytes <= high - at;
}

/* ---- the end ---- */

/*
 * After the last thread of the program has ended, the C library calls exit() as soon as no other thread is
 * left. The sampler must not be that other thread, so it leaves, and session_finish writes the profile.
 * Meanwhile no handler of this thread may end the process, as it would wait for the sampler to leave.
 */
static void end_sampler(struct session *session)
{
    session_state_await(&session->handshake.state, ON_LEAVE, clock_monotonic_ns() + leave_patience_ns);
    uint64_t mask = raw_set_mask(~(uint64_t)0);
    bool has_left = session_state_move(&session->handshake.state, ON_LEAVE, NULL) == 0;
    bool is_gone = has_left && session_join_sampler(session);
    if (is_gone)
        session_state_move(&session->handshake.state, ON_GONE, NULL);
    raw_set_mask(mask);
    if (has_left && (!is_gone || session->surroundings.has_probe))
        exit(EXIT_SUCCESS); /* the C library would, if the sampler or the probe were not there */
}

/* NULL: the thread has no record any more, as in a child that is not followed. */
static void leave_session(struct thread *thread)
{
    struct session *session = session_own();
    char name[THREAD_NAME_BYTES] = "";
    own_thread = NULL; /* from now on no handler of the program in this thread changes the record */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!session || !thread)
        return; /* a child of _Fork or raw clone: the record was its parent's */
    if (!thread_annotations_name(&thread->annotations, name))
        raw_prctl(PR_GET_NAME, (long)name);
    session_wait_for_writing(&session->handshake);
    bool is_last = threads_leave(&session->threads, thread, name) == 0;
    session_control_note_left(session);
    if (is_last && session->handshake.ignores_children)
        session_finish(); /* a filter may keep this thread from writing it later */
    bool has_failed = session_state_now(&session->handshake.state) == STATE_FAILED;
    if (is_last && !has_failed) /* there may be threads without a record, and there is no sampler */
        end_sampler(session);
}

/*
 * When a thread's routine has ended, the C library calls the destructors of keys, each again as long as its
 * key has a value, in so many rounds. In the last round the thread leaves, after the destructors of the
 * program's keys. The value has the key and the number of the round. The key is there for no longer than
 * that, because the program may want all there are; then the thread leaves before its destructors.
 */
enum { ROUND_BITS = 8 };

static bool set_round(pthread_key_t key, uintptr_t round)
{
    return pthread_setspecific(key, (void *)((uintptr_t)key << ROUND_BITS | round)) == 0;
}

static void on_thread_end(void *value)
{
    pthread_key_t key = (pthread_key_t)((uintptr_t)value >> ROUND_BITS);
    uintptr_t round = (uintptr_t)value & ((1U << ROUND_BITS) - 1);
    if (round < PTHREAD_DESTRUCTOR_ITERATIONS && set_round(key, round + 1))
        return;
    pthread_key_delete(key);
    leave_session(own_thread);
}

void session_thread_end(void)
{
    pthread_key_t key;
    struct thread *thread = own_thread;
    if (!thread || thread->is_ending)
        return;
    if (pthread_key_create(&key, on_thread_end) != 0) {
        leave_session(thread);
        return;
    }
    /* not set before: a cancellation may come in between, and call this again */
    thread->is_ending = set_round(key, 1);
    if (!thread->is_ending) {
        pthread_key_delete(key);
        leave_session(thread);
    }
}

struct thread *session_thread_adopt(struct thread *thread)
{
    struct thread *before = own_thread;
    own_thread = thread;
    return before;
}
