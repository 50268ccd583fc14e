#include "profile_path.h"
#include "base/clock.h"
#include "config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static const unsigned names_before_exec_max = 100;

/* Ranks may have one directory on several machines, and on two of them one pid. */
static const char *default_pattern(int32_t rank)
{
    return rank >= 0 ? "wallprof.%r.%h.%p.pb.gz" : "wallprof.%p.pb.gz";
}

void output_command_line(char *ret, size_t capacity)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? 0 : read(fd, ret, capacity - 1);
    if (fd >= 0)
        close(fd);
    while (bytes > 0 && ret[bytes - 1] == '\0')
        bytes--;
    for (ssize_t i = 0; i < bytes; i++) {
        if ((unsigned char)ret[i] < ' ')
            ret[i] = ' ';
    }
    ret[bytes > 0 ? bytes : 0] = '\0';
}

void output_anchor(char *pattern, size_t capacity, int32_t rank)
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
    const char *name = *pattern ? pattern : default_pattern(rank);
    if (used + 1 + strlen(name) >= capacity)
        return;
    anchored[used++] = '/';
    strcpy(anchored + used, name);
    strcpy(pattern, anchored);
}

const char *output_program_name(char *buffer, size_t capacity)
{
    ssize_t length = readlink("/proc/self/exe", buffer, capacity - 1);
    if (length <= 0) /* when the main thread has ended */
        length = readlink("/proc/thread-self/exe", buffer, capacity - 1);
    if (length <= 0)
        return "program";
    buffer[length] = '\0';
    const char *slash = strrchr(buffer, '/');
    return slash ? slash + 1 : buffer;
}

/* "", or a directory with a slash behind it: the default name in there. */
static const char *with_name(const char *pattern, int32_t rank, char buffer[PATH_MAX])
{
    size_t length = strlen(pattern);
    const char *name = default_pattern(rank);
    if (length == 0)
        return name;
    if (pattern[length - 1] != '/' || length + strlen(name) >= PATH_MAX)
        return pattern;
    strcpy(buffer, pattern);
    strcpy(buffer + length, name);
    return buffer;
}

/* Splits a path, made absolute, into directory and name. */
static int split(struct wp_output *output, const char *path)
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
    return config_insert(path, capacity, inserted);
}

int output_choose(struct wp_output *output, const char *pattern, pid_t pid, int32_t rank,
                  uint64_t start_utc_ns, bool is_child)
{
    char path[PATH_MAX], buffer[PATH_MAX], named[PATH_MAX];
    struct utsname host;
    bool has_pid;
    pattern = with_name(pattern, rank, named);
    uname(&host);
    struct config_names names = {
        .pid = (uint32_t)pid,
        .program = output_program_name(buffer, sizeof(buffer)),
        .host = host.nodename,
        .start_utc_s = start_utc_ns / NS_PER_S,
        .rank = rank,
    };
    int status = config_expand(pattern, &names, path, sizeof(path), &has_pid);
    output->has_pid = has_pid || is_child;
    if (status == 0 && is_child && !has_pid)
        status = insert_number(path, sizeof(path), "", names.pid);
    return status == 0 ? split(output, path) : status;
}

void output_insert_pid(struct wp_output *output, pid_t pid)
{
    char name[NAME_MAX + 1];
    strcpy(name, output->name);
    if (insert_number(name, sizeof(name), "", (unsigned)pid) < 0)
        return;
    strcpy(output->name, name);
    output->has_pid = true;
}

/* The first of sh, sh-2, sh-3 ... that is not there yet; the last one in any case. */
static int insert_free_name(char *path, size_t capacity, int directory_fd, const char *program)
{
    char plain[NAME_MAX + 1];
    struct stat ignored;
    strcpy(plain, path);
    int status = config_insert(path, capacity, program);
    for (unsigned number = 2; number < names_before_exec_max && status == 0; number++) {
        if (fstatat(directory_fd, path, &ignored, AT_SYMLINK_NOFOLLOW) < 0)
            break;
        strcpy(path, plain);
        status = insert_number(path, capacity, program, number);
    }
    return status;
}

int output_name_before_exec(const struct wp_output *output, int directory_fd, pid_t pid, char *ret,
                            size_t capacity)
{
    char buffer[PATH_MAX];
    int status = 0;
    strcpy(ret, output->name);
    if (!output->has_pid)
        status = insert_number(ret, capacity, "", (unsigned)pid);
    return status == 0
               ? insert_free_name(ret, capacity, directory_fd, output_program_name(buffer, sizeof(buffer)))
               : status;
}
