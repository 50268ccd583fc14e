/* The sampler thread: what it makes its own, its ticks, and its end. */
#include "session_internal.h"
#include "base/clock.h"
#include "base/futex.h"
#include "modules/loader.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "sig/signal/sig_numbers.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

enum { DESCRIPTORS_PLENTY = 32 };

/* An answer that has not come by then is taken at a later tick. */
static const uint64_t answer_patience_ns = 20 * NS_PER_MS;

/* let_threads_come_back. On a busy machine a tick may be late, too, but hardly that late. */
static const uint64_t stopped_ns = 50 * NS_PER_MS, coming_back_ns = 10 * NS_PER_MS;

/* ---- its own surroundings ---- */

/*
 * A root and a working directory of our own: what we open at the end is found where it was at the start. With
 * none of the program's we are not in the way of setns(2), which wants them unshared. The directory itself is
 * let go of, so that its file system can be unmounted.
 */
static void leave_directories(void)
{
    if (sig_syscall4(SYS_unshare, CLONE_FS, 0, 0, 0) == 0 && chdir("/") < 0)
        return; /* a root that may not be entered: then we stay */
}

/* 0 to 2, so that no file of ours gets one of these numbers, unless there are hardly any others. */
static void fill_standard_descriptors(struct session *session)
{
    struct rlimit files = {.rlim_cur = 0};
    getrlimit(RLIMIT_NOFILE, &files);
    session->has_fillers = files.rlim_cur >= DESCRIPTORS_PLENTY;
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        close(fd);
        if (session->has_fillers)
            open("/dev/null", O_RDWR);
    }
}

/*
 * A descriptor table of our own: the program sees none of ours, and we hold none of its open. False when
 * there is no table to be had.
 */
static bool leave_descriptors(struct session *session)
{
    session->stderr_handle = -1;
    if (session->config.is_strict ||
        sig_syscall4(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_UNSHARE, 0) < 0)
        return false; /* before Linux 5.9: none of ours is open between the start and the end */
    session->stderr_handle = log_open_stderr_handle();
    fill_standard_descriptors(session);
    return true;
}

/* Before a file is written: by now the limit may be so low that every number counts. */
static void free_standard_descriptors(struct session *session)
{
    struct rlimit files = {.rlim_cur = 0};
    getrlimit(RLIMIT_NOFILE, &files);
    if (!session->has_fillers || files.rlim_cur >= DESCRIPTORS_PLENTY)
        return;
    session->has_fillers = false;
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        close(fd);
}

/*
 * A short time slice lets the scheduler run us soon after the deadline even where all cores are busy; it
 * takes nothing from anybody. Linux 6.12 and later take sched_runtime as a wish (man sched_setattr); others
 * ignore it. The structure is the kernel's SCHED_ATTR_SIZE_VER0; the C library has none.
 */
static void ask_for_short_slices(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } attributes = {.size = sizeof(attributes)};
    if (sig_syscall4(SYS_sched_getattr, 0, (long)&attributes, sizeof(attributes), 0) < 0 ||
        attributes.policy != SCHED_OTHER)
        return;
    attributes.runtime_ns = 100 * NS_PER_US;
    sig_syscall4(SYS_sched_setattr, 0, (long)&attributes, 0, 0);
}

/* ---- before the first tick ---- */

static uint64_t random_seed(const struct session *session)
{
    uint64_t seed = 0;
    if (session->config.has_seed)
        return session->config.seed;
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
        seed = session->start_ns ^ (uint64_t)session->pid << 32;
    return seed;
}

int session_prepare(struct session *session)
{
    uint64_t seed = random_seed(session);
    int status = session_choose_output(session);
    if (status < 0)
        return status;
    session_choose_store(session);
    status = sampler_init(&session->sampler, &session->config, &session->threads, session->start_ns, seed);
    if (status < 0)
        return status;
    sig_modules_use_loader(loader_find_object());
    status = sig_handler_install(session->config.signal, &session->sampler.observer.slots,
                                 (uint32_t)(seed >> 7), session->libc.sigaction);
    session->signal = sig_numbers_current();
    return status;
}

