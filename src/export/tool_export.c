/*
 * The tool is a grandchild. A child that executes a program ends with SIGCHLD, whatever it was cloned with
 * (begin_new_exec), and any wait of the program would find it. So our child only clones the grandchild, which
 * executes the tool, and ends. We wait for the child with __WCLONE; the program's waits do not find it. A
 * pipe tells what the tool has written. Both processes share our memory until then, as with vfork, because a
 * fork of a large process would take long.
 */
#include "tool_export.h"
#include "base/arena.h"
#include "base/clock.h"
#include "config/config.h"
#include "encode/enc_store.h"
#include "sig/sys/sig_arch.h"
#include "base/raw_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STACK_BYTES = 64 * 1024,
    TIME_MAX_S = 30,
    ENVIRONMENT_MAX = 10,
    FIRST_SPARE_FD = 10,
    FILES_MAX = 1 + CONFIG_MORE_OUTS_MAX,
    NAME_BYTES = PATH_MAX + NAME_MAX + 2
};

/* What `wallprof export --verbose` says of a file; then comes its name. */
static const char reply_word[] = "written: ";

extern char **environ;

/* ---- where it is ---- */

int tool_export_find(const char *library, char *ret, size_t capacity)
{
    /* as built; installed as PREFIX/lib and PREFIX/bin; and as PREFIX/lib/MACHINE and PREFIX/bin */
    static const char *const places[] = {"wallprof", "../bin/wallprof", "../../bin/wallprof"};
    char here[PATH_MAX] = "";
    const char *slash = strrchr(library, '/');
    if (library[0] != '/' && !getcwd(here, sizeof here))
        return -errno;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int length = snprintf(ret, capacity, "%s%s%.*s/%s", here, library[0] == '/' ? "" : "/",
                              slash ? (int)(slash - library) : 1, slash ? library : ".", places[i]);
        if (length < 0 || (size_t)length >= capacity)
            return -ENAMETOOLONG;
        if (access(ret, X_OK) == 0)
            return 0;
    }
    return -ENOENT;
}

/* ---- what it is given ---- */

struct arguments {
    char *list[2 * FILES_MAX + 5];
    char names[FILES_MAX][NAME_BYTES]; /* "" for a file that is not wanted */
    char reply[FILES_MAX * (sizeof reply_word + NAME_BYTES) + 1];
    size_t reply_bytes;
};

