/*
 * The sampler thread and the program's threads meet in four words: `hold` and `busy` (fork and exec against a
 * tick), `command` (start and end), `phase` (how far the sampler is). All are seq_cst; nothing else is
 * shared.
 */
#include "session.h"
#include "clock.h"
#include "environment.h"
#include "export.h"
#include "futex.h"
#include "loader.h"
#include "log.h"
#include "output.h"
#include "perf_map.h"
#include "room.h"
#include "sampler.h"
#include "sig_arch.h"
#include "sig_atomic.h"
#include "sig_numbers.h"
#include "sink.h"
#include "standstill.h"
#include "vdso.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

extern void *__libc_stack_end; /* ld.so: the top of the main thread's stack */

enum { SAMPLER_STACK_BYTES = 1024 * 1024, COMMAND_TEXT_BYTES = 512, DESCRIPTORS_PLENTY = 32 };

/* The kernel keeps at least this much address space below the main stack's top for it (mmap_base). */
static const uint64_t main_stack_reach_bytes = 128U << 20;

/*
 * A forked child is recorded from the start, but the recorder is set up only when it has lived for so long,
 * or a period if that is less: most children execute another program or end before, and it takes ten times
 * as long as their fork.
 */
static const uint64_t birth_min_ns = NS_PER_MS, birth_max_ns = 10 * NS_PER_MS;

/* For a fork; it gains little from being waited for by everybody. */
static const uint64_t hold_patience_ns = 100 * NS_PER_MS;

/* A loader's lock that has not been free for so long is one that nobody will ever release. */
static const uint64_t loader_patience_ns = 200 * NS_PER_MS;

/* An answer that has not come by then is taken at a later tick. */
static const uint64_t answer_patience_ns = 20 * NS_PER_MS;

enum command { COMMAND_RUN, COMMAND_FINISH, COMMAND_LEAVE, COMMAND_PAUSE };
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
    uid_t start_user; /* effective */
    uint64_t start_ns, start_utc_ns, end_ns;
    struct perf_maps perf_maps;
    struct wp_standstill standstill;
    uint32_t command;          /* atomic, futex: enum command */
    uint32_t phase;            /* atomic, futex: enum phase */
    uint32_t finishing;        /* atomic: session_finish has begun */
    uint32_t loader_is_free;   /* atomic, futex: it was, once */
    int enter_status;          /* of the set-up, once the phase is PHASE_RUNNING */
    bool is_child;             /* of a fork */
    bool has_probe;            /* a thread that waits for the loader's lock for ever */
    struct session *inherited; /* a child's, until it is set up: its parent's, in the child's copy of it */
    uint32_t absent;           /* atomic, futex: the sampler stands down */
    bool is_resumed;           /* the sampler is not the first */
    uint32_t is_over;          /* atomic: session_end has been */
    bool leaves_children;      /* session_leave_children */
    struct wp_output output;
    int directory_fd;        /* of the output, in the sampler's descriptor table */
    int spare_fd;            /* there too: sink_spare */
    bool has_fillers;        /* there too: /dev/null as 0, 1 and 2 */
    int stderr_handle;       /* of the program's stderr, in the sampler's descriptor table; -1 without */
    bool is_output_reported; /* that it cannot be written */
    int signal;              /* what threads are asked with, as far as has been reported */
    bool is_filled_below_reported;
    char command_text[COMMAND_TEXT_BYTES];
};

/* The one session of this process; NULL before the first start and after a failed one. Threads that were
 * there before it (of a library's constructor) find it when it is complete. */
static struct session *current;

static struct session *current_session(void)
{
    struct session *session = sig_load_acquire(&current); /* partner: the release in start */
    return session && !sig_load_acquire(&session->is_over) ? session : NULL; /* and that in session_end */
}

/* ---- small helpers ---- */

static void set_phase(struct session *session, enum phase phase)
{
    sig_store_seq_cst(&session->phase, phase);
    futex_wake_all(&session->phase);
}

static void wait_for_sampler(struct session *session)
{
    uint32_t seen;
    while ((seen = sig_load_seq_cst(&session->phase)) != PHASE_RUNNING)
        futex_wait(&session->phase, seen, 0);
}

/* ---- standing still --------------------------------------------------------------------------------------
 */

void session_hold(enum session_hold why)
{
    struct session *session = current_session();
    if (session && session->pid == getpid())
        standstill_hold(&session->standstill,
                        why == SESSION_HOLD_FORK ? clock_monotonic_ns() + hold_patience_ns : 0);
}

