/* Writing the recording: at the end, on the way, and before an exec. */
#include "session_internal.h"
#include "base/clock.h"
#include "export/export.h"
#include "export/export_store.h"
#include "sig/sys/sig_atomic.h"
#include "base/sink.h"
#include "base/raw_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* An exec that fails is often followed by others, as a shell tries one directory after the other. So the next
 * one is worth a file only after a pause of this many times what the last file cost. */
static const uint64_t write_cost_factor = 10;

/* The path of the tool, or NULL. Not under a filter of system calls, which would apply to the tool too. */
static const char *usable_tool(const struct session *session)
{
    const char *tool = session->config->tool;
    bool may_run = *tool && strcmp(tool, "off") != 0 && !session->config->is_strict &&
                   !session->handshake.ignores_children && raw_prctl(PR_GET_SECCOMP, 0) == 0;
    return may_run ? tool : NULL;
}

/* What an export says besides the samples. */
struct description {
    char restraint[OVERHEAD_LIMIT_TEXT_BYTES], program[PATH_MAX];
    struct process_record process;
};

static void describe_recording(struct session *session, uint64_t end_ns, struct description *description,
                               struct export_request *ret)
{
    overhead_limit_describe(&session->sampler.overhead_limit, session->recording.profile_ns, end_ns,
                            description->restraint);
    description->process =
        session_birth_describe(&session->birth, session->config->rank, description->program);
    ret->sampler = &session->sampler;
    ret->labels = session->config->labels;
    ret->has_timed_samples = session->config->timeline == TIMELINE_PPROF;
    ret->start_utc_ns = session->recording.profile_utc_ns;
    ret->duration_ns = session_recorded_ns(&session->recording, end_ns);
    ret->process_utc_ns = session->birth.start_utc_ns;
    ret->restraint = description->restraint;
    ret->command = session->birth.command_text;
    ret->process = &description->process;
    ret->perf_maps = &session->birth.perf_maps;
    ret->log = &session->log;
    ret->is_short = ret->duration_ns < SESSION_WORTH_NS;
}

/* Messages that stderr has not taken, and deadlocks, for the profile's notes. */
static arena_ref keep_messages(struct session *session)
{
    struct log *log = &session->log;
    struct sampler *sampler = &session->sampler;
    if (log->unread_bytes == 0)
        return sampler->deadlock_notes;
    const char *notes = sampler->deadlock_notes ? arena_at(&sampler->arena, sampler->deadlock_notes) : "";
    const size_t bytes = strlen(notes);
    const arena_ref kept = arena_alloc(&sampler->arena, bytes + log->unread_bytes + 1);
    char *text = kept ? arena_at(&sampler->arena, kept) : NULL;
    if (text) {
        memcpy(text, notes, bytes);
        memcpy(text + bytes, log->text, log->unread_bytes);
    }
    return kept;
}

void session_close_store(struct session *session, bool with_names)
{
    struct mapped_store *store = &session->sampler.mapped_store;
    struct description description;
    struct export_request request = {0};
    struct store_part names = {0};
    if (!mapped_store_is_kept(store))
        return;
    arena_ref messages = keep_messages(session);
    sampler_show(&session->sampler, session->recording.end_ns); /* the ends of all threads too */
    describe_recording(session, session->recording.end_ns, &description, &request);
    names.offset = mapped_store_cut(store);
    if (with_names)
        export_names(&request, store->fd, &names);
    mapped_store_close(store, request.duration_ns, request.restraint, messages, &names);
}

/* Fills in the directory of the first output. */
static int use_own_directory(struct session_outputs *outputs, struct export_request *request)
{
    int status = session_outputs_open(outputs);
    request->directory_fd = outputs->directory_fd;
    request->directory = outputs->paths[0].directory;
    if (status == 0) {
        request->spare_fd = outputs->spare_fd;
        outputs->spare_fd = -1;
    }
    return status;
}

