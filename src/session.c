/*
 * The sampler thread and the program's threads meet in four words: `hold` and `busy` (fork and exec against a
 * tick), `command` (start and end), `phase` (how far the sampler is). All are seq_cst; nothing else is
 * shared.
 */
#include "session.h"
#include "clock.h"
#include "export.h"
#include "futex.h"
#include "loader.h"
#include "log.h"
#include "output.h"
#include "perf_map.h"
#include "sampler.h"
#include "sig_arch.h"
#include "sig_atomic.h"
#include "sink.h"
#include "standstill.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

extern void *__libc_stack_end; /* ld.so: the top of the main thread's stack */

enum { SAMPLER_STACK_BYTES = 1024 * 1024, COMMAND_TEXT_BYTES = 512 };

/* The kernel keeps at least this much address space below the main stack's top for it (mmap_base). */
static const uint64_t main_stack_reach_bytes = 128U << 20;

/*
 * How long a forked child waits for its sampler to run: at its start, so that it is recorded from the start,
 * and at its end. A sampler that does not run by then does not because the loader's list was locked at the
 * fork (wait_for_loader), and never will.
 */
static const uint64_t child_start_patience_ns = 20 * NS_PER_MS;
static const uint64_t child_end_patience_ns = 500 * NS_PER_MS;

/* An answer that has not come by then is taken at a later tick. */
static const uint64_t answer_patience_ns = 20 * NS_PER_MS;

enum command { COMMAND_RUN, COMMAND_FINISH, COMMAND_LEAVE };
enum phase { PHASE_STARTING, PHASE_RUNNING };

struct session {
    struct session_libc libc;
    struct wp_config config;
    struct wp_log log;
    struct wp_threads threads;
    struct wp_sampler sampler;
    struct wp_thread *main_thread;
    pthread_t thread;
    pid_t pid;
    uint64_t start_ns, start_utc_ns, end_ns;
    struct perf_maps perf_maps;
    struct wp_standstill standstill;
    uint32_t command;   /* atomic, futex: enum command */
    uint32_t phase;     /* atomic, futex: enum phase */
    uint32_t finishing; /* atomic: session_finish has begun */
    int enter_status;   /* of sampler_enter, once the phase is PHASE_RUNNING */
    bool is_child;      /* of a fork */
    struct wp_output output;
    int directory_fd;        /* of the output, in the sampler's descriptor table */
    int stderr_handle;       /* of the program's stderr, in the sampler's descriptor table; -1 without */
    bool is_output_reported; /* that it cannot be written */
    char command_text[COMMAND_TEXT_BYTES];
};

/* The one session of this process; NULL before the first start and after a failed one. Threads that were
 * there before it (of a library's constructor) find it when it is complete. */
static struct session *current;

static struct session *current_session(void)
{
    return sig_load_acquire(&current); /* partner: the release in start */
}

/* ---- small helpers ---- */

static void set_phase(struct session *session, enum phase phase)
{
    sig_store_seq_cst(&session->phase, phase);
    futex_wake_all(&session->phase);
}

/* Whether the sampler runs, at the latest at the deadline (0: none). */
static bool wait_for_sampler(struct session *session, uint64_t deadline_ns)
{
    uint32_t seen;
    while ((seen = sig_load_seq_cst(&session->phase)) != PHASE_RUNNING) {
        if (deadline_ns && clock_monotonic_ns() >= deadline_ns)
            return false;
        futex_wait(&session->phase, seen, deadline_ns);
    }
    return true;
}

/* ---- standing still --------------------------------------------------------------------------------------
 */

void session_hold(void)
{
    struct session *session = current_session();
    if (session && session->pid == getpid())
        standstill_hold(&session->standstill);
}

void session_release(void)
{
    struct session *session = current_session();
    if (session && session->pid == getpid())
        standstill_release(&session->standstill);
}

/* ---- the sampler thread ---- */

/*
 * A descriptor table of our own: the program sees none of ours, and we hold none of its open. Descriptors 0
 * to 2 are filled, so that no file of ours gets one of these numbers. False when there is none to be had.
 */
static bool leave_descriptors(struct session *session)
{
    session->stderr_handle = -1;
    if (sig_syscall4(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_UNSHARE, 0) < 0)
        return false; /* before Linux 5.9: ours are close-on-exec and as few as two */
    session->stderr_handle = log_open_stderr_handle();
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        close(fd);
        open("/dev/null", O_RDWR);
    }
    return true;
}

