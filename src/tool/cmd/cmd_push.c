#include "commands.h"
#include "tool/io/command.h"
#include "tool/io/output_file.h"
#include "tool/push/push_follow.h"
#include "tool/push/push_spool.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: wallprof push [OPTIONS] --to SERVER URL FILE...\n"
    "       wallprof push [OPTIONS] --to SERVER URL --follow PLACE\n"
    "\n"
    "Sends stores or .pb.gz files to a server for continuous profiling. Its address\n"
    "URL is https://host or http://host:port.\n"
    "\n"
    "  -t, --to SERVER      pyroscope or parca\n"
    "  -n, --name NAME      the service's name. Default: the program's.\n"
    "  -l, --label NAME=VALUE  one more label of the series; up to 28\n"
    "  -F, --follow PLACE   go on sending new files: .pb.gz files of a directory, or\n"
    "                       files that match a pattern ('DIR/app.*.pb.gz')\n"
    "  -m, --spool-max FILES[,SIZE]  how much may wait while the server is away; then\n"
    "                       the oldest is given up. Default: 1000,256M.\n"
    "  -r, --remove         remove files that were sent or given up; for --follow\n"
    "  -P, --pyroscope-api INTERFACE  ingest, or push: the profile within JSON\n"
    "  -C, --credentials FILE  of mode 0600, with a line 'token = ...', or two,\n"
    "                       'user = ...' and 'password = ...'\n"
    "  -A, --cacert FILE    trust certificates that are signed by one of these\n"
    "  -v, --verbose        say what has been sent\n"
    "\n"
    "Credentials may also be in WALLPROF_PUSH_TOKEN, or in WALLPROF_PUSH_USER and\n"
    "WALLPROF_PUSH_PASSWORD. They are sent over https only, or to this machine.\n";

struct push_arguments {
    struct push_sender sender;
    struct push_follow_options follow;
    bool has_server, has_interface, has_spool_max;
};

/* ---- options ---- */

/* FILES[,SIZE], a size with K, M or G or without a unit. */
static bool parse_spool_max(const char *text, struct push_follow_options *options)
{
    char *end;
    options->max_files = strtoull(text, &end, 10);
    if (end == text || *text < '0' || *text > '9' || options->max_files == 0)
        return false;
    if (*end == '\0')
        return true;
    const char *size = end + 1;
    if (*end != ',' || *size < '0' || *size > '9')
        return false;
    options->max_bytes = strtoull(size, &end, 10);
    const char *units = "KMG", *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if ((*end && (!unit || end[1])) || options->max_bytes == 0 || options->max_bytes > UINT64_MAX >> shift)
        return false;
    options->max_bytes <<= shift;
    return true;
}

static bool choose_server(struct push_arguments *request, const char *word)
{
    request->has_server = true;
    if (strcmp(word, "parca") == 0)
        request->sender.target.interface = PUSH_PARCA;
    return strcmp(word, "parca") == 0 || strcmp(word, "pyroscope") == 0;
}

static bool choose_interface(struct push_arguments *request, const char *word)
{
    request->has_interface = true;
    if (strcmp(word, "push") == 0 && request->sender.target.interface != PUSH_PARCA)
        request->sender.target.interface = PUSH_PYROSCOPE_PUSH;
    return strcmp(word, "push") == 0 || strcmp(word, "ingest") == 0;
}

static int explain_target(int status, const struct push_arguments *request)
{
    return status < 0 ? command_misused("push", "%s", request->sender.target.reason) : 0;
}

