/* wallprof ctl: starts, stops, dumps and shows the recording of a running process. */
#include "commands.h"
#include "tool/io/command.h"
#include "tool/io/output_file.h"
#include "tool/live/ctl_request.h"
#include "tool/read/recording.h"
#include "tool/read/store_names.h"

#include "base/clock.h"
#include "profile/control_page.h"
#include "wallprof.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char help[] = "usage: wallprof ctl [OPTIONS] PID start|stop|status\n"
                           "       wallprof ctl [OPTIONS] PID dump [PATH]\n"
                           "\n"
                           "Starts or stops the recording of a running process, which must be yours, shows\n"
                           "its status, or writes what it has recorded so far to PATH. The ending of PATH\n"
                           "gives the format; - is standard output, as pprof. Without PATH it is written\n"
                           "where the profile goes at the end.\n"
                           "What the process does not write itself is made here, of a store that it writes.\n"
                           "\n"
                           "  -o, --output PATH      another way to say PATH\n"
                           "  -t, --timeout SECONDS  how long to wait for the reply. Default: 10.\n";

enum { TIMEOUT_DEFAULT_S = 10, TIMEOUT_MAX_S = 86400 };

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
static int report_result(const struct ctl_subject *subject, enum control_kind kind, const char *path)
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

static int request_and_report(struct ctl_subject *subject, enum control_kind kind, const char *path,
                              const char *shown_path, uint64_t timeout_ns)
{
    int status = ctl_request_send(subject, kind, path, timeout_ns);
    return status ? status : report_result(subject, kind, shown_path);
}

/* ---- dumps in other formats: the process writes a store, and the tool makes the file of it ---- */

static int convert_dump(const struct ctl_subject *subject, const char *store, const char *path)
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
static int dump_by_store(struct ctl_subject *subject, const char *path, uint64_t timeout_ns)
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

/* The process has no standard output of ours. */
static int dump_to_stdout(struct ctl_subject *subject, uint64_t timeout_ns)
{
    char directory[PATH_MAX], store[PATH_MAX + 16];
    int status = ctl_request_directory(subject, directory);
    if (status == 0) {
        snprintf(store, sizeof store, "%s/dump.store", directory);
        status = request_and_report(subject, CONTROL_DUMP, store, "a store for us", timeout_ns);
    }
    if (status == 0)
        status = convert_dump(subject, store, "-");
    rmdir(directory); /* what could not be converted is in it */
    return status;
}

/* Without a path the dump goes to where the process says that its profile goes. */
static int dump(struct ctl_subject *subject, const char *path, uint64_t timeout_ns)
{
    char out[PATH_MAX];
    const char *target = *path ? path : out;
    if (strcmp(path, "-") == 0)
        return dump_to_stdout(subject, timeout_ns);
    if (!*path) {
        if (ctl_request_send(subject, CONTROL_STATUS, "", timeout_ns) != 0)
            return 1;
        snprintf(out, sizeof out, "%.*s", PATH_MAX - 1, subject->page->status.out);
    }
    if (format_needs_tool(format_of_name(output_file_name(target))))
        return dump_by_store(subject, target, timeout_ns);
    return request_and_report(subject, CONTROL_DUMP, path, path, timeout_ns);
}

/* ---- the command line ---- */

struct ctl_request {
    enum control_kind kind;
    const char *output; /* where to dump; NULL: where the profile goes */
    long timeout_s;
    bool is_help;
};

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

static int read_options(int argc, char **argv, struct ctl_request *ret)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"timeout", required_argument, NULL, 't'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    for (int option; (option = getopt_long(argc, argv, "o:t:h", options, NULL)) >= 0;) {
        if (option == 'h')
            ret->is_help = true;
        else if (option == 'o')
            ret->output = optarg;
        else if (option != 't')
            return command_wrong_option("ctl", argv, options);
        else if (!command_number(optarg, 1, TIMEOUT_MAX_S, &ret->timeout_s))
            return command_misused("ctl", "--timeout %s is not a number of seconds", optarg);
    }
    return 0;
}

/* PID, what to do, and maybe a PATH. */
static int read_words(int argc, char **argv, struct ctl_request *ret, struct ctl_subject *subject)
{
    const int count = argc - optind;
    if (count < 2 || !command_number(argv[optind], 1, INT_MAX, &subject->pid))
        return command_misused("ctl", "PID and what to do are needed");
    const int kind = command_word(kind_words, CONTROL_STATUS + 1, argv[optind + 1]);
    if (kind <= CONTROL_NONE)
        return command_misused("ctl", "'%s' is not start, stop, dump or status", argv[optind + 1]);
    if (count > (kind == CONTROL_DUMP && !ret->output ? 3 : 2))
        return command_misused("ctl", "'%s' is too much", argv[argc - 1]);
    if (ret->output && kind != CONTROL_DUMP)
        return command_misused("ctl", "--output is for dump");
    ret->kind = (enum control_kind)kind;
    ret->output = count == 3 ? argv[optind + 2] : ret->output;
    if (ret->output && !*ret->output)
        return command_misused("ctl", "the PATH is empty");
    return ret->output ? output_file_check_ending("ctl", ret->output) : 0;
}

int command_ctl(int argc, char **argv)
{
    struct ctl_subject subject = {.fd = -1};
    struct ctl_request request = {.timeout_s = TIMEOUT_DEFAULT_S};
    char path[PATH_MAX] = "";
    int status = read_options(argc, argv, &request);
    if (status == 0 && request.is_help)
        return output_print(help);
    if (status == 0)
        status = read_words(argc, argv, &request, &subject);
    if (status != 0)
        return status;
    if (request.output && strcmp(request.output, "-") == 0)
        strcpy(path, "-");
    else if (request.output && make_absolute(request.output, path) != 0)
        return 1;
    const uint64_t timeout_ns = (uint64_t)request.timeout_s * NS_PER_S;
    if (ctl_subject_open(&subject, timeout_ns) != 0)
        return 1;
    if (request.kind == CONTROL_DUMP)
        return dump(&subject, path, timeout_ns);
    return request_and_report(&subject, request.kind, path, path, timeout_ns);
}
