/*
 * wallprof gather: the end of a run. Its processes have recorded into stores in one directory, and left them
 * there (session_store.c). Each becomes a profile, or all become one.
 *
 * The process that started the run has locked a file in the directory, and passes the lock to us. A process
 * that ends while the file is locked closes its store and leaves it. A process that ends later writes its own
 * profile. So that none is lost, the stores that were left are converted first. Then the lock is released,
 * and the directory is searched again for stores that were closed meanwhile.
 *
 * Processes that go on longer can still be killed. So a process of ours stays, as long as one of them
 * records, converts the stores of those that were killed, and removes the directory.
 */
#include "base/clock.h"
#include "background.h"
#include "commands.h"
#include "tool/io/command.h"
#include "tool/read/store_names.h"
#include "left_store.h"
#include "tool/merge/merge.h"
#include "tool/io/output_file.h"
#include "tool/read/store_reader.h"
#include "base/number_names.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: wallprof gather [OPTIONS] DIRECTORY\n"
    "\n"
    "Makes the profiles of a run out of the stores in its directory, and removes it.\n"
    "wallprof-run does this at the end. Where processes go on, gather stays in the\n"
    "background until the last of them has ended.\n"
    "\n"
    "  --merge              one profile of all processes\n"
    "  --lock FD            the descriptor that keeps the directory's run file locked\n"
    "  --pid PID            the main process of the run\n"
    "  --status N           its exit status, as a shell has it, if that is known\n"
    "  --also FILE          write one profile of all processes there\n";

/* How long to wait for a process that is about to end; a shell's status of a process that a signal ended. */
enum { ENDING_PATIENCE_MS = 5000, SIGNAL_STATUS = 128 };

/* How often we look for processes that have gone on and were killed, at first and later; how long we stay
 * when we are to end. */
enum { FIRST_LOOK_MS = 32, LOOK_MS = 1024, LAST_LOOKS_S = 30 };

/* A shell that became another program gets a file for its own part only if that took as long as this. */
static const uint64_t worth_ns = 100 * (uint64_t)NS_PER_MS;

struct gathering {
    const char *directory;
    const char *also; /* one file for all processes, NULL without */
    long lock_fd;     /* -1 without */
    long pid, status; /* status: -1 where it is not known */
    bool merges;
    struct merge *merge;
    struct left_store main; /* the merged profile goes where its profile would go; no path without one */
    char main_paths[STORE_PROFILE_PATHS_MAX][PATH_MAX];
    uint32_t main_path_count;
    /* Trees of tsearch(3): paths that were written, stores that were tried, stores that were added. */
    void *taken, *seen, *merged;
    struct left_store *stores; /* of the directory, as they were found */
    int store_count;
    int running_count; /* processes that record still, as far as was seen last */
    bool is_over;      /* the run: what goes on writes profiles as well */
    bool has_no_memory;
    int failed;
};

/* ---- one store ---- */