void session_report_settings(struct session *session)
{
    log_add(&session->log, LOG_DEBUG,
            "%u ticks a second, up to %u threads each, at most %g %% overhead (0: any), signal %d, to %s/%s",
            session->config.hz, session->config.threads, session->config.overhead_ppm / 1e4, session->signal,
            session->output.directory, session->output.name);
}

void session_report_failure(struct session *session, int status)
{
    if (*session->output.name)
        log_add(&session->log, LOG_ERROR, "cannot record: %s", strerrordesc_np(-status));
}

static int enter(struct session *session)
{
    if (!session->config.is_strict) {
        ask_for_short_slices();
        leave_directories();
    }
    bool has_own_descriptors = session->has_own_descriptors = leave_descriptors(session);
    session_check_output(session, has_own_descriptors);
    if (has_own_descriptors)
        session_control_open(session);
    standstill_work(&session->standstill);
    int status = 0;
    if (session->is_resumed) {
        sampler_resume(&session->sampler, has_own_descriptors);
        session_keep_on(session);
    } else
        status = sampler_enter(&session->sampler, has_own_descriptors);
    standstill_rest(&session->standstill);
    return status;
}

/* ---- a tick ---- */

void session_sleep_until(struct session *session, uint64_t deadline_ns)
{
    uint32_t *wake = &session->control.page->wake;
    for (;;) {
        uint32_t seen = sig_load_seq_cst(wake);
        if (sig_load_seq_cst(&session->command) != COMMAND_RUN || session_control_is_asked(session) ||
            (deadline_ns && clock_monotonic_ns() >= deadline_ns))
            return;
        futex_wait_shared(wake, seen, deadline_ns);
    }
}

/* What signal threads are asked with from now on, if that has changed; and that some are not asked. */
static void report_signal(struct session *session)
{
    const struct wp_observer *observer = &session->sampler.observer;
    int before = session->signal, now = observer->signal;
    uint64_t taken = session->sampler.signals_taken & sig_numbers_bit(before);
    session->signal = now;
    if (before != now && now == 0)
        log_add(&session->log, LOG_WARNING,
                "signal %d was taken away by a system call of the program's, and no other is free: from now "
                "on only "
                "waiting threads are seen",
                before);
    else if (before != now && taken)
        log_add(&session->log, LOG_WARNING,
                "signal %d was taken away by a system call of the program's: threads are asked with signal "
                "%d now",
                before, now);
    else if (before != now)
        log_add(&session->log, LOG_INFO,
                "the program uses signal %d itself: threads are asked with signal %d now", before, now);
    if (observer->filled_below && !session->is_filled_below_reported)
        log_add(&session->log, LOG_INFO,
                "a thread blocks all signals past the C library: it is seen while it waits, and else [not "
                "responding]");
    session->is_filled_below_reported |= observer->filled_below != 0;
}

/*
 * A tick that is very late is one that the process was stopped over (SIGSTOP). What its threads waited in
 * ends with EINTR then, some of it (signal(7)): they are to come back from it before they are asked, or it
 * would be taken for our doing.
 */
static void let_threads_come_back(struct session *session)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns > session->sampler.tick.deadline_ns + stopped_ns)
        session_sleep_until(session, now_ns + coming_back_ns);
}

/* At the tick after: the one before it was held up until the fork was over, or came before it. */
static void note_forks(struct session *session, uint64_t now_ns)
{
    struct wp_timeline *timeline = session->sampler.timeline;
    uint32_t forks = sig_load_relaxed(&session->forks), count = forks - session->forks_noted;
    if (!timeline || count == 0)
        return;
    session->forks_noted = forks;
    const struct timeline_event event = {
        .begin_ns = now_ns, .end_ns = now_ns, .number = count, .kind = EVENT_FORK};
    timeline_event(timeline, &event);
}

static void one_tick(struct session *session)
{
    struct wp_sampler *sampler = &session->sampler;
    let_threads_come_back(session);
    standstill_work(&session->standstill);
    uint64_t now_ns = clock_monotonic_ns();
    session_keep(session, now_ns);
    note_forks(session, now_ns);
    sampler_restrain(sampler, now_ns);
    tick_advance(&sampler->tick, now_ns, &sampler->random);
    sampler_send(sampler, now_ns);
    if (session_current() == session) /* until it is published the log is the starting thread's */
        report_signal(session);
    if (!sampler_awaits_answers(sampler, now_ns)) {
        sampler_skip_ticks(sampler, now_ns);
        standstill_rest(&session->standstill);
        return;
    }
    standstill_rest(&session->standstill);

    uint64_t patience_ns = now_ns + answer_patience_ns;
    observe_wait(&sampler->observer,
                 sampler->tick.deadline_ns < patience_ns ? sampler->tick.deadline_ns : patience_ns);
    standstill_work(&session->standstill);
    sampler_collect(sampler, clock_monotonic_ns());
    sampler_skip_ticks(sampler, now_ns);
    standstill_rest(&session->standstill);
}

