#include "run_directory.h"
#include "profile/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { NOTES_BYTES = 4096 }; /* enough for what the program itself notes */

/* Whether the processes' recordings are to be in the directory of the run; else *ret_reason says why not. */
static bool wants_stores(const struct run_options *options, const char **ret_reason)
{
    const char *value = getenv("WALLPROF_STORE");
    if (value &&
        (strncmp(value, "run:", 4) == 0 || strncmp(value, "merge:", 6) == 0)) { /* of a run around us */
        unsetenv("WALLPROF_STORE");
        value = NULL;
    }
    const char *wanted = options->store ? options->store : value ? value : "";
    const bool is_beside = strcmp(wanted, "auto") == 0 && !options->store; /* so the variable has it */
    *ret_reason = NULL;
    if (is_beside)
        *ret_reason = "it is beside the profile";
    else if (strcmp(wanted, "off") == 0)
        *ret_reason = "it is off";
    else if (*wanted && strcmp(wanted, "auto") != 0)
        *ret_reason = "that is elsewhere";
    if (*ret_reason && !is_beside)
        setenv("WALLPROF_STORE", wanted, 1);
    return !*ret_reason;
}

static bool make_directory(char ret[PATH_MAX])
{
    const char *place = getenv("TMPDIR");
    char pattern[PATH_MAX];
    int length =
        snprintf(pattern, sizeof pattern, "%s/wallprof-run.XXXXXX", place && *place ? place : "/tmp");
    *ret = '\0';
    return length < (int)sizeof pattern && mkdtemp(pattern) && realpath(pattern, ret);
}

static int create_file(const struct run_directory *directory, const char *name, char path[2 * PATH_MAX])
{
    snprintf(path, 2 * PATH_MAX, "%s/%s", directory->path, name);
    return open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* Its value is a pattern. */
static void set_store(const char *kind, const char *path)
{
    char value[2 * PATH_MAX], *to = stpcpy(value, kind);
    for (const char *at = path; *at; at++) {
        if (*at == '%')
            *to++ = '%';
        *to++ = *at;
    }
    strcpy(to, "/");
    setenv("WALLPROF_STORE", value, 1);
}

int run_directory_begin(struct run_directory *ret, const struct run_options *options, bool is_external,
                        struct refusal *refusal)
{
    char path[2 * PATH_MAX];
    *ret = (struct run_directory){.lock_fd = -1, .written_fd = -1};
    bool has_stores = wants_stores(options, &ret->no_store) || is_external;
    if (is_external)
        ret->no_store = NULL;
    unsetenv("WALLPROF_WRITTEN");
    if (!has_stores && options->is_quiet && !options->shows_top)
        return 0;
    if (!make_directory(ret->path) && is_external)
        return refuse(refusal, RUN_FAILED,
                      "nothing can be made in %s (TMPDIR), where a recording from outside is kept",
                      getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!*ret->path) {
        if (has_stores && !options->is_quiet)
            fprintf(stderr,
                    "wallprof-run: nothing can be made in %s (TMPDIR): what is killed leaves no profile\n",
                    getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
        if (has_stores)
            ret->no_store = "nothing can be made in TMPDIR";
        return 0;
    }
    ret->written_fd = create_file(ret, STORE_WRITTEN_NAME, path);
    if (fallocate(ret->written_fd, FALLOC_FL_KEEP_SIZE, 0, NOTES_BYTES) < 0 && errno != EOPNOTSUPP) {
        close(ret->written_fd); /* a full disk: nothing could be noted */
        ret->written_fd = -1;
    } else
        setenv("WALLPROF_WRITTEN", path, 1);
    if (!has_stores)
        return 0;
    ret->lock_fd = create_file(ret, STORE_RUN_NAME, path);
    if (ret->lock_fd < 0 || flock(ret->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return refuse(refusal, RUN_FAILED, "%s cannot be locked", path);
    set_store(options->merges ? "merge:" : "run:", ret->path);
    return 0;
}

void run_directory_end(struct run_directory *directory)
{
    DIR *entries = *directory->path ? opendir(directory->path) : NULL;
    for (const struct dirent *entry; entries && (entry = readdir(entries));) {
        if (!store_is_live_name(entry->d_name))
            unlinkat(dirfd(entries), entry->d_name, 0);
    }
    if (entries)
        closedir(entries);
    rmdir(directory->path);
}
