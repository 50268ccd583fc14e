/* See session_control.h. What the program's threads do comes first, then what the sampler does. */
#include "session_control.h"
#include "base/clock.h"
#include "base/futex.h"
#include "session_internal.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "sig/signal/sig_control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long a thread of the program waits. What the sampler waits for may be that thread's. */
static const uint64_t patience_ns = 10 * (uint64_t)NS_PER_S;

/* Whoever waits looks this often whether the process ends meanwhile. */
static const uint64_t wait_ns = 100 * NS_PER_MS;

/* Handlers have not left the tables of the recording that is to be forgotten: then it goes on for so long. */
static const uint64_t renew_again_ns = 10 * NS_PER_MS;

/* While it is stopped: who has gone without a word, and may have left the process to us alone. */
static const uint64_t idle_look_ns = 60 * (uint64_t)NS_PER_S;

/* And so many threads that have left are worth a look at once. */
enum { LEFT_MANY = 1024 };

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

/* ---- in threads of the program ---- */

void session_wake(struct session *session)
{
    uint32_t *word = &session->control.page->wake;
    sig_add_seq_cst(word, 1);
    futex_wake_all_shared(word);
}

static bool is_ending(struct session *session)
{
    uint32_t command = sig_load_seq_cst(&session->command);
    return sig_load_seq_cst(&session->finishing) || command == COMMAND_FINISH || command == COMMAND_LEAVE ||
           (sig_load_seq_cst(&session->phase) == PHASE_RUNNING && session->enter_status < 0);
}

/* This process's, while it is recorded; NULL in whatever else has its memory. */
static struct session *recorded_session(void)
{
    struct session *session = session_current();
    return session && session->pid == sig_syscall4(SYS_getpid, 0, 0, 0, 0) && !is_ending(session) ? session
                                                                                                  : NULL;
}

/* The right to ask. A handler that interrupts a call of its own thread's would wait for ever. */
static int take_turn(struct session *session, uint64_t deadline_ns)
{
    struct session_request *request = &session->control.request;
    uint32_t tid = (uint32_t)sig_syscall4(SYS_gettid, 0, 0, 0, 0), turn = 0;
    while (!sig_cas_acq_rel(&request->turn, &turn, tid)) {
        uint64_t now_ns = clock_monotonic_ns();
        if (turn == tid)
            return CONTROL_BUSY;
        if (is_ending(session))
            return CONTROL_NOT_RECORDED;
        if (now_ns >= deadline_ns)
            return CONTROL_TIMED_OUT;
        futex_wait(&request->turn, turn, now_ns + wait_ns);
        turn = 0;
    }
    return 0;
}

static void end_turn(struct session_request *request)
{
    sig_store_seq_cst(&request->state, REQUEST_NONE);
    sig_store_seq_cst(&request->turn, 0);
    futex_wake_all(&request->turn);
}

/* What is being done is done without us: the sampler ends the turn then. */
static int give_up(struct session *session, struct session_request *request)
{
    uint32_t asked = REQUEST_ASKED, taken = REQUEST_TAKEN;
    int result = is_ending(session) ? CONTROL_NOT_RECORDED : CONTROL_TIMED_OUT;
    if (sig_cas_acq_rel(&request->state, &taken, REQUEST_LEFT))
        return result;
    if (!sig_cas_acq_rel(&request->state, &asked, REQUEST_NONE) && asked == REQUEST_DONE)
        result = request->result;
    end_turn(request);
    return result;
}

static int wait_for_answer(struct session *session, uint64_t deadline_ns)
{
    struct session_request *request = &session->control.request;
    uint32_t state;
    while ((state = sig_load_seq_cst(&request->state)) != REQUEST_DONE) {
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= deadline_ns || (state == REQUEST_ASKED && is_ending(session)))
            return give_up(session, request);
        futex_wait(&request->state, state, now_ns + wait_ns);
    }
    int result = request->result;
    end_turn(request);
    return result;
}

