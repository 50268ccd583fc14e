/*
 * wallprof run: runs a program with our library preloaded, and says at its end where its profile is.
 *
 * The program is a child, so that somebody is there at its end. After an exec no process could say anything
 * in time, before our parent goes on. Where there is nothing to be done at the end, the program takes our
 * place.
 */
#include "commands.h"
#include "config/config.h"
#include "encode/format.h"
#include "encode/version.h"
#include "tool/io/command.h"
#include "tool/io/output_file.h"
#include "tool/run/executable.h"
#include "tool/run/library_place.h"
#include "tool/run/outputs.h"
#include "tool/run/run_child.h"
#include "tool/run/run_directory.h"
#include "tool/run/run_files.h"
#include "tool/run/run_options.h"
#include "tool/run/runtime_names.h"
#include "run_end.h"
#include "run_external.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
    struct run_options options;
    struct config config; /* of the program */
    struct run_directory directory;
    struct run_child child;
    struct run_files files;
    struct runtime_names names;
    struct executable executable;
    bool is_external; /* it is recorded from outside */
    struct run_external external;
    char library[PATH_MAX], program[PATH_MAX];
    char report[PATH_MAX + 16]; /* the file that --top shows; "" without */
    struct refusal refusal;
};

/* ---- before the start ---- */

/* Beside the tool, or where it is installed. */
static int find_library(char ret[PATH_MAX], struct refusal *refusal)
{
    char own[PATH_MAX] = "", path[2 * PATH_MAX], looked[6 * PATH_MAX] = "";
    const char *const places[][2] = {{own, ""}, {own, "/../lib"}, {own, "/../lib64"}, {library_place, ""}};
    if (readlink("/proc/self/exe", own, sizeof own - 1) > 0)
        *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places && *places[i][0]; i++) {
        sprintf(looked + strlen(looked), " %s%s", places[i][0], places[i][1]);
        snprintf(path, sizeof path, "%s%s/libwallprof.so", places[i][0], places[i][1]);
        if (access(path, R_OK) < 0 || !realpath(path, ret))
            continue;
        return !strpbrk(ret, ": ")
                   ? 0
                   : refuse(refusal, RUN_FAILED,
                            "%s cannot be preloaded: LD_PRELOAD has no way to write a space or a "
                            "colon in a path; install it elsewhere",
                            ret);
    }
    return refuse(refusal, RUN_FAILED, "libwallprof.so not found; looked in:%s", looked);
}

static bool writes_store(const struct run *run)
{
    bool is_any = false;
    for (uint32_t i = 0; i <= run->config.more_out_count; i++)
        is_any |= format_of_name(output_file_name(config_out(&run->config, i))) == FORMAT_STORE;
    return is_any;
}

static int check_merge(const struct run *run, struct refusal *refusal)
{
    if (run->config.interval_ns)
        return refuse(refusal, RUN_FAILED, "--merge: an interval's profile is of one process");
    if (run->directory.no_store)
        return refuse(refusal, RUN_FAILED, "--merge needs a store of the run: %s", run->directory.no_store);
    return writes_store(run) ? refuse(refusal, RUN_FAILED, "--merge: a store is of one process") : 0;
}

/* One file more, which `wallprof gather` writes, or else each process. */
static int prepare_report(struct run *run)
{
    if (run->config.interval_ns)
        return refuse(&run->refusal, RUN_FAILED, "--top: there is a profile for each interval, not one");
    if (!*run->directory.path)
        return refuse(&run->refusal, RUN_FAILED, "--top needs a directory: nothing can be made in TMPDIR");
    const char *name = "report.pb.gz";
    snprintf(run->report, sizeof run->report, "%s/%s", run->directory.path, name);
    run->files.hidden = run->report;
    return run->directory.lock_fd >= 0 ? 0
                                       : outputs_set(&run->config, run->directory.path, name, &run->refusal);
}

static int ask_for_names(struct run *run)
{
    struct runtime_names *names = &run->names;
    *names = (struct runtime_names){.argv = run->options.program};
    if (run->options.leaves_names)
        return 0;
    if (runtime_names_ask(names, run->program, run->executable.interpreter, run->options.program) < 0)
        return refuse(&run->refusal, RUN_FAILED, "there is not enough memory");
    if (*names->options && !run->options.is_quiet)
        fprintf(stderr, "wallprof: added%s for names: %s (not with --runtime-names off)\n", names->where,
                names->options);
    return 0;
}

/* What only the library can do. */
static int check_external(const struct run *run, struct refusal *refusal)
{
    const struct config *config = &run->config;
    const char *what = config->interval_ns      ? "--interval-dump"
                       : config->waits          ? "--start 0"
                       : config->delay_ns       ? "--delay"
                       : config->control_signal ? "--control-signal"
                                                : NULL;
    return what ? refuse(refusal, RUN_FAILED,
                         "%s needs the library in the program, which is not there when it is recorded from "
                         "outside",
                         what)
                : 0;
}

