/* wallprof recover: profiles of what processes have left that did not come to write them. */
#include "tool/io/command.h"
#include "left_store.h"
#include "tool/io/output_file.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] = "usage: wallprof recover [OPTIONS] STORE...\n"
                           "\n"
                           "Makes the profile of a process that was killed, or ended in another way that\n"
                           "kept it from writing one, of the store that it was recording into\n"
                           "(WALLPROF_STORE). A STORE that is a directory stands for all that wait in it.\n"
                           "The profile goes to where the process would have written it. A file that is\n"
                           "there already is kept, and the process's number put into the name of the new\n"
                           "one. Then the store is removed.\n"
                           "\n"
                           "  -o, --output OUT     write there instead, in the format of its ending\n"
                           "  -k, --keep           do not remove the store\n"
                           "\n"
                           "The store of a process that is still running is left alone.\n";

struct request {
    const char *output;
    bool keeps, is_again; /* --keep; not the first store */
};

static bool is_there(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

/* NULL, or what is to be put into the names so that they are free. */
static const char *insertion_for(const struct request *request, const struct left_store *store,
                                 const struct recording *recording, char ret[32])
{
    char path[PATH_MAX];
    left_output(store, recording, request->output, NULL, path);
    snprintf(ret, 32, "%d", (int)store->pid);
    bool is_asked_for = request->output && !request->is_again;
    return !is_asked_for && is_there(path) && strncmp(path, "/dev/", 5) != 0 ? ret : NULL;
}

static int write_profile(const struct request *request, const struct left_store *store)
{
    static struct recording recording;
    char number[32];
    if (command_open(&recording, store->path) != 0)
        return 1;
    left_describe_end(store, &recording, 0);
    int status = left_write(store, &recording, request->output,
                            insertion_for(request, store, &recording, number), "written");
    recording_close(&recording);
    if (status == 0 && !request->keeps && unlink(store->path) < 0)
        return command_fail("%s: it has been recovered, but cannot be removed: %s", store->path,
                            strerrordesc_np(errno));
    return status;
}

static int recover(const struct request *request, const char *path)
{
    struct left_store store;
    int status = left_open(&store, path);
    if (status == -EPROTO)
        return command_fail("%s: it is no store", path);
    if (status < 0)
        return command_fail("%s: %s", path, strerrordesc_np(-status));
    if (store.is_running)
        status = command_fail("%s: process %d is still recording into it", path, (int)store.pid);
    else
        status = write_profile(request, &store);
    left_close(&store);
    return status;
}

static int recover_all(struct request *request, const char *directory)
{
    struct left_store *stores;
    int status = 0, waiting = 0, count = left_list(directory, &stores);
    if (count < 0)
        return command_fail("%s: %s", directory, strerrordesc_np(-count));
    for (int i = 0; i < count; i++) {
        if (stores[i].is_running)
            continue;
        status |= recover(request, stores[i].path);
        request->is_again = true;
        waiting++;
    }
    free(stores);
    return waiting > 0 ? status : command_fail("%s: there is no store that waits", directory);
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
    struct request request = {.output = NULL};
    int status = 0;
    for (int option; (option = getopt_long(argc, argv, "o:kh", options, NULL)) >= 0;) {
        if (option == 'h') {
            fputs(help, stdout);
            return output_printed();
        }
        if (option == 'o')
            request.output = optarg;
        else if (option == 'k')
            request.keeps = true;
        else
            return command_misused("recover", "which options there are:");
    }
    if (optind == argc)
        return command_misused("recover", "which STORE?");
    for (int i = optind; i < argc; i++) {
        status |= is_directory(argv[i]) ? recover_all(&request, argv[i]) : recover(&request, argv[i]);
        request.is_again = true;
    }
    return status | output_printed();
}
