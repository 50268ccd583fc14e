/* One recording's beginning, its end, and its threads. See session_parts.h for the other parts. */
#include "session_internal.h"
#include "base/clock.h"
#include "config/environment.h"
#include "base/futex.h"
#include "export/tool_export.h"
#include "export/profile_path.h"
#include "memory_limit.h"
#include "sig/signal/sig_action.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "sig/signal/sig_control.h"
#include "sig/sys/sig_memory.h"
#include "elf/vdso.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

extern void *__libc_stack_end; /* ld.so: the top of the main thread's stack */

enum { SAMPLER_STACK_BYTES = 1024 * 1024 };

/* The kernel keeps at least this much address space below the main stack's top for it (mmap_base). */
static const uint64_t main_stack_reach_bytes = 128U << 20;

/* For a fork; it gains little from being waited for by everybody. */
static const uint64_t fork_patience_ns = 100 * NS_PER_MS;

/* Whoever is not done by then sends no signals; it waits for something, of the thread's maybe. */
static const uint64_t exec_patience_ns = 5 * (uint64_t)NS_PER_S;

/* The one session of this process; NULL before the first start and after a failed one. Threads that were
 * there before it (of a library's constructor) find it when it is complete. */
static struct session *current;

struct session *session_current(void)
{
    struct session *session = sig_load_acquire(&current); /* partner: the release in session_make_current */
    return session && !sig_load_acquire(&session->is_over) ? session : NULL; /* and that in session_end */
}

void session_make_current(struct session *session)
{
    sig_store_release(&current, session); /* partner: the acquire in session_current */
}