static int set_option(struct push_arguments *request, int option, const char *value)
{
    struct push_sender *sender = &request->sender;
    switch (option) {
    case 't':
        return choose_server(request, value) ? 0 : command_misused("push", "--to is pyroscope or parca");
    case 'P':
        return choose_interface(request, value)
                   ? 0
                   : command_misused("push", "--pyroscope-api is ingest or push");
    case 'n':
        return explain_target(push_target_set_name(&sender->target, value), request);
    case 'l':
        return explain_target(push_target_add_label(&sender->target, value), request);
    case 'm':
        request->has_spool_max = true;
        return parse_spool_max(value, &request->follow)
                   ? 0
                   : command_misused("push", "--spool-max is a number of files, and a size: 1000,256M");
    case 'F':
        request->follow.place = value;
        return 0;
    case 'r':
        request->follow.removes = true;
        return 0;
    case 'C':
        sender->credentials_file = value;
        return 0;
    case 'A':
        sender->options.authorities = value;
        return 0;
    default: /* 'v' */
        sender->is_verbose = true;
        return 0;
    }
}

static int set_options(struct push_arguments *request, int argc, char **argv)
{
    static const struct option options[] = {{"to", required_argument, NULL, 't'},
                                            {"name", required_argument, NULL, 'n'},
                                            {"label", required_argument, NULL, 'l'},
                                            {"follow", required_argument, NULL, 'F'},
                                            {"spool-max", required_argument, NULL, 'm'},
                                            {"remove", no_argument, NULL, 'r'},
                                            {"pyroscope-api", required_argument, NULL, 'P'},
                                            {"credentials", required_argument, NULL, 'C'},
                                            {"cacert", required_argument, NULL, 'A'},
                                            {"verbose", no_argument, NULL, 'v'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int status = 0;
    for (int option;
         status == 0 && (option = getopt_long(argc, argv, "t:n:l:F:m:rP:C:A:vh", options, NULL)) >= 0;)
        status = option == 'h'   ? -1
                 : option == '?' ? command_wrong_option("push", argv, options)
                                 : set_option(request, option, optarg);
    return status;
}

/* ---- arguments ---- */

/* Removes the address, the first argument with "://", from the arguments. */
static const char *take_address(char **arguments, int *count)
{
    for (int i = 0; i < *count; i++) {
        char *address = arguments[i];
        if (!strstr(address, "://"))
            continue;
        memmove(&arguments[i], &arguments[i + 1], sizeof *arguments * (size_t)(*count - i - 1));
        (*count)--;
        return address;
    }
    return NULL;
}

static int check_arguments(struct push_arguments *request, const char *address, int file_count)
{
    struct push_target *target = &request->sender.target;
    if (!request->has_server)
        return command_misused("push", "no kind of server is given (--to pyroscope or --to parca)");
    if (!address)
        return command_misused("push", "no address of a server is given (https://host)");
    if (request->has_interface && target->interface == PUSH_PARCA)
        return command_misused("push", "--pyroscope-api does not go with Parca");
    if (!request->follow.place && (request->follow.removes || request->has_spool_max))
        return command_misused("push", "--remove and --spool-max are for --follow");
    if (!request->follow.place == (file_count == 0))
        return command_misused("push", "either FILEs or --follow are needed");
    if (push_target_set_address(target, address) < 0 || push_target_check(target) < 0)
        return command_misused("push", "%s", target->reason);
    return 0;
}

/* Sends all files, also after one could not be sent. */
static int send_files(struct push_sender *sender, char **paths, int count)
{
    int status = push_sender_open(sender);
    if (status != 0)
        return status;
    for (int i = 0; i < count; i++)
        status |= push_sender_send(sender, paths[i]);
    push_sender_close(sender);
    return status | output_printed();
}

int command_push(int argc, char **argv)
{
    static struct push_arguments request = {
        .follow = {.max_files = PUSH_SPOOL_FILES, .max_bytes = (uint64_t)PUSH_SPOOL_MIB << 20}};
    int status = set_options(&request, argc, argv);
    if (status < 0)
        return output_print(help);
    int count = argc - optind;
    const char *address = status == 0 ? take_address(argv + optind, &count) : NULL;
    if (status == 0)
        status = check_arguments(&request, address, count);
    if (status != 0)
        return status;
    return request.follow.place ? push_follow(&request.sender, &request.follow)
                                : send_files(&request.sender, argv + optind, count);
}
