#include "outputs.h"
#include "base/number_names.h"
#include "base/sink.h"
#include "base/trusted_path.h"
#include "encode/format.h"
#include "export/profile_path.h"
#include "tool/io/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the library complains of it logs itself. */
void outputs_read_config(struct config *config)
{
    static struct log log; /* unread */
    memset(config, 0, sizeof *config);
    config_read(config, &log, environ);
}

/* --format: the one name of --out, with the ending of each format. */
static int apply_formats(const struct run_options *options, struct config *config, struct refusal *refusal)
{
    char formats[RUN_LIST_BYTES], outs[RUN_LIST_BYTES] = "";
    enum file_format format;
    size_t used = 0;
    if (config->more_out_count > 0)
        return refuse(refusal, RUN_FAILED,
                      "--format is for one --out; the endings of several say their formats");
    const char *stem = *config->out ? config->out : profile_path_default(config->rank);
    strcpy(formats, options->formats);
    for (char *word = strtok(formats, ","); word; word = strtok(NULL, ",")) {
        if (format_of_word(word, &format) < 0)
            return refuse(
                refusal, RUN_FAILED,
                "there is no format %s (pprof, callgrind, folded, html, perfetto, firefox and store are)",
                word);
        used += (size_t)snprintf(outs + used, sizeof outs - used, "%s%.*s%s", used ? "," : "",
                                 (int)format_stem_length(stem), stem, format_ending(format));
        if (used >= sizeof outs)
            return refuse(refusal, RUN_FAILED, "the names of --out are too long");
    }
    setenv("WALLPROF_OUT", outs, 1);
    outputs_read_config(config);
    return 0;
}

/* Whether a file can be made there. The directory may depend on what is known later only. */
static int check_writable(const char *pattern, int32_t rank, struct refusal *refusal)
{
    struct profile_path path;
    struct stat file;
    const char *name = output_file_name(pattern);
    for (const char *at = pattern; at < name; at++) {
        if (*at == '%' && strchr("pnt", *++at))
            return 0;
    }
    int status = profile_path_choose(&path, pattern, getpid(), rank, 0, false);
    if (status == 0) {
        int fd = trusted_path_open_directory(path.directory);
        if (fd < 0)
            return refuse(refusal, RUN_FAILED,
                          "the directory of %s: %s; make it, or name another file with --out", pattern,
                          error_text(-fd));
        bool is_there = fstatat(fd, path.name, &file, AT_SYMLINK_NOFOLLOW) == 0;
        status = sink_check(fd, path.name);
        close(fd);
        if (is_there && S_ISFIFO(file.st_mode))
            return refuse(refusal, RUN_FAILED,
                          "%s is a pipe, which waits for a reader; name a file with --out", pattern);
    }
    return status == 0 ? 0
                       : refuse(refusal, RUN_FAILED,
                                "no profile can be written to %s: %s; name another file with --out",
                                *pattern ? pattern : "the present directory", error_text(-status));
}

/* Appends a name to the list. % and commas of the directory, of which a name from the root on needs none,
 * stand for themselves. */
static int append_below(char list[RUN_LIST_BYTES], const char *directory, const char *pattern,
                        struct refusal *refusal)
{
    size_t used = strlen(list);
    if (used + 2 * strlen(directory) + strlen(pattern) + 3 > RUN_LIST_BYTES)
        return refuse(refusal, RUN_FAILED, "the names of --out are too long");
    if (used > 0)
        list[used++] = ',';
    for (const char *at = directory; *pattern != '/' && *at; at++) {
        if (*at == '%' || *at == ',')
            list[used++] = '%';
        list[used++] = *at;
    }
    if (*pattern != '/' && strcmp(directory, "/") != 0)
        list[used++] = '/';
    strcpy(list + used, pattern);
    return 0;
}

int outputs_set(struct config *config, const char *directory, const char *also, struct refusal *refusal)
{
    char list[RUN_LIST_BYTES] = "";
    int status = 0;
    for (uint32_t i = 0; i <= config->more_out_count && status == 0; i++)
        status = append_below(list, directory, config_out(config, i), refusal);
    if (status == 0 && also)
        status = append_below(list, directory, also, refusal);
    if (status == 0 && setenv("WALLPROF_OUT", list, 1) == 0)
        outputs_read_config(config);
    return status;
}

int outputs_choose(const struct run_options *options, struct config *ret, struct refusal *refusal)
{
    char directory[PATH_MAX];
    bool is_absolute = true;
    if (*options->outs)
        setenv("WALLPROF_OUT", options->outs, 1);
    outputs_read_config(ret);
    int status = *options->formats ? apply_formats(options, ret, refusal) : 0;
    for (uint32_t i = 0; i <= ret->more_out_count && status == 0; i++) {
        const char *out = config_out(ret, i);
        is_absolute = is_absolute && *out == '/';
        if (strchr(out, '\n'))
            status =
                refuse(refusal, RUN_FAILED, "--out: a name with a line break cannot be told; use another");
        else if (format_is_unknown(out))
            status =
                refuse(refusal, RUN_FAILED,
                       "%s%s: no format has this ending (" FORMAT_ENDINGS " are known); use one of these",
                       *options->outs ? "--out " : "WALLPROF_OUT=", out);
        else
            status = check_writable(out, ret->rank, refusal);
    }
    if (status == 0 && !is_absolute && !getcwd(directory, sizeof directory))
        status = refuse(refusal, RUN_FAILED, "the present directory has no name: %s", error_text(errno));
    return status || is_absolute ? status : outputs_set(ret, directory, NULL, refusal);
}
