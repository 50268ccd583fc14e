#include "attach_check.h"
#include "attach_trace.h"
#include "base/number_names.h"
#include "proc/proc_text.h"
#include "tool/io/command.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_BYTES = 4096, FIELD_STATE = 3, FIELD_FLAGS = 9 };

#define ALLOWED_TO_NOBODY                                                                                    \
    "this system allows nobody to look at another process until it is started anew "                         \
    "(kernel.yama.ptrace_scope is 3)"
#define FILTERED                                                                                             \
    "a filter of system calls (seccomp) forbids ptrace here, as in a container (docker run --cap-add "       \
    "SYS_PTRACE)"

static const unsigned long kernel_thread_flag = 0x200000; /* PF_KTHREAD (include/linux/sched.h) */

/* ---- /proc ---- */

/* A file of the process, as proc_text_read has it. */
static bool read_text(int directory, const char *name, char ret[TEXT_BYTES])
{
    return proc_text_read(directory, name, ret, TEXT_BYTES);
}

static void name_of(long pid, char ret[64])
{
    char path[64], text[TEXT_BYTES];
    snprintf(path, sizeof path, "/proc/%ld/comm", pid);
    const bool is_read = read_text(AT_FDCWD, path, text);
    text[strcspn(text, "\n")] = '\0';
    snprintf(ret, 64, is_read ? "%ld (%.32s)" : "%ld", pid, text);
}

/* ---- what it is ---- */

/* Where the fields of /proc/PID/stat begin: at the blank before its state. NULL: it is gone. */
static const char *read_fields(int directory, char text[TEXT_BYTES])
{
    const char *name_end = read_text(directory, "stat", text) ? strrchr(text, ')') : NULL;
    return name_end && name_end[1] ? name_end + 1 : NULL;
}

static bool has_ended(const char *fields)
{
    return fields[1] == 'Z' || fields[1] == 'X';
}

bool attach_check_is_gone(int directory)
{
    char text[TEXT_BYTES];
    const char *fields = read_fields(directory, text);
    return !fields || has_ended(fields);
}

static int check_kind(pid_t pid, int directory)
{
    char text[TEXT_BYTES];
    const char *at = read_fields(directory, text);
    if (!at)
        return attach_check_missing(pid);
    if (has_ended(at))
        return command_fail("process %d has ended already, and waits only for its parent to notice",
                            (int)pid);
    for (int field = FIELD_STATE; at && field < FIELD_FLAGS; field++)
        at = strchr(at + 1, ' ');
    if (at && (strtoul(at, NULL, 10) & kernel_thread_flag))
        return command_fail("process %d is a thread of the kernel: it runs no program", (int)pid);
    return 0;
}

static int check_status(pid_t pid, int directory)
{
    char text[TEXT_BYTES], name[64];
    read_text(directory, "status", text);
    const long process = (long)proc_text_number(text, "\nTgid:"),
               tracer = (long)proc_text_number(text, "\nTracerPid:");
    if (process && process != pid)
        return command_fail("%d is a thread of process %ld: attach to that", (int)pid, process);
    if (!tracer)
        return 0;
    name_of(tracer, name);
    return command_fail("process %d is traced by process %s already, and there can be only one tracer",
                        (int)pid, name);
}

