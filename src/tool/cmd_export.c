#include "command.h"
#include "output_file.h"
#include "recording.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { OUTPUTS_MAX = 16 };

static const char help[] = "usage: wallprof export [OPTIONS] FILE -o OUT [-o OUT]...\n"
                           "\n"
                           "Writes a recording, a store or a .pb.gz file of wallprof's, in other formats:\n"
                           "each file by its ending, or all as --format says.\n"
                           "\n"
                           "  -o, --output OUT     a file to write, up to 16 of them; - is standard output\n"
                           "  -f, --format FORMAT  ";
static const char help_end[] =
    "\n"
    "  -v, --verbose        say what has been written\n"
    "\n"
    "FILE - is standard input. A name that says nothing, like -, is written as pprof.\n"
    "A file appears under its name when it is complete, with mode 0600.\n";

struct request {
    const char *input, *outputs[OUTPUTS_MAX], *format;
    int output_count;
    enum wp_format formats[OUTPUTS_MAX];
    bool is_verbose;
};

static int print_help(void)
{
    fputs(help, stdout);
    for (int format = 0; format < FORMAT_COUNT; format++)
        printf("%s%s", format ? ", " : "", format_word((enum wp_format)format));
    fputs(help_end, stdout);
    return output_printed();
}

/* One that cannot be written does not keep the others from being. */
static int export(const struct request *request)
{
    static struct recording recording;
    int status = 0;
    if (command_open(&recording, request->input) != 0)
        return 1;
    for (int i = 0; i < request->output_count; i++) {
        const char *output = request->outputs[i];
        int failed = output_file_write(output, request->formats[i], &recording.profile);
        if (!failed && request->is_verbose && strcmp(output, "-") != 0)
            printf("written: %s\n", output);
        status |= failed;
    }
    recording_close(&recording);
    return status | output_printed();
}

static int settle_formats(struct request *request)
{
    for (int i = 0; i < request->output_count; i++) {
        request->formats[i] = format_of_name(output_file_name(request->outputs[i]));
        if (request->format && format_of_word(request->format, &request->formats[i]) < 0)
            return command_misused("export", "there is no format '%s'", request->format);
    }
    return 0;
}

int command_export(int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"format", required_argument, NULL, 'f'},
                                            {"verbose", no_argument, NULL, 'v'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct request request = {.input = NULL};
    for (int option; (option = getopt_long(argc, argv, "o:f:vh", options, NULL)) >= 0;) {
        if (option == 'h')
            return print_help();
        if (option == 'o' && request.output_count == OUTPUTS_MAX)
            return command_misused("export", "more than %d files at once", OUTPUTS_MAX);
        if (option == 'o')
            request.outputs[request.output_count++] = optarg;
        else if (option == 'f')
            request.format = optarg;
        else if (option == 'v')
            request.is_verbose = true;
        else
            return command_misused("export", "which options there are:");
    }
    if (optind + 1 != argc)
        return command_misused("export", "one FILE is wanted");
    request.input = argv[optind];
    if (request.output_count == 0)
        return command_misused("export", "where to? (-o OUT)");
    int status = settle_formats(&request);
    return status ? status : export(&request);
}
