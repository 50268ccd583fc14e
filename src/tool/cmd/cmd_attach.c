/* wallprof attach: records a process that runs already, from outside (tool/attach). */
#include "attach_family.h"
#include "commands.h"
#include "base/number_names.h"
#include "config/config.h"
#include "config/config_values.h"
#include "profile/store.h"
#include "tool/attach/attach.h"
#include "tool/attach/attach_check.h"
#include "tool/attach/attach_store.h"
#include "tool/io/command.h"
#include "tool/io/output_file.h"
#include "tool/read/store_names.h"
#include "tool/run/run_files.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char help[] =
    "usage: wallprof attach [OPTIONS] PID\n"
    "\n"
    "Records a process that runs already, until it ends, or Ctrl-C is pressed.\n"
    "Nothing is put into it. Threads that wait are not touched. One that runs stands\n"
    "still for some microseconds at each sample.\n"
    "\n"
    "  -o, --output OUT     where the profile goes, in the format of its ending; up to\n"
    "                       16 of them. Default: wallprof.PID.pb.gz\n"
    "  -d, --duration TIME  record for so long: 30s, 10m, 1h\n"
    "      --hz N           ticks a second, 1 to 10000. Default: 100\n"
    "      --overhead P     per cent of the CPU time of the process that this may take,\n"
    "                       or off. Default: 1\n"
    "  -f, --follow         record the processes that it starts, too: a profile each\n"
    "  -t, --top            show where the time went, as wallprof top does\n"
    "  -q, --quiet          do not say where the profile is\n"
    "  -v, --verbose        say how often threads stood still, and how long\n"
    "\n"
    "The process must be yours, and the system must allow it. Root may record any.\n";

enum { OPTION_HZ = 256, OPTION_OVERHEAD, OPTION_RUN, PID_MAX = 4194304 };

struct attach_command {
    struct output_files outputs;
    struct config config;
    struct log log;
    struct attach attach;
    char default_name[64];
    bool shows_top, is_quiet, is_verbose;
    bool follows;    /* its children are recorded too */
    const char *run; /* the directory of a run, for which a recorder has started this one; NULL: a user has */
};

/* ---- options ---- */

/* The same checks as for a variable of the library, but a wrong value is an error. */
static int set_variable(const char *name, const char *option, const char *value)
{
    struct config config = {.hides = false};
    static struct log log;
    char *const environment[] = {(char *)value, NULL};
    log = (struct log){.level = LOG_WARNING};
    config_read(&config, &log, environment);
    if (log.used_bytes > 0)
        return command_misused("attach", "--%s: %s cannot be used", option, strchr(value, '=') + 1);
    return setenv(name, strchr(value, '=') + 1, 1) < 0 ? command_fail("%s", error_text(errno)) : 0;
}

static int set_option(const char *name, const char *option, const char *argument)
{
    char value[128];
    if ((size_t)snprintf(value, sizeof value, "%s=%s", name, argument) >= sizeof value)
        return command_misused("attach", "--%s: the value is too long", option);
    return set_variable(name, option, value);
}

static int read_option(struct attach_command *command, int option, char **argv, const struct option *options)
{
    switch (option) {
    case 'o':
        return output_files_add(&command->outputs, optarg);
    case 'd':
        return set_option("WALLPROF_DURATION", "duration", optarg);
    case OPTION_HZ:
        return set_option("WALLPROF_HZ", "hz", optarg);
    case OPTION_OVERHEAD:
        return set_option("WALLPROF_OVERHEAD", "overhead", optarg);
    case 't':
        command->shows_top = true;
        return 0;
    case 'f':
        command->follows = true;
        return 0;
    case OPTION_RUN:
        command->run = optarg;
        return 0;
    case 'q':
        command->is_quiet = true;
        return 0;
    case 'v':
        command->is_verbose = true;
        return 0;
    default:
        return command_wrong_option("attach", argv, options);
    }
}

/* The formats say whether samples are kept with their times. */
static int settle_outputs(struct attach_command *command)
{
    struct output_files *outputs = &command->outputs;
    snprintf(command->default_name, sizeof command->default_name, "wallprof.%d.pb.gz",
             (int)command->attach.pid);
    int status = outputs->count ? 0 : output_files_add(outputs, command->default_name);
    if (status == 0)
        status = output_files_choose_formats(outputs);
    for (int i = 0; i < outputs->count && status == 0; i++) {
        if (format_needs_timeline(outputs->formats[i]))
            command->config.timeline = TIMELINE_ON;
    }
    if (command->config.timeline != TIMELINE_OFF)
        command->config.sampler.timeline_bytes = command->config.timeline_bytes;
    return status;
}

/* ---- afterwards ---- */

/* One line, as after wallprof run. */
static void say_where(const struct attach_command *command)
{
    struct run_files files = {.count = 0};
    char *text = NULL, path[PATH_MAX];
    size_t bytes = 0;
    FILE *lines = open_memstream(&text, &bytes);
    for (int i = 0; lines && i < command->outputs.count; i++) {
        if (realpath(command->outputs.paths[i], path))
            fprintf(lines, "%d %s %s\n", (int)command->attach.pid,
                    i ? STORE_WRITTEN_MORE : STORE_WRITTEN_FIRST, path);
    }
    if (lines)
        fclose(lines);
    lines = text && bytes ? fmemopen(text, bytes, "r") : NULL;
    if (lines) {
        run_files_add(&files, lines, command->attach.pid);
        run_files_say(&files, false, "", stderr);
        fclose(lines);
    }
    free(text);
}

