#include "attach_family.h"
#include "run_end.h"
#include "tool/io/command.h"
#include "tool/run/outputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Also for the recorders of children, by the environment. */
static int choose_outputs(const struct attach_family *family, struct run_directory *ret,
                          struct refusal *refusal)
{
    static struct run_options options;
    if (family->outputs->count > 1 + CONFIG_MORE_OUTS_MAX)
        return refuse(refusal, 1, "--follow writes %d files of each process at most",
                      1 + CONFIG_MORE_OUTS_MAX);
    for (int i = 0; i < family->outputs->count; i++) {
        const char *path = family->outputs->paths[i];
        if (strcmp(path, "-") == 0)
            return refuse(refusal, 1, "--follow writes several files, and cannot write to standard output");
        if (strlen(options.outs) + strlen(path) + 2 > sizeof options.outs)
            return refuse(refusal, 1, "the names of --output are too long");
        strcat(strcat(options.outs, i ? "," : ""), path);
    }
    int status = outputs_choose(&options, family->config, refusal);
    return status ? status : run_directory_begin(ret, &options, true, refusal);
}

/* Makes the profiles, and says where they are. */
static int finish(const struct attach_family *family, struct run_directory *directory, int error)
{
    struct run_files files = {.count = 0};
    const struct run_end end = {.directory = directory,
                                .pid = family->attach->pid,
                                .is_quiet = family->is_quiet,
                                .shows_top = family->shows_top,
                                .report = ""};
    const bool has_profile = run_end(&end, &files);
    if (!has_profile && family->is_quiet && error == 0)
        command_fail("no profile of process %d was written", (int)family->attach->pid);
    return error < 0 || !has_profile;
}

int attach_family_record(const struct attach_family *family)
{
    static struct refusal refusal;
    static struct run_directory directory;
    struct attach *attach = family->attach;
    bool is_whole;
    if (!attach_follow_is_possible())
        return command_fail("--follow: this kernel does not tell who is whose child (CONFIG_PROC_CHILDREN)");
    if (choose_outputs(family, &directory, &refusal) != 0) {
        run_directory_end(&directory);
        return command_fail("%s", refusal.text);
    }
    attach->run = directory.path;
    const int error = attach_record_family(attach, true, &is_whole);
    if (!is_whole)
        attach_follow_complain(attach->pid);
    if (error < 0)
        attach_fail(attach, error);
    return finish(family, &directory, error);
}
