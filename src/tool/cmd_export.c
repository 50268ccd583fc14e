#include "command.h"
#include "format.h"
#include "recording.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char help[] = "usage: wallprof export FILE -o OUT [--format FORMAT]\n"
                           "\n"
                           "Writes a recording, a store or a .pb.gz file of wallprof's, in another format:\n"
                           "by the ending of OUT, or as --format says.\n"
                           "\n"
                           "  -o, --output OUT     the file to write\n"
                           "  -f, --format FORMAT  pprof, store\n"
                           "  -v, --verbose        say what has been written\n"
                           "\n"
                           "FILE - is standard input.\n";

struct request {
    const char *input, *output;
    enum wp_format format;
    bool is_verbose;
};

/* A path as the directory it is in, which is opened, and the name in that. */
static int write_to(const struct request *request, const struct wp_profile *profile)
{
    const char *slash = strrchr(request->output, '/'), *name = slash ? slash + 1 : request->output;
    char directory[4096];
    int error;
    snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - request->output) + 1 : 1,
             slash ? request->output : ".");
    int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return command_fail("%s: %m", directory);
    struct sink *sink = sink_create(fd, name, format_coding(request->format, name), &error);
    if (sink) {
        int encode_error = format_write(request->format, profile, sink);
        error = sink_commit(sink);
        error = encode_error ? encode_error : error;
    }
    if (error)
        return command_fail("%s: %s", request->output, strerrordesc_np(-error));
    if (request->is_verbose)
        printf("written: %s\n", request->output);
    return 0;
}

static int export(const struct request *request)
{
    static struct recording recording;
    if (recording_open(&recording, request->input) < 0)
        return command_fail("%s: %s", request->input, recording.reason);
    int status = write_to(request, &recording.profile);
    recording_close(&recording);
    return status;
}

int command_export(int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"format", required_argument, NULL, 'f'},
                                            {"verbose", no_argument, NULL, 'v'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct request request = {0};
    const char *format = NULL;
    for (int option; (option = getopt_long(argc, argv, "o:f:vh", options, NULL)) >= 0;) {
        if (option == 'o')
            request.output = optarg;
        else if (option == 'f')
            format = optarg;
        else if (option == 'v')
            request.is_verbose = true;
        else if (option == 'h')
            return fputs(help, stdout) < 0;
        else
            return command_misused("export", "which options there are:");
    }
    if (optind + 1 != argc)
        return command_misused("export", "one FILE is wanted");
    request.input = argv[optind];
    if (!request.output)
        return command_misused("export", "where to? (-o OUT)");
    const char *slash = strrchr(request.output, '/');
    request.format = format_of_name(slash ? slash + 1 : request.output);
    if (format && format_of_word(format, &request.format) < 0)
        return command_misused("export", "there is no format '%s'", format);
    return export(&request);
}
