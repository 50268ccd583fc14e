#include "session_control.h"
#include "base/clock.h"
#include "session_internal.h"
#include "sig/signal/sig_control.h"
#include "sig/sys/sig_atomic.h"

/* While a handler still uses the tables of the old recording, it goes on for so long, and is renewed then. */
static const uint64_t renew_again_ns = 10 * NS_PER_MS;

/* How often the sampler looks, while recording is stopped, for threads that have ended without their hook. */
static const uint64_t idle_sample_ns = 60 * (uint64_t)NS_PER_S;

/* When so many threads have ended, it looks at once. */
enum { LEFT_MANY = 1024 };

static bool is_stopped(const struct session_recording *recording)
{
    return sig_load_relaxed(&recording->is_stopped);
}

void session_control_note_left(struct session *session)
{
    struct session_recording *recording = &session->recording;
    if (is_stopped(recording) && sig_add_relaxed(&recording->left, 1) + 1 == LEFT_MANY)
        session_wake(&session->requests);
}

/* A start or a stop that its parent waits for comes at the same moment in the child. */
void session_control_inherit(struct session_recording *recording, const struct session_recording *parent)
{
    recording->is_stopped = is_stopped(parent);
    recording->start_at_ns = parent->start_at_ns;
    recording->stop_at_ns = parent->stop_at_ns;
}

/* ---- starting and stopping ---- */

uint64_t session_recorded_ns(const struct session_recording *recording, uint64_t now_ns)
{
    return recording->recorded_ns + (is_stopped(recording) ? 0 : now_ns - recording->span_ns);
}

static void begin_profile(struct session_recording *recording, uint64_t now_ns)
{
    recording->profile_ns = now_ns;
    recording->profile_utc_ns = clock_read_ns(CLOCK_REALTIME) - (clock_monotonic_ns() - now_ns);
    recording->recorded_ns = 0;
    recording->span_ns = now_ns;
    recording->has_begun = recording->has_recorded = !is_stopped(recording);
}

/* The clock of an interval stands still while recording is stopped. */
static void begin_span(struct session_recording *recording, const struct config *config, uint64_t now_ns)
{
    uint64_t left_ns =
        config->interval_ns - recording->recorded_ns % (config->interval_ns ? config->interval_ns : 1);
    recording->span_ns = now_ns;
    recording->start_at_ns = 0;
    recording->has_begun = recording->has_recorded = true;
    recording->changed_utc_ns = clock_read_ns(CLOCK_REALTIME);
    recording->stop_at_ns = config->duration_ns ? now_ns + config->duration_ns : 0;
    recording->renew_at_ns = config->interval_ns ? now_ns + left_ns : 0;
}

int session_control_start(struct session *session, uint64_t now_ns)
{
    struct session_recording *recording = &session->recording;
    if (!is_stopped(recording))
        return CONTROL_ALREADY;
    sampler_start(&session->sampler, now_ns);
    sig_store_relaxed(&recording->is_stopped, 0);
    if (!recording->has_begun) {
        begin_profile(recording, now_ns);
        if (session->sampler.timeline)
            timeline_clear(session->sampler.timeline, now_ns);
    }
    begin_span(recording, session->config, now_ns);
    log_add(&session->log, LOG_INFO, "recording starts");
    return 0;
}

int session_control_stop(struct session *session, uint64_t now_ns)
{
    struct session_recording *recording = &session->recording;
    if (is_stopped(recording))
        return CONTROL_ALREADY;
    sampler_stop(&session->sampler, now_ns);
    sampler_show(&session->sampler, now_ns);
    recording->recorded_ns += now_ns - recording->span_ns;
    recording->start_at_ns = recording->stop_at_ns = recording->renew_at_ns = 0;
    recording->idle_at_ns = now_ns + idle_sample_ns;
    recording->changed_utc_ns = clock_read_ns(CLOCK_REALTIME);
    sig_store_relaxed(&recording->left, 0);
    sig_store_relaxed(&recording->is_stopped, 1);
    log_add(&session->log, LOG_INFO, "recording stops");
    return 0;
}

/* A session begins by recording. A recording that waits forgets what was recorded until now. */
static void wait_to_be_started(struct session *session, uint64_t start_at_ns)
{
    struct session_recording *recording = &session->recording;
    uint64_t now_ns = clock_monotonic_ns();
    sampler_stop(&session->sampler, now_ns);
    recording->idle_at_ns = now_ns + idle_sample_ns;
    recording->start_at_ns = start_at_ns;
    recording->stop_at_ns = recording->renew_at_ns = 0;
    sig_store_relaxed(&recording->is_stopped, 1);
    if (!sampler_let_go(&session->sampler) || sampler_begin_anew(&session->sampler, now_ns) < 0)
        log_add(&session->log, LOG_WARNING, "what was before recording was started is in the profile, too");
    begin_profile(recording, now_ns);
}

