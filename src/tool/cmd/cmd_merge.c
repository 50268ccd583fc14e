#include "commands.h"
#include "tool/io/command.h"
#include "tool/merge/merge.h"
#include "tool/io/output_file.h"
#include "base/number_names.h"
#include "recording_files.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STRICT = 'S' };

static const char help[] =
    "usage: wallprof merge [OPTIONS] FILE... -o OUT [-o OUT]...\n"
    "\n"
    "Makes one profile of many recordings, stores and .pb.gz files of wallprof's: of\n"
    "a program's processes, of a parallel run's ranks, of many runs. Each sample says\n"
    "which process it is of. A directory stands for the recordings in it.\n"
    "\n"
    "  -o, --output OUT     a file to write, up to 16 of them; - is standard output\n"
    "  -f, --format FORMAT  pprof, callgrind, folded, html, perfetto or firefox; else\n"
    "                       by OUT's ending\n"
    "  -T, --files-from LIST\n"
    "                       read FILEs from LIST, one a line; - is standard input\n"
    "  -l, --labels LABELS  id: tell processes and threads apart by name, pid, rank\n"
    "                       and thread id (the default); name: only by name; none\n"
    "      --strict         write nothing if one of the files cannot be read\n"
    "  -v, --verbose        say what has been merged and written\n"
    "\n"
    "A file that cannot be read is named and left out; the exit status is 1 then.\n";

struct merge_request {
    struct recording_files inputs;
    struct output_files outputs;
    enum label_policy labels;
    const char *lists[OUTPUT_FILES_MAX];
    int list_count;
    bool is_strict;
};

/* ---- the recordings ---- */

/* The same for each line of a list; "-" is standard input. */
static int add_list(struct merge_request *request, const char *path)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    FILE *list = is_stdin ? stdin : fopen(path, "re");
    char *line = NULL;
    size_t capacity = 0;
    int status = 0;
    if (!list)
        return -errno;
    for (ssize_t bytes; status == 0 && (bytes = getline(&line, &capacity, list)) >= 0;) {
        if (bytes > 0 && line[bytes - 1] == '\n')
            line[bytes - 1] = '\0';
        if (*line)
            status = recording_files_add(&request->inputs, line);
    }
    if (status == 0 && ferror(list))
        status = -EIO;
    free(line);
    if (!is_stdin)
        fclose(list);
    return status;
}

/* Removes the names that lead to the same file as `path`, if that exists. */
static void drop_input(struct recording_files *inputs, const char *path)
{
    struct stat file, other;
    uint32_t kept = 0;
    if (stat(path, &file) < 0 || !S_ISREG(file.st_mode))
        return;
    for (uint32_t i = 0; i < inputs->count; i++) {
        char *name = inputs->names[i];
        if (stat(name, &other) == 0 && other.st_dev == file.st_dev && other.st_ino == file.st_ino)
            free(name);
        else
            inputs->names[kept++] = name;
    }
    inputs->count = kept;
}

static int report_error(const char *path, int error)
{
    return error < 0 ? command_fail("%s: %s", path, error_text(-error)) : 0;
}

/* The output of an earlier merge in the same directory is no input. */
static int list_inputs(struct merge_request *request, char **paths, int count)
{
    int status = 0;
    for (int i = 0; i < count; i++)
        status |= report_error(paths[i], recording_files_add(&request->inputs, paths[i]));
    for (int i = 0; i < request->list_count; i++)
        status |= report_error(request->lists[i], add_list(request, request->lists[i]));
    for (int i = 0; i < request->outputs.count; i++)
        drop_input(&request->inputs, request->outputs.paths[i]);
    return status;
}

/* ---- the merge ---- */

/* Adds one file; false when nothing more can be added. */
static bool add_file(struct merge *merge, const char *path, int *status)
{
    struct recording recording;
    int error = recording_open_part(&recording, path);
    if (error == 0) {
        error = merge_add(merge, &recording);
        recording_close(&recording);
    }
    if (error == 0)
        return true;
    *status = command_fail("%s: %s", path, recording.reason);
    merge_leave_out(merge, path, recording.reason);
    return error != -ENOMEM;
}