/* Writes the store into a nameless file, open at its beginning. The descriptor, or -errno. */
static int make_store_file(const struct profile *profile)
{
    int fd = raw_memfd_create("wallprof", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct sink *sink = sink_create_on(fd, SINK_PLAIN);
    int status = sink ? enc_store_write(profile, sink) : -ENOMEM;
    int sink_error = sink ? sink_commit(sink) : 0;
    status = status ? status : sink_error;
    if (status == 0 && lseek(fd, 0, SEEK_SET) < 0)
        status = -errno;
    if (status == 0)
        return fd;
    close(fd);
    return status;
}

/* Marks the tool that we run, which may get the library too (/etc/ld.so.preload). */
static char tool_mark[] = "WALLPROF_HANDOVER=1";

bool tool_export_is_tool(char *const *environment)
{
    for (; environment && *environment; environment++) {
        if (strcmp(*environment, tool_mark) == 0)
            return true;
    }
    return false;
}

/* The part of the program's environment that the tool reads. */
static void choose_environment(char *ret[ENVIRONMENT_MAX])
{
    static const char *const names[] = {"HOME=",
                                        "XDG_CACHE_HOME=",
                                        "WALLPROF_CACHE=",
                                        "WALLPROF_IDLE=",
                                        "DEBUGINFOD_URLS=",
                                        "NO_COLOR=",
                                        "LC_ALL=",
                                        "TERM="};
    size_t count = 0;
    _Static_assert(sizeof names / sizeof *names + 2 <= ENVIRONMENT_MAX, "and the mark and NULL");
    ret[count++] = tool_mark;
    for (size_t i = 0; environ && i < sizeof names / sizeof *names; i++) {
        for (char **entry = environ; *entry; entry++) {
            if (strncmp(*entry, names[i], strlen(names[i])) == 0) {
                ret[count++] = *entry;
                break;
            }
        }
    }
    ret[count] = NULL;
}

/* ---- the two processes: they share our memory, so they make raw system calls, which meet no hook ---- */

struct launch {
    const struct export_request *request;
    int store_fd, reply_fd;
    char **environment;
    struct arguments *arguments;
    unsigned char *stack; /* of the grandchild */
    int error;            /* why there is no grandchild */
};

/* A copy with a number that is not one of 0 to 2, so that dup3 to those does not close it. */
static long move_up(int fd)
{
    return fd < 0 ? fd : sig_syscall4(SYS_fcntl, fd, F_DUPFD, FIRST_SPARE_FD, 0);
}

static bool put_at(long fd, int number)
{
    return fd >= 0 && sig_syscall4(SYS_dup3, fd, number, 0, 0) >= 0;
}

/* The store is the tool's input, and the pipe its output. Its messages are dropped. */
static bool arrange_descriptors(const struct launch *launch)
{
    long store = move_up(launch->store_fd), reply = move_up(launch->reply_fd);
    long notes = sig_syscall4(SYS_openat, AT_FDCWD, (long)"/dev/null", O_WRONLY, 0);
    return put_at(store, STDIN_FILENO) && put_at(reply, STDOUT_FILENO) && put_at(notes, STDERR_FILENO) &&
           sig_syscall4(SYS_close_range, STDERR_FILENO + 1, ~0U, 0, 0) == 0;
}

/* What is sent to the program's process group is not meant for the tool, which ends by itself. */
static void arrange_signals(void)
{
    static const int left_out[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGTTOU, SIGTTIN};
    static const int wanted[] = {SIGALRM, SIGPIPE, SIGCHLD};
    static const uint64_t default_action[8]; /* the kernel's struct sigaction: SIG_DFL is 0 */
    uint64_t mask = 0;
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        mask |= UINT64_C(1) << (left_out[i] - 1);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        sig_syscall4(SYS_rt_sigaction, wanted[i], (long)default_action, 0, sizeof mask);
    raw_set_mask(mask);
    alarm(TIME_MAX_S);
}

/* Debug information can take much memory. If there is too little for both, the kernel is to kill the tool,
 * not the program. */
static void offer_for_killing(void)
{
    static const char most[] = "1000";
    long fd = sig_syscall4(SYS_openat, AT_FDCWD, (long)"/proc/self/oom_score_adj", O_WRONLY, 0);
    if (fd < 0)
        return;
    sig_syscall4(SYS_write, fd, (long)most, sizeof most - 1, 0);
    sig_syscall4(SYS_close, fd, 0, 0, 0);
}

/* The grandchild. */
static int become_tool(void *argument)
{
    struct launch *launch = argument;
    int directory = launch->request->directory_fd;
    if (directory != AT_FDCWD && fchdir(directory) < 0)
        raw_exit(127);
    if (!arrange_descriptors(launch))
        raw_exit(127);
    arrange_signals();
    offer_for_killing();
    sig_syscall4(SYS_execve, (long)launch->request->tool, (long)launch->arguments->list,
                 (long)launch->environment, 0);
    raw_exit(127);
}

/* The child. */
static int launch_tool(void *argument)
{
    struct launch *launch = argument;
    if (clone(become_tool, launch->stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, launch) < 0)
        launch->error = -errno;
    raw_exit(0);
}

/* Returns when the tool runs, or could not be started: 0 or -errno. */
static int start_tool(struct launch *launch)
{
    unsigned char *stacks = scratch_alloc((size_t)2 * STACK_BYTES);
    if (!stacks)
        return -ENOMEM;
    launch->stack = stacks;
    uint64_t mask = raw_set_mask(UINT64_MAX); /* no handler of the program runs in these processes */
    pid_t child = clone(launch_tool, stacks + (size_t)2 * STACK_BYTES, CLONE_VM | CLONE_VFORK, launch);
    int status = child < 0 ? -errno : 0;
    while (child >= 0 && raw_waitpid(child, NULL, __WCLONE) < 0 && errno == EINTR)
        ;
    raw_set_mask(mask);
    scratch_free(stacks, (size_t)2 * STACK_BYTES);
    return status < 0 ? status : launch->error;
}

/* ---- what it replies ---- */

/* The thread that waits for ours sees by our CPU time that we wait for nothing of it (session.c). */
static const uint64_t wait_slice_ns = 500 * NS_PER_MS;

/* Reads what the tool writes until it ends: 0 or -errno. */
static int await_reply(int fd, struct arguments *arguments)
{
    uint64_t deadline_ns = clock_monotonic_ns() + (TIME_MAX_S + 1) * (uint64_t)NS_PER_S;
    for (;;) {
        char *rest = arguments->reply + arguments->reply_bytes;
        size_t rest_bytes = sizeof arguments->reply - 1 - arguments->reply_bytes;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        uint64_t now_ns = clock_monotonic_ns();
        struct timespec slice = clock_ns_timespec(wait_slice_ns);
        long got = sig_syscall6(SYS_ppoll, (long)&wait, 1, (long)&slice, 0, 0, 0);
        if (got == 0 && now_ns >= deadline_ns)
            return -ETIME;
        if (got == 0)
            continue;
        if (got > 0)
            got = sig_syscall4(SYS_read, fd, (long)rest, (long)rest_bytes, 0);
        if (got > 0)
            arguments->reply_bytes += (size_t)got;
        if (got <= 0 && got != -EINTR)
            return (int)got;
    }
}

/* The tool writes a line for each file that it has written, in the order of its arguments. */
static uint32_t read_reply(const struct arguments *arguments)
{
    uint32_t written = 0;
    const char *at = arguments->reply;
    for (uint32_t i = 0; i < FILES_MAX; i++) {
        char line[sizeof reply_word + NAME_BYTES];
        int length = snprintf(line, sizeof line, "%s%s\n", reply_word, arguments->names[i]);
        if (!*arguments->names[i] || strncmp(at, line, (size_t)length) != 0)
            continue;
        written |= UINT32_C(1) << i;
        at += length;
    }
    return written;
}

static int run_tool(struct launch *launch)
{
    int reply[2];
    if (pipe2(reply, O_CLOEXEC) < 0)
        return -errno;
    launch->reply_fd = reply[1];
    int status = start_tool(launch);
    close(reply[1]);
    if (status == 0)
        status = await_reply(reply[0], launch->arguments);
    close(reply[0]);
    return status;
}

static void choose_arguments(const struct export_request *request, uint32_t wanted,
                             struct arguments *arguments)
{
    size_t count = 0;
    char **list = arguments->list;
    list[count++] = "wallprof";
    list[count++] = "export";
    list[count++] = "--verbose";
    for (uint32_t i = 0; i < FILES_MAX; i++) {
        const struct profile_path *more = i > 0 ? &request->more[i - 1] : NULL;
        if (!(wanted >> i & 1))
            continue;
        snprintf(arguments->names[i], NAME_BYTES, "%s/%s",
                 more ? more->directory : ".", /* "./": no name is taken for an option */
                 more ? more->name : request->name);
        list[count++] = "-o";
        list[count++] = arguments->names[i];
    }
    list[count++] = "-";
    list[count] = NULL;
}

static int write_by_tool(const struct export_request *request, uint32_t wanted, int store,
                         uint32_t *ret_written)
{
    char *environment[ENVIRONMENT_MAX];
    struct arguments *arguments = scratch_alloc(sizeof *arguments);
    if (!arguments)
        return -ENOMEM;
    choose_environment(environment);
    choose_arguments(request, wanted, arguments);
    struct launch launch = {
        .request = request, .store_fd = store, .environment = environment, .arguments = arguments};
    int status = run_tool(&launch);
    *ret_written = read_reply(arguments);
    scratch_free(arguments, sizeof *arguments);
    if (*ret_written == wanted)
        return 0;
    return status < 0 ? status : -ECHILD;
}

int tool_export_write(const struct export_request *request, uint32_t wanted, const struct profile *profile,
                      uint32_t *ret_written)
{
    int saved_errno = errno;
    int store = make_store_file(profile);
    *ret_written = 0;
    int status = store < 0 ? store : write_by_tool(request, wanted, store, ret_written);
    if (store >= 0)
        close(store);
    errno = saved_errno;
    return status;
}