void session_control_plan(struct session_recording *recording, const struct config *config, uint64_t start_ns)
{
    recording->is_stopped = config->waits || config->delay_ns > 0;
    recording->start_at_ns = config->delay_ns ? start_ns + config->delay_ns : 0;
    if (!recording->is_stopped && config->duration_ns) /* children inherit it */
        recording->stop_at_ns = start_ns + config->duration_ns;
}

void session_control_begin(struct session *session)
{
    struct session_recording *recording = &session->recording;
    const struct config *config = session->config;
    uint64_t start_at_ns = recording->start_at_ns, stop_at_ns = recording->stop_at_ns;
    bool waits = is_stopped(recording);
    if (config->interval_ns)
        session_intervals_init(&session->intervals, config->interval_keep);
    begin_profile(recording, session->birth.start_ns);
    begin_span(recording, config, session->birth.start_ns);
    if (session->birth.is_child)
        recording->stop_at_ns = stop_at_ns;
    if (waits)
        wait_to_be_started(session, start_at_ns);
}

/* ---- what is due ---- */

bool session_control_is_pending(const struct session *session)
{
    return session_requests_are_pending(&session->requests) ||
           sig_load_relaxed(&session->recording.left) >= LEFT_MANY;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns && (!b_ns || a_ns < b_ns) ? a_ns : b_ns;
}

/* When something is due by the clock, ticks left aside; 0: never. */
static uint64_t due_ns(const struct session_recording *recording)
{
    uint64_t at_ns = earlier(recording->start_at_ns, earlier(recording->stop_at_ns, recording->renew_at_ns));
    return is_stopped(recording) ? earlier(at_ns, recording->idle_at_ns) : at_ns;
}

uint64_t session_control_deadline(const struct session *session)
{
    const struct session_recording *recording = &session->recording;
    uint64_t tick_ns = is_stopped(recording) ? 0 : session->sampler.tick.deadline_ns;
    return earlier(tick_ns, due_ns(recording));
}

static bool has_come(uint64_t at_ns, uint64_t now_ns)
{
    return at_ns && now_ns >= at_ns;
}

/* One profile ends, and another begins at the same moment, even if a file cannot be written. */
static void renew_profile(struct session *session, uint64_t now_ns)
{
    struct session_recording *recording = &session->recording;
    if (!sampler_let_go(&session->sampler)) {
        recording->renew_at_ns = now_ns + renew_again_ns;
        return;
    }
    if (!is_stopped(recording)) {
        now_ns = clock_monotonic_ns();
        sampler_settle(&session->sampler, now_ns);
    }
    if (recording->has_recorded)
        session_write_interval(session, now_ns);
    session_reopen_store(session);
    if (sampler_begin_anew(&session->sampler, now_ns) < 0) /* what was written is in the next file too */
        log_add(&session->log, LOG_ERROR, "no memory to begin another profile: this one goes on");
    else {
        begin_profile(recording, now_ns);
        session_keep(session, now_ns);
    }
    recording->renew_at_ns = is_stopped(recording) ? 0 : now_ns + session->config->interval_ns;
}

/* WALLPROF_DURATION has passed. The profile is written now, because the user waits for no more, unless it is
 * to be merged with others. */
static void end_duration(struct session *session, uint64_t now_ns)
{
    bool is_part = session->config->store_is_merged && sig_load_relaxed(&session->store.is_joined) &&
                   mapped_store_is_kept(&session->sampler.mapped_store);
    session_control_stop(session, now_ns);
    if (session->config->interval_ns)
        renew_profile(session, now_ns);
    else if (!is_part)
        session_write_stopped(session, now_ns);
}

static void act_by_clock(struct session *session, uint64_t now_ns)
{
    struct session_recording *recording = &session->recording;
    if (is_stopped(recording) && has_come(recording->start_at_ns, now_ns))
        session_control_start(session, now_ns);
    if (!is_stopped(recording) && has_come(recording->stop_at_ns, now_ns))
        end_duration(session, now_ns);
    if (has_come(recording->renew_at_ns, now_ns))
        renew_profile(session, now_ns);
    if (is_stopped(recording) &&
        (has_come(recording->idle_at_ns, now_ns) || sig_load_relaxed(&recording->left) >= LEFT_MANY)) {
        sig_store_relaxed(&recording->left, 0);
        recording->idle_at_ns = now_ns + idle_sample_ns;
        sampler_idle(&session->sampler, now_ns);
    }
}

void session_control_act(struct session *session)
{
    uint64_t now_ns = clock_monotonic_ns();
    bool is_due = has_come(due_ns(&session->recording), now_ns) || session_control_is_pending(session);
    if (!is_due || session_current() != session)
        return;                                   /* it is published a moment after its thread was created */
    realtime_give_up(&session->sampler.realtime); /* this may take long */
    sampler_pause_work(&session->handshake.pause);
    session_requests_act(session);
    act_by_clock(session, clock_monotonic_ns());
    log_flush_through(&session->log, session->surroundings.stderr_handle);
    sampler_pause_rest(&session->handshake.pause);
}
