/* One recording's beginning. */
#include "session_internal.h"
#include "hook_memory.h"
#include "libc.h"
#include "account/labels.h"
#include "base/clock.h"
#include "config/environment.h"
#include "export/tool_export.h"
#include "export/profile_path.h"
#include "memory_limit.h"
#include "modules/loader.h"
#include "sig/ground/sig_modules.h"
#include "sig/ground/sig_unloads.h"
#include "sig/signal/sig_action.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "sig/signal/sig_control.h"
#include "sig/sys/sig_memory.h"
#include "elf/vdso.h"
#include "sig/signal/sig_numbers.h"
#include "sig/signal/sig_setup.h"
#include "base/number_names.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

extern void *__libc_stack_end; /* ld.so: the top of the main thread's stack */

/* START_BYTES: for the first session, and that of a child. */
enum { SAMPLER_STACK_BYTES = 1024 * 1024, START_BYTES = 1024 * 1024 };

/* The kernel keeps at least this much address space below the main stack's top for it (mmap_base). */
static const uint64_t main_stack_reach_bytes = 128U << 20;

/* The one session of this process; NULL before the start and after a failed one. Threads of another library's
 * constructor may exist earlier; they see it only when it is complete. */
static struct session *current;

/* Of the process and not of a session: labels are valid before a recording and after it, and a forked child
 * has its parent's at the same addresses. Nothing is ever taken out, so a pointer to one never dangles. */
static struct label_table labels __attribute__((section(".bss.tables")));

struct label_table *session_labels(void)
{
    return &labels;
}

struct hook_memory hook_memory_of_process;

struct session *session_current(void)
{
    struct session *session = sig_load_acquire(&current); /* partner: the release in session_make_current */
    return session && session_state_now(&session->handshake.state) != STATE_OVER ? session : NULL;
}

struct session *session_own(void)
{
    struct session *session = session_current();
    return session && session->birth.pid == getpid() ? session : NULL;
}

void session_make_current(struct session *session)
{
    sig_store_release(&current, session); /* partner: the acquire in session_current */
}

int session_create_thread(pthread_t *ret, void *(*routine)(void *), void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, old;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SAMPLER_STACK_BYTES);
    libc()->pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = libc()->pthread_create(ret, &attributes, routine, argument);
    libc()->pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return -error;
}

/* ---- start ---- */

/* The calling thread's record: the main thread, or the one that forked. */
static void register_caller(struct session *session, uint64_t stack_low, uint64_t stack_high)
{
    struct thread *thread = threads_acquire(&session->threads);
    session->birth.main_thread = thread;
    if (!thread)
        return;
    thread->stack_low = stack_low;
    thread->stack_high = stack_high;
    threads_enter(&session->threads, thread, (pid_t)sig_syscall4(SYS_gettid, 0, 0, 0, 0),
                  session->birth.start_ns, clock_read_ns(CLOCK_THREAD_CPUTIME_ID));
}

/* Takes less memory than was asked for if the process's limits leave little. */
static void fit_memory(struct session *session)
{
    const char *limit;
    uint64_t wanted = session->config->sampler.memory_bytes,
             share = memory_limit_share(wanted, memory_limit_left_bytes(&limit));
    session->config->sampler.memory_bytes = share;
    if (share < wanted)
        log_add(&session->log, LOG_WARNING, "%llu KiB for the profile instead of %llu: %s leaves no more",
                (unsigned long long)(share >> 10), (unsigned long long)(wanted >> 10), limit);
}

struct session *session_create(struct config *config, uint64_t stack_low, uint64_t stack_high)
{
    struct session *session = scratch_alloc(sizeof(*session));
    if (!session)
        return NULL;
    session->config = config;
    session->requests.toggles = sig_control_count(); /* what comes from here on is a request */
    session_birth_init(&session->birth);
    if (session_requests_init(&session->requests) < 0) {
        scratch_free(session, sizeof(*session));
        return NULL;
    }
    register_caller(session, stack_low, stack_high);
    return session;
}

void session_destroy(struct session *session)
{
    sampler_deinit(&session->sampler);
    threads_deinit(&session->threads);
    session_requests_discard(&session->requests);
    session_intervals_discard(&session->intervals);
    scratch_free(session, sizeof(*session));
}

static void read_settings(struct session *session, char *const *environment)
{
    log_init(&session->log, LOG_WARNING);
    config_read(session->config, &session->log, environment);
    if (*session->config->log_path)
        log_set_path(&session->log, session->config->log_path);
    fit_memory(session);
    profile_path_anchor(session->config->out, sizeof(session->config->out), session->config->rank);
    for (uint32_t i = 0; i < session->config->more_out_count; i++)
        profile_path_anchor(session->config->more_outs[i], sizeof(session->config->more_outs[i]),
                            session->config->rank);
    if (*session->config->store && strcmp(session->config->store, "auto") != 0)
        profile_path_anchor(session->config->store, sizeof(session->config->store), session->config->rank);
}

