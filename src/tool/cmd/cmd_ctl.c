/*
 * wallprof ctl: starts, stops, dumps and shows the recording of a running process.
 *
 * The sampler's page (control_page.h) is found among the descriptors of the thread named wallprof, in
 * /proc/PID/task/TID/fd: the thread has a table of its own. Only the same user and root can open it.
 */
#include "commands.h"
#include "tool/io/command.h"
#include "tool/io/output_file.h"
#include "tool/read/recording.h"
#include "tool/read/store_names.h"

#include "base/clock.h"
#include "profile/control_page.h"
#include "wallprof.h"
#include "base/futex.h"
#include "sig/sys/sig_atomic.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char help[] = "usage: wallprof ctl [OPTIONS] PID start|stop|status\n"
                           "       wallprof ctl [OPTIONS] PID dump [PATH]\n"
                           "\n"
                           "Starts or stops the recording of a running process, which must be yours, shows\n"
                           "its status, or writes what it has recorded so far to PATH. The ending of PATH\n"
                           "gives the format. Without PATH it is written where the profile goes at the end.\n"
                           "What the process does not write itself is made here, of a store that it writes.\n"
                           "\n"
                           "  -t, --timeout SECONDS  how long to wait for the reply. Default: 10.\n";

enum { TIMEOUT_DEFAULT_S = 10, TIMEOUT_MAX_S = 86400 };

static const uint64_t alive_check_ns = 100 * NS_PER_MS;

struct subject {
    long pid;
    char task[64]; /* /proc/PID/task/TID of its sampler */
    int fd;
    struct control_page *page;
};

/* ---- the page ---- */

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

/* Opens the page through a thread's descriptors: -ENOENT when there is none, or another -errno. */
static int open_page_of(const char *task)
{
    char path[512];
    snprintf(path, sizeof path, "%s/fd", task);
    DIR *directory = opendir(path);
    int fd = directory ? -ENOENT : -errno;
    for (struct dirent *entry; fd == -ENOENT && directory && (entry = readdir(directory));) {
        snprintf(path, sizeof path, "%s/fd/%s", task, entry->d_name);
        if (!is_control_page(path))
            continue;
        fd = open(path, O_RDWR | O_CLOEXEC);
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

/* The page's descriptor. -ESRCH: no process. -ENODATA: no thread of ours. -ENOENT: it has no page. */
static int find_page(struct subject *subject)
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
            fd = open_page_of(subject->task);
    }
    closedir(directory);
    return fd;
}

/* A process that has just begun has neither its thread nor its page yet. */
static bool may_come(long pid, int error)
{
    return error == -ENOENT || (error == -ENODATA && has_library(pid));
}

static int await_page(struct subject *subject, uint64_t deadline_ns)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS};
    int fd;
    while ((fd = find_page(subject)) < 0 && may_come(subject->pid, fd) && clock_monotonic_ns() < deadline_ns)
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

static int open_subject(struct subject *subject, uint64_t timeout_ns)
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

/* ---- the request ---- */

static bool is_alive(const struct subject *subject)
{
    char path[128];
    snprintf(path, sizeof path, "%s/comm", subject->task);
    return access(path, F_OK) == 0;
}

/* One process at a time has the lock, and keeps it until it ends. */
static int lock_page(const struct subject *subject, uint64_t deadline_ns)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS};
    while (flock(subject->fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK || clock_monotonic_ns() >= deadline_ns)
            return command_fail("process %ld is busy with another request", subject->pid);
        nanosleep(&pause, NULL);
    }
    return 0;
}

static int send_request(struct subject *subject, enum control_kind kind, const char *path,
                        uint64_t timeout_ns)
{
    struct control_page *page = subject->page;
    uint64_t now_ns, deadline_ns = clock_monotonic_ns() + timeout_ns;
    if (lock_page(subject, deadline_ns) != 0)
        return 1;
    uint32_t number = sig_load_seq_cst(&page->request_number) + 1, reply_number;
    page->kind = kind;
    strcpy(page->path, path);
    sig_store_seq_cst(&page->request_number, number);
    sig_add_seq_cst(&page->wake, 1);
    futex_wake_all_shared(&page->wake);
    while ((reply_number = sig_load_seq_cst(&page->reply_number)) != number) {
        if (!is_alive(subject))
            return command_fail("process %ld has ended, or has executed another program", subject->pid);
        if ((now_ns = clock_monotonic_ns()) >= deadline_ns)
            return command_fail("process %ld does not reply; it may do so later", subject->pid);
        uint64_t check_ns = now_ns + alive_check_ns;
        futex_wait_shared(&page->reply_number, reply_number, check_ns < deadline_ns ? check_ns : deadline_ns);
    }
    return 0;
}

/* ---- the reply ---- */

static void print_text(const char *label, const char *text, size_t capacity)
{
    printf("%-12s", label);
    for (size_t i = 0; i < capacity && text[i]; i++)
        putchar((unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i]);
    putchar('\n');
}

static void print_status(const struct control_status *status)
{
    char since[64] = "";
    time_t seconds = (time_t)(status->since_utc_ns / NS_PER_S);
    struct tm local;
    if (localtime_r(&seconds, &local))
        strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S", &local);
    printf("%-12s%s since %s\n", "state", status->is_recording ? "recording" : "stopped", since);
    print_text("program", status->program, sizeof status->program);
    printf("%-12s%d\n", "pid", status->pid);
    printf("%-12s%.3f s\n", "recorded", (double)status->recorded_ns / NS_PER_S);
    printf("%-12s%u seen, %u alive\n", "threads", status->threads_seen, status->threads_live);
    printf("%-12s%llu\n", "samples", (unsigned long long)status->samples);
    if (status->files)
        printf("%-12s%u written, one for each interval\n", "files", status->files);
    print_text("profile", status->out, sizeof status->out);
}