/* Whether it is recorded from outside, which is said where nobody has asked for it. */
static int choose_side(struct run *run)
{
    outputs_read_config(&run->config);
    const enum config_external external = run->options.is_external ? EXTERNAL_ALWAYS : run->config.external;
    int status = executable_check(run->program, external, &run->executable, &run->refusal);
    run->is_external = external == EXTERNAL_ALWAYS || *run->executable.out_of_reach;
    if (status == 0 && run->is_external && external != EXTERNAL_ALWAYS && !run->options.is_quiet)
        fprintf(stderr, "wallprof: %s: recorded from outside\n", run->executable.out_of_reach);
    return status;
}

static int prepare(struct run *run)
{
    int status = executable_find(*run->options.program, run->program, &run->refusal);
    for (int i = 0; i < run->options.variable_count && status == 0; i++)
        putenv(run->options.variables[i]);
    if (status == 0)
        status = choose_side(run);
    if (status == 0 && !run->is_external)
        status = find_library(run->library, &run->refusal);
    if (status == 0)
        status = outputs_choose(&run->options, &run->config, &run->refusal);
    if (status == 0 && run->is_external)
        status = check_external(run, &run->refusal);
    if (status == 0 && run->is_external)
        status = run_external_begin(&run->external, &run->refusal);
    if (status == 0)
        status = run_directory_begin(&run->directory, &run->options, run->is_external, &run->refusal);
    if (status == 0 && run->options.merges)
        status = check_merge(run, &run->refusal);
    if (status == 0 && run->options.shows_top)
        status = prepare_report(run);
    return status == 0 ? ask_for_names(run) : status;
}

/* ---- after the end ---- */

static int fail(struct run *run)
{
    fprintf(stderr, "wallprof-run: %s\n", run->refusal.text);
    run_directory_end(&run->directory);
    return run->refusal.status;
}

static int fail_to_execute(struct run *run, int error)
{
    refuse(&run->refusal, error == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE, "%s: %s", run->program,
           strerror(error));
    return fail(run);
}

/* A store gets its names when it is read. */
static bool may_leave_store(const struct run *run)
{
    return writes_store(run) || !*run->directory.path || access(run->directory.path, F_OK) == 0;
}

/* Starts it, and waits for its end. 0, or the status of the refusal. */
static int start_and_await(struct run *run, const struct run_program *program)
{
    struct run_directory *directory = &run->directory;
    int status = run_child_start(&run->child, program);
    if (status < 0)
        return fail_to_execute(run, -status);
    if (run->is_external)
        run_external_start(&run->external, &run->child, directory);
    run_child_drop_streams((const int[]){directory->lock_fd, directory->written_fd, run->external.ended[1]},
                           3);
    run_child_await(&run->child);
    if (run->is_external)
        run_external_end(&run->external, &run->child);
    if (*run->child.hold_error) {
        run_external_refuse(run->program, *run->child.hold_error, &run->refusal);
        return fail(run);
    }
    return *run->child.exec_error ? fail_to_execute(run, *run->child.exec_error) : 0;
}

static int run_program(struct run *run)
{
    const struct run_program program = {.path = run->program,
                                        .argv = run->names.argv,
                                        .library = run->is_external ? NULL : run->library,
                                        .hold = run->is_external ? run_external_hold : NULL,
                                        .hold_context = &run->external};
    if (!*run->directory.path && run->options.is_quiet)
        return fail_to_execute(run, run_child_become(&program));
    int status = start_and_await(run, &program);
    if (status)
        return status;
    const struct run_end end = {.directory = &run->directory,
                                .pid = run->child.pid,
                                .status = &run->child.status,
                                .merges = run->options.merges,
                                .is_counted = run->config.interval_ns != 0,
                                .is_quiet = run->options.is_quiet,
                                .shows_top = run->options.shows_top,
                                .report = run->report};
    run_end(&end, &run->files);
    if (!may_leave_store(run))
        runtime_names_end(&run->names, run->child.pid);
    run_child_leave(&run->child);
}

/* Else a file of ours would be in the place of a stream that is closed. In the program it is closed. */
static void fill_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int command_run(int argc, char **argv)
{
    static struct run run;
    (void)argc;
    fill_streams();
    if (run_options_read(&run.options, argv, &run.refusal) != 0)
        return fail(&run);
    switch (run.options.wish) {
    case RUN_HELP:
    case RUN_HELP_ALL:
        return run_options_print_help(run.options.wish == RUN_HELP_ALL);
    case RUN_VERSION:
        return output_print("wallprof-run " WALLPROF_VERSION "\n");
    default:
        return prepare(&run) == 0 ? run_program(&run) : fail(&run);
    }
}