static void sleep_until(struct session *session, uint64_t deadline_ns)
{
    while (sig_load_seq_cst(&session->command) == COMMAND_RUN && clock_monotonic_ns() < deadline_ns)
        futex_wait(&session->command, COMMAND_RUN, deadline_ns);
}

static void one_tick(struct session *session)
{
    struct wp_sampler *sampler = &session->sampler;
    standstill_work(&session->standstill);
    uint64_t now_ns = clock_monotonic_ns();
    sampler_restrain(sampler, now_ns);
    tick_advance(&sampler->tick, now_ns, &sampler->random);
    sampler_send(sampler, now_ns);
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

static int write_profile(struct session *session, const char *restraint)
{
    struct export_request request = {
        .sampler = &session->sampler,
        .labels = session->config.labels,
        .start_utc_ns = session->start_utc_ns,
        .duration_ns = session->end_ns - session->start_ns,
        .restraint = restraint,
        .command = session->command_text,
        .perf_maps = &session->perf_maps,
        .log = &session->log,
        .directory_fd = session->directory_fd,
        .name = session->output.name,
    };
    return export_write(&request);
}

/* One line for one problem: what was found at the start is not said again at the end. */
static void report_output(struct session *session, int error)
{
    const struct wp_output *output = &session->output;
    if (error < 0 && !session->is_output_reported)
        log_add(&session->log, LOG_ERROR, "the profile cannot be written to %s/%s: %s", output->directory,
                output->name, strerrordesc_np(-error));
    if (error == 0)
        log_add(&session->log, LOG_INFO, "profile written to %s/%s", output->directory, output->name);
    session->is_output_reported |= error < 0;
}

static void close_and_write(struct session *session)
{
    char restraint[RESTRAINT_TEXT_BYTES];
    session->end_ns = clock_monotonic_ns();
    sampler_close(&session->sampler, session->end_ns);
    restraint_describe(&session->sampler.restraint, session->start_ns, session->end_ns, restraint);
    if (session->directory_fd < 0)
        session->directory_fd = open(session->output.directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    report_output(session, session->directory_fd < 0 ? -errno : write_profile(session, restraint));
    if (*restraint)
        log_add(&session->log, LOG_INFO, "%s", restraint);
    if (session->sampler.tree.overflows > 0)
        log_add(
            &session->log, LOG_WARNING,
            "the profile is full: %llu stacks were cut short at [overflow]; a larger WALLPROF_MEM holds more",
            (unsigned long long)session->sampler.tree.overflows);
}

static void check_output(struct session *session)
{
    session->directory_fd = open(session->output.directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int error = session->directory_fd < 0 ? -errno : sink_check(session->directory_fd, session->output.name);
    if (error < 0)
        report_output(session, error);
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

/*
 * Until the loader's list has been free for a moment. In the child of a fork that may be never: a thread that
 * was looking at the list, and is not in the child, has left it locked, and the C library does not mend that
 * (glibc 2.36: _dl_load_write_lock).
 */
static void wait_for_loader(void)
{
    struct loader_state state;
    loader_ask(&state);
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

static void *sampler_main(void *argument)
{
    struct session *session = argument;
    uint32_t run = COMMAND_RUN;
    prctl(PR_SET_NAME, "wallprof");
    ask_for_short_slices();
    bool has_own_descriptors = leave_descriptors(session);
    check_output(session);
    if (session->is_child)
        wait_for_loader(); /* not while anybody could wait for us */
    standstill_work(&session->standstill);
    session->enter_status = sampler_enter(&session->sampler, has_own_descriptors);
    standstill_rest(&session->standstill);
    set_phase(session, PHASE_RUNNING);
    if (session->enter_status < 0)
        return NULL;
    while (sig_load_seq_cst(&session->command) == COMMAND_RUN) {
        sleep_until(session, session->sampler.tick.deadline_ns);
        if (sig_load_seq_cst(&session->command) == COMMAND_RUN)
            one_tick(session);
        if (sampler_is_deserted(&session->sampler))
            sig_cas_acq_rel(&session->command, &run, COMMAND_FINISH);
    }
    standstill_work(&session->standstill);
    if (sig_load_seq_cst(&session->command) == COMMAND_FINISH || is_last_to_write(session)) {
        close_and_write(session);
        log_flush_through(&session->log, session->stderr_handle);
    }
    standstill_rest(&session->standstill);
    return NULL;
}

/* Creates the sampler with every signal blocked, so that it never runs a handler of the program. */
static int create_sampler(struct session *session)
{
    pthread_attr_t attributes;
    sigset_t all, old;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SAMPLER_STACK_BYTES);
    session->libc.pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = session->libc.pthread_create(&session->thread, &attributes, sampler_main, session);
    session->libc.pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return -error;
}

/* ---- start ---- */

static int choose_output(struct session *session, bool is_child)
{
    const char *pattern = *session->config.out ? session->config.out : "wallprof.%p.pb.gz";
    int status = output_choose(&session->output, pattern, session->pid, session->start_utc_ns, is_child);
    if (status < 0)
        log_add(&session->log, LOG_ERROR, "the profile cannot be written to %s: %s; not recording", pattern,
                strerrordesc_np(-status));
    return status;
}

static uint64_t random_seed(const struct session *session)
{
    uint64_t seed = 0;
    if (session->config.has_seed)
        return session->config.seed;
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
        seed = session->start_ns ^ (uint64_t)session->pid << 32;
    return seed;
}

/* The calling thread's record: the main thread, or the one that forked. */
static void register_caller(struct session *session, uint64_t stack_low, uint64_t stack_high)
{
    struct wp_thread *thread = threads_acquire(&session->threads);
    session->main_thread = thread;
    if (!thread)
        return;
    thread->stack_low = stack_low;
    thread->stack_high = stack_high;
    threads_enter(&session->threads, thread, (pid_t)sig_syscall4(SYS_gettid, 0, 0, 0, 0), session->start_ns,
                  clock_read_ns(CLOCK_THREAD_CPUTIME_ID));
}

static int begin_recording(struct session *session, uint64_t stack_low, uint64_t stack_high)
{
    uint64_t seed = random_seed(session);
    int status = threads_init(&session->threads);
    if (status == 0)
        status =
            sampler_init(&session->sampler, &session->config, &session->threads, session->start_ns, seed);
    if (status == 0) {
        register_caller(session, stack_low, stack_high);
        sig_modules_use_loader(loader_find_object());
        status = sig_handler_install(session->config.signal, &session->sampler.observer.slots,
                                     (uint32_t)(seed >> 7), session->libc.sigaction);
    }
    if (status == 0)
        status = create_sampler(session);
    if (status == 0) {
        uint64_t deadline_ns = session->is_child ? clock_monotonic_ns() + child_start_patience_ns : 0;
        status = wait_for_sampler(session, deadline_ns) ? session->enter_status : 0;
        if (status == 0)
            return 0;
        session->libc.pthread_join(session->thread, NULL);
    }
    log_add(&session->log, LOG_ERROR, "cannot record: %s", strerrordesc_np(-status));
    sampler_deinit(&session->sampler);
    threads_deinit(&session->threads);
    return status;
}

/* Everything up to the running sampler; a forked child inherits its parent's configuration. */
static int start(const struct session_libc *libc, char *const *environment, const struct session *parent,
                 uint64_t stack_low, uint64_t stack_high)
{
    struct session *session = scratch_alloc(sizeof(*session));
    if (!session)
        return -ENOMEM;
    session->libc = *libc;
    session->pid = getpid();
    session->is_child = parent != NULL;
    session->directory_fd = -1;
    session->start_ns = clock_monotonic_ns();
    session->start_utc_ns = clock_read_ns(CLOCK_REALTIME);
    perf_maps_init(&session->perf_maps, session->pid, session->start_utc_ns,
                   parent ? &parent->perf_maps : NULL);
    if (parent) {
        family_join(&session->sampler.family, &parent->sampler.family);
        session->config = parent->config;
        log_init(&session->log, parent->config.log_level);
        strcpy(session->log.path, parent->log.path);
    } else {
        family_begin(&session->sampler.family);
        log_init(&session->log, LOG_WARNING);
        config_read(&session->config, &session->log, environment);
        if (*session->config.log_path)
            log_set_path(&session->log, session->config.log_path);
    }
    output_command_line(session->command_text, sizeof(session->command_text));
    int status = choose_output(session, parent != NULL);
    if (status == 0)
        status = begin_recording(session, stack_low, stack_high);
    log_add(&session->log, LOG_DEBUG,
            "%u ticks a second, up to %u threads each, at most %g %% overhead (0: any), signal %d, to %s/%s",
            session->config.hz, session->config.threads, session->config.overhead_ppm / 1e4,
            session->config.signal, session->output.directory, session->output.name);
    log_flush(&session->log);
    if (status == 0)
        sig_store_release(&current, session); /* partner: the acquire in current_session */
    else
        scratch_free(session, sizeof(*session));
    return status;
}

int session_start(const struct session_libc *libc, char *const *environment)
{
    if (getauxval(AT_SECURE))
        return -EPERM; /* a program with raised privileges is not ours to look into */
    uint64_t stack_high = (uint64_t)(uintptr_t)__libc_stack_end;
    return start(libc, environment, NULL, stack_high - main_stack_reach_bytes, stack_high);
}

/* ---- end ---- */

/* False for a sampler that waits for the loader for ever: it is left alone, and what it has is not touched.
 */
static bool can_be_stopped(struct session *session)
{
    if (!session->is_child || wait_for_sampler(session, clock_monotonic_ns() + child_end_patience_ns))
        return true;
    log_add(&session->log, LOG_WARNING,
            "not recorded: a thread that the fork left behind holds the loader's lock");
    return false;
}

/* Ends the sampler thread, by the first caller; later ones wait for nothing. */
static void stop_sampler(struct session *session, enum command command)
{
    int cancel_state;
    if (!can_be_stopped(session))
        return;
    sig_store_seq_cst(&session->command, command);
    futex_wake_all(&session->command);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state); /* pthread_join is a cancellation point */
    session->libc.pthread_join(session->thread, NULL);
    pthread_setcancelstate(cancel_state, NULL);
}

/* The sampler left before the last thread did; its descriptors went with it. */
static void write_without_sampler(struct session *session)
{
    session->directory_fd = -1;
    sampler_drop_descriptors(&session->sampler);
    close_and_write(session);
    if (session->directory_fd >= 0)
        close(session->directory_fd);
}

void session_finish(void)
{
    struct session *session = current_session();
    uint32_t no = 0;
    if (!session || session->pid != getpid() || !sig_cas_acq_rel(&session->finishing, &no, 1))
        return;
    if (sig_load_seq_cst(&session->command) == COMMAND_LEAVE)
        write_without_sampler(session);
    else
        stop_sampler(session, COMMAND_FINISH);
    log_flush(&session->log);
}

/*
 * In the child only this thread exists, and the parent's sampler stood still at the fork (session_hold): its
 * memory is whole, but of no use here.
 */
void session_restart_in_child(const struct wp_thread *forking)
{
    struct session *parent = current_session();
    if (!parent || parent->pid == getpid())
        return;
    sig_handler_forget_parent();
    uint64_t stack_low = forking ? forking->stack_low : 0, stack_high = forking ? forking->stack_high : 0;
    struct session_libc libc = parent->libc;
    current = NULL;
    sampler_deinit(&parent->sampler);
    threads_deinit(&parent->threads);
    start(&libc, NULL, parent, stack_low, stack_high);
    scratch_free(parent, sizeof(*parent));
}

/* ---- threads ---- */

struct wp_thread *session_thread_prepare(void)
{
    struct session *session = current_session();
    bool is_ours = session && session->pid == getpid();
    return is_ours ? threads_acquire(&session->threads) : NULL;
}

void *session_thread_start_space(struct wp_thread *thread, size_t bytes)
{
    return bytes <= sizeof(thread->start_space) ? thread->start_space : NULL;
}

void session_thread_discard(struct wp_thread *thread)
{
    threads_uncount(&current->threads, thread);
    threads_release(&current->threads, thread);
}

void session_thread_enter(struct wp_thread *thread, uint64_t stack_low, uint64_t stack_high)
{
    thread->stack_low = stack_low;
    thread->stack_high = stack_high;
    threads_enter(&current->threads, thread, (pid_t)sig_syscall4(SYS_gettid, 0, 0, 0, 0),
                  clock_monotonic_ns(), 0);
}

/*
 * When the last registered thread ends, the C library's exit() runs as soon as no other thread is left, and
 * the sampler must not be that other thread: so it leaves, and the profile is written by session_finish.
 */
void session_thread_leave(struct wp_thread *thread)
{
    struct session *session = current_session();
    char name[THREAD_NAME_BYTES] = "";
    uint32_t run = COMMAND_RUN;
    if (!session || session->pid != getpid())
        return; /* a child of _Fork or raw clone: the record was its parent's */
    prctl(PR_GET_NAME, name);
    if (threads_leave(&session->threads, thread, name) == 0 && !sig_load_seq_cst(&session->finishing) &&
        sig_cas_acq_rel(&session->command, &run, COMMAND_LEAVE))
        stop_sampler(session, COMMAND_LEAVE);
}

struct wp_thread *session_main_thread(void)
{
    struct session *session = current_session();
    return session ? session->main_thread : NULL;
}
