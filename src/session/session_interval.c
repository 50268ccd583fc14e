/* A profile for each interval: numbered files, the oldest of which are removed. */
#include "session_internal.h"
#include "base/clock.h"
#include "base/sink.h"
#include "sample/proc_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sooner than that no process has written one: what is older is of the run before. */
static const uint64_t first_file_ns = 50 * NS_PER_MS;

/* app.pb.gz and 12 -> app.000012.pb.gz; a device or a FIFO has no number. 0 or -errno. */
static int insert_number(struct wp_output *output, int directory_fd, uint32_t number)
{
    char text[16];
    if (sink_is_special(directory_fd, output->name))
        return 0;
    snprintf(text, sizeof(text), "%06u", number);
    return config_insert(output->name, sizeof(output->name), text);
}

static int open_output(const struct wp_output *output)
{
    return open(output->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The outputs, the first one and those behind it. */
static uint32_t output_count(const struct session *session)
{
    return 1 + session->more_output_count;
}

static const struct wp_output *output_at(const struct session *session, uint32_t index)
{
    return index == 0 ? &session->output : &session->more_outputs[index - 1];
}

static int name_output(struct session *session, uint32_t index, uint32_t number)
{
    struct wp_output *named = &session->control.numbered[index];
    *named = *output_at(session, index);
    int directory_fd = open_output(named);
    int status = insert_number(named, directory_fd, number);
    if (directory_fd >= 0)
        close(directory_fd);
    return status;
}

static int name_outputs(struct session *session, uint32_t number)
{
    int status = 0;
    for (uint32_t i = 0; i < output_count(session) && status == 0; i++)
        status = name_output(session, i, number);
    return status;
}

static uint64_t process_start(struct session *session)
{
    uint64_t start_ns;
    char state;
    if (session->process_utc_ns == 0)
        session->process_utc_ns =
            tasks_stat(session->sampler.census.task_directory, session->pid, &state, &start_ns)
                ? session->start_utc_ns - (session->start_ns - start_ns)
                : session->start_utc_ns;
    return session->process_utc_ns;
}

/* By this process as another program, before an exec; or by another process that has the same names. */
static bool is_taken(struct session *session)
{
    const struct wp_output *named = &session->control.numbered[0];
    struct stat status;
    int directory_fd = open_output(named);
    bool is_there =
        directory_fd >= 0 && fstatat(directory_fd, named->name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (directory_fd >= 0)
        close(directory_fd);
    return is_there && S_ISREG(status.st_mode) &&
           clock_timespec_ns(&status.st_mtim) > process_start(session) + first_file_ns;
}

int session_name_interval(struct session *session, uint32_t *ret_number)
{
    int status;
    *ret_number = session->control.files;
    do
        status = name_outputs(session, ++*ret_number);
    while (status == 0 && is_taken(session));
    return status;
}

/* ---- those that are too many ---- */

static struct interval_file *place_of(const struct session *session, uint32_t index, uint32_t number)
{
    const struct session_control *control = &session->control;
    uint32_t keep = session->config.interval_keep;
    return control->kept ? &control->kept[(size_t)index * keep + number % keep] : NULL;
}

/* Nobody else's file, though it has the name now. */
static void remove_if_same(const struct wp_output *output, int directory_fd, const struct interval_file *file)
{
    struct stat now;
    if (fstatat(directory_fd, output->name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_dev == file->device &&
        now.st_ino == file->inode && S_ISREG(now.st_mode))
        unlinkat(directory_fd, output->name, 0);
}

/* The new file takes the place of the one that is `interval_keep` older, which goes. */
static void keep_file(struct session *session, uint32_t index, uint32_t number)
{
    struct interval_file *place = place_of(session, index, number);
    const struct wp_output *named = &session->control.numbered[index];
    int directory_fd = place ? open_output(named) : -1;
    struct stat written;
    if (directory_fd < 0)
        return;
    if (place->number) {
        struct wp_output old = *output_at(session, index);
        if (insert_number(&old, directory_fd, place->number) == 0)
            remove_if_same(&old, directory_fd, place);
    }
    *place = (struct interval_file){0};
    if (fstatat(directory_fd, named->name, &written, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(written.st_mode))
        *place = (struct interval_file){.number = number, .device = written.st_dev, .inode = written.st_ino};
    close(directory_fd);
}

/* ---- writing ---- */

/* Not by the tool: nothing would be recorded meanwhile, and the files of a recording are alike. */
static void write_numbered(struct session *session, uint64_t end_ns)
{
    struct session_control *control = &session->control;
    const struct session_writing writing = {.name = control->numbered[0].name,
                                            .directory_fd = -1,
                                            .end_ns = end_ns,
                                            .more = &control->numbered[1],
                                            .more_count = session->more_output_count};
    if (session_write(session, &writing) < 0)
        return;
    session_forget_exec(session);
    for (uint32_t i = 0; i < output_count(session); i++)
        keep_file(session, i, control->files);
}

void session_write_interval(struct session *session, uint64_t end_ns)
{
    int status = session_name_interval(session, &session->control.files);
    if (status < 0)
        log_add(&session->log, LOG_ERROR, "the profile of an interval cannot be written to %s: %s",
                session->output.name, strerrordesc_np(-status));
    else
        session_write_on_the_way(session, end_ns, write_numbered);
    session->control.has_recorded = false;
}
