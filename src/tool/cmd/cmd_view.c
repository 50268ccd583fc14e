/*
 * The page is written where no other user can read it, and stays there: a browser may read it later.
 */
#include "commands.h"
#include "view_serve.h"
#include "tool/io/command.h"
#include "tool/read/store_names.h"
#include "tool/io/output_file.h"
#include "tool/read/recording.h"
#include "base/number_names.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] = "usage: wallprof view [OPTIONS] FILE\n"
                           "       wallprof view [OPTIONS] BEFORE AFTER\n"
                           "\n"
                           "Shows a recording's flame graph in a browser: $BROWSER, or the desktop's where\n"
                           "there is a display; and prints the path of the page. FILE is a store, a pprof\n"
                           "file (.pb.gz), or such a page (.html). With a timeline the page shows when time\n"
                           "was spent. Of two recordings the graph is AFTER's: red has more time than in\n"
                           "BEFORE, blue less.\n"
                           "\n"
                           "  -o, --output OUT  write the page there. Default: in a new directory below\n"
                           "                    $XDG_RUNTIME_DIR, $TMPDIR or /tmp; it is not removed.\n"
                           "  -p, --print       only print the path of the page\n"
                           "  -s, --serve[=PORT]\n"
                           "                    print an address of this machine that has the page, until\n"
                           "                    Ctrl-C; a browser elsewhere reaches it by ssh -L\n";

struct view_request {
    const char *before; /* another recording to compare with; NULL without */
    const char *input, *output;
    bool only_print, serves;
    long port; /* 0: any */
};

/* ---- the page ---- */

static bool is_html_name(const char *path)
{
    size_t bytes = strlen(path);
    return bytes > 5 && strcmp(path + bytes - 5, ".html") == 0;
}

/* DIRECTORY/wallprof-XXXXXX/NAME.html */
static int choose_path(const char *input, char ret[PATH_MAX])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    const char *parent = runtime && *runtime == '/' && access(runtime, W_OK) == 0 ? runtime
                         : temporary && *temporary                                ? temporary
                                                                                  : "/tmp";
    const char *name = strcmp(input, "-") == 0 ? "profile" : output_file_name(input);
    char directory[PATH_MAX / 2];
    if ((size_t)snprintf(directory, sizeof directory, "%s/wallprof-XXXXXX", parent) >= sizeof directory)
        return command_fail("%s: %s", parent, error_text(ENAMETOOLONG));
    if (!mkdtemp(directory))
        return command_fail("%s: %m", parent);
    snprintf(ret, PATH_MAX, "%s/%.*s.html", directory, (int)strcspn(name, "."), name);
    return 0;
}