static int write_merged(const struct merge_request *request, struct merge *merge)
{
    struct recording *merged;
    int error = merge_finish(merge, &merged);
    if (error == -ENODATA)
        return command_fail("there is nothing to merge");
    if (error < 0)
        return command_fail("there is not enough memory for the merged profile");
    if (request->outputs.is_verbose)
        printf("merged: %u recordings, %u processes told apart\n", merged->merged_count,
               merged->profile.process_count);
    return output_files_write(&request->outputs, &merged->profile);
}

static int merge_files(const struct merge_request *request)
{
    int status = 0;
    bool may_go_on = true;
    struct merge *merge = merge_begin(request->labels);
    if (!merge)
        return command_fail("there is not enough memory to merge anything");
    for (int i = 0; i < request->outputs.count; i++)
        merge_keep_timeline(merge, request->outputs.formats[i]);
    for (uint32_t i = 0; may_go_on && i < request->inputs.count; i++) {
        may_go_on = add_file(merge, request->inputs.names[i], &status);
        may_go_on &= !(status && request->is_strict);
    }
    if (may_go_on)
        status |= write_merged(request, merge);
    merge_release(merge);
    return status;
}

/* ---- the command line ---- */

static int choose_formats(struct merge_request *request)
{
    int status = output_files_choose_formats(&request->outputs);
    for (int i = 0; status == 0 && i < request->outputs.count; i++) {
        if (request->outputs.formats[i] == FORMAT_STORE)
            status = command_misused("merge", "%s: a store is of one process", request->outputs.paths[i]);
    }
    return status;
}

static int set_labels(struct merge_request *request, const char *word)
{
    static const char *const words[] = {[LABELS_NONE] = "none", [LABELS_NAME] = "name", [LABELS_ID] = "id"};
    int labels = command_word(words, LABELS_ID + 1, word);
    if (labels < 0)
        return command_misused("merge", "--labels '%s'? (id, name, none)", word);
    request->labels = (enum label_policy)labels;
    return 0;
}

static int set_option(struct merge_request *request, int option, const char *argument)
{
    switch (option) {
    case 'o':
        return output_files_add(&request->outputs, argument);
    case 'f':
        request->outputs.format = argument;
        return 0;
    case 'l':
        return set_labels(request, argument);
    case 'T':
        if (request->list_count == OUTPUT_FILES_MAX)
            return command_misused("merge", "more than %d lists", OUTPUT_FILES_MAX);
        request->lists[request->list_count++] = argument;
        return 0;
    case 'v':
        request->outputs.is_verbose = true;
        return 0;
    default: /* STRICT */
        request->is_strict = true;
        return 0;
    }
}

int command_merge(int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"format", required_argument, NULL, 'f'},
                                            {"files-from", required_argument, NULL, 'T'},
                                            {"labels", required_argument, NULL, 'l'},
                                            {"strict", no_argument, NULL, STRICT},
                                            {"verbose", no_argument, NULL, 'v'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct merge_request request = {.outputs = {.command = "merge"}, .labels = LABELS_ID};
    int status = 0;
    for (int option; status == 0 && (option = getopt_long(argc, argv, "o:f:T:l:vh", options, NULL)) >= 0;) {
        if (option == 'h')
            return output_print(help);
        status = option == '?' ? command_wrong_option("merge", argv, options)
                               : set_option(&request, option, optarg);
    }
    if (status == 0 && optind == argc && request.list_count == 0)
        status = command_misused("merge", "no FILE is given");
    if (status == 0)
        status = choose_formats(&request);
    if (status)
        return status;
    int listed = list_inputs(&request, argv + optind, argc - optind);
    status = listed && request.is_strict ? listed : listed | merge_files(&request);
    recording_files_free(&request.inputs);
    return status;
}
