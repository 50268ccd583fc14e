#include "output_file.h"
#include "command.h"
#include "base/trusted_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *output_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

struct sink *output_stdout_open(enum sink_coding coding)
{
    struct sink *sink = sink_create_on(STDOUT_FILENO, coding);
    if (!sink)
        command_fail("standard output: %s", strerrordesc_np(ENOMEM));
    return sink;
}

int output_stdout_close(struct sink *sink)
{
    int error = sink_commit(sink);
    return error ? command_fail("standard output: %s", strerrordesc_np(-error)) : 0;
}

int output_printed(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    return command_fail("standard output: %m");
}

static int write_and_close(const char *path, enum wp_format format, const struct wp_profile *profile,
                           struct sink *sink)
{
    int encode_error = format_write(format, profile, sink);
    if (encode_error < 0)
        sink_fail(sink, encode_error);
    int error = sink_commit(sink);
    error = encode_error ? encode_error : error;
    return error ? command_fail("%s: %s", path, strerrordesc_np(-error)) : 0;
}

/* A path as the directory it is in, which is opened, and the name in that. */
int output_file_write(const char *path, enum wp_format format, const struct wp_profile *profile)
{
    char directory[PATH_MAX];
    const char *name = output_file_name(path);
    int error, length = name > path ? (int)(name - path) : 1;
    if (format_needs_timeline(format) && !profile->timeline)
        return command_fail("%s: %s files say when something happened, and what is to be written has no "
                            "timeline; %s",
                            path, format_word(format),
                            profile->is_merged ? "merging keeps none: export each store by itself"
                                               : "record a store with WALLPROF_TIMELINE=1");
    if (format == FORMAT_STORE && profile->is_merged)
        return command_fail("%s: a store is of one process, and what is to be written of several", path);
    if (strcmp(path, "-") == 0) {
        struct sink *sink = output_stdout_open(format_coding(format, name));
        return sink ? write_and_close("standard output", format, profile, sink) : 1;
    }
    if (length >= PATH_MAX)
        return command_fail("%s: %s", path, strerrordesc_np(ENAMETOOLONG));
    snprintf(directory, sizeof directory, "%.*s", length, name > path ? path : ".");
    int fd = place_open_directory(directory);
    if (fd < 0)
        return command_fail("%s: %s", directory, strerrordesc_np(-fd));
    struct sink *sink = sink_create(fd, name, format_coding(format, name), &error);
    int status = sink ? write_and_close(path, format, profile, sink)
                      : command_fail("%s: %s", path, strerrordesc_np(-error));
    close(fd);
    return status;
}
