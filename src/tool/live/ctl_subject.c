#include "ctl_subject.h"
#include "base/clock.h"
#include "sig/sys/sig_atomic.h"
#include "tool/io/command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Whether a thread's file `comm` has the name of the sampler's. */
static bool is_sampler(const char *path)
{
    char line[64] = "";
    FILE *file = fopen(path, "re");
    bool is_same = file && fgets(line, sizeof line, file) && strcmp(line, "wallprof\n") == 0;
    if (file)
        fclose(file);
    return is_same;
}

static bool is_control_page(const char *path)
{
    char target[64];
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0)
        return false;
    target[length] = '\0';
    return strncmp(target, "/memfd:" CONTROL_PAGE_NAME, strlen("/memfd:" CONTROL_PAGE_NAME)) == 0;
}

/* Opens a file through a thread's descriptors: -ENOENT when there is none, or another -errno. */
static int open_of(const char *task, bool (*is_wanted)(const char *path), int flags)
{
    char path[512];
    snprintf(path, sizeof path, "%s/fd", task);
    DIR *directory = opendir(path);
    int fd = directory ? -ENOENT : -errno;
    for (struct dirent *entry; fd == -ENOENT && directory && (entry = readdir(directory));) {
        snprintf(path, sizeof path, "%s/fd/%s", task, entry->d_name);
        if (!is_wanted(path))
            continue;
        fd = open(path, flags | O_CLOEXEC);
        fd = fd < 0 ? -errno : fd;
    }
    if (directory)
        closedir(directory);
    return fd;
}

/* Whether the library is loaded into the process: it may have a thread of ours in a moment. */
static bool has_library(long pid)
{
    char path[64], *line = NULL;
    size_t capacity = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%ld/maps", pid);
    FILE *file = fopen(path, "re");
    while (file && !found && getline(&line, &capacity, file) > 0)
        found = strstr(line, "/libwallprof.so") != NULL;
    if (file)
        fclose(file);
    free(line);
    return found;
}

int ctl_subject_find(struct ctl_subject *subject, bool (*is_wanted)(const char *path), int flags)
{
    char path[128];
    snprintf(path, sizeof path, "/proc/%ld/task", subject->pid);
    DIR *directory = opendir(path);
    if (!directory)
        return errno == ENOENT ? -ESRCH : -errno;
    int fd = -ENODATA;
    for (struct dirent *entry; fd < 0 && (entry = readdir(directory));) {
        if (*entry->d_name == '.')
            continue;
        snprintf(subject->task, sizeof subject->task, "/proc/%ld/task/%.20s", subject->pid, entry->d_name);
        snprintf(path, sizeof path, "%s/comm", subject->task);
        if (is_sampler(path))
            fd = open_of(subject->task, is_wanted, flags);
    }
    closedir(directory);
    return fd;
}

bool ctl_subject_lives(const struct ctl_subject *subject)
{
    char path[128];
    snprintf(path, sizeof path, "%s/comm", subject->task);
    return access(path, F_OK) == 0;
}

/* A process that has just begun has neither its thread nor its page yet. */
static bool may_come(long pid, int error)
{
    return error == -ENOENT || (error == -ENODATA && has_library(pid));
}

static int await_page(struct ctl_subject *subject, uint64_t deadline_ns)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS};
    int fd;
    while ((fd = ctl_subject_find(subject, is_control_page, O_RDWR)) < 0 && may_come(subject->pid, fd) &&
           clock_monotonic_ns() < deadline_ns)
        nanosleep(&pause, NULL);
    return fd;
}

static int explain_failure(long pid, int error)
{
    switch (-error) {
    case ESRCH:
        return command_fail("there is no process %ld", pid);
    case ENODATA:
        return command_fail("process %ld is not being recorded: it has no thread of wallprof's", pid);
    case ENOENT:
        return command_fail("process %ld cannot be controlled: it is recorded by another version, with "
                            "WALLPROF_SECCOMP=strict, or on a kernel before 5.9",
                            pid);
    case EACCES:
    case EPERM:
        return command_fail("process %ld is not yours", pid);
    default:
        return command_fail("process %ld cannot be controlled: %s", pid, strerror(-error));
    }
}

int ctl_subject_open(struct ctl_subject *subject, uint64_t timeout_ns)
{
    struct stat status;
    subject->fd = await_page(subject, clock_monotonic_ns() + timeout_ns);
    if (subject->fd < 0)
        return explain_failure(subject->pid, subject->fd);
    if (fstat(subject->fd, &status) < 0 || status.st_size != CONTROL_PAGE_BYTES)
        return explain_failure(subject->pid, -ENOENT);
    subject->page = mmap(NULL, CONTROL_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, subject->fd, 0);
    if (subject->page == MAP_FAILED)
        return explain_failure(subject->pid, -errno);
    if (sig_load_seq_cst(&subject->page->layout) != CONTROL_PAGE_LAYOUT)
        return explain_failure(subject->pid, -ENOENT);
    return 0;
}
