#include "output_file.h"
#include "command.h"
#include "base/json.h"
#include "base/name_pattern.h"
#include "base/trusted_path.h"
#include "tool/formats/formats.h"
#include "base/number_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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
        command_fail("standard output: %s", error_text(ENOMEM));
    return sink;
}

struct sink *output_json_open(struct json *ret)
{
    struct sink *sink = output_stdout_open(SINK_PLAIN);
    if (sink)
        json_init(ret, sink);
    return sink;
}

int output_stdout_close(struct sink *sink)
{
    int error = sink_commit(sink);
    return error ? command_fail("standard output: %s", error_text(-error)) : 0;
}

int output_redirect(const char *command, const char *path, bool is_json)
{
    if (!path || strcmp(path, "-") == 0)
        return 0;
    if (!is_json && format_is_said(path, strlen(path)))
        return command_misused(command, "%s: the report is text; 'wallprof export' writes such a file", path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
        return command_fail("%s: %s", path, error_text(errno));
    close(fd);
    return 0;
}

int output_printed(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    return command_fail("standard output: %m");
}

int output_print(const char *text)
{
    fputs(text, stdout);
    return output_printed();
}

/* ---- one file ---- */

/* What is written: of a page that compares, two profiles. */
struct output {
    enum file_format format;
    const struct profile *before, *profile; /* before: NULL for none */
};

static int write_and_close(const char *path, const struct output *output, struct sink *sink)
{
    int encode_error = output->before ? enc_html_write_comparison(output->before, output->profile, sink)
                                      : formats_write(output->format, output->profile, sink);
    if (encode_error < 0)
        sink_fail(sink, encode_error);
    int error = sink_commit(sink);
    error = encode_error ? encode_error : error;
    return error ? command_fail("%s: %s", path, error_text(-error)) : 0;
}

/* Opens the path's directory first, so that a sink can write a new file in it and rename that. */
static int write_into(const char *path, const struct output *output)
{
    char directory[PATH_MAX];
    const char *name = output_file_name(path);
    const enum sink_coding coding = format_coding(output->format, name);
    int error, length = name > path ? (int)(name - path) : 1;
    if (length >= PATH_MAX)
        return command_fail("%s: %s", path, error_text(ENAMETOOLONG));
    snprintf(directory, sizeof directory, "%.*s", length, name > path ? path : ".");
    int fd = trusted_path_open_directory(directory);
    if (fd < 0)
        return command_fail("%s: %s", directory, error_text(-fd));
    struct sink *sink = sink_create(fd, name, coding, &error);
    int status =
        sink ? write_and_close(path, output, sink) : command_fail("%s: %s", path, error_text(-error));
    close(fd);
    return status;
}

int output_file_write_comparison(const char *path, const struct profile *before, const struct profile *after)
{
    return write_into(path, &(struct output){FORMAT_HTML, before, after});
}

int output_file_write(const char *path, enum file_format format, const struct profile *profile)
{
    const struct output output = {format, NULL, profile};
    if (profile->measure && (format == FORMAT_STORE || format_needs_timeline(format)))
        return command_fail("%s: a %s file is made of a recording of wallprof's", path, format_word(format));
    if (format_needs_timeline(format) && !profile->timeline)
        return command_fail("%s: %s files say when something happened, and what is to be written has no "
                            "timeline; %s",
                            path, format_word(format),
                            profile->is_merged
                                ? "merging keeps one if every recording has one and --labels is id"
                                : "record a store with WALLPROF_TIMELINE=1");
    if (format == FORMAT_STORE && profile->is_merged)
        return command_fail("%s: a store is of one process, and what is to be written of several", path);
    if (strcmp(path, "-") == 0) {
        struct sink *sink = output_stdout_open(format_coding(format, output_file_name(path)));
        return sink ? write_and_close("standard output", &output, sink) : 1;
    }
    return write_into(path, &output);
}

/* ---- where it cannot be written ---- */

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0 || errno != ENOENT;
}

/* False where the name is taken, with the number too. */
static bool choose_name(const char *directory, const char *name, int number, char ret[PATH_MAX])
{
    char insertion[16];
    if (snprintf(ret, PATH_MAX, "%s/%s", directory, name) >= PATH_MAX)
        return false;
    if (!is_there(ret))
        return true;
    snprintf(insertion, sizeof insertion, "%d", number);
    return name_pattern_insert(ret, PATH_MAX, insertion) == 0 && !is_there(ret);
}

int output_file_write_somewhere(const char *path, enum file_format format, const struct profile *profile,
                                int number, char ret[PATH_MAX])
{
    char here[PATH_MAX] = "", temporary[PATH_MAX] = "";
    const char *const places[] = {getcwd(here, sizeof here), realpath(getenv("TMPDIR") ?: "/tmp", temporary)};
    snprintf(ret, PATH_MAX, "%s", path);
    int status = output_file_write(path, format, profile);
    if (format_needs_timeline(format) && !profile->timeline)
        return status;
    for (size_t i = 0; status != 0 && i < sizeof places / sizeof *places; i++) {
        if (!places[i] || !choose_name(places[i], output_file_name(path), number, ret))
            continue;
        status = output_file_write(ret, format, profile);
        if (status == 0)
            command_fail("it is in %s instead", ret);
    }
    return status;
}

/* ---- all files of a command ---- */

int output_file_check_ending(const char *command, const char *path)
{
    return !format_is_unknown(path)
               ? 0
               : command_misused(command, "%s: no format has this ending (" FORMAT_ENDINGS " are known)",
                                 path);
}

void output_files_print_formats(void)
{
    for (int format = 0; format < FORMAT_COUNT; format++)
        printf("%s%s", format ? ", " : "", format_word((enum file_format)format));
}

int output_files_add(struct output_files *files, const char *path)
{
    if (files->count == OUTPUT_FILES_MAX)
        return command_misused(files->command, "more than %d files at once", OUTPUT_FILES_MAX);
    files->paths[files->count++] = path;
    return 0;
}

int output_files_choose_formats(struct output_files *files)
{
    if (files->count == 0)
        return command_misused(files->command, "no file to write is given (-o OUT)");
    for (int i = 0; i < files->count; i++) {
        files->formats[i] = format_of_name(output_file_name(files->paths[i]));
        if (files->format && format_of_word(files->format, &files->formats[i]) < 0)
            return command_misused(files->command, "there is no format '%s'", files->format);
        if (!files->format && !files->takes_any_ending &&
            output_file_check_ending(files->command, files->paths[i]) != 0)
            return EXIT_USAGE;
    }
    return 0;
}

int output_files_write(const struct output_files *files, const struct profile *profile)
{
    int status = 0;
    for (int i = 0; i < files->count; i++) {
        int failed = output_file_write(files->paths[i], files->formats[i], profile);
        if (!failed && files->is_verbose && strcmp(files->paths[i], "-") != 0)
            printf("written: %s\n", files->paths[i]);
        status |= failed;
    }
    return status | output_printed();
}
