#include "proc_tasks.h"
#include "proc_text.h"
#include "base/clock.h"
#include "base/raw_calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Fields of /proc/PID/stat by the numbers of proc_pid_stat(5). */
enum { FIELD_STATE = 3, FIELD_FLAGS = 9, FIELD_START = 22, FIELD_STACK = 28, FIELD_PRIORITY = 40 };

/* PF_IO_WORKER and PF_USER_WORKER (include/linux/sched.h). The kernel sets them for threads that it creates
 * in a process for itself; a program can only fake their names (iou-wrk-*, iou-sqp-*, vhost-*). */
static const unsigned long flags_of_kernels = 0x10 | 0x4000;

/* The size of an entry whose name is one digit: 19 bytes before the name (struct linux_dirent64), rounded up
 * to a multiple of 8. */
enum { ENTRY_BYTES_MIN = 24 };

int proc_tasks_open(int process_directory)
{
    const bool is_own = process_directory < 0;
    int fd = openat(is_own ? AT_FDCWD : process_directory, is_own ? "/proc/self/task" : "task",
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

uint32_t proc_tasks_count(int directory_fd)
{
    struct stat status; /* proc_task_getattr adds the number of threads to the links of the directory */
    return raw_fstat(directory_fd, &status) == 0 && status.st_nlink > 2 ? (uint32_t)status.st_nlink - 2 : 0;
}

/* Calls getdents64 itself: opendir would allocate. */
int proc_tasks_next(int directory_fd, pid_t ret_tids[PROC_TASKS_NEXT_MAX])
{
    char buffer[PROC_TASKS_NEXT_MAX * ENTRY_BYTES_MIN] __attribute__((aligned(8)));
    int count = 0;
    ssize_t bytes = raw_getdents(directory_fd, buffer, sizeof(buffer));
    if (bytes <= 0) {
        int status = bytes < 0 ? -errno : 0;
        lseek(directory_fd, 0, SEEK_SET);
        return status;
    }
    for (ssize_t at = 0; at < bytes;) {
        const struct dirent64 *entry = (const void *)(buffer + at);
        if (entry->d_name[0] != '.')
            ret_tids[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
        at += entry->d_reclen;
    }
    return count;
}

enum { PATH_BYTES = 48 };

static void path_of(pid_t tid, const char *name, char ret[PATH_BYTES])
{
    snprintf(ret, PATH_BYTES, "%d/%s", tid, name);
}

int proc_tasks_open_file(int directory_fd, pid_t tid, const char *name)
{
    char path[PATH_BYTES];
    path_of(tid, name, path);
    int fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

bool proc_tasks_read(int directory_fd, pid_t tid, const char *name, char *text, size_t capacity)
{
    char path[PATH_BYTES];
    path_of(tid, name, path);
    return proc_text_read(directory_fd, path, text, capacity);
}

static uint64_t start_on_monotonic_ns(uint64_t start_ticks)
{
    uint64_t since_boot_ns = start_ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
    uint64_t boot_ns = clock_read_ns(CLOCK_BOOTTIME), monotonic_ns = clock_monotonic_ns();
    uint64_t suspended_ns = boot_ns > monotonic_ns ? boot_ns - monotonic_ns : 0;
    return since_boot_ns > suspended_ns ? since_boot_ns - suspended_ns : 0;
}

/* at: a field, or NULL. Returns the one so many fields later, or NULL. */
static char *field_after(char *at, int fields)
{
    while (at && fields-- > 0) {
        at = strchr(at, ' ');
        at += at != NULL;
    }
    return at;
}

bool proc_tasks_stat(int directory_fd, pid_t tid, struct proc_task *ret)
{
    char text[1024];
    if (!proc_tasks_read(directory_fd, tid, "stat", text, sizeof(text)))
        return false;
    char *at = strrchr(text, ')'); /* the name before it may hold anything */
    if (!at || at[1] != ' ')
        return false;
    ret->state = at[2];
    at = field_after(at + 2, FIELD_FLAGS - FIELD_STATE);
    ret->is_kernels = at && (strtoul(at, NULL, 10) & flags_of_kernels) != 0;
    at = field_after(at, FIELD_START - FIELD_FLAGS);
    ret->start_ns = at ? start_on_monotonic_ns(strtoull(at, NULL, 10)) : 0;
    at = field_after(at, FIELD_STACK - FIELD_START);
    ret->stack_start = at ? strtoull(at, NULL, 10) : 0;
    at = field_after(at, FIELD_PRIORITY - FIELD_STACK);
    ret->realtime_priority = at ? (int)strtol(at, NULL, 10) : 0;
    return at != NULL;
}

void proc_tasks_name(int directory_fd, pid_t tid, char *ret_name, size_t capacity)
{
    char text[64];
    proc_tasks_read(directory_fd, tid, "comm", text, sizeof(text));
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] == '\n')
        length--;
    if (length >= capacity)
        length = capacity - 1;
    memcpy(ret_name, text, length);
    memset(ret_name + length, 0, capacity - length);
}

/* Before the line there are eight short ones, and the name, which cannot have a line of its own. */
bool proc_tasks_is_traced(int directory_fd, pid_t tid)
{
    static const char label[] = "\nTracerPid:";
    char text[512];
    if (!proc_tasks_read(directory_fd, tid, "status", text, sizeof(text)))
        return false;
    const char *line = strstr(text, label);
    return line && strtol(line + strlen(label), NULL, 10) != 0;
}

static uint64_t read_set(const char *text, const char *label)
{
    const char *line = strstr(text, label);
    return line ? strtoull(line + strlen(label), NULL, 16) : 0;
}

struct proc_tasks_signals proc_tasks_signals(int directory_fd, pid_t tid)
{
    char text[4096];
    if (!proc_tasks_read(directory_fd, tid, "status", text, sizeof(text)))
        return (struct proc_tasks_signals){0};
    return (struct proc_tasks_signals){
        .blocked = read_set(text, "\nSigBlk:"), .pending = read_set(text, "\nSigPnd:"), .is_known = true};
}

bool proc_tasks_is_filtered(int directory_fd, pid_t tid)
{
    char text[4096];
    return !proc_tasks_read(directory_fd, tid, "status", text, sizeof(text)) ||
           !strstr(text, "\nSeccomp:\t0\n");
}