static bool is_same_text(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* Only times of one kind can be compared. */
static int check_measures(const struct view_request *request, const struct profile *before,
                          const struct profile *after)
{
    const struct profile_measure *a = before->measure, *b = after->measure;
    if (a == b || (a && b && is_same_text(a->name, b->name) && is_same_text(a->unit, b->unit)))
        return 0;
    return command_fail("%s and %s have no measure in common", request->before, request->input);
}

static int write_page(const struct view_request *request, const struct profile *before,
                      const struct profile *profile, char ret[PATH_MAX])
{
    if (request->output)
        snprintf(ret, PATH_MAX, "%s", request->output);
    else if (choose_path(request->input, ret) != 0)
        return 1;
    return before ? output_file_write_comparison(ret, before, profile)
                  : output_file_write(ret, FORMAT_HTML, profile);
}

static int write_comparison(const struct view_request *request, const struct profile *after,
                            char ret[PATH_MAX])
{
    struct recording recording;
    if (store_names_open(&recording, request->before) != 0)
        return 1;
    int status = check_measures(request, &recording.profile, after);
    if (status == 0)
        status = write_page(request, &recording.profile, after, ret);
    recording_close(&recording);
    return status;
}

static int make_page(const struct view_request *request, char ret[PATH_MAX])
{
    struct recording recording;
    if (store_names_open(&recording, request->input) != 0)
        return 1;
    int status = request->before ? write_comparison(request, &recording.profile, ret)
                                 : write_page(request, NULL, &recording.profile, ret);
    recording_close(&recording);
    return status;
}

/* ---- the browser ---- */

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

/* The first command of $BROWSER, which is a list with colons, or the desktop's browser; NULL for none. */
static const char *find_browser(char *buffer, size_t bytes)
{
    if (is_set("BROWSER")) {
        const char *list = getenv("BROWSER");
        snprintf(buffer, bytes, "%.*s", (int)strcspn(list, ":"), list);
        return *buffer ? buffer : NULL;
    }
    return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") ? "xdg-open" : NULL;
}

/* The browser's standard output goes to our standard error. True if it started and ended with status 0. */
static bool open_with(const char *program, const char *page)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execlp(program, program, page, (char *)NULL);
        _exit(127);
    }
    if (child < 0)
        return false;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return false;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int show_page(const struct view_request *request, const char *page)
{
    char absolute[PATH_MAX], buffer[PATH_MAX];
    if (!realpath(page, absolute))
        return command_fail("%s: %m", page);
    const char *program = request->only_print ? NULL : find_browser(buffer, sizeof buffer);
    puts(absolute);
    int status = output_printed();
    if (!program && !request->only_print)
        fputs("wallprof: there is no display here; --serve shows the page to a browser elsewhere\n", stderr);
    if (program && !open_with(program, absolute))
        return command_fail("%s did not open it; it is in %s", program, absolute);
    return status;
}

/* A page that was made for serving lives no longer than that. */
static int serve_page(const struct view_request *request, const char *page)
{
    const bool is_made = !is_html_name(request->input), is_kept = request->output || !is_made;
    char copy[PATH_MAX];
    int status = view_serve(page, output_file_name(page), (unsigned)request->port);
    if (!is_kept) {
        unlink(page);
        snprintf(copy, sizeof copy, "%.*s", (int)(output_file_name(page) - page), page);
        rmdir(copy);
    }
    return status;
}

static int view(const struct view_request *request)
{
    char page[PATH_MAX];
    struct stat status;
    if (!is_html_name(request->input)) {
        int made = make_page(request, page);
        return made ? made : request->serves ? serve_page(request, page) : show_page(request, page);
    }
    if (stat(request->input, &status) < 0)
        return command_fail("%s: %m", request->input);
    if (!S_ISREG(status.st_mode))
        return command_fail("%s: it is not a file", request->input);
    return request->serves ? serve_page(request, request->input) : show_page(request, request->input);
}

static int take_inputs(struct view_request *request, int argc, char **argv)
{
    if (argc != 1 && argc != 2)
        return command_misused("view", "one FILE is needed, or BEFORE and AFTER");
    request->input = argv[argc - 1];
    request->before = argc == 2 ? argv[0] : NULL;
    if (request->before && (is_html_name(request->input) || is_html_name(request->before)))
        return command_misused("view", "a page is no recording: BEFORE and AFTER are what pages are made of");
    if (request->output && (is_html_name(request->input) || strcmp(request->output, "-") == 0))
        return command_misused("view", "-o OUT is for a page that is made, and a file");
    return 0;
}

int command_view(int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"print", no_argument, NULL, 'p'},
                                            {"serve", optional_argument, NULL, 's'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct view_request request = {.input = NULL};
    for (int option; (option = getopt_long(argc, argv, "o:ps::h", options, NULL)) >= 0;) {
        if (option == 'h')
            return output_print(help);
        if (option == 'o')
            request.output = optarg;
        else if (option == 'p')
            request.only_print = true;
        else if (option == 's' && optarg && !command_number(optarg, 1, 65535, &request.port))
            return command_misused("view", "--serve=%s is not a port, 1 to 65535", optarg);
        else if (option == 's')
            request.serves = true;
        else
            return command_wrong_option("view", argv, options);
    }
    int status = take_inputs(&request, argc - optind, argv + optind);
    return status ? status : view(&request);
}
