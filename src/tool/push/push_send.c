#include "push_send.h"
#include "base/clock.h"
#include "tool/io/command.h"
#include "push_backoff.h"
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

/* ---- credentials ---- */

static int read_credentials(struct push_sender *sender, char reason[PUSH_REASON_BYTES])
{
    const char *file = sender->credentials_file;
    int status = file ? push_credentials_from_file(&sender->credentials, file, reason)
                      : push_credentials_from_environment(&sender->credentials, reason);
    if (status < 0 || sender->target.is_encrypted || sender->target.is_loopback ||
        !push_credentials_are_there(&sender->credentials))
        return status;
    push_credentials_wipe(&sender->credentials);
    snprintf(reason, PUSH_REASON_BYTES, "credentials are sent over https:// only, or to this machine");
    return -EPERM;
}

int push_sender_open(struct push_sender *sender)
{
    char reason[PUSH_REASON_BYTES];
    int status = read_credentials(sender, reason);
    if (status < 0 && sender->credentials_file)
        return command_fail("%s: %s", sender->credentials_file, reason);
    if (status == 0)
        status = push_http_open(&sender->http, &sender->options, reason);
    if (status == 0) {
        signal(SIGPIPE, SIG_IGN); /* a connection that is cut is an error of the transfer */
        return 0;
    }
    push_credentials_wipe(&sender->credentials);
    return command_fail("%s", reason);
}

void push_sender_close(struct push_sender *sender)
{
    push_http_close(sender->http);
    push_credentials_wipe(&sender->credentials);
}

/* ---- one attempt ---- */

static void set_result(struct push_result *result, enum push_outcome outcome, const char *why)
{
    *result = (struct push_result){.outcome = outcome};
    snprintf(result->text, sizeof result->text, "%s", why);
}

/* No more than a warning: the server may be configured to take more. */
static void warn_of_size(const struct push_sender *sender, const char *name,
                         const struct push_profile *profile)
{
    if (sender->target.interface == PUSH_PARCA)
        return;
    if (profile->samples > PUSH_SAMPLES_USUAL)
        command_fail("%s: %" PRIu64 " samples; Pyroscope takes %d unless it is told to take more", name,
                     profile->samples, PUSH_SAMPLES_USUAL);
    if (profile->plain_bytes > PUSH_PLAIN_BYTES_USUAL)
        command_fail("%s: %" PRIu64 " KiB unpacked; Pyroscope takes %d unless it is told to take more", name,
                     profile->plain_bytes >> 10, PUSH_PLAIN_BYTES_USUAL >> 10);
}

static void send_profile(struct push_sender *sender, const char *id, const struct push_profile *profile,
                         struct push_result *result)
{
    struct push_request request;
    char reason[PUSH_REASON_BYTES];
    if (sender->credentials_file && read_credentials(sender, reason) < 0)
        return set_result(result, PUSH_DENIED, reason);
    if (push_request_init(&request, &sender->target, profile, id) < 0)
        return set_result(result, PUSH_LATER, error_text(ENOMEM));
    push_http_send(sender->http, &request, &sender->credentials, result);
    push_request_free(&request);
}

static void try_file(struct push_sender *sender, char id[PUSH_ID_BYTES], int fd, const char *name,
                     struct push_result *result)
{
    struct push_profile profile;
    struct stat status;
    char reason[RECORDING_REASON_BYTES];
    if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode))
        return set_result(result, PUSH_REFUSED, "it is not a file");
    int error = push_profile_read(&profile, fd, reason);
    if (error < 0)
        return set_result(result, error == -ENOMEM ? PUSH_LATER : PUSH_REFUSED, reason);
    if (!*id) {
        push_request_new_id(id);
        warn_of_size(sender, name, &profile);
    }
    send_profile(sender, id, &profile, result);
    push_profile_free(&profile);
}

void push_sender_try(struct push_sender *sender, char id[PUSH_ID_BYTES], int directory_fd, const char *name,
                     int flags, struct push_result *result)
{
    int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
    if (fd < 0)
        return set_result(result, PUSH_REFUSED, error_text(errno));
    try_file(sender, id, fd, name, result);
    close(fd);
}

/* ---- a file of the command line ---- */

int push_sender_send(struct push_sender *sender, const char *path)
{
    struct push_backoff backoff;
    struct push_result result;
    char id[PUSH_ID_BYTES] = "";
    push_backoff_init(&backoff, clock_monotonic_ns() ^ (uint64_t)getpid() << 32);
    for (int attempt = 1;; attempt++) {
        push_sender_try(sender, id, AT_FDCWD, path, 0, &result);
        if (result.outcome == PUSH_SENT) {
            push_sender_report(sender, path);
            return 0;
        }
        if (result.outcome != PUSH_LATER || attempt == PUSH_ATTEMPTS)
            return command_fail("%s: not sent: %s", path, result.text);
        uint64_t wait_ns = push_backoff_ns(&backoff, result.retry_after_s);
        command_fail("%s: %s; trying again in %.1f s", path, result.text, (double)wait_ns / NS_PER_S);
        struct timespec wait = clock_ns_timespec(wait_ns);
        nanosleep(&wait, NULL);
    }
}

void push_sender_report(const struct push_sender *sender, const char *name)
{
    if (!sender->is_verbose)
        return;
    printf("sent: %s\n", name);
    fflush(stdout);
}
