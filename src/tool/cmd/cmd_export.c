#include "commands.h"
#include "tool/io/command.h"
#include "tool/read/store_names.h"
#include "tool/io/output_file.h"
#include "tool/read/recording.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] = "usage: wallprof export [OPTIONS] FILE -o OUT [-o OUT]...\n"
                           "\n"
                           "Writes a recording, a store or a pprof file, in other formats:\n"
                           "each file by its ending, or all as --format says.\n"
                           "\n"
                           "  -o, --output OUT     a file to write, up to 16 of them; - is standard output\n"
                           "  -f, --format FORMAT  ";
static const char help_end[] =
    "\n"
    "  -w, --waits          in folded files, add what is waited for to each stack, as\n"
    "                       its innermost frame: (lock), (file), (idle), ...\n"
    "  -v, --verbose        say what has been written\n"
    "\n"
    "FILE - is standard input. A name without an ending, like -, means pprof.\n"
    "A file appears under its name when it is complete, with mode 0600.\n";

static int print_export_help(void)
{
    fputs(help, stdout);
    output_files_print_formats();
    return output_print(help_end);
}

static bool has_folded(const struct output_files *targets)
{
    for (int i = 0; i < targets->count; i++) {
        if (targets->formats[i] == FORMAT_FOLDED)
            return true;
    }
    return false;
}

static int export_file(const struct output_files *targets, const char *input, bool has_wait_frames)
{
    struct recording recording;
    if (store_names_open(&recording, input) != 0)
        return 1;
    recording.profile.has_wait_frames = has_wait_frames;
    int status = output_files_write(targets, &recording.profile);
    recording_close(&recording);
    return status;
}

int command_export(int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'}, {"format", required_argument, NULL, 'f'},
        {"waits", no_argument, NULL, 'w'},        {"verbose", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},         {0}};
    /* The library, which says by that variable that it has started us, takes any name for a pprof file's. */
    struct output_files targets = {.command = "export", .takes_any_ending = getenv("WALLPROF_HANDOVER")};
    bool has_wait_frames = false;
    int status = 0;
    for (int option; (option = getopt_long(argc, argv, "o:f:wvh", options, NULL)) >= 0;) {
        if (option == 'h')
            return print_export_help();
        if (option == 'o')
            status = output_files_add(&targets, optarg);
        else if (option == 'f')
            targets.format = optarg;
        else if (option == 'w')
            has_wait_frames = true;
        else if (option == 'v')
            targets.is_verbose = true;
        else
            status = command_wrong_option("export", argv, options);
        if (status)
            return status;
    }
    if (optind + 1 != argc)
        return command_misused("export", "one FILE is needed");
    status = output_files_choose_formats(&targets);
    if (status == 0 && has_wait_frames && !has_folded(&targets))
        return command_misused("export", "--waits is for folded files");
    return status ? status : export_file(&targets, argv[optind], has_wait_frames);
}