int session_write(struct session *session, struct export_request *request, uint64_t end_ns)
{
    struct description description;
    bool is_own = request->directory_fd < 0;
    describe_recording(session, end_ns, &description, request);
    request->messages = keep_messages(session);
    request->spare_fd = -1;
    int error = is_own ? use_own_directory(&session->outputs, request) : 0;
    uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    if (error == 0)
        error = export_write(request);
    session->sampler.upkeep_cpu_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    if (is_own && error != EXPORT_LEFT_STORE)
        session_outputs_report(&session->outputs, request->name, error, &session->birth, &session->log);
    if (*request->restraint)
        log_add(&session->log, LOG_INFO, "%s", request->restraint);
    if (session->sampler.tree.overflows > 0)
        log_add(
            &session->log, LOG_WARNING,
            "the profile is full: %llu stacks were cut short at [overflow]; a larger WALLPROF_MEM holds more",
            (unsigned long long)session->sampler.tree.overflows);
    return error < 0 ? error : 0;
}

/* ---- at the end ---- */

static void write_whole(struct session *session, uint64_t end_ns)
{
    if (session->config->store_is_run && !session->outputs.has_written)
        session_outputs_leave_others(&session->outputs, &session->birth);
    struct export_request request = {.name = session->outputs.paths[0].name,
                                     .directory_fd = -1,
                                     .more = &session->outputs.paths[1],
                                     .more_count = session->outputs.count - 1,
                                     .written = session->config->written,
                                     .tool = usable_tool(session)};
    if (session_write(session, &request, end_ns) < 0) {
        if (session->recording.end_ns)
            session_close_store(session, true);
        return;
    }
    if (session->recording.end_ns)
        session_remove_store(session);
    else if (!session->store.is_joined) /* it has no more than the file, until recording starts again */
        session_discard_store(session, end_ns);
    session_outputs_forget_exec(&session->outputs);
    session->outputs.has_written = true;
    session->recording.has_recorded = false;
}

void session_read_title(struct session *session, uint64_t now_ns, bool must)
{
    struct mapped_store *store = &session->sampler.mapped_store;
    if (session_birth_read_title(&session->birth, session->sampler.thread_scan.task_directory,
                                 session->config->arguments, now_ns, must) &&
        mapped_store_is_kept(store))
        store_set_title(&store->header->process, session->birth.title);
}

void session_close_and_write(struct session *session)
{
    if (!session->recording.end_ns)
        session->recording.end_ns = clock_monotonic_ns();
    session_read_title(session, session->recording.end_ns, true);
    sampler_close(&session->sampler, session->recording.end_ns);
    bool may_leave = session->recording.has_begun && !session->config->interval_ns;
    if (may_leave && session_leave_store(session))
        return;
    if (session->recording.has_recorded && session->config->interval_ns) {
        session_write_interval(session, session->recording.end_ns);
        session_remove_store(session);
    } else if (session->recording.has_recorded)
        write_whole(session, session->recording.end_ns);
    else {
        session_remove_store(session);
        log_add(&session->log, LOG_INFO, "nothing more was recorded that is to be written");
    }
}

/* ---- on the way ---- */

void session_write_on_the_way(struct session *session, uint64_t now_ns,
                              void write(struct session *session, uint64_t now_ns))
{
    bool has_spare = session->outputs.spare_fd >= 0, has_directory = session->outputs.directory_fd >= 0;
    write(session, now_ns);
    if (has_spare && session->outputs.spare_fd < 0)
        session->outputs.spare_fd = sink_spare(session->outputs.directory_fd, session->outputs.paths[0].name);
    if (!has_directory)
        session_outputs_close(&session->outputs);
}

void session_write_stopped(struct session *session, uint64_t now_ns)
{
    session_write_on_the_way(session, now_ns, write_whole);
}