void session_release(void)
{
    struct session *session = current_session();
    if (session && session->pid == getpid())
        standstill_release(&session->standstill);
}

/* ---- the sampler thread ---- */

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

/*
 * A descriptor table of our own: the program sees none of ours, and we hold none of its open. Descriptors 0
 * to 2 are filled, so that no file of ours gets one of these numbers, unless there are hardly any others.
 * False when there is no table to be had.
 */
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

static bool leave_descriptors(struct session *session)
{
    session->stderr_handle = -1;
    if (sig_syscall4(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_UNSHARE, 0) < 0)
        return false; /* before Linux 5.9: ours are close-on-exec and as few as two */
    session->stderr_handle = log_open_stderr_handle();
    fill_standard_descriptors(session);
    return true;
}

/* At the end: by now the limit may be so low that every number counts. */
static void free_standard_descriptors(struct session *session)
{
    struct rlimit files = {.rlim_cur = 0};
    getrlimit(RLIMIT_NOFILE, &files);
    session->has_fillers &= files.rlim_cur < DESCRIPTORS_PLENTY;
    for (int fd = 0; fd <= STDERR_FILENO && session->has_fillers; fd++)
        close(fd);
}

static void sleep_until(struct session *session, uint64_t deadline_ns)
{
    while (sig_load_seq_cst(&session->command) == COMMAND_RUN && clock_monotonic_ns() < deadline_ns)
        futex_wait(&session->command, COMMAND_RUN, deadline_ns);
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

static void one_tick(struct session *session)
{
    struct wp_sampler *sampler = &session->sampler;
    standstill_work(&session->standstill);
    uint64_t now_ns = clock_monotonic_ns();
    sampler_restrain(sampler, now_ns);
    tick_advance(&sampler->tick, now_ns, &sampler->random);
    sampler_send(sampler, now_ns);
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
        .spare_fd = session->spare_fd,
    };
    return export_write(&request);
}

/* One line for one problem: what was found at the start is not said again at the end. */
static void report_output(struct session *session, int error)
{
    const struct wp_output *output = &session->output;
    char who[32] = "";
    if ((error == -EACCES || error == -EPERM) && geteuid() != session->start_user)
        snprintf(who, sizeof(who), " as user %u", geteuid());
    if (error < 0 && !session->is_output_reported)
        log_add(&session->log, LOG_ERROR, "the profile cannot be written to %s/%s: %s%s", output->directory,
                output->name, strerrordesc_np(-error), who);
    if (error == 0)
        log_add(&session->log, LOG_INFO, "profile written to %s/%s", output->directory, output->name);
    session->is_output_reported |= error < 0;
}

