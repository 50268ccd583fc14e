#include "session_outputs.h"
#include "session_store.h"
#include "base/clock.h"
#include "base/sink.h"
#include "base/trusted_path.h"
#include "export/export_store.h"
#include "base/number_names.h"
#include "base/raw_calls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* consequence: what follows from a failure, for the log. */
static int choose_path(struct profile_path *ret, const char *pattern, int32_t rank,
                       const struct session_birth *birth, struct log *log, const char *consequence)
{
    int status = profile_path_choose(ret, pattern, birth->pid, rank, birth->start_utc_ns, birth->is_child);
    if (status < 0)
        log_add(log, LOG_ERROR, "the profile cannot be written to %s: %s%s", pattern, error_text(-status),
                consequence);
    return status;
}

int session_outputs_choose(struct session_outputs *outputs, const struct config *config,
                           const struct session_birth *birth, struct log *log)
{
    outputs->count = 1;
    for (uint32_t i = 0; i < config->more_out_count; i++) {
        struct profile_path *more = &outputs->paths[outputs->count];
        outputs->count += choose_path(more, config->more_outs[i], config->rank, birth, log, "") == 0;
    }
    return choose_path(&outputs->paths[0], config->out, config->rank, birth, log, "; not recording");
}

bool session_outputs_is_reach_error(int error)
{
    return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -EACCES || error == -EPERM ||
           error == -EROFS;
}

bool session_outputs_is_out_of_reach(const struct session_outputs *outputs, int error,
                                     const struct session_birth *birth)
{
    const bool is_reach = session_outputs_is_reach_error(error);
    if (!is_reach || !outputs->run || birth->is_child)
        return is_reach && outputs->run;
    int directory = session_store_open_directory(outputs->run); /* which the first process always can open */
    if (directory >= 0)
        close(directory);
    return directory < 0;
}

void session_outputs_report(struct session_outputs *outputs, const char *name, int error,
                            const struct session_birth *birth, struct log *log)
{
    const char *directory = outputs->paths[0].directory;
    char who[32] = "";
    if ((error == -EACCES || error == -EPERM) && geteuid() != birth->user)
        snprintf(who, sizeof(who), " as user %u", geteuid());
    if (error < 0 && !outputs->is_failure_reported)
        log_add(log, session_outputs_is_out_of_reach(outputs, error, birth) ? LOG_INFO : LOG_ERROR,
                "the profile cannot be written to %s/%s: %s%s", directory, name, error_text(-error), who);
    if (error == 0)
        log_add(log, LOG_INFO, "profile written to %s/%s", directory, name);
    outputs->is_failure_reported |= error < 0;
}

int session_outputs_open(struct session_outputs *outputs)
{
    if (outputs->directory_fd < 0)
        outputs->directory_fd = trusted_path_open_directory(outputs->paths[0].directory);
    return outputs->directory_fd < 0 ? outputs->directory_fd : 0;
}

void session_outputs_close(struct session_outputs *outputs)
{
    if (outputs->directory_fd >= 0)
        close(outputs->directory_fd);
    outputs->directory_fd = -1;
}

void session_outputs_forget_descriptors(struct session_outputs *outputs)
{
    outputs->directory_fd = outputs->spare_fd = -1;
}

void session_outputs_check(struct session_outputs *outputs, bool has_own_descriptors,
                           const struct session_birth *birth, struct log *log)
{
    const char *name = outputs->paths[0].name;
    int error = session_outputs_open(outputs);
    if (error == 0)
        error = sink_check(outputs->directory_fd, name);
    if (error < 0)
        session_outputs_report(outputs, name, error, birth, log);
    else if (has_own_descriptors)
        outputs->spare_fd = sink_spare(outputs->directory_fd, name);
    if (!has_own_descriptors) /* the program might close it */
        session_outputs_close(outputs);
}

int session_outputs_name_before_exec(struct session_outputs *outputs, bool follows_exec,
                                     const struct session_birth *birth)
{
    char *ret = outputs->name_before_exec;
    const struct profile_path *output = &outputs->paths[0];
    bool needs_tool = export_needs_tool(output->name);
    int status = 0;
    if (*ret)
        return 0;
    if (follows_exec)
        status = profile_path_name_before_exec(output, outputs->directory_fd, birth->pid,
                                               needs_tool ? EXPORT_STORE_ENDING : "", ret);
    else if (needs_tool)
        status = export_store_choose_name(outputs->directory_fd, output->name, birth->pid,
                                          birth->start_utc_ns, ret);
    if (status < 0)
        strcpy(ret, "");
    return status;
}

void session_outputs_forget_exec(struct session_outputs *outputs)
{
    if (*outputs->name_before_exec)
        unlinkat(outputs->directory_fd, outputs->name_before_exec, 0);
    strcpy(outputs->name_before_exec, "");
}

static bool is_written_since(const struct profile_path *output, uint64_t start_utc_ns)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct stat status;
    snprintf(path, sizeof(path), "%s/%s", output->directory, output->name);
    return raw_stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           clock_timespec_ns(&status.st_mtim) >= start_utc_ns;
}

void session_outputs_leave_others(struct session_outputs *outputs, const struct session_birth *birth)
{
    for (uint32_t i = 0; i < outputs->count; i++) {
        struct profile_path *output = &outputs->paths[i];
        if (!output->has_pid && is_written_since(output, birth->start_utc_ns))
            profile_path_insert_pid(output, birth->pid);
    }
}
