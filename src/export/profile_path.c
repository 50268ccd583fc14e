#include "profile_path.h"
#include "base/clock.h"
#include "base/name_pattern.h"
#include "modules/program_path.h"
#include "base/raw_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

static const unsigned names_before_exec_max = 100;

/* Ranks on several machines may share a directory, and two of them may have the same pid. */
const char *profile_path_default(int32_t rank)
{
    return rank >= 0 ? "wallprof.%r.%h.%p.pb.gz" : "wallprof.%p.pb.gz";
}

void profile_path_anchor(char *pattern, size_t capacity, int32_t rank)
{
    char directory[PATH_MAX], anchored[2 * PATH_MAX];
    size_t used = 0;
    if (*pattern == '/' || !getcwd(directory, sizeof(directory)) || *directory != '/')
        return;
    for (const char *at = directory; *at; at++) {
        if (*at == '%')
            anchored[used++] = '%'; /* stands for itself */
        anchored[used++] = *at;
    }
    const char *name = *pattern ? pattern : profile_path_default(rank);
    if (used + 1 + strlen(name) >= capacity)
        return;
    anchored[used++] = '/';
    strcpy(anchored + used, name);
    strcpy(pattern, anchored);
}

const char *profile_path_program_name(char *buffer, size_t capacity)
{
    if (program_path_read(buffer, capacity) == 0)
        return "program";
    const char *slash = strrchr(buffer, '/');
    return slash ? slash + 1 : buffer;
}

/* The pattern, with the default name if it is "" or a directory with a slash after it. */
static const char *with_name(const char *pattern, int32_t rank, char buffer[PATH_MAX])
{
    size_t length = strlen(pattern);
    const char *name = profile_path_default(rank);
    if (length == 0)
        return name;
    if (pattern[length - 1] != '/' || length + strlen(name) >= PATH_MAX)
        return pattern;
    strcpy(buffer, pattern);
    strcpy(buffer + length, name);
    return buffer;
}

bool profile_path_has_pid(const char *pattern)
{
    size_t length = strlen(pattern);
    bool is_named = length > 0 && pattern[length - 1] != '/';
    return !is_named || name_pattern_has_pid(pattern); /* the default names have it */
}

/* Splits a path, made absolute, into directory and name. */
static int split_path(struct profile_path *output, const char *path)
{
    char absolute[PATH_MAX] = "";
    size_t length = 0;
    if (*path != '/') {
        if (!getcwd(absolute, sizeof(absolute)))
            return -errno;
        length = strlen(absolute);
        absolute[length++] = '/';
    }
    if (length + strlen(path) >= sizeof(absolute))
        return -ENAMETOOLONG;
    strcpy(absolute + length, path);
    char *slash = strrchr(absolute, '/');
    if (strlen(slash + 1) > NAME_MAX)
        return -ENAMETOOLONG;
    strcpy(output->name, slash + 1);
    slash[slash == absolute] = '\0';
    strcpy(output->directory, absolute);
    return output->name[0] ? 0 : -EISDIR;
}

/* "" and 12 -> app.12.pb.gz; sh and 2 -> app.sh-2.pb.gz. */
static int insert_number(char *path, size_t capacity, const char *text, unsigned number)
{
    char inserted[NAME_MAX + 16];
    snprintf(inserted, sizeof(inserted), "%.*s%s%u", NAME_MAX, text, *text ? "-" : "", number);
    return name_pattern_insert(path, capacity, inserted);
}

/* It takes the profiles of all processes, and nobody wants files beside it. */
static bool is_null_device(const char *path)
{
    struct stat status;
    return raw_stat(path, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
}

int profile_path_choose(struct profile_path *output, const char *pattern, pid_t pid, int32_t rank,
                        uint64_t start_utc_ns, bool is_child)
{
    char buffer[PATH_MAX];
    return profile_path_choose_of(output, pattern, profile_path_program_name(buffer, sizeof(buffer)), pid,
                                  rank, start_utc_ns, is_child);
}

int profile_path_choose_of(struct profile_path *output, const char *pattern, const char *program, pid_t pid,
                           int32_t rank, uint64_t start_utc_ns, bool is_child)
{
    char path[PATH_MAX], named[PATH_MAX];
    struct utsname host;
    pattern = with_name(pattern, rank, named);
    uname(&host);
    struct pattern_values names = {
        .pid = (uint32_t)pid,
        .program = program,
        .host = host.nodename,
        .start_utc_s = start_utc_ns / NS_PER_S,
        .rank = rank,
    };
    bool has_pid = name_pattern_has_pid(pattern);
    int status = name_pattern_expand(pattern, &names, path, sizeof(path));
    bool is_inserted = status == 0 && is_child && !has_pid && !is_null_device(path);
    output->has_pid = has_pid || is_inserted;
    if (is_inserted)
        status = insert_number(path, sizeof(path), "", names.pid);
    return status == 0 ? split_path(output, path) : status;
}

void profile_path_insert_pid(struct profile_path *output, pid_t pid)
{
    char name[NAME_MAX + 1];
    strcpy(name, output->name);
    if (insert_number(name, sizeof(name), "", (unsigned)pid) < 0)
        return;
    strcpy(output->name, name);
    output->has_pid = true;
}

/* Inserts the first of sh, sh-2, sh-3 ... whose file is not there yet; the last one in any case. */
static int insert_free_name(char path[NAME_MAX + 1], const char *ending, int directory_fd,
                            const char *program)
{
    char plain[NAME_MAX + 1], whole[2 * NAME_MAX];
    struct stat ignored;
    strcpy(plain, path);
    int status = name_pattern_insert(path, NAME_MAX + 1 - strlen(ending), program);
    for (unsigned number = 2; number < names_before_exec_max && status == 0; number++) {
        snprintf(whole, sizeof whole, "%s%s", path, ending);
        if (raw_fstatat(directory_fd, whole, &ignored, AT_SYMLINK_NOFOLLOW) < 0)
            break;
        strcpy(path, plain);
        status = insert_number(path, NAME_MAX + 1 - strlen(ending), program, number);
    }
    return status;
}

int profile_path_name_before_exec(const struct profile_path *output, int directory_fd, pid_t pid,
                                  const char *ending, char ret[NAME_MAX + 1])
{
    char buffer[PATH_MAX];
    int status = 0;
    strcpy(ret, output->name);
    if (!output->has_pid)
        status = insert_number(ret, NAME_MAX + 1, "", (unsigned)pid);
    if (status == 0)
        status =
            insert_free_name(ret, ending, directory_fd, profile_path_program_name(buffer, sizeof(buffer)));
    if (status == 0)
        strcat(ret, ending);
    return status;
}
