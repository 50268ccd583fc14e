#include "run_end.h"
#include "encode/format.h"
#include "tool/io/output_file.h"
#include "tool/run/refusal.h"
#include "tool/run/run_child.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

void run_end_gather(const struct run_end *end)
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
    run_tool(argv, end->directory->written_fd, end->directory->lock_fd);
}

void run_end_list(const struct run_end *end, struct run_files *ret)
{
    FILE *noted = end->directory->written_fd >= 0 ? fdopen(end->directory->written_fd, "r") : NULL;
    if (!noted)
        return;
    rewind(noted);
    run_files_add(ret, noted, end->pid);
    fclose(noted);
}

void run_end_show(const struct run_end *end, const struct run_files *files)
{
    const char *file = access(end->report, R_OK) == 0 ? end->report : run_files_main(files);
    enum file_format format = file ? format_of_name(output_file_name(file)) : FORMAT_HTML;
    char *argv[] = {"wallprof", "top", (char *)file, NULL};
    if (format != FORMAT_PPROF && format != FORMAT_STORE)
        fputs("wallprof: there is nothing for --top to report\n", stderr);
    else
        run_tool(argv, STDERR_FILENO, -1);
}