/* The class of its program's file; our library among what is mapped. */
static int check_program(pid_t pid, int directory)
{
    unsigned char header[EI_NIDENT] = {0};
    char *line = NULL;
    size_t capacity = 0;
    bool has_library = false;
    int fd = openat(directory, "exe", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? -1 : read(fd, header, sizeof header);
    if (fd >= 0)
        close(fd);
    if (bytes == sizeof header && header[EI_CLASS] != ELFCLASS64)
        return command_fail("process %d runs a 32-bit program", (int)pid);
    int maps = openat(directory, "maps", O_RDONLY | O_CLOEXEC);
    FILE *stream = maps >= 0 ? fdopen(maps, "r") : NULL;
    while (stream && !has_library && getline(&line, &capacity, stream) > 0)
        has_library = strstr(line, "/libwallprof.so\n") != NULL;
    free(line);
    if (stream)
        fclose(stream);
    return has_library
               ? command_fail("process %d is recorded already, by the library in it; 'wallprof ctl %d "
                              "status' says where its profile goes, and 'dump' writes it now",
                              (int)pid, (int)pid)
               : 0;
}

/* ---- what is allowed ---- */

static long ptrace_scope(void)
{
    char text[TEXT_BYTES];
    return read_text(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", text) ? strtol(text, NULL, 10) : 0;
}

/* Whether a filter of system calls is in force here, as in containers. */
static bool has_filter(void)
{
    char status[TEXT_BYTES];
    read_text(AT_FDCWD, "/proc/self/status", status);
    return proc_text_number(status, "\nSeccomp:") != 0;
}

void attach_check_explain(int error, char ret[ATTACH_WHY_BYTES])
{
    char status[TEXT_BYTES], name[64];
    const long scope = ptrace_scope();
    const bool is_forbidden = error == EPERM || error == EACCES;
    read_text(AT_FDCWD, "/proc/self/status", status);
    const long tracer = (long)proc_text_number(status, "\nTracerPid:");
    if (is_forbidden && tracer) {
        name_of(tracer, name);
        snprintf(ret, ATTACH_WHY_BYTES, "process %s traces it already, and there can be only one tracer",
                 name);
    } else if (is_forbidden && scope == 3)
        snprintf(ret, ATTACH_WHY_BYTES, ALLOWED_TO_NOBODY);
    else if (is_forbidden && scope == 2 && geteuid() != 0)
        snprintf(ret, ATTACH_WHY_BYTES,
                 "this system allows only root to do so (kernel.yama.ptrace_scope is 2)");
    else if (is_forbidden && has_filter())
        snprintf(ret, ATTACH_WHY_BYTES, FILTERED);
    else
        snprintf(ret, ATTACH_WHY_BYTES, "the system does not allow it (%s)", error_text(error));
}

static int refuse(pid_t pid, int directory)
{
    char status[TEXT_BYTES];
    struct stat owner;
    read_text(directory, "status", status);
    const long user = (long)proc_text_number(status, "\nUid:"), scope = ptrace_scope();
    const bool is_other = user != (long)getuid();
    if (is_other && geteuid() != 0)
        return command_fail("process %d belongs to user %ld: only that user and root may look at it",
                            (int)pid, user);
    if (scope == 3)
        return command_fail(ALLOWED_TO_NOBODY);
    if (geteuid() == 0)
        return command_fail("process %d cannot be looked at: this root lacks CAP_SYS_PTRACE, as in a "
                            "container (docker run --cap-add SYS_PTRACE)",
                            (int)pid);
    /* the directory itself always belongs to the user */
    if (fstatat(directory, "syscall", &owner, 0) == 0 && (long)owner.st_uid != user)
        return command_fail(
            "process %d has made itself private (not dumpable, as set-uid programs are): only "
            "root may look at it",
            (int)pid);
    if (scope > 0)
        return command_fail("this system allows only %s to look at process %d (kernel.yama.ptrace_scope is "
                            "%ld): use sudo, or 'sudo sysctl kernel.yama.ptrace_scope=0'",
                            scope == 1 ? "its parent and root" : "root", (int)pid, scope);
    return command_fail("the system does not allow to look at process %d: use sudo", (int)pid);
}

static int check_access(pid_t pid, int directory)
{
    char path[64], text[TEXT_BYTES];
    snprintf(path, sizeof path, "task/%d/syscall", (int)pid);
    int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof text);
    int error = bytes < 0 ? -errno : 0;
    bool is_call_forbidden = false;
    if (fd >= 0)
        close(fd);
    if (error == 0) {
        error = trace_try(pid);
        is_call_forbidden = error == -EPERM; /* who may read the file may also trace, but for a filter */
    }
    if (is_call_forbidden && has_filter())
        return command_fail("process %d cannot be looked at: " FILTERED, (int)pid);
    if (error == -EPERM || error == -EACCES)
        return refuse(pid, directory);
    if (error == -ESRCH)
        return attach_check_missing(pid);
    return error < 0 ? command_fail("process %d cannot be looked at: %s", (int)pid, error_text(-error)) : 0;
}

bool attach_check_kernel(void)
{
    char text[TEXT_BYTES];
    unsigned long long cpu_ns = 0, delay_ns = 0, runs = 0;
    if (read_text(AT_FDCWD, "/proc/thread-self/schedstat", text))
        sscanf(text, "%llu %llu %llu", &cpu_ns, &delay_ns, &runs);
    return runs > 0;
}

static int check_kernel(pid_t pid, int directory)
{
    (void)pid;
    (void)directory;
    return attach_check_kernel() ? 0 : command_fail(ATTACH_KERNEL_TOO_SILENT);
}

/* ---- all of it ---- */

int attach_check_missing(pid_t pid)
{
    return command_fail("there is no process %d", (int)pid);
}

int attach_check(pid_t pid, int directory)
{
    static int (*const checks[])(pid_t, int) = {check_kind, check_status, check_access, check_program,
                                                check_kernel};
    if (pid == getpid())
        return command_fail("process %d is this command itself", (int)pid);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (checks[i](pid, directory) != 0)
            return 1;
    }
    return 0;
}
