#include "attach.h"
#include "attach_store.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/name_pattern.h"
#include "base/number_names.h"
#include "export/command_line.h"
#include "export/export.h"
#include "proc/proc_tasks.h"
#include "proc/proc_text.h"
#include "profile/store.h"
#include "sig/sys/sig_memory.h"
#include "tool/io/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HIGHEST_PRIORITY = -20 };

/* ---- what is known of the process ---- */

static void read_command(struct attach *attach)
{
    char arguments[4096];
    int fd = openat(attach->directory, "cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? 0 : read(fd, arguments, sizeof arguments);
    if (fd >= 0)
        close(fd);
    if (bytes > 0) /* else it has ended meanwhile */
        command_line_describe(arguments, (size_t)bytes, attach->config->arguments, attach->command,
                              sizeof attach->command);
}

/* Whether it is in another mount namespace: then its paths are not ours. One of our own namespace with
 * another root directory is shown with our paths. */
static bool has_other_mounts(int directory)
{
    char ours[64] = "", its[64] = "";
    return readlink("/proc/self/ns/mnt", ours, sizeof ours - 1) > 0 &&
           readlinkat(directory, "ns/mnt", its, sizeof its - 1) > 0 && strcmp(ours, its) != 0;
}

/* NSpid has an id for each PID namespace, ours first, that it is in. */
static bool has_other_ids(int directory)
{
    static const char label[] = "\nNSpid:";
    char text[4096];
    proc_text_read(directory, "status", text, sizeof text);
    char *line = strstr(text, label), *end;
    if (!line)
        return false;
    strtol(line + strlen(label), &end, 10);
    return strspn(end, " \t") > 0 && *(end + strspn(end, " \t")) != '\n';
}

static uint64_t process_utc_ns(const struct attach *attach)
{
    struct proc_task task;
    const bool is_known = proc_tasks_stat(attach->sampler->thread_scan.task_directory, attach->pid, &task);
    return is_known ? attach->start_utc_ns - since(task.start_ns, attach->start_ns) : attach->start_utc_ns;
}

static void describe(struct attach *attach)
{
    if (has_other_mounts(attach->directory))
        snprintf(attach->root, sizeof attach->root, "/proc/%d/root", (int)attach->pid);
    attach_modules_init(&attach->modules, attach->directory, attach->root);
    read_command(attach);
}

void attach_describe_process(struct attach *attach)
{
    snprintf(attach->name, sizeof attach->name, "%s", name_last_part(attach->modules.program));
    attach->process = (struct process_record){.name = attach->name,
                                              .pid = attach->pid,
                                              .rank = PROCESS_NO_RANK,
                                              .ending = attach->ending,
                                              .title = ""};
}

/* ---- the target ---- */

static bool refresh_modules(void *context, struct modules *modules)
{
    struct attach *attach = context;
    const uint64_t since_ns = attach->modules.since_ns;
    const bool is_changed = attach_modules_refresh(&attach->modules, modules);
    if (since_ns && attach->modules.since_ns != since_ns) { /* an exec */
        read_command(attach);
        attach_store_describe(attach);
    }
    return is_changed;
}

static bool observe_thread_of(void *context, struct observer *observer, struct thread *thread,
                              uint64_t now_ns, struct observation *ret)
{
    struct attach *attach = context;
    return attach_observe_thread(&attach->observer, observer, thread, now_ns, ret);
}

static bool observe_next_of(void *context, struct observer *observer, struct observation *ret)
{
    struct attach *attach = context;
    return attach_observe_next(&attach->observer, observer, ret);
}

static void forget_thread(void *context, struct thread *thread)
{
    struct attach *attach = context;
    attach_observe_forget(&attach->observer, thread);
}

static int init_sampler(struct attach *attach)
{
    struct sampler_options options = attach->config->sampler;
    uint64_t seed = attach->config->seed;
    attach->target = (struct target){.pid = attach->pid,
                                     .directory = attach->directory,
                                     .has_other_ids = has_other_ids(attach->directory),
                                     .program = attach->modules.program,
                                     .context = attach,
                                     .refresh_modules = refresh_modules,
                                     .observe = observe_thread_of,
                                     .observe_next = observe_next_of,
                                     .forget = forget_thread};
    options.target = &attach->target;
    options.by_signal_only = false;
    if (!attach->config->has_seed && getrandom(&seed, sizeof seed, GRND_NONBLOCK) < 0)
        seed = attach->start_ns;
    return sampler_init(attach->sampler, &options, &attach->threads, attach->labels, attach->start_ns, seed);
}

int attach_open(struct attach *ret, pid_t pid, struct config *config, struct log *log)
{
    char path[64];
    log_init(log, LOG_WARNING);
    config_read(config, log, environ);
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    *ret = (struct attach){.pid = pid, .config = config, .log = log, .leash = -1};
    ret->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return ret->directory < 0 ? -errno : 0;
}

int attach_init(struct attach *attach)
{
    describe(attach);
    attach->ended = (int)syscall(SYS_pidfd_open, attach->pid, 0);
    sig_memory_be_of(attach->pid);
    attach->sampler = scratch_alloc(sizeof *attach->sampler);
    attach->labels = scratch_alloc(sizeof *attach->labels);
    attach->start_ns = clock_monotonic_ns();
    attach->start_utc_ns = clock_read_ns(CLOCK_REALTIME);
    perf_maps_init(&attach->perf_maps, attach->pid, attach->start_utc_ns, NULL);
    int status = attach->sampler && attach->labels ? threads_init(&attach->threads) : -ENOMEM;
    if (status == 0)
        status = attach_observe_init(&attach->observer);
    return status == 0 ? init_sampler(attach) : status;
}

void attach_deinit(struct attach *attach)
{
    if (attach->sampler)
        sampler_deinit(attach->sampler);
    scratch_free(attach->sampler, sizeof *attach->sampler);
    scratch_free(attach->labels, sizeof *attach->labels);
    threads_deinit(&attach->threads);
    attach_observe_deinit(&attach->observer);
    if (attach->ended >= 0)
        close(attach->ended);
    sig_memory_be_of(0);
}

/* ---- recording ---- */

static bool has_process_ended(const struct attach *attach)
{
    struct pollfd ended = {.fd = attach->ended, .events = POLLIN};
    if (attach->ended < 0)
        return kill(attach->pid, 0) < 0 && errno == ESRCH;
    return poll(&ended, 1, 0) > 0;
}

/* The first recorder has ended, or was killed. */
static bool is_leash_gone(const struct attach *attach)
{
    struct pollfd leash = {.fd = attach->leash, .events = POLLIN};
    return attach->leash >= 0 && poll(&leash, 1, 0) > 0;
}

/* The signals that end the recording, and the one that tells that a thread stands still. */
static void fill_awaited(const struct attach *attach, sigset_t *ret)
{
    sigemptyset(ret);
    sigaddset(ret, SIGCHLD);
    if (attach->is_deaf)
        return;
    sigaddset(ret, SIGINT);
    sigaddset(ret, SIGTERM);
    sigaddset(ret, SIGHUP);
}

/* How long to wait: children are looked for in between. */
static struct timespec left_until(const struct attach *attach, uint64_t deadline_ns, uint64_t now_ns)
{
    const struct attach_follow *follow = &attach->follow;
    const bool is_sooner = follow->is_on && follow->due_ns > now_ns && follow->due_ns < deadline_ns;
    return clock_ns_timespec((is_sooner ? follow->due_ns : deadline_ns) - now_ns);
}

/* Threads that have come to stand still are observed at once, as they wait for it. False: it is to end. */
static bool wait_until(struct attach *attach, uint64_t deadline_ns)
{
    sigset_t awaited;
    fill_awaited(attach, &awaited);
    for (;;) {
        attach_follow_look(&attach->follow, attach->directory, &attach->threads, clock_monotonic_ns());
        const uint64_t now_ns = clock_monotonic_ns();
        if (sampler_came_late(attach->sampler, deadline_ns, now_ns))
            sampler_note_gap(attach->sampler, deadline_ns, now_ns, false);
        if (now_ns >= deadline_ns)
            return true;
        const struct timespec left = left_until(attach, deadline_ns, now_ns);
        sampler_begin_wait(attach->sampler);
        const int number = sigtimedwait(&awaited, NULL, &left);
        if (number == SIGCHLD)
            sampler_collect(attach->sampler, clock_monotonic_ns());
        else if (number > 0)
            return false;
    }
}

/* The main thread's memory is everybody's; but if it has ended before the others, the kernel shows none by
 * it. */
static void choose_subject(const struct attach *attach)
{
    const struct threads *threads = &attach->threads;
    const bool has_main = threads->live_count == 0 || threads_find(threads, attach->pid);
    sig_memory_be_of(has_main ? attach->pid : threads->live[0]->tid);
}

static void one_tick(struct attach *attach)
{
    struct sampler *sampler = attach->sampler;
    const uint64_t now_ns = clock_monotonic_ns();
    choose_subject(attach);
    sampler_limit_overhead(sampler, now_ns);
    tick_advance(&sampler->tick, now_ns, &sampler->random);
    attach->modules.is_due = true;
    sampler_send(sampler, now_ns);
    attach->modules.is_due = false; /* not between a sample and its being accounted */
    sampler_show(sampler, now_ns);
    sampler_skip_ticks(sampler, now_ns);
}

static void record(struct attach *attach)
{
    struct sampler *sampler = attach->sampler;
    const uint64_t duration_ns = attach->config->duration_ns;
    const uint64_t last_ns = duration_ns ? attach->start_ns + duration_ns : UINT64_MAX;
    bool goes_on = true;
    while (goes_on) {
        const uint64_t tick_ns = sampler->tick.deadline_ns;
        goes_on = wait_until(attach, tick_ns < last_ns ? tick_ns : last_ns);
        attach->has_ended = has_process_ended(attach);
        goes_on = goes_on && !attach->has_ended && !is_leash_gone(attach) && clock_monotonic_ns() < last_ns;
        if (goes_on)
            one_tick(attach);
    }
    attach->end_ns = clock_monotonic_ns();
    if (attach->has_ended)
        snprintf(attach->ending, sizeof attach->ending, "ended while it was recorded");
    sampler_collect(sampler, attach->end_ns);
    attach_observe_give_up(&attach->observer);
    sampler_close(sampler, attach->end_ns);
}

/* ---- the thread ---- */

struct recorder {
    struct attach *attach;
    int status;
};

void attach_let_go(pid_t pid)
{
    if (ptrace(PTRACE_DETACH, pid, NULL, NULL) < 0)
        waitpid(pid, NULL, __WALL);
}

static int enter_and_record(struct attach *attach)
{
    prctl(PR_SET_TIMERSLACK, 1UL);
    setpriority(PRIO_PROCESS, 0, HIGHEST_PRIORITY); /* if we may: a thread that stands still waits for us */
    int status = sampler_enter(attach->sampler, true);
    if (status == 0) {
        attach->perf_maps.sources[attach->perf_maps.count - 1].since_utc_ns = process_utc_ns(attach);
        status = attach->run || attach->store ? attach_store_begin(attach) : 0;
    }
    if (status == 0) {
        tick_begin_late(&attach->sampler->tick, clock_monotonic_ns(), &attach->sampler->random);
        if (attach->is_held)
            attach_let_go(attach->pid);
        record(attach);
    }
    return status;
}

int attach_record_held(struct attach *attach)
{
    return enter_and_record(attach);
}

static void *run(void *argument)
{
    struct recorder *recorder = argument;
    recorder->status = enter_and_record(recorder->attach);
    return NULL;
}

/* In a thread of its own: the kernel lets everybody go whom a thread traces when it ends. */
int attach_record(struct attach *attach)
{
    struct recorder recorder = {.attach = attach};
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, run, &recorder);
    if (error == 0)
        pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error ? -error : recorder.status;
}