int session_control_ask(enum control_kind kind, const char *path)
{
    struct session *session = recorded_session();
    if (!session)
        return CONTROL_NOT_RECORDED;
    if (session_is_held_here()) /* by the fork that this handler interrupts: the sampler could not answer */
        return CONTROL_BUSY;
    uint64_t deadline_ns = clock_monotonic_ns() + patience_ns;
    struct session_request *request = &session->control.request;
    int status = take_turn(session, deadline_ns);
    if (status < 0)
        return status;
    request->kind = kind;
    strcpy(request->path, path ? path : "");
    sig_store_seq_cst(&request->state, REQUEST_ASKED);
    session_wake(session);
    return wait_for_answer(session, deadline_ns);
}

int session_control_is_active(void)
{
    struct session *session = recorded_session();
    return session ? !sig_load_relaxed(&session->control.is_stopped) : CONTROL_NOT_RECORDED;
}

void session_control_note_left(struct session *session)
{
    struct session_control *control = &session->control;
    if (sig_load_relaxed(&control->is_stopped) && sig_add_relaxed(&control->left, 1) + 1 == LEFT_MANY)
        session_wake(session);
}

/* ---- its life ---- */

int session_control_init(struct session *session)
{
    session->control.page = scratch_alloc(CONTROL_PAGE_BYTES);
    return session->control.page ? 0 : -ENOMEM;
}

void session_control_discard(struct session *session)
{
    struct session_control *control = &session->control;
    scratch_free(control->page, CONTROL_PAGE_BYTES);
    scratch_free(control->kept,
                 sizeof(*control->kept) * session->config.interval_keep * (1 + CONFIG_MORE_OUTS_MAX));
}

/* What is still to come by the clock comes at the same moment. */
void session_control_inherit(struct session *session, const struct session *parent)
{
    struct session_control *control = &session->control;
    control->is_stopped = sig_load_relaxed(&parent->control.is_stopped);
    control->start_at_ns = parent->control.start_at_ns;
    control->stop_at_ns = parent->control.stop_at_ns;
}

/* A nameless file that nobody can make smaller under our hands. Kernels that do not know the one flag want it
 * left out (before 6.3), and later ones complain where it is. */
static int open_page(void)
{
    int fd = memfd_create(CONTROL_PAGE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0)
        fd = memfd_create(CONTROL_PAGE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, CONTROL_PAGE_BYTES) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
        fchmod(fd, S_IRUSR | S_IWUSR) == 0)
        return fd;
    close(fd);
    return -1;
}

/*
 * The file takes the place of the memory that was there: nobody has to be told of another address, and
 * whoever wakes us at this moment has left his word elsewhere, which is looked at after this. The descriptor
 * stays open, by which the tool finds it.
 */
