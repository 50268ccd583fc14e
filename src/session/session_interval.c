#include "export/export.h"
#include "export/export_store.h"
#include "session_internal.h"
#include "base/clock.h"
#include "base/name_pattern.h"
#include "base/sink.h"
#include "base/number_names.h"
#include "base/raw_calls.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No process writes its first file sooner than this after its start. An older file is of an earlier run. */
static const uint64_t first_file_ns = 50 * NS_PER_MS;

static int open_output(const struct profile_path *output)
{
    return open(output->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* A device or a FIFO. */
static bool is_special(const struct profile_path *output)
{
    int directory_fd = open_output(output);
    bool is_special = sink_is_special(directory_fd, output->name);
    if (directory_fd >= 0)
        close(directory_fd);
    return is_special;
}

/* app.pb.gz and 12 -> app.000012.pb.gz. A special file has no number. A format that needs the tool is left as
 * a store: app.html and 12 -> app.000012.html.store. 0 or -errno. */
static int insert_interval(struct profile_path *output, uint32_t number)
{
    char text[16];
    const char *ending = export_needs_tool(output->name) ? EXPORT_STORE_ENDING : "";
    if (!*ending && is_special(output))
        return 0;
    snprintf(text, sizeof(text), "%06u", number);
    int status = name_pattern_insert(output->name, sizeof(output->name) - strlen(ending), text);
    if (status == 0)
        strcat(output->name, ending);
    return status;
}

static int name_outputs(struct session_intervals *intervals, const struct session_outputs *outputs,
                        uint32_t number)
{
    int status = 0;
    for (uint32_t i = 0; i < outputs->count && status == 0; i++) {
        intervals->numbered[i] = outputs->paths[i];
        status = insert_interval(&intervals->numbered[i], number);
    }
    return status;
}

/* Whether the name was used by this process before an exec, or by another process that has the same names. */
static bool is_taken(const struct profile_path *named, uint64_t process_utc_ns)
{
    struct stat status;
    int directory_fd = open_output(named);
    bool is_there =
        directory_fd >= 0 && raw_fstatat(directory_fd, named->name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (directory_fd >= 0)
        close(directory_fd);
    return is_there && S_ISREG(status.st_mode) &&
           clock_timespec_ns(&status.st_mtim) > process_utc_ns + first_file_ns;
}

int session_name_interval(struct session *session, uint32_t *ret_number)
{
    struct session_intervals *intervals = &session->intervals;
    uint64_t process_utc_ns =
        session_birth_process_utc_ns(&session->birth, session->sampler.thread_scan.task_directory);
    int status;
    *ret_number = intervals->files;
    do
        status = name_outputs(intervals, &session->outputs, ++*ret_number);
    while (status == 0 && is_taken(&intervals->numbered[0], process_utc_ns));
    return status;
}

/* ---- files that are too many ---- */

static size_t bytes_of(const struct session_intervals *intervals)
{
    return sizeof(*intervals->kept) * intervals->keep * (1 + CONFIG_MORE_OUTS_MAX);
}

void session_intervals_init(struct session_intervals *intervals, uint32_t keep)
{
    intervals->keep = keep;
    intervals->kept = keep ? scratch_alloc(bytes_of(intervals)) : NULL;
}

void session_intervals_discard(struct session_intervals *intervals)
{
    scratch_free(intervals->kept, bytes_of(intervals));
}

/* Unless the name is another file's by now. */
static void remove_if_same(const struct profile_path *output, int directory_fd,
                           const struct interval_file *file)
{
    struct stat now;
    if (raw_fstatat(directory_fd, output->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
        now.st_dev == file->device && now.st_ino == file->inode && S_ISREG(now.st_mode))
        unlinkat(directory_fd, output->name, 0);
}

/* Notes the new file in the place of the file `keep` intervals before it, and removes that one. */
static void replace_oldest(struct session_intervals *intervals, uint32_t index,
                           const struct profile_path *output)
{
    const struct profile_path *named = &intervals->numbered[index];
    int directory_fd = intervals->kept ? open_output(named) : -1;
    struct stat written;
    if (directory_fd < 0)
        return;
    uint32_t number = intervals->files, keep = intervals->keep;
    struct interval_file *file = &intervals->kept[(size_t)index * keep + number % keep];
    if (file->number) {
        struct profile_path old = *output;
        if (insert_interval(&old, file->number) == 0)
            remove_if_same(&old, directory_fd, file);
    }
    *file = (struct interval_file){0};
    if (raw_fstatat(directory_fd, named->name, &written, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(written.st_mode))
        *file = (struct interval_file){.number = number, .device = written.st_dev, .inode = written.st_ino};
    close(directory_fd);
}

/* ---- writing ---- */

/* Says how to go on with the stores; once, for those of the first interval. */
static void explain_stores(struct session *session)
{
    for (uint32_t i = 0; i < session->outputs.count; i++) {
        const struct profile_path *named = &session->intervals.numbered[i];
        if (export_needs_tool(session->outputs.paths[i].name))
            export_store_explain(&session->log, named->directory, named->name, NULL,
                                 "is not run at the end of an interval");
    }
}

/* Not by the tool, since nothing would be recorded meanwhile. */
static void write_numbered(struct session *session, uint64_t end_ns)
{
    struct session_intervals *intervals = &session->intervals;
    const struct session_outputs *outputs = &session->outputs;
    struct export_request request = {.name = intervals->numbered[0].name,
                                     .directory_fd = -1,
                                     .more = &intervals->numbered[1],
                                     .more_count = outputs->count - 1,
                                     .written = session->config->written};
    if (session_write(session, &request, end_ns) < 0)
        return;
    session_outputs_forget_exec(&session->outputs);
    for (uint32_t i = 0; i < outputs->count; i++)
        replace_oldest(intervals, i, &outputs->paths[i]);
}

void session_write_interval(struct session *session, uint64_t end_ns)
{
    bool is_first = session->intervals.files == 0;
    int status = session_name_interval(session, &session->intervals.files);
    if (status < 0)
        log_add(&session->log, LOG_ERROR, "the profile of an interval cannot be written to %s: %s",
                session->outputs.paths[0].name, error_text(-status));
    else
        session_write_on_the_way(session, end_ns, write_numbered);
    if (status == 0 && is_first)
        explain_stores(session);
    session->recording.has_recorded = false;
}
