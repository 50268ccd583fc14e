/*
 * The child sends its status, and after it the table as bytes if the status is 0. Then it closes the pipe.
 * The parent trusts nothing: what it receives is bounded, and checked like a file.
 */
#include "debug_child.h"
#include "base/clock.h"
#include "tool/io/array.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_KEY = 0, REPLY_MAX_BYTES = 1 << 30, WAITING_MS = 1000 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { HAS_SANITIZER = 1 };
#else
enum { HAS_SANITIZER = 0 };
#endif

#define MEMORY_MAX_BYTES ((rlim_t)16 << 30)

struct child_reply {
    unsigned char *bytes; /* malloc'd */
    size_t count;
    uint32_t capacity;
};

/* ---- the child ---- */

static void limit_resource(int resource, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(resource, &now) == 0 && (now.rlim_cur == RLIM_INFINITY || now.rlim_cur > most)) {
        now.rlim_cur = most;
        setrlimit(resource, &now);
    }
}

/* What the parent has reserved already counts too (proc_pid_statm(5): the sixth number, in pages). */
static rlim_t memory_inherited(void)
{
    unsigned long data_pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%*u %*u %*u %*u %*u %lu", &data_pages) != 1)
        data_pages = 0;
    if (file)
        fclose(file);
    return (rlim_t)data_pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* A sanitizer reserves more memory than the machine has. */
static void limit_memory(void)
{
    if (!HAS_SANITIZER)
        limit_resource(RLIMIT_DATA, memory_inherited() + MEMORY_MAX_BYTES);
}

static void write_all(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t written = write(fd, at, count);
        if (written < 0 && errno != EINTR)
            _exit(1);
        if (written > 0) {
            at += written;
            count -= (size_t)written;
        }
    }
}

/* A library's last message (a failed assertion) would be about a file, and of no use to the user. */
static void silence_stderr(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0)
        dup2(null, STDERR_FILENO);
}

static _Noreturn void run_child(int fd, const struct debug_bounds *bounds, const struct debug_module *module,
                                const uint64_t *addresses, size_t count)
{
    struct frame_table table;
    size_t bytes;
    silence_stderr();
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* no process is left to read the reply then */
    limit_resource(RLIMIT_CORE, 0);
    limit_resource(RLIMIT_CPU, bounds->cpu_seconds);
    limit_memory();
    setenv("DEBUGINFOD_TIMEOUT", "10", 0);
    setenv("DEBUGINFOD_MAXTIME", "60", 0);
    int status = debug_info_read(module, addresses, count, &table);
    unsigned char *encoded = status == 0 ? frame_table_encode(&table, NULL, NO_KEY, &bytes) : NULL;
    if (status == 0 && !encoded)
        status = -ENOMEM;
    write_all(fd, &status, sizeof status);
    if (encoded)
        write_all(fd, encoded, bytes);
    _exit(0);
}

/* ---- the parent ---- */

static int wait_for_more(int fd, uint64_t deadline_ns, const struct debug_module *module)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    for (;;) {
        const int64_t left_ms = ((int64_t)deadline_ns - (int64_t)clock_monotonic_ns()) / NS_PER_MS;
        if (left_ms <= 0)
            return -EIO;
        int ready = poll(&poll_fd, 1, left_ms > WAITING_MS ? WAITING_MS : (int)left_ms);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return -errno;
        if (ready == 0 && module->waiting)
            module->waiting(module->waiting_argument);
    }
}

static int receive(int fd, uint64_t deadline_ns, const struct debug_module *module, struct child_reply *got)
{
    for (;;) {
        if (got->count >= REPLY_MAX_BYTES || !array_grow(&got->bytes, &got->capacity, got->count, 1))
            return -ENOMEM;
        int error = wait_for_more(fd, deadline_ns, module);
        if (error)
            return error;
        ssize_t bytes = read(fd, got->bytes + got->count, got->capacity - got->count);
        if (bytes == 0)
            return 0;
        if (bytes < 0 && errno != EINTR)
            return -errno;
        if (bytes > 0)
            got->count += (size_t)bytes;
    }
}

static int decode_reply(const struct child_reply *got, struct frame_table *ret)
{
    int status;
    if (got->count < sizeof status)
        return -EIO;
    memcpy(&status, got->bytes, sizeof status);
    if (status != 0)
        return status < 0 && status > -4096 ? status : -EIO;
    size_t count = got->count - sizeof status;
    unsigned char *bytes = malloc(count + 1);
    if (!bytes)
        return -ENOMEM;
    memcpy(bytes, got->bytes + sizeof status, count);
    int error = frame_table_decode(ret, bytes, count, NULL, NO_KEY);
    return error == -EBADMSG ? -EIO : error;
}

static void reap(pid_t child)
{
    kill(child, SIGKILL); /* it has sent all */
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
}

int debug_child_read(const struct debug_bounds *bounds, const struct debug_module *module,
                     const uint64_t *addresses, size_t count, struct frame_table *ret)
{
    int ends[2];
    struct child_reply got = {0};
    *ret = (struct frame_table){0};
    const uint64_t deadline_ns = clock_monotonic_ns() + (uint64_t)bounds->wall_seconds * NS_PER_S;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid_t child = fork();
    if (child == 0)
        run_child(ends[1], bounds, module, addresses, count);
    int error = child < 0 ? -errno : 0;
    close(ends[1]);
    if (child > 0) {
        error = receive(ends[0], deadline_ns, module, &got);
        reap(child);
    }
    close(ends[0]);
    if (!error)
        error = decode_reply(&got, ret);
    free(got.bytes);
    return error;
}