static void close_and_write(struct session *session)
{
    char restraint[RESTRAINT_TEXT_BYTES];
    if (!session->end_ns)
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

static void check_output(struct session *session, bool has_own_descriptors)
{
    session->directory_fd = open(session->output.directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int error = session->directory_fd < 0 ? -errno : sink_check(session->directory_fd, session->output.name);
    if (error < 0)
        report_output(session, error);
    else if (has_own_descriptors)
        session->spare_fd = sink_spare(session->directory_fd, session->output.name);
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

/* Creates a thread of ours with every signal blocked, so that it never runs a handler of the program. */
static int create_thread(const struct session *session, pthread_t *ret, void *(*routine)(void *),
                         void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, old;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SAMPLER_STACK_BYTES);
    session->libc.pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = session->libc.pthread_create(ret, &attributes, routine, argument);
    session->libc.pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return -error;
}

static void *probe_main(void *argument)
{
    struct session *session = argument;
    struct loader_state state;
    prctl(PR_SET_NAME, "wallprof");
    loader_ask(&state);
    loader_do_without_lock(false); /* also if it was only slow */
    sig_store_seq_cst(&session->loader_is_free, 1);
    futex_wake_all(&session->loader_is_free);
    return NULL;
}

/*
 * In the child of a fork the loader's list may be locked for ever: by a thread that was looking at it, and is
 * not in the child. The C library does not mend that (glibc 2.36: _dl_load_write_lock). To find out, a thread
 * has to try; if it does not come back, the list is read without the lock: nobody can change it any more.
 */
static void find_out_about_loader(struct session *session)
{
    pthread_t probe;
    if (create_thread(session, &probe, probe_main, session) < 0)
        return;
    uint64_t deadline_ns = clock_monotonic_ns() + loader_patience_ns;
    while (!sig_load_seq_cst(&session->loader_is_free) && clock_monotonic_ns() < deadline_ns)
        futex_wait(&session->loader_is_free, 0, deadline_ns);
    session->has_probe = !sig_load_seq_cst(&session->loader_is_free);
    if (session->has_probe)
        loader_do_without_lock(true);
    else
        session->libc.pthread_join(probe, NULL);
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

static int choose_output(struct session *session)
{
    const char *pattern = session->config.out;
    int status =
        output_choose(&session->output, pattern, session->pid, session->start_utc_ns, session->is_child);
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

/* But for what choose_output has said. */
static void report_failure(struct session *session, int status)
{
    if (*session->output.name)
        log_add(&session->log, LOG_ERROR, "cannot record: %s", strerrordesc_np(-status));
}

static int prepare_sampling(struct session *session)
{
    uint64_t seed = random_seed(session);
    int status = choose_output(session);
    if (status < 0)
        return status;
    status = sampler_init(&session->sampler, &session->config, &session->threads, session->start_ns, seed);
    if (status < 0)
        return status;
    sig_modules_use_loader(loader_find_object());
    status = sig_handler_install(session->config.signal, &session->sampler.observer.slots,
                                 (uint32_t)(seed >> 7), session->libc.sigaction);
    session->signal = sig_numbers_current();
    return status;
}

static void report_settings(struct session *session)
{
    log_add(&session->log, LOG_DEBUG,
            "%u ticks a second, up to %u threads each, at most %g %% overhead (0: any), signal %d, to %s/%s",
            session->config.hz, session->config.threads, session->config.overhead_ppm / 1e4, session->signal,
            session->output.directory, session->output.name);
}

/* What the child has of its ancestors' sessions is of no use to it. One that was at work at the fork is not
 * whole, and is left where it is. */
static void discard_inherited(struct session *session)
{
    struct session *ancestor = session->inherited, *next;
    session->inherited = NULL;
    for (; ancestor; ancestor = next) {
        next = ancestor->inherited;
        if (sig_load_seq_cst(&ancestor->standstill.busy))
            continue;
        sampler_deinit(&ancestor->sampler);
        threads_deinit(&ancestor->threads);
        scratch_free(ancestor, sizeof(*ancestor));
    }
}

/* In a forked child's sampler: when the time has come, or somebody is in need of it. */
static int be_born(struct session *session)
{
    uint64_t period_ns = NS_PER_S / session->config.hz;
    uint64_t after_ns = period_ns < birth_min_ns   ? birth_min_ns
                        : period_ns > birth_max_ns ? birth_max_ns
                                                   : period_ns;
    sleep_until(session, session->start_ns + after_ns);
    standstill_work(
        &session->standstill); /* a fork meanwhile would leave its child our locks in the C library */
    find_out_about_loader(session);
    discard_inherited(session);
    int status = prepare_sampling(session);
    if (status == 0) /* its first tick, too, at random */
        tick_init(&session->sampler.tick, period_ns, clock_monotonic_ns(), &session->sampler.random);
    standstill_rest(&session->standstill);
    report_settings(session);
    return status;
}

static int enter(struct session *session)
{
    ask_for_short_slices();
    leave_directories();
    bool has_own_descriptors = leave_descriptors(session);
    check_output(session, has_own_descriptors);
    standstill_work(&session->standstill);
    int status = 0;
    if (session->is_resumed)
        sampler_resume(&session->sampler, has_own_descriptors);
    else
        status = sampler_enter(&session->sampler, has_own_descriptors);
    standstill_rest(&session->standstill);
    return status;
}

static void *sampler_main(void *argument)
{
    struct session *session = argument;
    uint32_t run = COMMAND_RUN;
    prctl(PR_SET_NAME, "wallprof");
    int status = session->is_child && !session->is_resumed ? be_born(session) : 0;
    session->enter_status = status == 0 ? enter(session) : status;
    set_phase(session, PHASE_RUNNING);
    if (session->enter_status < 0) {
        if (session->is_child)
            report_failure(session, session->enter_status);
        return NULL;
    }
    while (sig_load_seq_cst(&session->command) == COMMAND_RUN) {
        sleep_until(session, session->sampler.tick.deadline_ns);
        if (sig_load_seq_cst(&session->command) == COMMAND_RUN)
            one_tick(session);
        if (sampler_is_deserted(&session->sampler))
            sig_cas_acq_rel(&session->command, &run, COMMAND_FINISH);
    }
    standstill_work(&session->standstill);
    if (sig_load_seq_cst(&session->command) == COMMAND_FINISH || is_last_to_write(session)) {
        free_standard_descriptors(session);
        close_and_write(session);
        log_flush_through(&session->log, session->stderr_handle);
    }
    if (sig_load_seq_cst(&session->command) == COMMAND_PAUSE)
        sampler_pause(&session->sampler);
    standstill_rest(&session->standstill);
    return NULL;
}

/* ---- start ---- */

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

/* Less memory than was asked for where the program is short of it. */
static void fit_memory(struct session *session)
{
    const char *limit;
    uint64_t wanted = session->config.memory_bytes, share = room_share(wanted, room_bytes(&limit));
    session->config.memory_bytes = share;
    if (share < wanted)
        log_add(&session->log, LOG_WARNING, "%llu KiB for the profile instead of %llu: %s leaves no more",
                (unsigned long long)(share >> 10), (unsigned long long)(wanted >> 10), limit);
}

/* The process's own: what it is called, when it began, and the thread that is there. */
static struct session *create_session(const struct session_libc *libc, uint64_t stack_low,
                                      uint64_t stack_high)
{
    struct session *session = scratch_alloc(sizeof(*session));
    if (!session)
        return NULL;
    session->libc = *libc;
    session->pid = getpid();
    session->start_user = geteuid();
    session->directory_fd = session->spare_fd = -1;
    session->start_ns = clock_monotonic_ns();
    session->start_utc_ns = clock_read_ns(CLOCK_REALTIME);
    if (threads_init(&session->threads) < 0) {
        scratch_free(session, sizeof(*session));
        return NULL;
    }
    register_caller(session, stack_low, stack_high);
    return session;
}

static void destroy_session(struct session *session)
{
    sampler_deinit(&session->sampler);
    threads_deinit(&session->threads);
    scratch_free(session, sizeof(*session));
}

static void read_settings(struct session *session, char *const *environment)
{
    log_init(&session->log, LOG_WARNING);
    config_read(&session->config, &session->log, environment);
    if (*session->config.log_path)
        log_set_path(&session->log, session->config.log_path);
    fit_memory(session);
    output_anchor(session->config.out, sizeof(session->config.out));
    output_command_line(session->command_text, sizeof(session->command_text));
}

static void inherit_settings(struct session *session, const struct session *parent)
{
    session->config = parent->config;
    log_init(&session->log, parent->config.log_level);
    strcpy(session->log.path, parent->log.path);
    strcpy(session->command_text, parent->command_text);
}

/* Programs that this one starts are started without us. */
static void leave_environment(char **environment)
{
    Dl_info own;
    if (dladdr(&current, &own) && own.dli_fname)
        environment_leave(environment, own.dli_fname);
}

static int begin_recording(struct session *session)
{
    int status = prepare_sampling(session);
    if (status == 0)
        status = create_thread(session, &session->thread, sampler_main, session);
    if (status == 0) {
        wait_for_sampler(session);
        status = session->enter_status;
        if (status < 0)
            session->libc.pthread_join(session->thread, NULL);
    }
    if (status < 0)
        report_failure(session, status);
    return status;
}

int session_start(const struct session_libc *libc, char **environment)
{
    if (getauxval(AT_SECURE))
        return -EPERM; /* a program with raised privileges is not ours to look into */
    sig_clock_use(vdso_clock_gettime());
    uint64_t stack_high = (uint64_t)(uintptr_t)__libc_stack_end;
    struct session *session = create_session(libc, stack_high - main_stack_reach_bytes, stack_high);
    if (!session)
        return -ENOMEM;
    family_begin(&session->sampler.family);
    perf_maps_init(&session->perf_maps, session->pid, session->start_utc_ns, NULL);
    read_settings(session, environment);
    if (!session->config.follows_exec)
        leave_environment(environment);
    int status = begin_recording(session);
    report_settings(session);
    log_flush(&session->log);
    if (status == 0)
        sig_store_release(&current, session); /* partner: the acquire in current_session */
    else
        destroy_session(session);
    return status;
}

bool session_hides_environment(void)
{
    struct session *session = current_session();
    return session && session->config.hides;
}

/* ---- end ---- */

/* Ends the sampler thread, by the first caller; later ones wait for nothing. */
static void stop_sampler(struct session *session, enum command command)
{
    int cancel_state;
    sig_store_seq_cst(&session->command, command);
    futex_wake_all(&session->command);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state); /* pthread_join is a cancellation point */
    session->libc.pthread_join(session->thread, NULL);
    pthread_setcancelstate(cancel_state, NULL);
}

/* The sampler left before the last thread did; its descriptors went with it. */
static void write_without_sampler(struct session *session)
{
    if (session->enter_status < 0)
        return;
    session->directory_fd = session->spare_fd = -1;
    sampler_drop_descriptors(&session->sampler);
    close_and_write(session);
    if (session->directory_fd >= 0)
        close(session->directory_fd);
}

/* ---- standing down ---------------------------------------------------------------------------------------
 */

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
    struct session *session = current_session();
    uint32_t run = COMMAND_RUN, no = 0;
    *absence = (struct session_absence){0};
    if (!session || session->pid != getpid() || sig_load_seq_cst(&session->finishing))
        return;
    if (session->is_child)
        wait_for_sampler(session); /* it may still be asleep before its birth */
    if (sig_load_seq_cst(&session->phase) != PHASE_RUNNING || session->enter_status < 0)
        return;
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
    futex_wake_all(&session->command);
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
    int status = create_thread(session, &session->thread, sampler_main, session);
    if (status == 0)
        wait_for_sampler(session);
    return status;
}

void session_stand_up(const struct session_absence *absence)
{
    struct session *session = current_session();
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

/* Whoever stands down has its signals blocked, so it is another thread that does. */
static void wait_for_presence(struct session *session)
{
    while (sig_load_seq_cst(&session->absent) != 0)
        futex_wait(&session->absent, 1, 0);
}

/* ---- finish ---- */

static void finish(struct session *session)
{
    wait_for_presence(session);
    if (sig_load_seq_cst(&session->command) == COMMAND_LEAVE)
        write_without_sampler(session);
    else
        stop_sampler(session, COMMAND_FINISH);
    log_flush(&session->log);
}

void session_finish(void)
{
    struct session *session = current_session();
    uint32_t no = 0;
    if (session && session->pid == getpid() && sig_cas_acq_rel(&session->finishing, &no, 1))
        finish(session);
}

void session_end(const char *why)
{
    struct session *session = current_session();
    uint32_t no = 0;
    if (!session || session->pid != getpid() || !sig_cas_acq_rel(&session->finishing, &no, 1))
        return;
    log_add(&session->log, LOG_WARNING, "recording ends here: %s", why);
    finish(session);
    sched_yield(); /* what is queued is delivered */
    sig_handler_retire();
    sig_store_release(&session->is_over, 1); /* partner: the acquire in current_session */
}

void session_leave_children(void)
{
    struct session *session = current_session();
    if (session && session->pid == getpid())
        session->leaves_children = true;
}

/*
 * In the child only this thread exists, and the parent's sampler stood still at the fork (session_hold): its
 * memory is whole, but of no use here. Little is done at once, as many children do not live to see more.
 */
void session_restart_in_child(const struct wp_thread *forking)
{
    struct session *parent = current_session();
    if (!parent || parent->pid == getpid())
        return;
    sig_handler_forget_parent();
    if (parent->leaves_children) {
        sig_handler_retire();
        current = NULL;
        return;
    }
    current = NULL;
    struct session *session = NULL;
    if (parent->config.follows_fork)
        session = create_session(&parent->libc, forking ? forking->stack_low : 0,
                                 forking ? forking->stack_high : 0);
    if (!session) {
        sig_handler_uninstall();
        return;
    }
    session->is_child = true;
    session->inherited = parent;
    family_join(&session->sampler.family, &parent->sampler.family);
    perf_maps_init(&session->perf_maps, session->pid, session->start_utc_ns, &parent->perf_maps);
    inherit_settings(session, parent);
    int status = create_thread(session, &session->thread, sampler_main, session);
    if (status == 0)
        current = session;
    else
        sig_handler_uninstall();
    if (status < 0)
        log_add(&session->log, LOG_ERROR, "cannot record a child: %s", strerrordesc_np(-status));
    log_flush(&session->log);
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
        sig_cas_acq_rel(&session->command, &run, COMMAND_LEAVE)) {
        stop_sampler(session, COMMAND_LEAVE);
        if (session->has_probe)
            exit(EXIT_SUCCESS); /* as the C library does for the last thread, were it not for that one */
    }
}

struct wp_thread *session_main_thread(void)
{
    struct session *session = current_session();
    return session ? session->main_thread : NULL;
}
