#include "push_follow.h"
#include "base/clock.h"
#include "tool/io/command.h"
#include "push_backoff.h"
#include "push_spool.h"
#include "base/number_names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const uint64_t scan_pause_ns = NS_PER_S, grace_ns = 10 * (uint64_t)NS_PER_S;

struct follower {
    struct push_sender *sender;
    const struct push_follow_options *options;
    struct push_spool spool;
    struct push_backoff backoff;
    struct push_file current; /* the file of the last attempt */
    char id[PUSH_ID_BYTES];   /* of its profile */
    uint64_t not_before_ns;   /* no file is sent before this */
    uint64_t stop_ns;         /* when a transfer is stopped; 0 until a signal has come */
    uint64_t dropped;
    bool cannot_remember;
    char reported[PUSH_RESULT_BYTES]; /* the last error, which is reported once */
};

/* ---- the end ---- */

static sigset_t ending_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    return signals;
}

/* Both signals stay blocked until the end: one that has come is pending. */
static bool has_ended(void)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT);
}

/* push_http_options.is_to_stop */
static bool is_to_stop(void *argument)
{
    struct follower *follower = argument;
    if (!has_ended())
        return false;
    if (!follower->stop_ns)
        follower->stop_ns = clock_monotonic_ns() + grace_ns;
    return clock_monotonic_ns() >= follower->stop_ns;
}

/* ---- the next file ---- */

static void finish_file(struct follower *follower, struct push_file *file, bool is_to_go)
{
    int error = push_spool_finish(&follower->spool, file);
    if (is_to_go && follower->options->removes)
        push_spool_remove(&follower->spool, file);
    if (error < 0 && !follower->cannot_remember)
        command_fail(
            "what has been sent cannot be noted in %s (%s); after a restart it will be sent once more",
            follower->options->place, error_text(-error));
    follower->cannot_remember = error < 0;
}

static void drop_surplus(struct follower *follower)
{
    struct push_file *file;
    const struct push_follow_options *options = follower->options;
    while ((file = push_spool_surplus(&follower->spool, options->max_files, options->max_bytes))) {
        follower->dropped++;
        command_fail("%s: given up, as more waits than --spool-max; %" PRIu64 " so far", file->name,
                     follower->dropped);
        finish_file(follower, file, true);
    }
}

/* Reports an error only once while it repeats. */
static void wait_longer(struct follower *follower, const struct push_result *result)
{
    uint64_t wait_ns = push_backoff_ns(&follower->backoff, result->retry_after_s);
    follower->not_before_ns = clock_monotonic_ns() + wait_ns;
    if (strcmp(follower->reported, result->text) == 0)
        return;
    strcpy(follower->reported, result->text);
    command_fail("%s: not sent yet: %s; trying again", follower->current.name, result->text);
}

static void handle_result(struct follower *follower, struct push_file *file, const struct push_result *result)
{
    if (result->outcome == PUSH_LATER || result->outcome == PUSH_DENIED)
        return wait_longer(follower, result);
    if (result->outcome == PUSH_STOPPED)
        return;
    follower->backoff.failures = 0;
    *follower->reported = '\0';
    finish_file(follower, file, result->outcome == PUSH_SENT);
    if (result->outcome == PUSH_SENT)
        push_sender_report(follower->sender, file->name);
    else
        command_fail("%s: left aside: %s", file->name, result->text);
}

/* A file that is sent again keeps its id. */
static void choose_file(struct follower *follower, const struct push_file *file)
{
    const struct push_file *current = &follower->current;
    if (current->inode == file->inode && current->changed_ns == file->changed_ns &&
        strcmp(current->name, file->name) == 0)
        return;
    follower->current = *file;
    *follower->id = '\0';
}

/* False when nothing is to be sent now. */
static bool send_next(struct follower *follower)
{
    struct push_result result;
    struct push_file *file = push_spool_first(&follower->spool);
    if (!file || clock_monotonic_ns() < follower->not_before_ns || has_ended())
        return false;
    choose_file(follower, file);
    push_sender_try(follower->sender, follower->id, follower->spool.directory_fd, file->name, O_NOFOLLOW,
                    &result);
    handle_result(follower, file, &result);
    return true;
}

/* ---- the loop ---- */

/* 0 when a signal has come; 1 after a message. */
static int follow_directory(struct follower *follower)
{
    const sigset_t signals = ending_signals();
    const struct timespec pause = clock_ns_timespec(scan_pause_ns);
    for (;;) {
        int status = push_spool_scan(&follower->spool);
        if (status < 0)
            return command_fail("%s: %s", follower->options->place, error_text(-status));
        drop_surplus(follower);
        if (!send_next(follower) && sigtimedwait(&signals, NULL, &pause) > 0)
            return 0;
    }
}

/* A directory, for all profiles in it, or a directory and a pattern of names. */
static int open_place(struct push_spool *spool, const char *place)
{
    char directory[PATH_MAX];
    struct stat status;
    const char *slash = strrchr(place, '/');
    if (stat(place, &status) == 0 && S_ISDIR(status.st_mode))
        return push_spool_open(spool, place, "*.pb.gz");
    int bytes = !slash || slash == place ? 1 : (int)(slash - place);
    if ((size_t)bytes >= sizeof directory)
        return -ENAMETOOLONG;
    snprintf(directory, sizeof directory, "%.*s", bytes, slash ? place : ".");
    return push_spool_open(spool, directory, slash ? slash + 1 : place);
}

int push_follow(struct push_sender *sender, const struct push_follow_options *options)
{
    struct follower follower = {.sender = sender, .options = options};
    const sigset_t signals = ending_signals();
    push_backoff_init(&follower.backoff, clock_monotonic_ns() ^ (uint64_t)getpid() << 32);
    int status = open_place(&follower.spool, options->place);
    if (status == -EWOULDBLOCK)
        return command_fail("%s: another process follows this directory", options->place);
    if (status < 0)
        return command_fail("%s: %s", options->place, error_text(-status));
    sender->options.is_to_stop = is_to_stop;
    sender->options.argument = &follower;
    sigprocmask(SIG_BLOCK, &signals, NULL);
    status = push_sender_open(sender);
    if (status == 0) {
        status = follow_directory(&follower);
        push_sender_close(sender);
    }
    push_spool_close(&follower.spool);
    return status;
}
