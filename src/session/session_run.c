/* The sampler thread: what it makes its own, its ticks, and its end. */
#include "session_internal.h"
#include "base/clock.h"
#include "base/futex.h"
#include "export/command_line.h"
#include "sig/sys/sig_atomic.h"
#include "sig/signal/sig_numbers.h"
#include "sig/signal/sig_setup.h"
#include "base/raw_calls.h"
#include "base/number_names.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>

/* A reply that has not come by then is taken at a later tick. */
static const uint64_t reply_patience_ns = 20 * NS_PER_MS;

/* For let_threads_come_back. On a busy machine a tick may be late too, but hardly that late. */
static const uint64_t stopped_ns = 50 * NS_PER_MS, coming_back_ns = 10 * NS_PER_MS;

/*
 * The sampler sets itself up shortly before its first tick: after half a period, within these limits. Most
 * processes of a family end or execute another program before, and the set-up takes many times as long as
 * their fork.
 */
static const uint64_t set_up_min_ns = 2 * NS_PER_MS, set_up_max_ns = 10 * NS_PER_MS;

/* ---- before the first tick ---- */

static uint64_t random_seed(const struct session *session)
{
    uint64_t seed = 0;
    if (session->config->has_seed)
        return session->config->seed;
    if (raw_getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
        seed = session->birth.start_ns ^ (uint64_t)session->birth.pid << 32;
    return seed;
}

int session_prepare(struct session *session)
{
    if (!*session->birth.command_text) /* a child may have its parent's */
        command_line_read(session->config->arguments, session->birth.command_text,
                          sizeof(session->birth.command_text));
    session_find_tool(session, true);
    session_outputs_forget_descriptors(&session->outputs);
    sig_store_relaxed(&session->outputs.worth_writing_ns, session->birth.start_ns + SESSION_WORTH_NS);
    uint64_t seed = random_seed(session);
    int status = session_outputs_choose(&session->outputs, session->config, &session->birth, &session->log);
    if (status < 0)
        return status;
    session_choose_store(session);
    status = threads_init(&session->threads);
    if (status < 0)
        return status;
    status = sampler_init(&session->sampler, &session->config->sampler, &session->threads, session_labels(),
                          session->birth.start_ns, seed);
    if (status < 0)
        return status;
    sig_setup_connect(&session->sampler.observer.slots, session_birth_cookie(&session->birth));
    session->reported.signal = sig_numbers_current();
    return 0;
}

static void report_settings(struct session *session)
{
    log_add(&session->log, LOG_DEBUG,
            "%u ticks a second, up to %u threads each, at most %g %% overhead (0: any), signal %d, to %s/%s",
            session->config->sampler.hz, session->config->sampler.threads_per_tick,
            session->config->sampler.overhead_ppm / 1e4, session->reported.signal,
            session->outputs.paths[0].directory, session->outputs.paths[0].name);
}

static void report_failure(struct session *session, int status)
{
    if (*session->outputs.paths[0].name)
        log_add(&session->log, LOG_ERROR, "cannot record: %s", error_text(-status));
}

static void await_first_tick(struct session *session)
{
    uint64_t half_ns = NS_PER_S / session->config->sampler.hz / 2;
    uint64_t after_ns = half_ns < set_up_min_ns   ? set_up_min_ns
                        : half_ns > set_up_max_ns ? set_up_max_ns
                                                  : half_ns;
    session_sleep_until(session, session->birth.start_ns + after_ns);
}

/*
 * The first set-up of this process, shortly before the first tick is due. -ECANCELED: the recording has ended
 * before, and nothing of it is the sampler's.
 */
static int be_born(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    await_first_tick(session);
    /* a fork meanwhile would leave its child our locks in the C library */
    sampler_pause_work(&session->handshake.pause);
    /* before it begins: the thread that ends the recording may hold that lock, and does not wait for us */
    if (session->birth.is_child && session_state_now(&session->handshake.state) == STATE_WAITING)
        session_test_loader_lock(session);
    int status = session_state_move(&session->handshake.state, ON_BEGIN, NULL) == 0 ? 0 : -ECANCELED;
    if (status == 0) {
        if (session->birth.is_child)
            session_settle_inherited(session);
        /* first of all: what is opened from here on is not in the program's table */
        session_surroundings_enter(&session->surroundings, session->config->is_strict);
        status = session_prepare(session);
        report_settings(session);
    }
    if (status == 0)
        tick_begin_late(&sampler->tick, clock_monotonic_ns(), &sampler->random);
    sampler_pause_rest(&session->handshake.pause);
    return status;
}

/* In its surroundings: opens what is needed from the first tick to the end, and reads what is there. */
static int enter_sampler(struct session *session)
{
    bool has_own_descriptors = session->surroundings.has_own_descriptors;
    session_outputs_check(&session->outputs, has_own_descriptors, &session->birth, &session->log);
    if (has_own_descriptors)
        session_requests_open(&session->requests);
    sampler_pause_work(&session->handshake.pause);
    int status = 0;
    if (session->surroundings.is_resumed) {
        sampler_resume(&session->sampler, has_own_descriptors);
        session_keep_on(session);
    } else
        status = sampler_enter(&session->sampler, has_own_descriptors);
    sampler_pause_rest(&session->handshake.pause);
    return status;
}

/* ---- a tick ---- */

/* First of all when the sampler wakes: before a recording ends that it was stopped in. Before it has waited,
 * it is late by its own work, which may have waited for a lock that a thread of the program holds. */
static void note_gap(struct session *session, uint64_t due_ns, bool has_waited)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (!sampler_came_late(&session->sampler, due_ns, now_ns))
        return;
    sampler_pause_work(&session->handshake.pause);
    sampler_note_gap(&session->sampler, due_ns, now_ns, !has_waited);
    sampler_pause_rest(&session->handshake.pause);
}

