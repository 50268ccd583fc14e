/* The table of a recording's states: each of its entries, and what has to be true of it as a whole. */
#include "lib/unit.h"
#include "session/session_state.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 300 };

/* A line is a state, a column an event, in the order of the enums: the letter of the state that follows, '.'
 * for a refusal, '~' for waiting. */
static const char letters[] = "wSRWUrDlLFEO";
static const char *const expected[SESSION_STATES] = {
    /* BEGIN SET_UP FAIL WRITE WRITTEN SUSPEND RESUME DESERT LEAVE TAKE_OVER GONE END RETIRE */
    [STATE_WAITING] = "S....~..l..E.",   [STATE_STARTING] = ".RF..~..l..E.",
    [STATE_RECORDING] = "...W.U.Dl..E.", [STATE_WRITING] = "....R~..~..E.",
    [STATE_SUSPENDED] = "......r.~..~.", [STATE_RESUMING] = ".RF.....~.L~.",
    [STATE_DESERTED] = "...........E.",  [STATE_LEAVING] = ".........EL~.",
    [STATE_LEFT] = "...........E.",      [STATE_FAILED] = "........l..E.",
    [STATE_ENDING] = "............O",    [STATE_OVER] = ".............",
};

static char outcome(int state, int event)
{
    uint32_t word = (uint32_t)state;
    enum session_state before = STATE_OVER;
    int status = session_state_move(&word, (enum session_event)event, &before);
    assert_int_equal(before, state);
    if (status < 0)
        assert_int_equal(word, state);
    return status == 0 ? letters[word] : status == -EAGAIN ? '~' : '.';
}

static void test_every_event_in_every_state(void **unused)
{
    (void)unused;
    for (int state = 0; state < SESSION_STATES; state++) {
        char line[SESSION_EVENTS + 1] = "";
        for (int event = 0; event < SESSION_EVENTS; event++)
            line[event] = outcome(state, event);
        assert_string_equal(line, expected[state]);
    }
}

/* Whoever waits for another state gets one: the state where it waits can be left by an event of others. */
static void test_nothing_waits_for_ever(void **unused)
{
    (void)unused;
    for (int state = 0; state < SESSION_STATES; state++) {
        bool waits = false, can_be_left = false;
        for (int event = 0; event < SESSION_EVENTS; event++) {
            waits |= outcome(state, event) == '~';
            can_be_left |=
                event < ON_LEAVE || event == ON_GONE ? strchr(".~", outcome(state, event)) == NULL : 0;
        }
        assert_true(!waits || can_be_left);
    }
}

/* A thread that ends the process does not wait for another one for ever. */
static void test_a_wait_ends_at_its_deadline(void **unused)
{
    (void)unused;
    uint32_t word = STATE_SUSPENDED;
    enum session_state before;
    assert_int_equal(session_state_reach(&word, ON_END, 1, &before), -EAGAIN);
    assert_int_equal(word, STATE_SUSPENDED);
    assert_int_equal(before, STATE_SUSPENDED);
}

/* From every state but the last the recording can be ended, and what is final stays so. */
static void test_every_recording_can_be_ended(void **unused)
{
    (void)unused;
    for (uint32_t state = 0; state < SESSION_STATES; state++) {
        uint32_t word = state;
        assert_int_equal(outcome((int)state, ON_END) == '.', state >= STATE_ENDING);
        for (int event = 0; event < SESSION_EVENTS; event++, word = state)
            if (session_state_is_final(&word) &&
                session_state_move(&word, (enum session_event)event, NULL) == 0)
                assert_true(session_state_is_final(&word));
    }
}

/* ---- several threads at once ---- */

static uint32_t shared;  /* the state */
static uint32_t sampler; /* threads that act as the sampler at this moment: one, or none */
static uint32_t ends, errors;
static pthread_barrier_t begin;

/* In threads of their own: an assertion of cmocka is for the main thread. */
static void expect(bool is_true)
{
    __atomic_fetch_add(&errors, !is_true, __ATOMIC_SEQ_CST);
}

static void *play_sampler(void *unused)
{
    uint32_t now;
    expect(__atomic_add_fetch(&sampler, 1, __ATOMIC_SEQ_CST) == 1);
    session_state_move(&shared, ON_SET_UP, NULL);
    while ((now = session_state_now(&shared)) == STATE_RECORDING || now == STATE_WRITING)
        session_state_move(&shared, ON_WRITTEN, NULL);
    expect(__atomic_sub_fetch(&sampler, 1, __ATOMIC_SEQ_CST) == 0);
    return unused;
}

static pthread_t sampler_thread;

static void suspend_and_resume(void)
{
    if (session_state_move(&shared, ON_SUSPEND, NULL) < 0)
        return;
    pthread_join(sampler_thread, NULL);
    expect(session_state_move(&shared, ON_RESUME, NULL) == 0);
    pthread_create(&sampler_thread, NULL, play_sampler, NULL);
    session_state_await_other(&shared, STATE_RESUMING, 0);
}

static void *play_thread(void *argument)
{
    enum session_state before;
    pthread_barrier_wait(&begin);
    for (int i = 0; i < 3; i++) {
        session_state_move(&shared, ON_WRITE, NULL);
        session_state_await(&shared, ON_SUSPEND, 0);
        suspend_and_resume();
    }
    if (argument && session_state_reach(&shared, ON_LEAVE, 0, &before) == 0) {
        pthread_join(sampler_thread, NULL);
        session_state_move(&shared, ON_GONE, NULL);
    }
    if (session_state_reach(&shared, ON_END, 0, &before) < 0)
        return NULL;
    __atomic_fetch_add(&ends, 1, __ATOMIC_SEQ_CST);
    if (before != STATE_LEFT)
        pthread_join(sampler_thread, NULL);
    expect(__atomic_load_n(&sampler, __ATOMIC_SEQ_CST) == 0);
    session_state_move(&shared, ON_RETIRE, NULL);
    return NULL;
}

/* One sampler at a time, joined once, and one thread that ends the recording. */
static void test_many_threads_change_the_state_at_once(void **unused)
{
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        shared = STATE_STARTING;
        sampler = ends = 0;
        pthread_barrier_init(&begin, NULL, THREADS);
        pthread_create(&sampler_thread, NULL, play_sampler, NULL);
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, play_thread, i == 0 ? &shared : NULL);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&begin);
        assert_int_equal(errors, 0);
        assert_int_equal(ends, 1);
        assert_int_equal(shared, STATE_OVER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_event_in_every_state),
        cmocka_unit_test(test_nothing_waits_for_ever),
        cmocka_unit_test(test_a_wait_ends_at_its_deadline),
        cmocka_unit_test(test_every_recording_can_be_ended),
        cmocka_unit_test(test_many_threads_change_the_state_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
