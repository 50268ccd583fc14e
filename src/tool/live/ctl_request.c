#include "ctl_request.h"
#include "base/clock.h"
#include "base/futex.h"
#include "sig/sys/sig_atomic.h"
#include "tool/io/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const uint64_t alive_check_ns = 100 * NS_PER_MS;

/* One process at a time has the lock. */
static int lock_page(const struct ctl_subject *subject, uint64_t deadline_ns)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS};
    while (flock(subject->fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK || clock_monotonic_ns() >= deadline_ns)
            return command_fail("process %ld is busy with another request", subject->pid);
        nanosleep(&pause, NULL);
    }
    return 0;
}

int ctl_request_send(struct ctl_subject *subject, enum control_kind kind, const char *path,
                     uint64_t timeout_ns)
{
    struct control_page *page = subject->page;
    uint64_t now_ns, deadline_ns = clock_monotonic_ns() + timeout_ns;
    if (strlen(path) >= sizeof page->path)
        return command_fail("%s: %s", path, strerror(ENAMETOOLONG));
    if (lock_page(subject, deadline_ns) != 0)
        return 1;
    uint32_t number = sig_load_seq_cst(&page->request_number) + 1, reply_number;
    page->kind = kind;
    strcpy(page->path, path);
    sig_store_seq_cst(&page->request_number, number);
    sig_add_seq_cst(&page->wake, 1);
    futex_wake_all_shared(&page->wake);
    while ((reply_number = sig_load_seq_cst(&page->reply_number)) != number) {
        if (!ctl_subject_lives(subject))
            return command_fail("process %ld has ended, or has executed another program", subject->pid);
        if ((now_ns = clock_monotonic_ns()) >= deadline_ns)
            return command_fail("process %ld does not reply; it may do so later", subject->pid);
        uint64_t check_ns = now_ns + alive_check_ns;
        futex_wait_shared(&page->reply_number, reply_number, check_ns < deadline_ns ? check_ns : deadline_ns);
    }
    return 0;
}

void ctl_request_end(const struct ctl_subject *subject)
{
    flock(subject->fd, LOCK_UN);
}

int ctl_request_directory(const struct ctl_subject *subject, char ret[PATH_MAX])
{
    char process[64];
    struct stat owner;
    const char *temporary = getenv("TMPDIR");
    snprintf(ret, PATH_MAX, "%s/wallprof-dump-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(ret))
        return command_fail("%s: %s", ret, strerror(errno));
    snprintf(process, sizeof process, "/proc/%ld", subject->pid);
    if (stat(process, &owner) < 0 || owner.st_uid == geteuid() || chown(ret, owner.st_uid, owner.st_gid) == 0)
        return 0;
    const int error = errno;
    rmdir(ret);
    return command_fail("%s: %s", ret, strerror(error));
}
