/* Where the recording goes, whether it can, and the writing of it. */
#include "session_internal.h"
#include "base/clock.h"
#include "export/export.h"
#include "base/trusted_path.h"
#include "sig/sys/sig_atomic.h"
#include "base/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Shells try one directory after the other: after an exec that has failed, others are soon to follow. */
static const uint64_t write_cost_factor = 10;

/* 0 or -errno, which is reported: what becomes of the recording then, the caller knows. */
static int choose(struct session *session, const char *pattern, struct wp_output *ret,
                  const char *consequence)
{
    int status = output_choose(ret, pattern, session->pid, session->config.rank, session->start_utc_ns,
                               session->is_child);
    if (status < 0)
        log_add(&session->log, LOG_ERROR, "the profile cannot be written to %s: %s%s", pattern,
                strerrordesc_np(-status), consequence);
    return status;
}

int session_choose_output(struct session *session)
{
    const struct wp_config *config = &session->config;
    session->more_output_count = 0;
    for (uint32_t i = 0; i < config->more_out_count; i++) {
        struct wp_output *more = &session->more_outputs[session->more_output_count];
        session->more_output_count += choose(session, config->more_outs[i], more, "") == 0;
    }
    return choose(session, config->out, &session->output, "; not recording");
}

/* One line for one problem: what was found at the start is not said again at the end. */
static void report_output(struct session *session, const char *name, int error)
{
    const struct wp_output *output = &session->output;
    char who[32] = "";
    if ((error == -EACCES || error == -EPERM) && geteuid() != session->start_user)
        snprintf(who, sizeof(who), " as user %u", geteuid());
    if (error < 0 && !session->is_output_reported)
        log_add(&session->log, LOG_ERROR, "the profile cannot be written to %s/%s: %s%s", output->directory,
                name, strerrordesc_np(-error), who);
    if (error == 0)
        log_add(&session->log, LOG_INFO, "profile written to %s/%s", output->directory, name);
    session->is_output_reported |= error < 0;
}

static int open_directory(struct session *session)
{
    if (session->directory_fd < 0)
        session->directory_fd = place_open_directory(session->output.directory);
    return session->directory_fd < 0 ? session->directory_fd : 0;
}

static void close_directory(struct session *session)
{
    if (session->directory_fd >= 0)
        close(session->directory_fd);
    session->directory_fd = -1;
}

void session_check_output(struct session *session, bool has_own_descriptors)
{
    const char *name = session->output.name;
    int error = open_directory(session);
    if (error == 0)
        error = sink_check(session->directory_fd, name);
    if (error < 0)
        report_output(session, name, error);
    else if (has_own_descriptors)
        session->spare_fd = sink_spare(session->directory_fd, name);
    if (!has_own_descriptors) /* the program may do with its descriptors as it likes */
        close_directory(session);
}

/*
 * Not for what takes less than a start of the tool, and not under a filter of system calls, which would be
 * the tool's too.
 */
static bool may_run_tool(const struct session *session, uint64_t recorded_ns)
{
    return *session->config.tool && strcmp(session->config.tool, "off") != 0 && !session->config.is_strict &&
           !session->leaves_children && recorded_ns >= SESSION_WORTH_NS && prctl(PR_GET_SECCOMP) == 0;
}

struct wp_process session_describe_process(const struct session *session, char program[PATH_MAX])
{
    return (struct wp_process){.name = output_program_name(program, PATH_MAX),
                               .pid = session->pid,
                               .rank = session->config.rank,
                               .ending = ""};
}

static struct export_request describe_recording(struct session *session, const struct wp_process *process,
                                                uint64_t end_ns, const char *restraint)
{
    uint64_t recorded_ns = session_control_recorded_ns(session, end_ns);
    return (struct export_request){
        .sampler = &session->sampler,
        .labels = session->config.labels,
        .has_timed_samples = session->config.timeline == TIMELINE_PPROF,
        .start_utc_ns = session->control.profile_utc_ns,
        .duration_ns = recorded_ns,
        .process_utc_ns = session->start_utc_ns,
        .restraint = restraint,
        .command = session->command_text,
        .process = process,
        .perf_maps = &session->perf_maps,
        .log = &session->log,
    };
}