static void say_stops(const struct attach *attach)
{
    const struct attach_observer *observer = &attach->observer;
    fprintf(stderr,
            "wallprof: threads stood still %llu times: half of them for up to %u us, 99 %% for up to %u us, "
            "all for "
            "up to %.0f us; %llu times one had just begun to wait\n",
            (unsigned long long)observer->counts.stops, attach_observe_pause_us(observer, 50),
            attach_observe_pause_us(observer, 99), (double)observer->counts.pause_max_ns / 1e3 + 1,
            (unsigned long long)observer->counts.in_calls);
}

/* Paths by which we reach its files are shown as the process has them. */
static void show_own_paths(struct recording *recording, const char *root)
{
    const size_t bytes = strlen(root);
    for (arena_ref ref = bytes ? recording->modules.newest : 0; ref;) {
        const struct module *module = arena_at(&recording->arena, ref);
        char *path = arena_at(&recording->arena, module->path);
        if (strncmp(path, root, bytes) == 0)
            memmove(path, path + bytes, strlen(path + bytes) + 1);
        ref = module->next;
    }
}

static int write_files(struct attach_command *command, const char *store)
{
    struct recording recording;
    if (store_names_open(&recording, store) != 0)
        return 1;
    show_own_paths(&recording, command->attach.root);
    int status = output_files_write(&command->outputs, &recording.profile);
    recording_close(&recording);
    return status;
}

static int write_profile(struct attach_command *command)
{
    char store[64];
    int fd = memfd_create("wallprof", MFD_CLOEXEC), error = fd < 0 ? -errno : 0;
    if (error == 0)
        error = attach_write_store(&command->attach, fd);
    if (error < 0)
        return command_fail("the recording cannot be kept: %s", error_text(-error));
    snprintf(store, sizeof store, "/proc/self/fd/%d", fd);
    int status = write_files(command, store);
    if (status == 0 && !command->is_quiet)
        say_where(command);
    if (command->is_verbose)
        say_stops(&command->attach);
    optind = 0; /* getopt begins anew */
    if (status == 0 && command->shows_top)
        status = command_top(2, (char *[]){"top", store, NULL});
    close(fd);
    return status;
}

/* ---- the command ---- */

static int record(struct attach_command *command)
{
    struct attach *attach = &command->attach;
    int error = attach_init(attach);
    if (error == 0)
        error = attach_record(attach);
    int status = error == 0 ? write_profile(command) : attach_fail(attach, error);
    attach_deinit(attach);
    return status;
}

/* A child of a process that another recorder records: nobody reads what is said here. */
static int record_for_run(struct attach_command *command)
{
    struct attach *attach = &command->attach;
    bool is_whole;
    if (attach_store_has_recorder(command->run, attach->pid))
        return 0; /* a grandchild of a subreaper, which has become its child */
    attach->is_deaf = true;
    attach->leash = ATTACH_LEASH_FD;
    attach->run = command->run;
    const int error = attach_record_family(attach, false, &is_whole);
    const bool is_lost =
        error < 0 && !attach_check_is_gone(attach->directory); /* else it was over too soon */
    return is_lost || !is_whole;
}

static int record_family(struct attach_command *command)
{
    const struct attach_family family = {.attach = &command->attach,
                                         .config = &command->config,
                                         .outputs = &command->outputs,
                                         .is_quiet = command->is_quiet,
                                         .shows_top = command->shows_top};
    const int status = attach_family_record(&family);
    if (command->is_verbose)
        say_stops(&command->attach);
    return status;
}

static int attach_to(struct attach_command *command)
{
    struct attach *attach = &command->attach;
    int status = command->run || command->follows ? 0 : settle_outputs(command);
    if (status)
        return status;
    status = attach_check(attach->pid, attach->directory);
    if (status && command->run)
        return !attach_check_is_gone(attach->directory);
    if (status)
        return status;
    if (command->run)
        return record_for_run(command);
    return command->follows ? record_family(command) : record(command);
}

static int attach_with(struct attach_command *command, const char *argument)
{
    long pid;
    struct attach *attach = &command->attach;
    if (!command_number(argument, 1, PID_MAX, &pid))
        return command_misused("attach", "%s is not the number of a process", argument);
    if (attach_open(attach, (pid_t)pid, &command->config, &command->log) < 0)
        return command->run ? 0 : attach_check_missing(attach->pid);
    const int status = attach_to(command);
    log_flush(&command->log);
    close(attach->directory);
    return status;
}

int command_attach(int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},
        {"out", required_argument, NULL, 'o'}, /* as for run */
        {"duration", required_argument, NULL, 'd'},
        {"hz", required_argument, NULL, OPTION_HZ},
        {"overhead", required_argument, NULL, OPTION_OVERHEAD},
        {"top", no_argument, NULL, 't'},
        {"follow", no_argument, NULL, 'f'},
        {"run", required_argument, NULL, OPTION_RUN}, /* attach_follow.c */
        {"quiet", no_argument, NULL, 'q'},
        {"verbose", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {0}};
    static struct attach_command command = {.outputs = {.command = "attach"}};
    for (int option; (option = getopt_long(argc, argv, "o:d:ftqvh", options, NULL)) >= 0;) {
        if (option == 'h')
            return output_print(help);
        int status = read_option(&command, option, argv, options);
        if (status)
            return status;
    }
    if (optind + 1 != argc)
        return command_misused("attach", "one PID is needed");
    signal(SIGCHLD, SIG_DFL); /* ignored, it would tell of no stop, and take the status of recorders */
    return attach_with(&command, argv[optind]);
}
