#include "report_options.h"
#include "tool/io/command.h"
#include "tool/io/output_file.h"
#include "tool/io/text.h"
#include "tool/meaning/idle.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

enum { DEFAULT_LINES = 20, COLUMNS_NOT_SAID = -1 };

static const char help[] =
    "  -n, --lines N        number of lines; 0 for all. Default: 20, JSON: all.\n"
    "  -s, --sort WHAT      by wall, cpu, offcpu, rundelay or samples; first (wall)\n"
    "  -c, --cum            sort by time with all that was called\n"
    "  -b, --by WHAT        leaf line file module thread process label wait on holder\n"
    "      --idle[=WHAT]    also waits for work; or WHAT, as WALLPROF_IDLE has it\n"
    "  -t, --thread NAME    only threads of this name (or like work*) or id\n"
    "  -p, --process NAME   of a merged profile, only processes of this name or pid\n"
    "  -l, --label LABEL    only samples with this label (key or key=value)\n"
    "  -f, --focus REGEX    only stacks with such a function, source file or module\n"
    "  -i, --ignore REGEX   only stacks without\n"
    "  -w, --width COLUMNS  width of the table; 0: names are not shortened\n"
    "  -j, --json           everything as JSON, times in ns\n"
    "      --no-error       without error bars (± at 95 %)\n"
    "  -o, --output FILE    write it there instead of to standard output\n"
    "      --color WHEN     auto, always or never (auto; NO_COLOR is honoured)\n";

void report_options_deinit(struct report_options *options)
{
    if (options->request.focus)
        regfree(&options->focus);
    if (options->request.ignore)
        regfree(&options->ignore);
    options->request.focus = options->request.ignore = NULL;
}

static int set_regex(struct report_options *options, const char *text, regex_t *regex, const regex_t **ret)
{
    char reason[128];
    if (*ret)
        regfree(regex);
    *ret = NULL;
    int error = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
    if (error) {
        regerror(error, regex, reason, sizeof reason);
        return command_misused(options->command, "'%s': %s", text, reason);
    }
    *ret = regex;
    return 0;
}

static int set_number(struct report_options *options, const char *text, long *ret)
{
    return command_number(text, 0, INT_MAX, ret)
               ? 0
               : command_misused(options->command, "'%s' is not a valid number", text);
}

static int set_option(struct report_options *options, int option, const char *argument)
{
    long number = 0;
    int status = option == 'n' || option == 'w' ? set_number(options, argument, &number) : 0;
    int by = option == 'b' ? command_word(report_by_words, REPORT_BY_COUNT, argument) : 0;
    if (option == 'n')
        options->lines = number ? (size_t)number : SIZE_MAX;
    else if (option == 'w')
        options->columns = (int)number;
    else if (option == 'o')
        options->output = argument;
    else if (option == 'c')
        options->by_cum = true;
    else if (option == 't')
        options->request.thread = argument;
    else if (option == 'p')
        options->request.process = argument;
    else if (option == 'l')
        options->request.label = argument;
    else if (option == 'f' && (options->request.focus_text = argument))
        status = set_regex(options, argument, &options->focus, &options->request.focus);
    else if (option == 'i' && (options->request.ignore_text = argument))
        status = set_regex(options, argument, &options->ignore, &options->request.ignore);
    else if (option == 'j')
        options->is_json = true;
    else if (option == 'h')
        options->is_help = true;
    else if (option == REPORT_OPTION_NO_ERROR)
        options->is_without_errors = true;
    else if (option == REPORT_OPTION_IDLE && argument)
        setenv("WALLPROF_IDLE", argument, 1);
    else if (option == REPORT_OPTION_IDLE)
        options->request.shows_idle = true;
    else if (option == REPORT_OPTION_STACKS)
        options->request.keeps_stacks = true;
    else if (option == 's')
        options->sort = argument;
    else if (option == 'b' && by >= 0)
        options->request.by = (enum report_by)by;
    else if (option == 'b')
        status = command_misused(options->command,
                                 "--by '%s'? (function, leaf, line, file, module, thread, process, label, "
                                 "wait, on, holder)",
                                 argument);
    else if (option == 'C' && !text_colour_of_word(options->colour = argument, stdout, &options->has_colour))
        status = command_misused(options->command, "--color '%s'? (auto, always, never)", argument);
    return status;
}

int report_options_read(struct report_options *options, int argc, char **argv,
                        const struct report_own_options *own)
{
    int status = 0;
    text_init();
    *options = (struct report_options){.command = *argv, .columns = COLUMNS_NOT_SAID, .colour = "auto"};
    for (int option; status == 0 &&
                     (option = getopt_long(argc, argv, "s:cn:b:t:p:l:f:i:w:o:jh", own->names, NULL)) >= 0;) {
        if (option == '?')
            status = command_wrong_option(options->command, argv, own->names);
        else
            status = option > UCHAR_MAX ? own->read(own->context, option, optarg)
                                        : set_option(options, option, optarg);
    }
    if (status == 0 && !options->is_help)
        status = output_redirect(options->command, options->output, options->is_json);
    options->request.shows_idle |= idle_is_shown();
    text_colour_of_word(options->colour, stdout, &options->has_colour);
    if (options->columns == COLUMNS_NOT_SAID)
        options->columns = text_columns(stdout);
    if (options->lines == 0)
        options->lines = options->is_json ? SIZE_MAX : DEFAULT_LINES;
    return status;
}

int report_options_settle(struct report_options *options, const struct profile *profile)
{
    if (!options->sort || profile->measure) /* it has been read by that */
        return 0;
    int metric = command_word(report_metric_words, METRIC_COUNT, options->sort);
    if (metric < 0)
        return command_misused(options->command, "--sort by '%s'? (wall, cpu, offcpu, rundelay, samples)",
                               options->sort);
    options->metric = (enum report_metric)metric;
    return 0;
}

int report_options_print_help(const char *begin, const char *end)
{
    printf("%s%s%s", begin, help, end);
    return output_printed();
}