static int write_profile(struct session *session, const struct session_writing *writing,
                         const char *restraint)
{
    uint64_t recorded_ns = session_control_recorded_ns(session, writing->end_ns);
    bool is_elsewhere = writing->directory_fd >= 0;
    char program[PATH_MAX];
    const struct wp_process process = session_describe_process(session, program);
    struct export_request request = describe_recording(session, &process, writing->end_ns, restraint);
    request.tool = writing->by_tool && may_run_tool(session, recorded_ns) ? session->config.tool : NULL;
    request.directory_fd = is_elsewhere ? writing->directory_fd : session->directory_fd;
    request.name = writing->name;
    request.more = writing->more;
    request.more_count = writing->more_count;
    request.spare_fd = is_elsewhere ? -1 : session->spare_fd;
    if (!is_elsewhere)
        session->spare_fd = -1;
    return export_write(&request);
}

void session_close_store(struct session *session, bool with_names)
{
    struct wp_live *live = &session->sampler.live;
    char restraint[RESTRAINT_TEXT_BYTES], program[PATH_MAX];
    struct store_part names = {0};
    if (!live_is_kept(live))
        return;
    sampler_show(&session->sampler, session->end_ns); /* the ends of all threads too */
    restraint_describe(&session->sampler.restraint, session->control.profile_ns, session->end_ns, restraint);
    const struct wp_process process = session_describe_process(session, program);
    const struct export_request request = describe_recording(session, &process, session->end_ns, restraint);
    names.offset = live_cut(live);
    if (with_names)
        export_names(&request, live->fd, &names);
    live_close(live, request.duration_ns, restraint, &names);
}

int session_write(struct session *session, const struct session_writing *writing)
{
    char restraint[RESTRAINT_TEXT_BYTES];
    restraint_describe(&session->sampler.restraint, session->control.profile_ns, writing->end_ns, restraint);
    int error = writing->directory_fd >= 0 ? 0 : open_directory(session);
    uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    if (error == 0)
        error = write_profile(session, writing, restraint);
    session->sampler.upkeep_cpu_ns +=
        clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns; /* looks are no dearer */
    if (writing->directory_fd < 0)
        report_output(session, writing->name, error);
    if (*restraint)
        log_add(&session->log, LOG_INFO, "%s", restraint);
    if (session->sampler.tree.overflows > 0)
        log_add(
            &session->log, LOG_WARNING,
            "the profile is full: %llu stacks were cut short at [overflow]; a larger WALLPROF_MEM holds more",
            (unsigned long long)session->sampler.tree.overflows);
    return error;
}

/* ---- all of it ---- */

void session_forget_exec(struct session *session)
{
    if (*session->name_before_exec)
        unlinkat(session->directory_fd, session->name_before_exec, 0);
    strcpy(session->name_before_exec, "");
}

static bool is_of_this_time(const struct session *session, const struct wp_output *output)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct stat status;
    snprintf(path, sizeof(path), "%s/%s", output->directory, output->name);
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           clock_timespec_ns(&status.st_mtim) >= session->start_utc_ns;
}

/* All programs of a run have the same name for their files. What has it by now is of the program that the run
 * is called by, or of all of them. */
static void leave_others_their_files(struct session *session)
{
    for (uint32_t i = 0; i <= session->more_output_count; i++) {
        struct wp_output *output = i == 0 ? &session->output : &session->more_outputs[i - 1];
        if (!output->has_pid && is_of_this_time(session, output))
            output_insert_pid(output, session->pid);
    }
}

static void write_whole(struct session *session, uint64_t end_ns)
{
    if (session->config.store_is_run && !session->has_written)
        leave_others_their_files(session);
    const struct session_writing writing = {.name = session->output.name,
                                            .directory_fd = -1,
                                            .end_ns = end_ns,
                                            .more = session->more_outputs,
                                            .more_count = session->more_output_count,
                                            .by_tool = true};
    if (session_write(session, &writing) < 0) {
        if (session->end_ns)
            session_close_store(session, true);
        return;
    }
    if (session->end_ns)
        session_remove_store(session);
    else if (!session->is_joined) /* until there is more */
        session_put_store_away(session, end_ns);
    session_forget_exec(session);
    session->has_written = true;
    session->control.has_recorded = false;
}

void session_close_and_write(struct session *session)
{
    if (!session->end_ns)
        session->end_ns = clock_monotonic_ns();
    sampler_close(&session->sampler, session->end_ns);
    bool may_leave = session->control.has_begun && !session->config.interval_ns;
    if (may_leave && session_leave_store(session))
        return;
    if (session->control.has_recorded && session->config.interval_ns) {
        session_write_interval(session, session->end_ns);
        session_remove_store(session);
    } else if (session->control.has_recorded)
        write_whole(session, session->end_ns);
    else {
        session_remove_store(session);
        log_add(&session->log, LOG_INFO, "nothing more was recorded that is to be written");
    }
}

