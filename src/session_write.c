/* Where the recording goes, whether it can, and the writing of it. */
#include "session_parts.h"
#include "clock.h"
#include "export.h"
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int session_choose_output(struct session *session)
{
    const char *pattern = session->config.out;
    int status =
        output_choose(&session->output, pattern, session->pid, session->start_utc_ns, session->is_child);
    if (status < 0)
        log_add(&session->log, LOG_ERROR, "the profile cannot be written to %s: %s; not recording", pattern,
                strerrordesc_np(-status));
    return status;
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

void session_check_output(struct session *session, bool has_own_descriptors)
{
    session->directory_fd = open(session->output.directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int error = session->directory_fd < 0 ? -errno : sink_check(session->directory_fd, session->output.name);
    if (error < 0)
        report_output(session, error);
    else if (has_own_descriptors)
        session->spare_fd = sink_spare(session->directory_fd, session->output.name);
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

void session_close_and_write(struct session *session)
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
