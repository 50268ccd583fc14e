/*
 * A recording that is kept in a file while it is made: its beginning, what is noted in it, and its end.
 *
 * In a run that is being gathered, a process that ends by itself closes its store and leaves it to the
 * program that gathers. Otherwise it writes its own profile, and removes the store.
 */
#include "session_internal.h"
#include "base/clock.h"
#include "sig/sys/sig_atomic.h"
#include "profile/store.h"
#include "base/number_names.h"
#include "base/raw_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process whose exec has failed, or that could not reach its file, tries again after this time. */
static const uint64_t again_after_ns = NS_PER_S;

/* ---- where it is ---- */

static bool is_directory(const char *path)
{
    struct stat status;
    return path[strlen(path) - 1] == '/' || (raw_stat(path, &status) == 0 && S_ISDIR(status.st_mode));
}

void session_choose_store(struct session *session)
{
    char pattern[PATH_MAX + sizeof STORE_LIVE_PATTERN];
    struct session_store *store = &session->store;
    const struct session_birth *birth = &session->birth;
    const char *wanted = session->config->store;
    store->is_run = session->config->store_is_run;
    if (!*wanted)
        return;
    session->outputs.run = store->is_run ? store : NULL;
    if (strcmp(wanted, "auto") == 0)
        snprintf(pattern, sizeof(pattern), "%s/", session->outputs.paths[0].directory);
    else
        snprintf(pattern, sizeof(pattern), "%s", wanted);
    store->is_named = !is_directory(pattern);
    for (size_t length = strlen(pattern); length > 1 && pattern[length - 1] == '/'; length--)
        pattern[length - 1] = '\0';
    if (!store->is_named)
        strcat(pattern, "/" STORE_LIVE_PATTERN);
    int status = strlen(pattern) < PATH_MAX
                     ? profile_path_choose(&store->path, pattern, birth->pid, session->config->rank,
                                           birth->start_utc_ns, birth->is_child)
                     : -ENAMETOOLONG;
    if (status < 0)
        log_add(&session->log, LOG_ERROR, "the recording cannot be kept in %s: %s", wanted,
                error_text(-status));
    sig_store_release(&store->plan, status == 0 ? STORE_FIRST : STORE_UNWANTED);
}

/* Where the profile of this recording would go; with its number if it is of an interval. */
static arena_ref add_path(struct session *session, uint32_t index)
{
    const struct profile_path *output = &session->outputs.paths[index];
    char path[PATH_MAX + NAME_MAX + 2];
    uint32_t number;
    if (session->config->interval_ns && session_name_interval(session, &number) == 0)
        output = &session->intervals.numbered[index];
    snprintf(path, sizeof(path), "%s/%s", output->directory, output->name);
    return arena_strdup(&session->sampler.arena, path);
}

static void describe_outputs(struct session *session, struct store_live *live)
{
    _Static_assert(1 + CONFIG_MORE_OUTS_MAX <= STORE_PROFILE_PATHS_MAX, "all of them");
    for (uint32_t i = 0; i < session->outputs.count; i++)
        live->profile_paths[live->profile_path_count++] = add_path(session, i);
    live->perf_map_count = session->birth.perf_maps.count;
    memcpy(live->perf_maps, session->birth.perf_maps.sources, sizeof(live->perf_maps));
}

static void fill_header(struct session *session, struct store_header *header)
{
    char program[PATH_MAX];
    const struct process_record process =
        session_birth_describe(&session->birth, session->config->rank, program);
    header->labels = session->config->labels;
    header->has_timed_samples = session->config->timeline == TIMELINE_PPROF;
    header->start_utc_ns = session->recording.profile_utc_ns;
    snprintf(header->command, sizeof(header->command), "%s", session->birth.command_text);
    store_describe_process(&header->process, &process);
    describe_outputs(session, &header->live);
}

static int begin_store(struct session *session, int directory, uint64_t now_ns)
{
    struct store_header header = {.version = STORE_VERSION};
    bool is_named;
    int fd = session_store_create(&session->store, directory, &is_named);
    if (fd < 0)
        return fd;
    fill_header(session, &header);
    int status = sampler_keep(&session->sampler, fd, &header, now_ns);
    if (status < 0) {
        if (is_named)
            unlinkat(directory, session->store.name, 0);
        close(fd);
        return status;
    }
    if (!is_named)
        status = session_store_give_name(&session->store, directory, fd);
    if (status < 0)
        mapped_store_give_up(&session->sampler.mapped_store, status);
    return status;
}