void session_control_open(struct session *session)
{
    struct control_page *page = session->control.page;
    int fd = open_page();
    if (fd < 0)
        return;
    if (mmap(page, CONTROL_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
        close(fd);
        return;
    }
    session->control.answered = 0;
    sig_store_seq_cst(&page->layout, CONTROL_PAGE_LAYOUT);
}

/* ---- starting and stopping ---- */

uint64_t session_control_recorded_ns(const struct session *session, uint64_t now_ns)
{
    const struct session_control *control = &session->control;
    return control->recorded_ns + (control->is_stopped ? 0 : now_ns - control->span_ns);
}

static bool is_stopped(const struct session *session)
{
    return sig_load_relaxed(&session->control.is_stopped);
}

/* A profile begins. */
static void begin_profile(struct session *session, uint64_t now_ns)
{
    struct session_control *control = &session->control;
    control->profile_ns = now_ns;
    control->profile_utc_ns = clock_read_ns(CLOCK_REALTIME) - (clock_monotonic_ns() - now_ns);
    control->recorded_ns = 0;
    control->span_ns = now_ns;
    control->has_begun = control->has_recorded = !is_stopped(session);
}

/* The clock of an interval stands still while it is stopped. */
static void begin_span(struct session *session, uint64_t now_ns)
{
    struct session_control *control = &session->control;
    const struct wp_config *config = &session->config;
    uint64_t left_ns =
        config->interval_ns - control->recorded_ns % (config->interval_ns ? config->interval_ns : 1);
    control->span_ns = now_ns;
    control->start_at_ns = 0;
    control->has_begun = control->has_recorded = true;
    control->changed_utc_ns = clock_read_ns(CLOCK_REALTIME);
    control->stop_at_ns = config->duration_ns ? now_ns + config->duration_ns : 0;
    control->renew_at_ns = config->interval_ns ? now_ns + left_ns : 0;
}

static int start(struct session *session, uint64_t now_ns)
{
    struct session_control *control = &session->control;
    if (!is_stopped(session))
        return CONTROL_ALREADY;
    sampler_start(&session->sampler, now_ns);
    sig_store_relaxed(&control->is_stopped, 0);
    if (!control->has_begun) {
        begin_profile(session, now_ns);
        if (session->sampler.timeline)
            timeline_clear(session->sampler.timeline, now_ns);
    }
    begin_span(session, now_ns);
    log_add(&session->log, LOG_INFO, "recording starts");
    return 0;
}

static int stop(struct session *session, uint64_t now_ns)
{
    struct session_control *control = &session->control;
    if (is_stopped(session))
        return CONTROL_ALREADY;
    sampler_stop(&session->sampler, now_ns);
    sampler_show(&session->sampler, now_ns);
    control->recorded_ns += now_ns - control->span_ns;
    control->start_at_ns = control->stop_at_ns = control->renew_at_ns = 0;
    control->idle_at_ns = now_ns + idle_look_ns;
    control->changed_utc_ns = clock_read_ns(CLOCK_REALTIME);
    sig_store_relaxed(&control->left, 0);
    sig_store_relaxed(&control->is_stopped, 1);
    log_add(&session->log, LOG_INFO, "recording stops");
    return 0;
}

/* A session begins with everything recorded; what waits has nothing to do with what was until now. */
static void wait_to_be_started(struct session *session, uint64_t start_at_ns)
{
    struct session_control *control = &session->control;
    uint64_t now_ns = clock_monotonic_ns();
    sampler_stop(&session->sampler, now_ns);
    control->idle_at_ns = now_ns + idle_look_ns;
    control->start_at_ns = start_at_ns;
    control->stop_at_ns = control->renew_at_ns = 0;
    sig_store_relaxed(&control->is_stopped, 1);
    if (!sampler_let_go(&session->sampler) || sampler_begin_anew(&session->sampler, now_ns) < 0)
        log_add(&session->log, LOG_WARNING, "what was before recording was started is in the profile, too");
    begin_profile(session, now_ns);
}

void session_control_begin(struct session *session)
{
    struct session_control *control = &session->control;
    const struct wp_config *config = &session->config;
    uint64_t start_at_ns = control->start_at_ns, stop_at_ns = control->stop_at_ns;
    bool waits = is_stopped(session);
    if (!session->is_child) {
        waits = config->waits || config->delay_ns > 0;
        start_at_ns = config->delay_ns ? session->start_ns + config->delay_ns : 0;
    }
    if (config->interval_ns && config->interval_keep)
        control->kept =
            scratch_alloc(sizeof(*control->kept) * config->interval_keep * (1 + CONFIG_MORE_OUTS_MAX));
    control->toggles = sig_control_count();
    sig_store_relaxed(&control->is_stopped, 0);
    begin_profile(session, session->start_ns);
    begin_span(session, session->start_ns);
    if (session->is_child)
        control->stop_at_ns = stop_at_ns;
    if (waits)
        wait_to_be_started(session, start_at_ns);
}

/* ---- what is due ---- */

bool session_control_is_asked(const struct session *session)
{
    const struct session_control *control = &session->control;
    return sig_load_seq_cst(&control->request.state) == REQUEST_ASKED ||
           sig_load_seq_cst(&control->page->asked) != control->answered ||
           sig_control_count() != control->toggles || sig_load_relaxed(&control->left) >= LEFT_MANY;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns && (!b_ns || a_ns < b_ns) ? a_ns : b_ns;
}

/* By the clock, the next tick left aside; 0: nothing. */
static uint64_t due_ns(const struct session_control *control)
{
    uint64_t at_ns = earlier(control->start_at_ns, earlier(control->stop_at_ns, control->renew_at_ns));
    return sig_load_relaxed(&control->is_stopped) ? earlier(at_ns, control->idle_at_ns) : at_ns;
}

uint64_t session_control_deadline(const struct session *session)
{
    uint64_t tick_ns = is_stopped(session) ? 0 : session->sampler.tick.deadline_ns;
    return earlier(tick_ns, due_ns(&session->control));
}

static bool has_come(uint64_t at_ns, uint64_t now_ns)
{
    return at_ns && now_ns >= at_ns;
}

/* One profile ends, and another begins at the same moment. A file that cannot be written does not stop that.
 */
static void renew(struct session *session, uint64_t now_ns)
{
    struct session_control *control = &session->control;
    if (!sampler_let_go(&session->sampler)) {
        control->renew_at_ns = now_ns + renew_again_ns;
        return;
    }
    if (!is_stopped(session)) {
        now_ns = clock_monotonic_ns();
        sampler_settle(&session->sampler, now_ns);
    }
    if (control->has_recorded)
        session_write_interval(session, now_ns);
    session_begin_another_store(session);
    if (sampler_begin_anew(&session->sampler, now_ns) < 0) /* it is written again, with what follows */
        log_add(&session->log, LOG_ERROR, "no memory to begin another profile: this one goes on");
    else {
        begin_profile(session, now_ns);
        session_keep(session, now_ns);
    }
    control->renew_at_ns = is_stopped(session) ? 0 : now_ns + session->config.interval_ns;
}

/* Its time has passed. The profile is written now: who asked for so much waits for no more; unless it is to
 * be one with others'. */
static void end_duration(struct session *session, uint64_t now_ns)
{
    bool is_part = session->config.store_is_merged && sig_load_relaxed(&session->is_joined) &&
                   live_is_kept(&session->sampler.live);
    stop(session, now_ns);
    if (session->config.interval_ns)
        renew(session, now_ns);
    else if (!is_part)
        session_write_stopped(session, now_ns);
}

static void by_the_clock(struct session *session, uint64_t now_ns)
{
    struct session_control *control = &session->control;
    if (is_stopped(session) && has_come(control->start_at_ns, now_ns))
        start(session, now_ns);
    if (!is_stopped(session) && has_come(control->stop_at_ns, now_ns))
        end_duration(session, now_ns);
    if (has_come(control->renew_at_ns, now_ns))
        renew(session, now_ns);
    if (is_stopped(session) &&
        (has_come(control->idle_at_ns, now_ns) || sig_load_relaxed(&control->left) >= LEFT_MANY)) {
        sig_store_relaxed(&control->left, 0);
        control->idle_at_ns = now_ns + idle_look_ns;
        sampler_idle(&session->sampler, now_ns);
    }
}

static int carry_out(struct session *session, enum control_kind kind, const char *path)
{
    uint64_t now_ns = clock_monotonic_ns();
    switch (kind) {
    case CONTROL_START:
        return start(session, now_ns);
    case CONTROL_STOP:
        return stop(session, now_ns);
    case CONTROL_DUMP:
        if (!session->control.has_begun)
            return CONTROL_NOTHING;
        return -session_write_dump(session, path, now_ns);
    default:
        return kind == CONTROL_STATUS ? 0 : EINVAL;
    }
}

static void by_request(struct session *session)
{
    struct session_request *request = &session->control.request;
    uint32_t asked = REQUEST_ASKED, taken = REQUEST_TAKEN;
    if (!sig_cas_acq_rel(&request->state, &asked, REQUEST_TAKEN))
        return;
    request->result = carry_out(session, request->kind, request->path);
    if (!sig_cas_acq_rel(&request->state, &taken, REQUEST_DONE))
        end_turn(request); /* nobody waits any more */
    futex_wake_all(&request->state);
}

static void by_signal(struct session *session)
{
    struct session_control *control = &session->control;
    uint32_t count = sig_control_count(), times = count - control->toggles;
    control->toggles = count;
    if (times % 2 == 1) {
        uint64_t now_ns = clock_monotonic_ns();
        if (is_stopped(session))
            start(session, now_ns);
        else
            stop(session, now_ns);
    }
    if (sig_control_is_given_back() && !control->is_loss_reported) {
        control->is_loss_reported = true;
        log_add(&session->log, LOG_WARNING,
                "the program uses signal %d itself: it does not start and stop the recording any more",
                session->config.control_signal);
    }
}

static void tell_status(struct session *session, struct control_status *ret)
{
    const struct session_control *control = &session->control;
    const struct wp_sampler *sampler = &session->sampler;
    char buffer[PATH_MAX];
    ret->pid = session->pid;
    ret->is_recording = !is_stopped(session);
    ret->since_utc_ns = control->changed_utc_ns ? control->changed_utc_ns : session->start_utc_ns;
    ret->recorded_ns = session_control_recorded_ns(session, clock_monotonic_ns());
    ret->threads_live = sampler->threads->live_count;
    ret->threads_seen = sampler->thread_count;
    ret->samples = sampler->fold.samples;
    ret->files = control->files;
    snprintf(ret->program, sizeof(ret->program), "%s", output_program_name(buffer, sizeof(buffer)));
    snprintf(ret->out, sizeof(ret->out), "%.*s/%s", PATH_MAX - NAME_MAX - 2, session->output.directory,
             session->output.name);
}

/* What is asked is read once; the path ends in our copy, whatever it does there. */
static void by_page(struct session *session)
{
    struct control_page *page = session->control.page;
    char path[PATH_MAX];
    uint32_t asked = sig_load_seq_cst(&page->asked);
    if (asked == session->control.answered)
        return;
    uint32_t kind = sig_load_relaxed(&page->kind);
    memcpy(path, page->path, sizeof(path));
    path[sizeof(path) - 1] = '\0';
    bool is_bad = kind == CONTROL_DUMP && *path && *path != '/';
    page->result = is_bad ? EINVAL : carry_out(session, (enum control_kind)kind, path);
    tell_status(session, &page->status);
    session->control.answered = asked;
    sig_store_seq_cst(&page->answered, asked);
    futex_wake_all_shared(&page->answered);
}

void session_control_act(struct session *session)
{
    uint64_t now_ns = clock_monotonic_ns();
    bool is_due = has_come(due_ns(&session->control), now_ns) || session_control_is_asked(session);
    if (!is_due || session_current() != session)
        return; /* until it is published the log is the starting thread's */
    standstill_work(&session->standstill);
    by_signal(session);
    by_request(session);
    by_page(session);
    by_the_clock(session, clock_monotonic_ns());
    log_flush_through(&session->log, session->stderr_handle);
    standstill_rest(&session->standstill);
}

void session_control_end(struct session *session)
{
    struct session_request *request = &session->control.request;
    uint32_t asked = REQUEST_ASKED;
    if (!sig_cas_acq_rel(&request->state, &asked, REQUEST_TAKEN))
        return;
    request->result = CONTROL_NOT_RECORDED;
    uint32_t taken = REQUEST_TAKEN;
    if (!sig_cas_acq_rel(&request->state, &taken, REQUEST_DONE))
        end_turn(request);
    futex_wake_all(&request->state);
}
