/*
 * The table of states and events. An event without an entry is refused.
 *
 *   - ON_END is accepted once, from the first thread that ends the recording. The sampler finishes what it is
 *     doing, writes the profile and ends. ON_END waits only where a sampler thread is being ended or created:
 *     then there is no thread that could be joined. In STATE_LEFT there is no sampler, and the thread that
 *     ends the recording writes the profile itself.
 *   - ON_WRITE is accepted only while recording. A recording that ends has its own profile, and a sampler
 *     that is being set up has nothing to write yet.
 *   - ON_SUSPEND is for one thread at a time. It waits until the sampler is set up, or a file is written.
 *   - ON_LEAVE and ON_END do not wait for the set-up of the first sampler. It sets itself up, sees that it is
 *     to end, and ends: its ON_SET_UP is refused. In STATE_WAITING it has not begun, and never begins: its
 *     ON_BEGIN is refused.
 *   - ON_TAKE_OVER is for a thread that has ended by the bare system call. The C library still counts such a
 *     thread, and never calls exit().
 */
#include "session_state.h"
#include "base/clock.h"
#include "base/futex.h"
#include "sig/sys/sig_atomic.h"

#include <errno.h>

/* An entry of the table: what is refused is 0, so the next state is kept with one added. */
enum { REFUSED = 0, WAITS = UINT8_MAX };
#define TO(state) ((state) + 1)

static const uint8_t transitions[SESSION_STATES][SESSION_EVENTS] = {
    [STATE_WAITING] = {[ON_BEGIN] = TO(STATE_STARTING),
                       [ON_SUSPEND] = WAITS,
                       [ON_LEAVE] = TO(STATE_LEAVING),
                       [ON_END] = TO(STATE_ENDING)},
    [STATE_STARTING] = {[ON_SET_UP] = TO(STATE_RECORDING),
                        [ON_FAIL] = TO(STATE_FAILED),
                        [ON_SUSPEND] = WAITS,
                        [ON_LEAVE] = TO(STATE_LEAVING),
                        [ON_END] = TO(STATE_ENDING)},
    [STATE_RECORDING] = {[ON_WRITE] = TO(STATE_WRITING),
                         [ON_SUSPEND] = TO(STATE_SUSPENDED),
                         [ON_DESERT] = TO(STATE_DESERTED),
                         [ON_LEAVE] = TO(STATE_LEAVING),
                         [ON_END] = TO(STATE_ENDING)},
    [STATE_WRITING] = {[ON_WRITTEN] = TO(STATE_RECORDING),
                       [ON_SUSPEND] = WAITS,
                       [ON_LEAVE] = WAITS,
                       [ON_END] = TO(STATE_ENDING)},
    [STATE_SUSPENDED] = {[ON_RESUME] = TO(STATE_RESUMING), [ON_LEAVE] = WAITS, [ON_END] = WAITS},
    [STATE_RESUMING] = {[ON_SET_UP] = TO(STATE_RECORDING),
                        [ON_FAIL] = TO(STATE_FAILED),
                        [ON_GONE] = TO(STATE_LEFT),
                        [ON_LEAVE] = WAITS,
                        [ON_END] = WAITS},
    [STATE_DESERTED] = {[ON_END] = TO(STATE_ENDING)},
    [STATE_LEAVING] = {[ON_TAKE_OVER] = TO(STATE_ENDING), [ON_GONE] = TO(STATE_LEFT), [ON_END] = WAITS},
    [STATE_LEFT] = {[ON_END] = TO(STATE_ENDING)},
    [STATE_FAILED] = {[ON_LEAVE] = TO(STATE_LEAVING), [ON_END] = TO(STATE_ENDING)},
    [STATE_ENDING] = {[ON_RETIRE] = TO(STATE_OVER)},
    [STATE_OVER] = {0},
};

static uint8_t entry_for(enum session_state state, enum session_event event)
{
    return transitions[state][event];
}

enum session_state session_state_now(const uint32_t *state)
{
    return (enum session_state)sig_load_acquire(state);
}

bool session_state_is_final(const uint32_t *state)
{
    return session_state_now(state) >= STATE_DESERTED;
}

int session_state_move(uint32_t *state, enum session_event event, enum session_state *ret_before)
{
    uint32_t before = sig_load_acquire(state);
    uint8_t entry;
    do
        entry = entry_for((enum session_state)before, event);
    while (entry != REFUSED && entry != WAITS && !sig_cas_acq_rel(state, &before, (uint32_t)entry - 1));
    if (ret_before)
        *ret_before = (enum session_state)before;
    if (entry == REFUSED || entry == WAITS)
        return entry == WAITS ? -EAGAIN : -EPERM;
    futex_wake_all(state);
    return 0;
}

void session_state_await_other(uint32_t *state, enum session_state now, uint64_t deadline_ns)
{
    while (session_state_now(state) == now && (!deadline_ns || clock_monotonic_ns() < deadline_ns))
        futex_wait(state, now, deadline_ns);
}

void session_state_await(uint32_t *state, enum session_event event, uint64_t deadline_ns)
{
    enum session_state now;
    while (entry_for(now = session_state_now(state), event) == WAITS &&
           (!deadline_ns || clock_monotonic_ns() < deadline_ns))
        session_state_await_other(state, now, deadline_ns);
}

int session_state_reach(uint32_t *state, enum session_event event, uint64_t deadline_ns,
                        enum session_state *ret_before)
{
    int status;
    while ((status = session_state_move(state, event, ret_before)) == -EAGAIN &&
           (!deadline_ns || clock_monotonic_ns() < deadline_ns))
        session_state_await(state, event, deadline_ns);
    return status;
}