static int compare_paths(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* False if the tree has the path already. */
static bool remember_path(void **paths, const char *path)
{
    char *copy = strdup(path), **found = copy ? tsearch(copy, paths, compare_paths) : NULL;
    bool is_new = !found || *found == copy;
    if (!is_new)
        free(copy);
    return is_new;
}

static bool is_main(const struct gathering *gathering, const struct left_store *store)
{
    return store->pid == gathering->pid && !store->became_another;
}

/* The signal that its parent was told of, if the parent is in the run too; else 0. Several processes may have
 * had the pid: this one's death is the first after its last sign of life. */
static int signal_of(const struct gathering *gathering, const struct left_store *store)
{
    const struct store_death *first = NULL;
    for (int i = 0; i < gathering->store_count; i++) {
        for (int j = 0; j < STORE_DEATHS; j++) {
            const struct store_death *death = &gathering->stores[i].deaths[j];
            if (death->pid == store->pid && death->time_ns >= store->beat_ns &&
                (!first || death->time_ns < first->time_ns))
                first = death;
        }
    }
    return first ? first->signal : 0;
}

static void describe_end(const struct gathering *gathering, const struct left_store *store,
                         struct recording *recording)
{
    int number = gathering->status > SIGNAL_STATUS ? (int)gathering->status - SIGNAL_STATUS : 0;
    if (!is_main(gathering, store))
        number = signal_of(gathering, store);
    left_describe_end(store, recording, number);
    if (is_main(gathering, store) && number == 0 && gathering->status >= 0)
        left_describe_status(recording, gathering->status);
}

/* When the run is over, its processes may have written files that we do not know. */
static bool take_path(struct gathering *gathering, const char *path)
{
    return remember_path(&gathering->taken, path) && !(gathering->is_over && access(path, F_OK) == 0);
}

/* What to insert into the names of a store's files, "" for nothing. A shell that became the program has the
 * same pid, and maybe the same name for its file. */
static void choose_insertion(struct gathering *gathering, const struct left_store *store,
                             const struct recording *recording, char ret[PATH_MAX])
{
    char path[PATH_MAX], number[32];
    strcpy(ret, "");
    left_profile_path(store, recording, NULL, NULL, path);
    snprintf(number, sizeof number, "%d", (int)store->pid);
    bool has_number = strstr(output_file_name(path), number);
    if (store->became_another)
        snprintf(ret, PATH_MAX, "%s%s%s", has_number ? "" : number, has_number ? "" : ".",
                 recording->process.name);
    else if (!take_path(gathering, path))
        snprintf(ret, PATH_MAX, "%s", number);
    for (unsigned more = 2; *ret; more++) {
        left_profile_path(store, recording, NULL, ret, path);
        if (take_path(gathering, path))
            return;
        size_t length = strcspn(ret, "-");
        snprintf(ret + length, PATH_MAX - length, "-%u", more);
    }
}

/* Prints nothing: the caller knows the file. */
static int write_also(const struct gathering *gathering, const struct profile *profile)
{
    const char *path = gathering->also;
    return path ? output_file_write(path, format_of_name(output_file_name(path)), profile) : 0;
}

static int write_one(struct gathering *gathering, const struct left_store *store)
{
    struct recording recording;
    char insertion[PATH_MAX];
    if (store_names_open(&recording, store->path) != 0)
        return 1;
    describe_end(gathering, store, &recording);
    int status = 0;
    if (!store->became_another || recording.profile.duration_ns >= worth_ns) {
        choose_insertion(gathering, store, &recording, insertion);
        status = left_write(store, &recording, NULL, *insertion ? insertion : NULL,
                            is_main(gathering, store) ? "written" : "another");
    }
    if (gathering->merge && merge_add(gathering->merge, &recording) < 0)
        status = 1;
    recording_close(&recording);
    return status;
}

static void note_profile_paths(struct gathering *gathering, const struct left_store *store,
                               const struct recording *recording)
{
    if (*gathering->main.path && !is_main(gathering, store))
        return;
    gathering->main = *store;
    gathering->main_path_count = store->is_own ? recording->profile_path_count : 0;
    for (uint32_t i = 0; i < gathering->main_path_count; i++) {
        snprintf(gathering->main_paths[i], PATH_MAX, "%s", recording->profile_paths[i]);
        merge_keep_timeline(gathering->merge, format_of_name(output_file_name(gathering->main_paths[i])));
    }
}

static int add_one(struct gathering *gathering, const struct left_store *store)
{
    struct recording recording;
    int status = recording_open_part(&recording, store->path);
    if (status < 0) {
        merge_leave_out(gathering->merge, store->path, recording.reason);
        return command_fail("%s: %s", store->path, recording.reason);
    }
    describe_end(gathering, store, &recording);
    note_profile_paths(gathering, store, &recording);
    status = merge_add(gathering->merge, &recording);
    if (status < 0)
        command_fail("%s: %s", store->path, recording.reason);
    recording_close(&recording);
    gathering->has_no_memory |= status == -ENOMEM; /* then nothing more can be added */
    if (status == 0)
        remember_path(&gathering->merged, store->path);
    return status < 0;
}

/* A store whose profile could not be written stays. */
static void convert_store(struct gathering *gathering, const struct left_store *store)
{
    int failed = 1;
    if (!gathering->merges)
        failed = write_one(gathering, store);
    else if (!gathering->has_no_memory)
        failed = add_one(gathering, store);
    gathering->failed |= failed;
    if (!failed && !gathering->merges)
        unlink(store->path);
}

/* ---- all of them ---- */

/* When the run is over, a process that ends by itself writes its profile: left are those that were killed. */
static bool is_left(struct gathering *gathering, struct left_store *store, bool is_last)
{
    bool is_left = !store->is_running;
    if (!gathering->is_over)
        is_left = is_left || (is_last && left_has_ended(store, ENDING_PATIENCE_MS));
    else if (is_left)
        is_left = !(store->is_running = left_is_mapped(store));
    return is_left && remember_path(&gathering->seen, store->path); /* one attempt */
}

static void convert_if_left(struct gathering *gathering, const char *path, bool is_last)
{
    struct left_store store;
    if (left_open(&store, path) < 0)
        return; /* its process has removed it meanwhile */
    if (is_left(gathering, &store, is_last))
        convert_store(gathering, &store);
    gathering->running_count += store.is_running;
    left_close(&store);
}

/* The run's main process comes first: its profile gets the requested name. */
static void convert_all(struct gathering *gathering, bool is_last)
{
    gathering->store_count = left_list(gathering->directory, &gathering->stores);
    gathering->running_count = 0;
    for (int first = 1; first >= 0; first--) {
        for (int i = 0; i < gathering->store_count; i++) {
            if (is_main(gathering, &gathering->stores[i]) == (first == 1))
                convert_if_left(gathering, gathering->stores[i].path, is_last);
        }
    }
    free(gathering->stores);
    gathering->stores = NULL;
}

static int write_merged(struct gathering *gathering)
{
    struct recording *merged;
    int status = gathering->merge ? merge_finish(gathering->merge, &merged) : -ENODATA, failed = 0;
    if (status == -ENODATA)
        return 0;
    if (status < 0)
        return command_fail("the recordings cannot be merged: %s", error_text(-status));
    merged->profile.is_merged = merged->profile.process_count > 1;
    for (uint32_t i = 0; i < gathering->main_path_count; i++) {
        char where[PATH_MAX], *path = gathering->main_paths[i];
        int error = output_file_write_somewhere(path, format_of_name(output_file_name(path)),
                                                &merged->profile, gathering->main.pid, where);
        if (!error)
            printf("%s: %s\n", i == 0 ? "written" : "also", where);
        failed |= error;
    }
    return failed | write_also(gathering, &merged->profile);
}

static void remove_store(void *path)
{
    unlink(path);
    free(path);
}

/* The last process that is still recording removes it. */
static void remove_directory(const struct gathering *gathering)
{
    char run[PATH_MAX];
    snprintf(run, sizeof run, "%s/" STORE_RUN_NAME, gathering->directory);
    unlink(run);
    rmdir(gathering->directory);
}

/* Only a directory that was made for a run may be removed. */
static bool is_run(const char *directory)
{
    char run[PATH_MAX];
    struct stat status;
    return snprintf(run, sizeof run, "%s/" STORE_RUN_NAME, directory) < (int)sizeof run &&
           lstat(run, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
}

/* ---- processes that go on ---- */

/* In the background, until no process of the run records any more. */
static void await_others(struct gathering *gathering)
{
    if (!background_begin(LAST_LOOKS_S))
        return;
    signal(SIGIO, SIG_IGN); /* somebody may open a store while left_is_mapped looks */
    gathering->pid = -1;
    gathering->also = NULL;
    gathering->merges = false;
    gathering->is_over = true;
    for (int pause_ms = FIRST_LOOK_MS; gathering->running_count > 0;) {
        poll(NULL, 0, pause_ms);
        convert_all(gathering, true);
        pause_ms = pause_ms < LOOK_MS ? 2 * pause_ms : LOOK_MS;
    }
    left_remove_empty(gathering->directory);
    remove_directory(gathering);
    _exit(0);
}

/* ---- a run ---- */

static int gather_run(struct gathering *gathering)
{
    if (!is_run(gathering->directory))
        return command_fail("%s: it is not the directory of a run: it has no file " STORE_RUN_NAME
                            " of yours",
                            gathering->directory);
    bool is_wanted = gathering->merges || gathering->also;
    gathering->merge = is_wanted ? merge_begin(LABELS_ID) : NULL;
    if (is_wanted && !gathering->merge)
        return command_fail("there is not enough memory");
    convert_all(gathering, false);
    if (gathering->lock_fd >= 0)
        flock((int)gathering->lock_fd, LOCK_UN);
    convert_all(gathering, true);
    int unwritten = write_merged(gathering);
    merge_release(gathering->merge);
    gathering->merge = NULL;
    left_remove_empty(gathering->directory);
    tdestroy(gathering->merged, unwritten ? free : remove_store);
    remove_directory(gathering);
    if (gathering->running_count > 0)
        printf("going on: %d\n", gathering->running_count);
    if (gathering->failed || unwritten)
        command_fail("what could not be written waits in %s; write it with: wallprof recover -o FILE %s",
                     gathering->directory, gathering->directory);
    int status = gathering->failed | unwritten | output_printed();
    if (gathering->running_count > 0)
        await_others(gathering);
    tdestroy(gathering->seen, free);
    tdestroy(gathering->taken, free);
    return status;
}

int command_gather(int argc, char **argv)
{
    static const struct option options[] = {{"merge", no_argument, NULL, 'm'},
                                            {"lock", required_argument, NULL, 'l'},
                                            {"pid", required_argument, NULL, 'p'},
                                            {"status", required_argument, NULL, 's'},
                                            {"also", required_argument, NULL, 'a'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    static struct gathering gathering = {.lock_fd = -1, .status = -1};
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) >= 0;) {
        long *number = option == 'l'   ? &gathering.lock_fd
                       : option == 'p' ? &gathering.pid
                       : option == 's' ? &gathering.status
                                       : NULL;
        if (option == 'h')
            return output_print(help);
        if (option == 'm')
            gathering.merges = true;
        else if (option == 'a')
            gathering.also = optarg;
        else if (!number)
            return command_wrong_option("gather", argv, options);
        else if (!command_number(optarg, 0, INT_MAX, number))
            return command_misused("gather", "%s is not a number", optarg);
    }
    if (optind + 1 != argc)
        return command_misused("gather", "one DIRECTORY is needed");
    gathering.directory = argv[optind];
    return gather_run(&gathering);
}
