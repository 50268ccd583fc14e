#include "run_end.h"
#include "base/number_names.h"
#include "encode/format.h"
#include "tool/io/output_file.h"
#include "tool/run/refusal.h"
#include "tool/run/run_child.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Makes the profiles of the stores, and notes them where the processes of the run do so. */
static void gather(const struct run_end *end)
{
    char lock[16], pid[16], status[16];
    char *argv[16] = {"wallprof", "gather", "--lock", lock, "--pid", pid, (char *)end->directory->path};
    int count = 7;
    snprintf(lock, sizeof lock, "%d", end->directory->lock_fd);
    snprintf(pid, sizeof pid, "%d", (int)end->pid);
    if (end->status) {
        snprintf(status, sizeof status, "%d",
                 WIFSIGNALED(*end->status) ? RUN_SIGNAL_STATUS + WTERMSIG(*end->status)
                                           : WEXITSTATUS(*end->status));
        argv[count++] = "--status";
        argv[count++] = status;
    }
    if (end->merges)
        argv[count++] = "--merge";
    if (*end->report) {
        argv[count++] = "--also";
        argv[count++] = (char *)end->report;
    }
    const int noted = end->directory->written_fd;
    run_tool(argv, noted >= 0 ? noted : open("/dev/null", O_WRONLY | O_CLOEXEC), end->directory->lock_fd);
}

/* Which files there are now. */
static void list(const struct run_end *end, struct run_files *ret)
{
    FILE *noted = end->directory->written_fd >= 0 ? fdopen(end->directory->written_fd, "r") : NULL;
    if (!noted)
        return;
    rewind(noted);
    run_files_add(ret, noted, end->pid);
    fclose(noted);
}

static void say(const struct run_end *end, const struct run_files *files)
{
    char ending[64] = "";
    int number = end->status && WIFSIGNALED(*end->status) ? WTERMSIG(*end->status) : 0;
    const char *name = number ? signal_name(number) : NULL;
    if (name)
        snprintf(ending, sizeof ending, ": SIG%s ended the program", name);
    else if (number)
        snprintf(ending, sizeof ending, ": signal %d ended the program", number);
    run_files_say(files, end->is_counted, ending, stderr);
}

/* On stderr, as wallprof top does. */
static void show(const struct run_end *end, const struct run_files *files)
{
    const char *file = access(end->report, R_OK) == 0 ? end->report : run_files_main(files);
    enum file_format format = file ? format_of_name(output_file_name(file)) : FORMAT_HTML;
    char *argv[] = {"wallprof", "top", (char *)file, NULL};
    if (format != FORMAT_PPROF && format != FORMAT_STORE)
        fputs("wallprof: there is nothing for --top to report\n", stderr);
    else
        run_tool(argv, STDERR_FILENO, -1);
}

bool run_end(const struct run_end *end, struct run_files *files)
{
    const bool is_noted = end->directory->written_fd >= 0;
    if (end->directory->lock_fd >= 0)
        gather(end);
    list(end, files);
    if (!end->is_quiet && !is_noted)
        fputs("wallprof: the profile is where --out has it; TMPDIR has no room for a note of its name\n",
              stderr);
    else if (!end->is_quiet)
        say(end, files);
    if (end->shows_top)
        show(end, files);
    run_directory_end(end->directory);
    return !is_noted || files->count > 0;
}