/* The path that we were loaded from, "" if it cannot be told. */
static const char *own_path(void)
{
    const char *path = hook_memory()->library_path;
    return path ? path : "";
}

void session_find_tool(struct session *session, bool is_anchored)
{
    char *tool = session->config->tool;
    bool is_absolute = *own_path() == '/';
    if (!*tool && is_absolute == is_anchored &&
        tool_export_find(own_path(), tool, sizeof(session->config->tool)) < 0)
        *tool = '\0';
}

static void install_control_signal(struct session *session)
{
    int number = session->config->control_signal;
    if (number && !sig_control_install(number, libc()->sigaction)) {
        log_add(&session->log, LOG_ERROR,
                "WALLPROF_CONTROL_SIGNAL: signal %d is ignored or has a handler already; using none", number);
        session->config->control_signal = 0;
    }
    if (session->config->control_signal)
        sig_control_wake(&session->requests.page->wake);
}

/* The signal is ours before the program blocks or uses any. The sampler sets up all else when its first tick
 * is near (session_run.c). */
static int begin_recording(struct session *session)
{
    sig_modules_use_loader(loader_find_object());
    sig_unloads_use_loader(loader_unloaded); /* dlclose counts from here on */
    int status = sig_setup_install(session->config->signal, NULL, session_birth_cookie(&session->birth),
                                   libc()->sigaction);
    session->reported.signal = sig_numbers_current();
    session_control_plan(&session->recording, session->config, session->birth.start_ns);
    log_flush(&session->log); /* it is the sampler's from here on */
    if (status == 0)
        status = session_create_thread(&session->surroundings.thread, session_run, session);
    if (status < 0)
        log_add(&session->log, LOG_ERROR, "cannot record: %s", error_text(-status));
    return status;
}

/* Every sandbox allows these two calls; without them nothing works. */
static bool knows_itself(struct session *session)
{
    bool knows = session->birth.pid > 0 && sig_syscall4(SYS_gettid, 0, 0, 0, 0) > 0;
    if (!knows)
        log_add(&session->log, LOG_ERROR, "cannot record: a seccomp filter does not allow getpid or gettid");
    return knows;
}

/* Whether this process is one that can be recorded. */
static bool is_recordable(struct session *session, char *const *arguments, char *const *environment)
{
    const char *why = session_why_unrecorded(arguments, environment);
    if (why)
        log_add(&session->log, LOG_INFO, "this process is not recorded: %s", why);
    return !why && knows_itself(session);
}

int session_start(char *const *arguments, char **environment)
{
    if (getauxval(AT_SECURE))
        return -EPERM; /* a program with raised privileges is not ours to profile */
    if (tool_export_is_tool(environment))
        return -EPERM; /* profiling the tool would run the tool again, without an end */
    sig_clock_use(vdso_clock_gettime());
    uint64_t stack_high = (uint64_t)(uintptr_t)__libc_stack_end;
    scratch_begin(START_BYTES);
    struct config *config = scratch_alloc(sizeof(*config));
    struct session *session =
        !config ? NULL : session_create(config, stack_high - main_stack_reach_bytes, stack_high);
    if (!session)
        return -ENOMEM;
    perf_maps_init(&session->birth.perf_maps, session->birth.pid, session->birth.start_utc_ns, NULL);
    read_settings(session, environment);
    session_find_tool(session, false);
    install_control_signal(session);
    if (!session->config->follows_exec)
        environment_leave(environment, own_path());
    if (session->config->is_strict) {
        sig_memory_do_without_copies();
        sig_action_send_plainly();
    }
    int status = is_recordable(session, arguments, environment) ? begin_recording(session) : -EPERM;
    if (status == 0) {
        session_make_current(session);
        session_thread_adopt(session->birth.main_thread);
        /* else what it opens is in the program's table, so it is done before main */
        bool is_apart = !session->config->is_strict && session_surroundings_can_leave();
        if (!is_apart)
            session_hasten_set_up();
        if (session->config->hides)
            hook_memory()->hidden = environment_leave(environment, own_path());
    } else {
        log_flush(&session->log);
        sig_control_uninstall();
        session_destroy(session);
    }
    return status;
}

bool session_is_recording(void)
{
    return session_current() != NULL;
}

bool session_is_over(void)
{
    struct session *session = session_own();
    return !session || session_state_is_final(&session->handshake.state);
}

bool session_is_strict(void)
{
    struct session *session = session_current();
    return session && session->config->is_strict;
}

void session_confine_messages(void)
{
    struct session *session = session_own();
    if (session)
        __atomic_store_n(&session->log.is_confined, true, __ATOMIC_RELAXED);
}

void session_ignore_children(void)
{
    struct session *session = session_own();
    if (session)
        session->handshake.ignores_children = true;
}