/* ---- from beginning to end ---- */

static void set_phase(struct session *session, enum session_phase phase)
{
    sig_store_seq_cst(&session->phase, phase);
    futex_wake_all(&session->phase);
}

/*
 * The C library calls exit() when the last thread ends; but it still counts those that have ended by the bare
 * system call, and then never does.
 */
static bool is_last_to_write(struct session *session)
{
    uint32_t no = 0;
    return session->sampler.was_left_silently && sig_cas_acq_rel(&session->finishing, &no, 1);
}

/* While it is kept in a file it says all the time that it is there; but not while it is stopped. */
static void sleep_until_tick(struct session *session)
{
    const struct wp_sampler *sampler = &session->sampler;
    while (live_is_kept(&sampler->live) && !sampler->is_stopped) {
        uint64_t now_ns = clock_monotonic_ns(), next_ns = now_ns + sampler_beat_period_ns(sampler);
        live_beat_alone(&session->sampler.live, now_ns);
        if (next_ns >= session_control_deadline(session) ||
            sig_load_seq_cst(&session->command) != COMMAND_RUN || session_control_is_asked(session))
            break;
        session_sleep_until(session, next_ns);
    }
    session_sleep_until(session, session_control_deadline(session));
}

static void write_so_far(struct session *session)
{
    uint32_t asked = COMMAND_WRITE;
    standstill_work(&session->standstill);
    free_standard_descriptors(session);
    session_write_so_far(session);
    log_flush_through(&session->log, session->stderr_handle);
    standstill_rest(&session->standstill);
    sig_cas_acq_rel(&session->command, &asked, COMMAND_RUN); /* unless it is the end by now */
    futex_wake_all(&session->command);
}

static bool is_recording(struct session *session)
{
    if (sig_load_seq_cst(&session->command) == COMMAND_WRITE)
        write_so_far(session);
    return sig_load_seq_cst(&session->command) == COMMAND_RUN;
}

static bool is_tick_due(const struct session *session)
{
    const struct wp_sampler *sampler = &session->sampler;
    return !sampler->is_stopped && clock_monotonic_ns() >= sampler->tick.deadline_ns;
}

void *session_run(void *argument)
{
    struct session *session = argument;
    prctl(PR_SET_NAME, "wallprof");
    int status = session->is_child && !session->is_resumed ? session_be_born(session) : 0;
    session->enter_status = status == 0 ? enter(session) : status;
    if (session->enter_status == 0 && !session->is_resumed)
        session_control_begin(session);
    set_phase(session, PHASE_RUNNING);
    if (session->enter_status < 0) {
        if (session->is_child)
            session_report_failure(session, session->enter_status);
        return NULL;
    }
    while (is_recording(session)) {
        sleep_until_tick(session);
        if (sig_load_seq_cst(&session->command) == COMMAND_RUN)
            session_control_act(session);
        if (sig_load_seq_cst(&session->command) == COMMAND_RUN && is_tick_due(session))
            one_tick(session);
        uint32_t run = COMMAND_RUN;
        if (sampler_is_deserted(&session->sampler))
            sig_cas_acq_rel(&session->command, &run, COMMAND_FINISH);
    }
    standstill_work(&session->standstill);
    if (sig_load_seq_cst(&session->command) == COMMAND_FINISH || is_last_to_write(session)) {
        free_standard_descriptors(session);
        session_close_and_write(session);
        log_flush_through(&session->log, session->stderr_handle);
    }
    if (sig_load_seq_cst(&session->command) == COMMAND_PAUSE)
        sampler_pause(&session->sampler);
    live_lose_file(&session->sampler.live);
    standstill_rest(&session->standstill);
    return NULL;
}
