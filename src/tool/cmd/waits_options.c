#include "waits_options.h"
#include "tool/io/output_file.h"
#include "tool/read/recording.h"
#include "tool/read/store_names.h"

#include <limits.h>
#include <stdint.h>

int waits_options_take(struct waits_options *asked, int option, char **argv, const struct option *names)
{
    long lines = 0;
    asked->is_json |= option == 'j';
    if (option == 'o')
        asked->output = optarg;
    else if (option == 'n' && !command_number(optarg, 0, INT_MAX, &lines))
        return command_misused(asked->command, "'%s' is not a valid number", optarg);
    else if (option == 'n')
        asked->lines = lines ? (size_t)lines : SIZE_MAX;
    else if (option != 'j')
        return command_wrong_option(asked->command, argv, names);
    return 0;
}

size_t waits_options_lines(const struct waits_options *asked, size_t otherwise, size_t count)
{
    const size_t lines = asked->lines ? asked->lines : asked->is_json ? SIZE_MAX : otherwise;
    return lines < count ? lines : count;
}

int waits_options_show(const struct waits_options *asked, int argc, char **argv, const char *what,
                       int (*show)(const void *context, const struct profile *profile), const void *context)
{
    struct recording recording;
    if (optind + 1 != argc)
        return command_misused(asked->command, "one FILE is needed");
    int status = output_redirect(asked->command, asked->output, asked->is_json);
    if (status)
        return status;
    const char *path = argv[optind];
    if (store_names_open(&recording, path) != 0)
        return 1;
    status = recording.profile.measure ? command_fail("%s: it has no %s: it is another program's", path, what)
                                       : show(context, &recording.profile);
    recording_close(&recording);
    return status;
}
