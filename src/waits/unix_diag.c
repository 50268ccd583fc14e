#include "unix_diag.h"
#include "base/lines.h"
#include "base/raw_calls.h"
#include "proc/proc_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 256, RELEASE_BYTES = 128 };

/* A line is the path of a module: "kernel/net/unix/unix_diag.ko". */
static bool is_listed(int list)
{
    static const char name[] = "/unix_diag.ko";
    struct lines lines;
    struct line line;
    bool is_found = false;
    if (lines_init(&lines, list, 0, UINT64_MAX) != 0)
        return false;
    while (!is_found && lines_next(&lines, &line))
        is_found = line.bytes >= sizeof name - 1 &&
                   memcmp(line.text + line.bytes - (sizeof name - 1), name, sizeof name - 1) == 0;
    lines_deinit(&lines);
    return is_found;
}

/* A kernel that can load modules lists what is a part of it in a file beside them. */
bool unix_diag_is_built_in(int task_directory, const char *root)
{
    struct stat status;
    char release[RELEASE_BYTES], path[PATH_BYTES];
    if (raw_fstatat(task_directory, "../../modules", &status, 0) != 0)
        return errno == ENOENT; /* it can load none */
    if (!proc_text_read(task_directory, "../../sys/kernel/osrelease", release, sizeof release))
        return false;
    release[strcspn(release, "\n")] = '\0';
    snprintf(path, sizeof path, "%.64s/lib/modules/%s/modules.builtin", root, release);
    const int list = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (list < 0)
        return false;
    const bool is_built_in = is_listed(list);
    close(list);
    return is_built_in;
}

bool unix_diag_is_loaded(const char *root)
{
    struct stat status;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.64s/sys/module/unix_diag", root);
    return raw_fstatat(AT_FDCWD, path, &status, 0) == 0;
}
