#include "tool/io/command.h"
#include "tool/io/output_file.h"
#include "outputs.h"
#include "tool/read/recording.h"

#include <getopt.h>
#include <stdio.h>

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

static int print_help(void)
{
    fputs(help, stdout);
    outputs_print_formats();
    fputs(help_end, stdout);
    return output_printed();
}

static int export(const struct outputs *outputs, const char *input)
{
    static struct recording recording;
    if (command_open(&recording, input) != 0)
        return 1;
    int status = outputs_write(outputs, &recording.profile);
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
    struct outputs outputs = {.command = "export"};
    int status = 0;
    for (int option; (option = getopt_long(argc, argv, "o:f:vh", options, NULL)) >= 0;) {
        if (option == 'h')
            return print_help();
        if (option == 'o')
            status = outputs_add(&outputs, optarg);
        else if (option == 'f')
            outputs.format = optarg;
        else if (option == 'v')
            outputs.is_verbose = true;
        else
            status = command_misused("export", "which options there are:");
        if (status)
            return status;
    }
    if (optind + 1 != argc)
        return command_misused("export", "one FILE is wanted");
    status = outputs_settle(&outputs);
    return status ? status : export(&outputs, argv[optind]);
}