/* ---- on the way ---- */

void session_write_on_the_way(struct session *session, uint64_t now_ns,
                              void write(struct session *session, uint64_t now_ns))
{
    bool has_spare = session->spare_fd >= 0, has_directory = session->directory_fd >= 0;
    write(session, now_ns);
    if (has_spare && session->spare_fd < 0)
        session->spare_fd = sink_spare(session->directory_fd, session->output.name);
    if (!has_directory)
        close_directory(session);
}

void session_write_stopped(struct session *session, uint64_t now_ns)
{
    session_write_on_the_way(session, now_ns, write_whole);
}

/* The directory of a path, opened, and the name in it; or -errno. */
static int open_directory_of(const char *path, const char **ret_name)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash)
        return -EINVAL;
    snprintf(directory, sizeof(directory), "%.*s/", (int)(slash - path), path);
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
    char own[2 * PATH_MAX];
    struct session_writing writing = {.end_ns = now_ns};
    if (!*path) {
        snprintf(own, sizeof(own), "%s/%s", session->output.directory, session->output.name);
        path = own;
    }
    writing.directory_fd = open_directory_of(path, &writing.name);
    if (writing.directory_fd < 0)
        return writing.directory_fd;
    if (!sig_load_relaxed(&session->control.is_stopped))
        sampler_settle(&session->sampler, now_ns);
    int status = session_write(session, &writing);
    close(writing.directory_fd);
    if (status == 0)
        log_add(&session->log, LOG_INFO, "what was recorded so far is written to %s", path);
    return status;
}

/* ---- before an exec ---- */

/* The new program will write a file of the same name, unless it is not recorded. 0 or -errno. */
static int choose_name_before_exec(struct session *session)
{
    char *ret = session->name_before_exec;
    int status = 0;
    if (*ret || !session->config.follows_exec)
        return 0;
    status = output_name_before_exec(&session->output, session->directory_fd, session->pid, ret,
                                     sizeof(session->name_before_exec));
    if (status < 0)
        strcpy(ret, "");
    return status;
}

/* Not into a device or a FIFO: its reader waits for one profile, the new program's. */
static void write_before_exec(struct session *session, uint64_t now_ns)
{
    const char *name = session->output.name;
    if (open_directory(session) < 0) /* reported at the start */
        return;
    if (session->config.follows_exec && sink_is_special(session->directory_fd, name))
        return;
    int status = choose_name_before_exec(session);
    if (status < 0)
        report_output(session, name, status);
    else if (session_write(session, &(struct session_writing){
                                        .name = *session->name_before_exec ? session->name_before_exec : name,
                                        .directory_fd = -1,
                                        .end_ns = now_ns}) == 0)
        session_put_store_away(session, now_ns);
}

static void note_exec(struct session *session, uint64_t now_ns)
{
    const struct timeline_event event = {.begin_ns = now_ns, .end_ns = now_ns, .kind = EVENT_EXEC};
    if (session->sampler.timeline)
        timeline_event(session->sampler.timeline, &event);
}

/* Before its first tick: a store of a run is what is left at an exec. */
static bool leaves_first_store(struct session *session, uint64_t now_ns)
{
    const struct wp_live *live = &session->sampler.live;
    if (!session->config.store_is_run || live->header)
        return false;
    session_keep(session, now_ns);
    if (!live_is_kept(live) || !session->is_joined)
        return false;
    sampler_show(&session->sampler, now_ns);
    return true;
}

void session_write_so_far(struct session *session)
{
    uint64_t begin_ns = clock_monotonic_ns();
    if (!session->control.has_recorded)
        return;
    if (!sig_load_relaxed(&session->control.is_stopped))
        sampler_settle(&session->sampler, begin_ns);
    if (leaves_first_store(session, begin_ns))
        return;
    note_exec(session, begin_ns);
    session_write_on_the_way(session, begin_ns, write_before_exec);
    uint64_t end_ns = clock_monotonic_ns(), rest_ns = write_cost_factor * (end_ns - begin_ns);
    uint64_t worth_ns = end_ns + (rest_ns > SESSION_WORTH_NS ? rest_ns : SESSION_WORTH_NS);
    sig_store_relaxed(&session->worth_writing_ns, worth_ns);
}
