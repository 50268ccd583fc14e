#include "live_recorder.h"
#include "base/log.h"
#include "base/number_names.h"
#include "config/config.h"
#include "live_messages.h"
#include "tool/attach/attach.h"
#include "tool/attach/attach_check.h"
#include "tool/attach/attach_store.h"
#include "tool/io/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child. Returns its exit status. */
static int record(pid_t pid, int directory, int store)
{
    static struct attach attach;
    static struct config config;
    static struct log log;
    signal(SIGCHLD, SIG_DFL); /* where it is ignored, no thread that comes to a stop is told */
    log_init(&log, LOG_WARNING);
    config_read(&config, &log, environ);
    config.timeline = TIMELINE_OFF;
    config.duration_ns = 0;
    attach = (struct attach){
        .pid = pid, .config = &config, .log = &log, .directory = directory, .leash = -1, .store = store};
    int error = attach_init(&attach);
    if (error == 0)
        error = attach_record(&attach);
    if (error == 0)
        error = attach_store_end(&attach);
    log_flush(&log);
    return error == 0 ? 0 : command_fail("process %d cannot be recorded: %s", (int)pid, error_text(-error));
}

/* If we end before it has asked for the signal, it has another parent by then. */
static void begin_child(const struct live_recorder *recorder, pid_t pid, int directory, pid_t parent)
{
    if (recorder->messages >= 0)
        dup2(recorder->messages, STDERR_FILENO);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    _exit(getppid() == parent ? record(pid, directory, recorder->store) : 0);
}

static int fork_child(struct live_recorder *recorder, pid_t pid, int directory)
{
    const pid_t parent = getpid();
    recorder->store = memfd_create("wallprof", MFD_CLOEXEC);
    recorder->messages = live_messages_open();
    if (recorder->store < 0)
        return command_fail("the recording cannot be kept: %s", error_text(errno));
    fflush(NULL);
    recorder->child = fork();
    if (recorder->child == 0)
        begin_child(recorder, pid, directory, parent);
    if (recorder->child > 0)
        return 0;
    recorder->child = 0;
    return command_fail("the recording cannot begin: %s", error_text(errno));
}

int live_recorder_begin(struct live_recorder *recorder, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return attach_check_missing(pid);
    int status = attach_check(pid, directory);
    if (status == 0)
        status = fork_child(recorder, pid, directory);
    close(directory);
    return status;
}

/* Whether it has ended, now or before; *ret_status: how, if now. */
static bool await(struct live_recorder *recorder, int flags, int *ret_status)
{
    pid_t ended;
    do
        ended = recorder->child ? waitpid(recorder->child, ret_status, flags) : -1;
    while (ended < 0 && recorder->child && errno == EINTR);
    if (ended != 0)
        recorder->child = 0;
    return ended != 0;
}

bool live_recorder_has_ended(struct live_recorder *recorder)
{
    int status = 0;
    const bool has_ended = await(recorder, WNOHANG, &status);
    if (has_ended && WIFSIGNALED(status))
        command_fail("the recorder was killed by signal %d", WTERMSIG(status));
    return has_ended;
}

void live_recorder_end(struct live_recorder *recorder)
{
    int status;
    if (recorder->child)
        kill(recorder->child, SIGTERM);
    await(recorder, 0, &status);
    live_messages_say(recorder->messages);
    recorder->messages = -1;
}
