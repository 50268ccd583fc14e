#include "output.h"
#include "clock.h"
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char default_pattern[] = "wallprof.%p.pb.gz";

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

void output_anchor(char *pattern, size_t capacity)
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
    const char *name = *pattern ? pattern : default_pattern;
    if (used + 1 + strlen(name) >= capacity)
        return;
    anchored[used++] = '/';
    strcpy(anchored + used, name);
    strcpy(pattern, anchored);
}

static const char *program_name(char *buffer, size_t capacity)
{
    ssize_t length = readlink("/proc/self/exe", buffer, capacity - 1);
    if (length <= 0)
        return "program";
    buffer[length] = '\0';
    const char *slash = strrchr(buffer, '/');
    return slash ? slash + 1 : buffer;
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

int output_choose(struct wp_output *output, const char *pattern, pid_t pid, uint64_t start_utc_ns,
                  bool is_child)
{
    char path[PATH_MAX], buffer[PATH_MAX];
    struct utsname host;
    bool has_pid;
    if (!*pattern)
        pattern = default_pattern;
    uname(&host);
    struct config_names names = {
        .pid = (uint32_t)pid,
        .program = program_name(buffer, sizeof(buffer)),
        .host = host.nodename,
        .start_utc_s = start_utc_ns / NS_PER_S,
    };
    int status = config_expand(pattern, &names, path, sizeof(path), &has_pid);
    if (status == 0 && is_child && !has_pid)
        status = config_insert_pid(path, sizeof(path), names.pid);
    return status == 0 ? split(output, path) : status;
}
