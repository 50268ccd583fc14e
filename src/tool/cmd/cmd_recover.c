/* wallprof recover: makes the profiles of processes that could not write them. */
#include "commands.h"
#include "tool/io/command.h"
#include "tool/read/store_names.h"
#include "left_store.h"
#include "tool/io/output_file.h"
#include "base/number_names.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] = "usage: wallprof recover [OPTIONS] STORE...\n"
                           "\n"
                           "Makes the profile of a process that was killed, or could not write one for\n"
                           "another reason, from the store that it recorded into (WALLPROF_STORE). A STORE\n"
                           "that is a directory stands for all stores in it. The profile goes where the\n"
                           "process would have written it. A file that is there already is kept; the name\n"
                           "of the new one then has the process's number. Then the store is removed.\n"
                           "\n"
                           "  -o, --output OUT     write there instead, in the format of its ending\n"
                           "  -k, --keep           do not remove the store\n"
                           "\n"
                           "The store of a process that is still running is left alone.\n";

struct recover_request {
    const char *output;
    bool keeps;    /* --keep */
    bool is_again; /* it is not the first store */
};

static bool is_there(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

/* NULL, or what to insert into the names so that no file is replaced. */
static const char *insertion_for(const struct recover_request *request, const struct left_store *store,
                                 const struct recording *recording, char ret[32])
{
    char path[PATH_MAX];
    left_profile_path(store, recording, request->output, NULL, path);
    snprintf(ret, 32, "%d", (int)store->pid);
    bool is_requested = request->output && !request->is_again;
    return !is_requested && is_there(path) && strncmp(path, "/dev/", 5) != 0 ? ret : NULL;
}

static int recover_open_store(const struct recover_request *request, const struct left_store *store)
{
    struct recording recording;
    char number[32];
    if (store_names_open(&recording, store->path) != 0)
        return 1;
    left_describe_end(store, &recording, 0);
    int status = left_write(store, &recording, request->output,
                            insertion_for(request, store, &recording, number), "written");
    recording_close(&recording);
    if (status == 0 && !request->keeps && unlink(store->path) < 0)
        return command_fail("%s: it has been recovered, but cannot be removed: %s", store->path,
                            error_text(errno));
    return status;
}

static int recover(const struct recover_request *request, const char *path)
{
    struct left_store store;
    int status = left_open(&store, path);
    if (status == -EPROTO)
        return command_fail("%s: it is not a store", path);
    if (status < 0)
        return command_fail("%s: %s", path, error_text(-status));
    if (store.is_running)
        status = command_fail("%s: process %d is still recording into it", path, (int)store.pid);
    else
        status = recover_open_store(request, &store);
    left_close(&store);
    return status;
}

static int recover_all(struct recover_request *request, const char *directory)
{
    struct left_store *stores;
    int status = 0, waiting = 0, count = left_list(directory, &stores);
    if (count < 0)
        return command_fail("%s: %s", directory, error_text(-count));
    for (int i = 0; i < count; i++) {
        if (stores[i].is_running)
            continue;
        status |= recover(request, stores[i].path);
        request->is_again = true;
        waiting++;
    }
    free(stores);
    return waiting > 0 ? status : command_fail("%s: no store in it is to be recovered", directory);
}

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int command_recover(int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"keep", no_argument, NULL, 'k'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct recover_request request = {.output = NULL};
    int status = 0;
    for (int option; (option = getopt_long(argc, argv, "o:kh", options, NULL)) >= 0;) {
        if (option == 'h')
            return output_print(help);
        if (option == 'o')
            request.output = optarg;
        else if (option == 'k')
            request.keeps = true;
        else
            return command_wrong_option("recover", argv, options);
    }
    if (optind == argc)
        return command_misused("recover", "no STORE is given");
    if (request.output && output_file_check_ending("recover", request.output) != 0)
        return EXIT_USAGE;
    for (int i = optind; i < argc; i++) {
        status |= is_directory(argv[i]) ? recover_all(&request, argv[i]) : recover(&request, argv[i]);
        request.is_again = true;
    }
    return status | output_printed();
}