/* `path` is for messages. */
static int report_result(const struct subject *subject, enum control_kind kind, const char *path)
{
    int32_t result = subject->page->result;
    struct control_status status = subject->page->status;
    if (result == WALLPROF_ALREADY)
        return command_fail("process %ld is %s already", subject->pid,
                            kind == CONTROL_START ? "recording" : "stopped");
    if (result == WALLPROF_NOTHING)
        return command_fail("process %ld: nothing has been recorded yet", subject->pid);
    if (result != 0)
        return command_fail("process %ld cannot write %s: %s", subject->pid, *path ? path : "its profile",
                            result > 0 ? strerror(result) : "not recorded");
    if (kind == CONTROL_STATUS)
        print_status(&status);
    return fflush(stdout) == EOF;
}

static int request_and_report(struct subject *subject, enum control_kind kind, const char *path,
                              const char *shown_path, uint64_t timeout_ns)
{
    int status = send_request(subject, kind, path, timeout_ns);
    return status ? status : report_result(subject, kind, shown_path);
}

/* ---- dumps in other formats: the process writes a store, and the tool makes the file of it ---- */

static int convert_dump(const struct subject *subject, const char *store, const char *path)
{
    struct recording recording;
    int status = store_names_open(&recording, store);
    if (status == 0) {
        status = output_file_write(path, format_of_name(output_file_name(path)), &recording.profile);
        recording_close(&recording);
    }
    if (status != 0)
        return command_fail("process %ld has left what it recorded in %s", subject->pid, store);
    unlink(store);
    return 0;
}

/* The store lies beside the requested file, under a name that no other dump has. */
static int dump_by_store(struct subject *subject, const char *path, uint64_t timeout_ns)
{
    char store[PATH_MAX];
    if (snprintf(store, sizeof store, "%s.%d.store", path, getpid()) >= (int)sizeof store)
        return command_fail("%s: %s", path, strerror(ENAMETOOLONG));
    if (access(store, F_OK) == 0)
        return command_fail("%s is in the way", store);
    if (request_and_report(subject, CONTROL_DUMP, store, path, timeout_ns) != 0)
        return 1;
    return convert_dump(subject, store, path);
}

/* Without a path the dump goes to where the process says that its profile goes. */
static int dump(struct subject *subject, const char *path, uint64_t timeout_ns)
{
    char out[PATH_MAX];
    const char *target = *path ? path : out;
    if (!*path) {
        if (send_request(subject, CONTROL_STATUS, "", timeout_ns) != 0)
            return 1;
        snprintf(out, sizeof out, "%.*s", PATH_MAX - 1, subject->page->status.out);
    }
    if (format_needs_tool(format_of_name(output_file_name(target))))
        return dump_by_store(subject, target, timeout_ns);
    return request_and_report(subject, CONTROL_DUMP, path, path, timeout_ns);
}

/* ---- the command line ---- */

static const char *const kind_words[] = {[CONTROL_NONE] = "",
                                         [CONTROL_START] = "start",
                                         [CONTROL_STOP] = "stop",
                                         [CONTROL_DUMP] = "dump",
                                         [CONTROL_STATUS] = "status"};

/* The process may have another working directory. */
static int make_absolute(const char *path, char ret[PATH_MAX])
{
    char directory[PATH_MAX] = "";
    if (*path != '/' && !getcwd(directory, sizeof directory))
        return command_fail("the working directory: %s", strerror(errno));
    int length = snprintf(ret, PATH_MAX, "%s%s%s", directory, *directory ? "/" : "", path);
    return length < PATH_MAX ? 0 : command_fail("%s: %s", path, strerror(ENAMETOOLONG));
}

int command_ctl(int argc, char **argv)
{
    static const struct option options[] = {
        {"timeout", required_argument, NULL, 't'}, {"help", no_argument, NULL, 'h'}, {0}};
    struct subject subject = {.fd = -1};
    char path[PATH_MAX] = "";
    long timeout_s = TIMEOUT_DEFAULT_S;
    for (int option; (option = getopt_long(argc, argv, "t:h", options, NULL)) >= 0;) {
        if (option == 'h')
            return fputs(help, stdout) == EOF;
        if (option != 't')
            return command_misused("ctl", "wrong option");
        if (!command_number(optarg, 1, TIMEOUT_MAX_S, &timeout_s))
            return command_misused("ctl", "--timeout %s is not a number of seconds", optarg);
    }
    int count = argc - optind;
    if (count < 2 || !command_number(argv[optind], 1, INT_MAX, &subject.pid))
        return command_misused("ctl", "PID and what to do are needed");
    const int kind = command_word(kind_words, CONTROL_STATUS + 1, argv[optind + 1]);
    if (kind <= CONTROL_NONE)
        return command_misused("ctl", "'%s' is not start, stop, dump or status", argv[optind + 1]);
    if (count > (kind == CONTROL_DUMP ? 3 : 2))
        return command_misused("ctl", "'%s' is too much", argv[argc - 1]);
    if (count == 3 && !*argv[optind + 2])
        return command_misused("ctl", "the PATH is empty");
    if (count == 3 && make_absolute(argv[optind + 2], path) != 0)
        return 1;
    const uint64_t timeout_ns = (uint64_t)timeout_s * NS_PER_S;
    if (open_subject(&subject, timeout_ns) != 0)
        return 1;
    if (kind == CONTROL_DUMP)
        return dump(&subject, path, timeout_ns);
    return request_and_report(&subject, (enum control_kind)kind, path, path, timeout_ns);
}