/* All processes of a run share their limit on overhead, through the run's file. */
static void join_run(struct session *session, int directory)
{
    struct stat status;
    int fd = session_store_open_run(directory, O_RDWR);
    sig_store_relaxed(&session->store.is_joined, fd >= 0);
    if (fd < 0)
        return;
    if (mapped_store_is_kept(&session->sampler.mapped_store) && raw_fstat(fd, &status) == 0 &&
        S_ISREG(status.st_mode) && status.st_uid == geteuid())
        overhead_group_share(&session->sampler.overhead_group, fd);
    close(fd);
}

/* In a run, a process that has other rights or another root cannot reach its file. It is said once. */
static void report_not_kept(struct session *session, uint32_t plan, int error)
{
    bool is_out_of_reach = session->config->store_is_run && session_outputs_is_reach_error(error);
    if (!is_out_of_reach || plan == STORE_FIRST)
        log_add(&session->log, is_out_of_reach ? LOG_INFO : LOG_WARNING,
                "the recording is not kept in %s/%s: %s", session->store.path.directory,
                session->store.path.name, error_text(-error));
}

/* Returns 0 or -errno. */
static int begin_keeping(struct session *session, uint32_t plan, uint64_t now_ns)
{
    int directory = session_store_open_directory(&session->store);
    int status = directory < 0 ? directory : begin_store(session, directory, now_ns);
    if (status < 0)
        report_not_kept(session, plan, status);
    if (directory < 0)
        return status;
    join_run(session, directory);
    if (plan == STORE_FIRST && !session->birth.is_child && !session->config->store_is_run)
        session_store_report_waiting(&session->store, directory, &session->log);
    close(directory);
    return status;
}

static void keep_again_from(struct session *session, uint64_t again_ns)
{
    session->store.again_ns = again_ns;
    sig_store_release(&session->store.plan, STORE_AGAIN); /* partner: the acquire in session_keep */
}

void session_keep(struct session *session, uint64_t now_ns)
{
    struct session_store *store = &session->store;
    uint32_t plan = sig_load_acquire(&store->plan); /* partner: the release in keep_again_from */
    bool is_due = plan == STORE_FIRST || (plan == STORE_AGAIN && now_ns >= store->again_ns);
    if (!is_due || !session->surroundings.has_own_descriptors)
        return;
    uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    sig_store_release(&store->plan, STORE_SETTLED);
    if (mapped_store_is_kept(&session->sampler.mapped_store)) /* it was removed for an exec that has failed */
        mapped_store_give_up(&session->sampler.mapped_store, 0);
    int status = begin_keeping(session, plan, now_ns);
    /* a daemon may be another user for a moment only */
    if (session->config->store_is_run && (status == -EACCES || status == -EPERM))
        keep_again_from(session, now_ns + again_after_ns);
    session->sampler.upkeep_cpu_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    if (session->log.used_bytes > 0)
        log_flush_through(&session->log, session->surroundings.stderr_handle);
}

/* ---- in the thread that takes over from a sampler ---- */

/* The file may be out of reach by now, or another one: then the recording goes on in memory. */
void session_keep_on(struct session *session)
{
    struct mapped_store *mapped = &session->sampler.mapped_store;
    if (!mapped_store_is_kept(mapped))
        return;
    int fd = session->surroundings.has_own_descriptors ? session_store_reopen(&session->store) : -EMFILE;
    int status = fd < 0 ? fd : mapped_store_take_file(mapped, fd);
    if (status == 0)
        return;
    if (fd >= 0)
        close(fd);
    mapped_store_give_up(mapped, status);
}

/* ---- the end ---- */

/* Whether there is code that is in no file, or a file that was replaced. All other names can be read from the
 * files afterwards. */
static bool knows_more_than_files(const struct session *session)
{
    const struct sampler *sampler = &session->sampler;
    const struct tree *tree = &sampler->tree;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        const struct location *location = tree_location_at(tree, ref);
        if (!location->module && !location->pseudo && !tree_is_script(location))
            return true;
    }
    for (arena_ref ref = sampler->modules.list.newest; ref;) {
        const struct module *module = arena_at(&sampler->arena, ref);
        const char *path = arena_at(&sampler->arena, module->path);
        struct stat status;
        if (module->is_sampled && *path == '/' &&
            (raw_stat(path, &status) < 0 || clock_timespec_ns(&status.st_ctim) > session->birth.start_utc_ns))
            return true;
        ref = module->next;
    }
    return false;
}