void session_sleep_until(struct session *session, uint64_t deadline_ns)
{
    uint32_t *wake = &session->requests.page->wake;
    for (bool has_waited = false;; has_waited = true) {
        uint32_t seen = sig_load_seq_cst(wake);
        enum session_state state = session_state_now(&session->handshake.state);
        note_gap(session, deadline_ns, has_waited);
        bool is_wanted = state == STATE_WAITING && sig_load_seq_cst(&session->handshake.is_wanted);
        if ((state != STATE_RECORDING && state != STATE_WAITING) || is_wanted ||
            session_control_is_pending(session) || (deadline_ns && clock_monotonic_ns() >= deadline_ns))
            return;
        sampler_begin_wait(&session->sampler);
        futex_wait_shared(wake, seen, deadline_ns);
    }
}

/*
 * A tick is very late if the process was stopped meanwhile (SIGSTOP). Some of the calls in which its threads
 * waited end with EINTR then (signal(7)). The threads get time to return from them before they are signalled,
 * or the EINTR would be taken for ours.
 */
static void let_threads_come_back(struct session *session)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns > session->sampler.tick.deadline_ns + stopped_ns)
        session_sleep_until(session, now_ns + coming_back_ns);
}

/* At the first tick after a fork, since no tick comes while a fork holds the sampler. */
static void note_forks(struct session *session, uint64_t now_ns)
{
    struct timeline *timeline = session->sampler.timeline;
    uint32_t forks = sig_load_relaxed(&session->handshake.forks), count = forks - session->reported.forks;
    if (!timeline || count == 0)
        return;
    session->reported.forks = forks;
    const struct timeline_event event = {
        .begin_ns = now_ns, .end_ns = now_ns, .number = count, .kind = EVENT_FORK};
    timeline_event(timeline, &event);
}

static void one_tick(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    let_threads_come_back(session);
    sampler_pause_work(&session->handshake.pause);
    uint64_t now_ns = clock_monotonic_ns();
    session_read_title(session, now_ns, false);
    session_keep(session, now_ns);
    note_forks(session, now_ns);
    sampler_limit_overhead(sampler, now_ns);
    tick_advance(&sampler->tick, now_ns, &sampler->random);
    sampler_send(sampler, now_ns);
    if (session_current() == session) { /* it is published a moment after its thread was created */
        session_report(session);
    }
    if (!sampler_awaits_replies(sampler, now_ns)) {
        sampler_skip_ticks(sampler, now_ns);
        sampler_pause_rest(&session->handshake.pause);
        return;
    }
    sampler_pause_rest(&session->handshake.pause);

    uint64_t patience_ns = now_ns + reply_patience_ns;
    observe_wait(&sampler->observer,
                 sampler->tick.deadline_ns < patience_ns ? sampler->tick.deadline_ns : patience_ns);
    sampler_pause_work(&session->handshake.pause);
    sampler_collect(sampler, clock_monotonic_ns());
    sampler_skip_ticks(sampler, now_ns);
    sampler_pause_rest(&session->handshake.pause);
}

/* ---- from beginning to end ---- */