int session_create_thread(const struct session *session, pthread_t *ret, void *(*routine)(void *),
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

void session_wait_for_sampler(struct session *session)
{
    uint32_t seen;
    while ((seen = sig_load_seq_cst(&session->phase)) != PHASE_RUNNING)
        futex_wait(&session->phase, seen, 0);
}

void session_wait_for_writing(struct session *session)
{
    uint64_t deadline_ns = 0;
    while (sig_load_seq_cst(&session->command) == COMMAND_WRITE) {
        if (!deadline_ns)
            deadline_ns = clock_monotonic_ns() + exec_patience_ns;
        else if (clock_monotonic_ns() >= deadline_ns)
            return;
        futex_wait(&session->command, COMMAND_WRITE, deadline_ns);
    }
}

/* ---- standing still ---- */

/* How often this thread holds the sampler, and is on its way to that or back. A handler that interrupts fork
 * finds both at 1, or at least the second. */
static __thread uint32_t holds_here __attribute__((tls_model("initial-exec")));
static __thread uint32_t calls_here __attribute__((tls_model("initial-exec")));

/* Volatile: a handler of this thread looks at them. */
static void count_here(volatile uint32_t *count, int by)
{
    *count = *count + (uint32_t)by;
}

static void hold(struct session *session, uint64_t patience_ns)
{
    count_here(&calls_here, 1);
    standstill_ask(&session->standstill);
    count_here(&holds_here, 1);
    standstill_await(&session->standstill, clock_monotonic_ns() + patience_ns);
}

void session_hold_for_fork(void)
{
    struct session *session = session_current();
    if (!session || session->pid != getpid())
        return;
    sig_add_relaxed(&session->forks, 1);
    hold(session, fork_patience_ns);
}

void session_release(void)
{
    struct session *session = session_current();
    if (!session || session->pid != getpid() || holds_here == 0)
        return;
    count_here(&holds_here, -1);
    standstill_release(&session->standstill);
    count_here(&calls_here, -1);
}

bool session_is_held_here(void)
{
    return calls_here > 0;
}

void session_let_go(void)
{
    for (uint32_t held = holds_here; held > 0; held--)
        session_release();
}

void session_forget_holds(void)
{
    holds_here = calls_here = 0;
}

/* As session_stand_down has it: a recording that is about to end has its own profile. */
static void write_before_exec(struct session *session)
{
    uint32_t run = COMMAND_RUN;
    if (sig_load_seq_cst(&session->phase) != PHASE_RUNNING || session->enter_status < 0 ||
        sig_load_seq_cst(&session->finishing))
        return;
    sig_cas_acq_rel(&session->command, &run, COMMAND_WRITE);
    session_wake(session);
    session_wait_for_writing(session);
}

/* The sampler may begin a store until it stands still. */
void session_hold_for_exec(void)
{
    struct session *session = session_current();
    uint64_t now_ns = clock_monotonic_ns();
    if (!session || session->pid != getpid())
        return;
    session_let_go();
    family_pause(&session->sampler.family);
    bool is_left = session_leave_store_at_exec(session, now_ns);
    bool is_worth_a_file = now_ns >= sig_load_relaxed(&session->worth_writing_ns);
    if (!is_left && is_worth_a_file)
        write_before_exec(session);
    hold(session, exec_patience_ns);
    if (!is_left && !is_worth_a_file && !session_leave_store_at_exec(session, now_ns))
        session_put_store_away(session, now_ns);
}

void session_release_after_exec(void)
{
    struct session *session = session_current();
    if (!session || session->pid != getpid())
        return;
    session_take_back_end();
    session_release();
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

struct session *session_create(const struct session_libc *libc, uint64_t stack_low, uint64_t stack_high)
{
    struct session *session = scratch_alloc_touched(sizeof(*session));
    if (!session)
        return NULL;
    session->libc = *libc;
    session->pid = getpid();
    session->start_user = geteuid();
    session->directory_fd = session->spare_fd = -1;
    session->start_ns = clock_monotonic_ns();
    session->worth_writing_ns = session->start_ns + SESSION_WORTH_NS;
    session->start_utc_ns = clock_read_ns(CLOCK_REALTIME);
    if (session_control_init(session) < 0 || threads_init(&session->threads) < 0) {
        session_control_discard(session);
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
    session_control_discard(session);
    scratch_free(session, sizeof(*session));
}

static void read_settings(struct session *session, char *const *environment)
{
    log_init(&session->log, LOG_WARNING);
    config_read(&session->config, &session->log, environment);
    if (*session->config.log_path)
        log_set_path(&session->log, session->config.log_path);
    fit_memory(session);
    output_anchor(session->config.out, sizeof(session->config.out), session->config.rank);
    for (uint32_t i = 0; i < session->config.more_out_count; i++)
        output_anchor(session->config.more_outs[i], sizeof(session->config.more_outs[i]),
                      session->config.rank);
    if (*session->config.store && strcmp(session->config.store, "auto") != 0)
        output_anchor(session->config.store, sizeof(session->config.store), session->config.rank);
    output_command_line(session->command_text, sizeof(session->command_text));
}

/* The path that we were loaded from, "" if it cannot be told. */
static const char *own_path(void)
{
    Dl_info own;
    return dladdr(&current, &own) && own.dli_fname ? own.dli_fname : "";
}

static void find_tool(struct session *session)
{
    char *tool = session->config.tool;
    if (!*tool && handover_find(own_path(), tool, sizeof(session->config.tool)) < 0)
        strcpy(tool, "");
}

static void take_control_signal(struct session *session)
{
    int number = session->config.control_signal;
    if (number && !sig_control_install(number, session->libc.sigaction)) {
        log_add(&session->log, LOG_ERROR,
                "WALLPROF_CONTROL_SIGNAL: signal %d is ignored or has a handler already; using none", number);
        session->config.control_signal = 0;
    }
    if (session->config.control_signal)
        sig_control_wake(&session->control.page->wake);
}

static int begin_recording(struct session *session)
{
    int status = session_prepare(session);
    if (status == 0)
        status = session_create_thread(session, &session->thread, session_run, session);
    if (status == 0) {
        session_wait_for_sampler(session);
        status = session->enter_status;
        if (status < 0)
            session->libc.pthread_join(session->thread, NULL);
    }
    if (status < 0)
        session_report_failure(session, status);
    return status;
}

/* Nobody's sandbox is without these two; without them nothing works. */
static bool knows_itself(struct session *session)
{
    bool knows = session->pid > 0 && sig_syscall4(SYS_gettid, 0, 0, 0, 0) > 0;
    if (!knows)
        log_add(&session->log, LOG_ERROR, "cannot record: a seccomp filter does not allow getpid or gettid");
    return knows;
}

int session_start(const struct session_libc *libc, char **environment)
{
    if (getauxval(AT_SECURE))
        return -EPERM; /* a program with raised privileges is not ours to look into */
    if (handover_is_tool(environment))
        return -EPERM; /* nor do we profile ourselves, and that, and so on */
    sig_clock_use(vdso_clock_gettime());
    uint64_t stack_high = (uint64_t)(uintptr_t)__libc_stack_end;
    struct session *session = session_create(libc, stack_high - main_stack_reach_bytes, stack_high);
    if (!session)
        return -ENOMEM;
    family_begin(&session->sampler.family);
    perf_maps_init(&session->perf_maps, session->pid, session->start_utc_ns, NULL);
    read_settings(session, environment);
    find_tool(session);
    take_control_signal(session);
    if (!session->config.follows_exec) /* programs that this one starts are started without us */
        environment_leave(environment, own_path());
    if (session->config.is_strict) {
        sig_memory_do_without_copies();
        sig_action_send_plainly();
    }
    int status = knows_itself(session) ? begin_recording(session) : -EPERM;
    session_report_settings(session);
    log_flush(&session->log);
    if (status == 0)
        session_make_current(session);
    else {
        sig_control_uninstall();
        destroy_session(session);
    }
    return status;
}

bool session_is_recording(void)
{
    return session_current() != NULL;
}

bool session_hides_environment(void)
{
    struct session *session = session_current();
    return session && session->config.hides;
}

bool session_is_strict(void)
{
    struct session *session = session_current();
    return session && session->config.is_strict;
}

/* ---- end ---- */

/* Ends the sampler thread, by the first caller; later ones wait for nothing. */
static void stop_sampler(struct session *session, enum session_command command)
{
    int cancel_state;
    sig_store_seq_cst(&session->command, command);
    session_wake(session);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state); /* pthread_join is a cancellation point */
    session->libc.pthread_join(session->thread, NULL);
    pthread_setcancelstate(cancel_state, NULL);
}

/* The sampler left before the last thread did; its descriptors went with it. */
static void write_without_sampler(struct session *session)
{
    if (session->enter_status < 0)
        return;
    session->directory_fd = session->spare_fd = session->stderr_handle = -1;
    sampler_drop_descriptors(&session->sampler);
    session_keep_on(session);
    session_close_and_write(session);
    if (session->directory_fd >= 0)
        close(session->directory_fd);
}

/* why: what there is to say of it, or NULL. The sampler has ended before it is said: the log is its until
 * then. */
static void finish(struct session *session, const char *why)
{
    session_wait_for_presence(session);
    if (sig_load_seq_cst(&session->command) == COMMAND_LEAVE)
        write_without_sampler(session);
    else
        stop_sampler(session, COMMAND_FINISH);
    session_control_end(session);
    if (why)
        log_add(&session->log, LOG_WARNING, "recording ends here: %s", why);
    log_flush(&session->log);
}

void session_finish(void)
{
    struct session *session = session_current();
    uint32_t no = 0;
    if (!session || session->pid != getpid())
        return;
    session_let_go();
    if (sig_cas_acq_rel(&session->finishing, &no, 1))
        finish(session, NULL);
}

void session_end(const char *why)
{
    struct session *session = session_current();
    uint32_t no = 0;
    if (!session || session->pid != getpid() || !sig_cas_acq_rel(&session->finishing, &no, 1))
        return;
    session_let_go();
    finish(session, why);
    sched_yield(); /* what is queued is delivered */
    sig_handler_retire();
    sig_store_release(&session->is_over, 1); /* partner: the acquire in session_current */
}

void session_leave_children(void)
{
    struct session *session = session_current();
    if (session && session->pid == getpid())
        session->leaves_children = true;
}

/* ---- threads ---- */

struct wp_thread *session_thread_prepare(void)
{
    struct session *session = session_current();
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
    struct session *session = session_current();
    char name[THREAD_NAME_BYTES] = "";
    uint32_t run = COMMAND_RUN;
    if (!session || session->pid != getpid())
        return; /* a child of _Fork or raw clone: the record was its parent's */
    if (!marks_name(&thread->marks, name))
        prctl(PR_GET_NAME, name);
    session_wait_for_writing(session);
    bool is_last = threads_leave(&session->threads, thread, name) == 0;
    session_control_note_left(session);
    if (is_last && session->leaves_children)
        session_finish(); /* a filter may keep this thread from writing it later */
    if (is_last && !sig_load_seq_cst(&session->finishing) &&
        sig_cas_acq_rel(&session->command, &run, COMMAND_LEAVE)) {
        stop_sampler(session, COMMAND_LEAVE);
        if (session->has_probe)
            exit(EXIT_SUCCESS); /* as the C library does for the last thread, were it not for that one */
    }
}

struct wp_thread *session_main_thread(void)
{
    struct session *session = session_current();
    return session ? session->main_thread : NULL;
}