bool session_leave_store(struct session *session)
{
    struct mapped_store *mapped = &session->sampler.mapped_store;
    struct session_store *store = &session->store;
    bool can_open = session->surroundings.has_own_descriptors && store->plan != STORE_UNWANTED;
    int directory = can_open ? session_store_open_directory(store) : -1;
    if (directory < 0) {
        if (store->is_joined) /* this user may have lost access to the directory; `wallprof gather` has not */
            session_close_store(session, true);
        return false;
    }
    if (store->plan == STORE_FIRST && session_store_is_gathered(directory)) { /* there was no tick yet */
        sig_store_release(&store->plan, STORE_SETTLED);
        (void)begin_keeping(session, STORE_FIRST, session->recording.end_ns);
    }
    bool leaves = store->is_joined && mapped_store_is_kept(mapped);
    if (leaves) {
        session_close_store(session, knows_more_than_files(session));
        /* after closing it: `wallprof gather` unlocks the run, and then looks for closed stores */
        leaves = session_store_is_gathered(directory);
    }
    close(directory);
    return leaves;
}

bool session_wants_store(void)
{
    struct session *session = session_current();
    return session && sig_load_acquire(&session->store.plan) != STORE_UNWANTED;
}

static void note_end(enum store_end kind, int value)
{
    struct session *session = session_own();
    if (!session)
        return;
    mapped_store_note_end(&session->sampler.mapped_store, kind, value, clock_monotonic_ns());
    overhead_group_pause(&session->sampler.overhead_group);
}

/* Whether the run's stores are still to be gathered: 0 or 1, or -errno if it cannot be told. */
static int is_still_gathered(const struct session_store *store)
{
    int directory = session_store_open_directory(store);
    if (directory < 0)
        return directory;
    bool is_gathered = session_store_is_gathered(directory);
    close(directory);
    return is_gathered;
}

/* Whether there is a store, or will be at the first tick, that somebody reads after the process. */
static bool leaves_store(const struct session *session)
{
    if (!mapped_store_is_kept(&session->sampler.mapped_store))
        return sig_load_acquire(&session->store.plan) == STORE_FIRST;
    return !session->config->store_is_run || is_still_gathered(&session->store) != 0;
}

void session_note_exit(int status)
{
    struct session *session = session_own();
    note_end(STORE_END_EXIT, status);
    if (session && !leaves_store(session))
        session_finish_at_once(session);
}

void session_note_daemon(void)
{
    note_end(STORE_END_EXIT, 0);
}

void session_cancel_exit_note(void)
{
    struct session *session = session_own();
    if (session)
        mapped_store_cancel_end(&session->sampler.mapped_store);
}

void session_note_abort(void)
{
    note_end(STORE_END_ABORT, 0);
}

void session_note_death(pid_t child, int signal)
{
    struct session *session = session_own();
    if (session)
        mapped_store_note_death(&session->sampler.mapped_store, child, signal, clock_monotonic_ns());
}

bool session_leave_store_at_exec(struct session *session, uint64_t now_ns)
{
    struct mapped_store *mapped = &session->sampler.mapped_store;
    mapped_store_note_end(mapped, STORE_END_EXEC, 0, now_ns);
    return mapped_store_is_kept(mapped) && sig_load_relaxed(&session->store.is_joined) &&
           is_still_gathered(&session->store) == 1;
}

void session_discard_store(struct session *session, uint64_t now_ns)
{
    if (!session->sampler.mapped_store.header)
        return;
    session_remove_store(session);
    keep_again_from(session, now_ns + again_after_ns);
}

void session_reopen_store(struct session *session)
{
    struct mapped_store *mapped = &session->sampler.mapped_store;
    if (!mapped->header)
        return;
    if (mapped_store_is_kept(mapped)) /* it is not after the disk was full */
        mapped_store_give_up(mapped, 0);
    session_store_unlink(&session->store, mapped);
    keep_again_from(session, 0);
}

void session_remove_store(const struct session *session)
{
    if (!session->sampler.mapped_store.header)
        return;
    session_store_unlink(&session->store, &session->sampler.mapped_store);
    if (session->config->store_is_run)
        session_store_remove_run(&session->store);
}
