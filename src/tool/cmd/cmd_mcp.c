#include "commands.h"
#include "base/number_names.h"
#include "tool/io/command.h"
#include "tool/io/output_file.h"
#include "tool/mcp/mcp_server.h"

#include <getopt.h>
#include <signal.h>
#include <unistd.h>

static const char help[] =
    "usage: wallprof mcp\n"
    "Serves an assistant over standard input and output (Model Context Protocol). The\n"
    "assistant starts it; its configuration has\n"
    "\n"
    "  {\"mcpServers\": {\"wallprof\": {\"command\": \"wallprof\", \"args\": [\"mcp\"]}}}\n"
    "\n"
    "Its tools are record, which runs a program as wallprof run does, explain,\n"
    "summary (wallprof top), callers and diff. It runs what it is told to, as its\n"
    "user: let the assistant ask before it calls record.\n";

int command_mcp(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
    const int option = getopt_long(argc, argv, "h", options, NULL);
    if (option == 'h')
        return output_print(help);
    if (option >= 0 || optind != argc)
        return command_misused("mcp", "there are no arguments");
    signal(SIGCHLD, SIG_DFL); /* else a child's status would be lost */
    int error = mcp_serve(STDIN_FILENO, STDOUT_FILENO);
    return error ? command_fail("standard output: %s", error_text(-error)) : 0;
}