static bool is_recording(const struct session *session)
{
    return session_state_now(&session->handshake.state) == STATE_RECORDING;
}

/*
 * The C library calls exit() when the last thread ends. But it still counts threads that have ended by the
 * bare system call, and then never calls it.
 */
static bool is_to_write(struct session *session)
{
    enum session_state state = session_state_now(&session->handshake.state);
    return state == STATE_ENDING || state == STATE_DESERTED ||
           (session->sampler.was_left_silently &&
            session_state_move(&session->handshake.state, ON_TAKE_OVER, NULL) == 0);
}

/* A recording with a store says regularly that the process is there, but not while it is stopped. */
static void sleep_until_tick(struct session *session)
{
    const struct sampler *sampler = &session->sampler;
    while (mapped_store_is_kept(&sampler->mapped_store) && !sampler->is_stopped) {
        uint64_t now_ns = clock_monotonic_ns(), next_ns = now_ns + sampler_beat_period_ns(sampler);
        mapped_store_beat_alone(&session->sampler.mapped_store, now_ns);
        session_read_title(session, now_ns, false);
        if (next_ns >= session_control_deadline(session) || !is_recording(session) ||
            session_control_is_pending(session))
            break;
        session_sleep_until(session, next_ns);
    }
    session_sleep_until(session, session_control_deadline(session));
}

static void write_so_far(struct session *session)
{
    realtime_give_up(&session->sampler.realtime);
    sampler_pause_work(&session->handshake.pause);
    session_surroundings_free_descriptors(&session->surroundings);
    session_write_so_far(session);
    log_flush_through(&session->log, session->surroundings.stderr_handle);
    sampler_pause_rest(&session->handshake.pause);
    session_state_move(&session->handshake.state, ON_WRITTEN, NULL); /* refused if it is the end by now */
}

static bool goes_on(struct session *session)
{
    if (session_state_now(&session->handshake.state) == STATE_WRITING)
        write_so_far(session);
    return is_recording(session);
}

static bool is_tick_due(const struct session *session)
{
    const struct sampler *sampler = &session->sampler;
    return !sampler->is_stopped && clock_monotonic_ns() >= sampler->tick.deadline_ns;
}

/* 0 or -errno. */
static int set_up(struct session *session)
{
    bool is_resumed = session->surroundings.is_resumed;
    int status = is_resumed ? 0 : be_born(session);
    if (status == -ECANCELED)
        return status;
    if (is_resumed)
        session_surroundings_enter(&session->surroundings, session->config->is_strict);
    if (status == 0)
        status = enter_sampler(session);
    session->handshake.set_up_status = status;
    if (status == 0 && !is_resumed) {
        sampler_pause_work(&session->handshake.pause);
        session_control_begin(session);
        sampler_pause_rest(&session->handshake.pause);
    }
    session_state_move(&session->handshake.state, status < 0 ? ON_FAIL : ON_SET_UP, NULL);
    if (status < 0) {
        report_failure(session, status);
        log_flush_through(&session->log, session->surroundings.stderr_handle);
    }
    return status;
}

static void finish_sampling(struct session *session)
{
    realtime_give_up(&session->sampler.realtime);
    sampler_pause_work(&session->handshake.pause);
    if (is_to_write(session)) {
        session_surroundings_free_descriptors(&session->surroundings);
        session_close_and_write(session);
        log_flush_through(&session->log, session->surroundings.stderr_handle);
    }
    if (session_state_now(&session->handshake.state) == STATE_SUSPENDED)
        sampler_pause(&session->sampler);
    mapped_store_lose_file(&session->sampler.mapped_store);
    sampler_pause_rest(&session->handshake.pause);
}

static void record(struct session *session)
{
    int status = set_up(session);
    if (status == -ECANCELED)
        session_end_before_first_tick(session);
    if (status < 0)
        return;
    while (goes_on(session)) {
        sleep_until_tick(session);
        if (is_recording(session))
            session_control_act(session);
        if (is_recording(session) && is_tick_due(session))
            one_tick(session);
        if (sampler_is_deserted(&session->sampler))
            session_state_move(&session->handshake.state, ON_DESERT, NULL);
    }
    finish_sampling(session);
}

void *session_run(void *argument)
{
    struct session *session = argument;
    raw_prctl(PR_SET_NAME, (long)"wallprof");
    record(session);
    sig_store_seq_cst(&session->handshake.is_sampler_gone,
                      1); /* partner: the load in session_await_sampler */
    futex_wake_all(&session->handshake.is_sampler_gone);
    return NULL;
}