int attach_record_family(struct attach *attach, bool is_first, bool *ret_is_whole)
{
    int status = attach_follow_begin(&attach->follow, attach->run, is_first);
    *ret_is_whole = true;
    if (status < 0)
        return status;
    status = attach_init(attach);
    if (status == 0)
        status = attach_record(attach);
    if (status == 0)
        status = attach_store_end(attach);
    attach_deinit(attach);
    *ret_is_whole = attach_follow_end(&attach->follow);
    return status;
}

int attach_fail(const struct attach *attach, int error)
{
    const int pid = (int)attach->pid;
    return attach->end_ns == 0
               ? command_fail("process %d cannot be recorded: %s", pid, error_text(-error))
               : command_fail("what was recorded of process %d could be kept only in part: %s", pid,
                              error_text(-error));
}

int attach_write_store(struct attach *attach, int fd)
{
    char restraint[OVERHEAD_LIMIT_TEXT_BYTES];
    attach_describe_process(attach);
    overhead_limit_describe(&attach->sampler->overhead_limit, attach->start_ns, attach->end_ns, restraint);
    const struct export_request request = {
        .sampler = attach->sampler,
        .labels = attach->config->labels,
        .has_timed_samples = attach->config->timeline == TIMELINE_PPROF,
        .start_utc_ns = attach->start_utc_ns,
        .duration_ns = since(attach->start_ns, attach->end_ns),
        .process_utc_ns = attach->start_utc_ns,
        .restraint = restraint,
        .command = attach->command,
        .process = &attach->process,
        .perf_maps = &attach->perf_maps,
        .log = attach->log,
    };
    return export_store(&request, fd);
}