/* The directory of a path, opened, and the name in it; or -errno. */
static int open_directory_of(const char *path, char directory[PATH_MAX], const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return -EINVAL;
    snprintf(directory, PATH_MAX, "%.*s", slash > path ? (int)(slash - path) : 1, path);
    *ret_name = slash + 1;
    if (!**ret_name)
        return -EISDIR;
    if (strlen(*ret_name) > NAME_MAX)
        return -ENAMETOOLONG;
    int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int session_write_dump(struct session *session, const char *path, uint64_t now_ns)
{
    char own[2 * PATH_MAX], directory[PATH_MAX];
    struct export_request request = {.directory = directory};
    if (!*path) {
        snprintf(own, sizeof(own), "%s/%s", session->outputs.paths[0].directory,
                 session->outputs.paths[0].name);
        path = own;
    }
    request.directory_fd = open_directory_of(path, directory, &request.name);
    if (request.directory_fd < 0)
        return request.directory_fd;
    if (!sig_load_relaxed(&session->recording.is_stopped))
        sampler_settle(&session->sampler, now_ns);
    int status = session_write(session, &request, now_ns);
    close(request.directory_fd);
    if (status == 0 && !export_needs_tool(request.name))
        log_add(&session->log, LOG_INFO, "what was recorded so far is written to %s", path);
    return status;
}

/* ---- before an exec ---- */

/* Not into a device or a FIFO, whose reader waits for one profile: the new program's. */
static void write_before_exec(struct session *session, uint64_t now_ns)
{
    const char *name = session->outputs.paths[0].name;
    if (session_outputs_open(&session->outputs) < 0) /* reported at the start */
        return;
    if (session->config->follows_exec && sink_is_special(session->outputs.directory_fd, name))
        return;
    int status =
        session_outputs_name_before_exec(&session->outputs, session->config->follows_exec, &session->birth);
    if (status < 0) {
        session_outputs_report(&session->outputs, name, status, &session->birth, &session->log);
        return;
    }
    const char *chosen = session->outputs.name_before_exec, *written = *chosen ? chosen : name;
    struct export_request request = {.name = written, .directory_fd = -1};
    if (!session->config->follows_exec) /* it is the process's last file */
        request.written = session->config->written;
    if (session_write(session, &request, now_ns) < 0)
        return;
    if (export_needs_tool(name))
        export_store_explain(&session->log, session->outputs.paths[0].directory, written,
                             session->config->follows_exec ? NULL : name, "is not run before an exec");
    session_discard_store(session, now_ns);
}

static void note_exec(struct session *session, uint64_t now_ns)
{
    const struct timeline_event event = {.begin_ns = now_ns, .end_ns = now_ns, .kind = EVENT_EXEC};
    if (session->sampler.timeline)
        timeline_event(session->sampler.timeline, &event);
}

/* A process of a run leaves its store at an exec. Before the first tick one is begun for that. If the sampler
 * has begun one since the thread that executes has looked, that is left. */
static bool can_leave_store(struct session *session, uint64_t now_ns)
{
    const struct mapped_store *store = &session->sampler.mapped_store;
    if (!session->config->store_is_run)
        return false;
    if (store->header)
        return session_leave_store_at_exec(session, now_ns);
    session_keep(session, now_ns);
    if (!mapped_store_is_kept(store) || !session->store.is_joined)
        return false;
    sampler_show(&session->sampler, now_ns);
    return true;
}

void session_write_so_far(struct session *session)
{
    uint64_t begin_ns = clock_monotonic_ns();
    if (!session->recording.has_recorded)
        return;
    if (!sig_load_relaxed(&session->recording.is_stopped))
        sampler_settle(&session->sampler, begin_ns);
    if (can_leave_store(session, begin_ns))
        return;
    note_exec(session, begin_ns);
    session_write_on_the_way(session, begin_ns, write_before_exec);
    uint64_t end_ns = clock_monotonic_ns(), rest_ns = write_cost_factor * (end_ns - begin_ns);
    uint64_t worth_ns = end_ns + (rest_ns > SESSION_WORTH_NS ? rest_ns : SESSION_WORTH_NS);
    sig_store_relaxed(&session->outputs.worth_writing_ns, worth_ns);
}
