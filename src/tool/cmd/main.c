#include "commands.h"
#include "encode/version.h"
#include "tool/io/command.h"
#include "tool/io/likeness.h"
#include "tool/io/output_file.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct tool_command {
    const char *name, *arguments, *summary;
    int (*run)(int argc, char **argv);
};

static const struct tool_command commands[] = {
    {"run", "PROGRAM [ARGUMENTS]", "record where a program's time goes", command_run},
    {"record", "PROGRAM [ARGUMENTS]", "another word for run", command_run},
    {"attach", "PID", "record a process that runs already, from outside", command_attach},
    {"top", "FILE | PID", "show where the time went, by thread and function", command_top},
    {"explain", "FILE", "say what takes the time, and why", command_explain},
    {"callers", "FUNCTION FILE", "say who calls a function, and what it calls", command_callers},
    {"waits", "FILE", "show who waits for whom, for what, and how long", command_waits},
    {"blame", "FILE", "show who made others wait for locks, and by what", command_blame},
    {"diff", "BEFORE AFTER", "show what takes more or less time than before", command_diff},
    {"view", "FILE", "show the flame graph in a browser", command_view},
    {"export", "FILE -o OUT", "write a recording in other formats", command_export},
    {"merge", "FILE... -o OUT", "make one profile of many recordings", command_merge},
    {"push", "--to SERVER URL FILE", "send recordings to Pyroscope or Parca", command_push},
    {"ctl", "PID ACTION", "start, stop, dump or look at a running process", command_ctl},
    {"mcp", "", "answer an assistant (Model Context Protocol)", command_mcp},
    {"recover", "STORE", "make the profile of a process that was killed", command_recover},
    {"gather", "DIRECTORY", "make the profiles of a run that has ended", command_gather},
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static int print_usage(FILE *stream, int status)
{
    fputs("usage: wallprof COMMAND [OPTIONS] FILE...\n\n", stream);
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(stream, "  %-8s%-22s%s\n", commands[i].name, commands[i].arguments, commands[i].summary);
    fputs("\nFILE is a store (.store) or a pprof file (.pb.gz), also of another program.\n"
          "'wallprof COMMAND --help' has a command's options. wallprof-run is wallprof run.\n",
          stream);
    return status;
}

static int unknown_command(const char *name)
{
    struct likeness likeness = {.word = name};
    char text[LIKENESS_TEXT_BYTES];
    for (int i = 0; i < COMMAND_COUNT; i++)
        likeness_add(&likeness, commands[i].name);
    if (!likeness.best && access(name, F_OK) == 0)
        command_fail("'%s' is no command; to look at a file: wallprof top %s", name, name);
    else
        command_fail("there is no command '%s'%s", name, likeness_text(&likeness, text));
    return likeness.best ? EXIT_USAGE : print_usage(stderr, EXIT_USAGE);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    opterr = 0;                            /* command_wrong_option says it */
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* a message is one write: other processes may write there too */
    if (argc > 0 && strcmp(output_file_name(argv[0]), "wallprof-run") == 0)
        return command_run(argc, argv);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
        return print_usage(stdout, 0);
    if (strcmp(name, "--version") == 0)
        return puts("wallprof " WALLPROF_VERSION) == EOF;
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }
    return *name ? unknown_command(name) : print_usage(stderr, EXIT_USAGE);
}
