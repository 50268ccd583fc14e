#include "run_options.h"
#include "base/log.h"
#include "config/config.h"
#include "encode/format.h"
#include "tool/io/likeness.h"
#include "tool/io/output_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMNS = 79, HELP_TEXT_COLUMN = 22 };

struct option_row {
    const char *name, *argument, *standard, *help;
    bool is_rare;
};

static const struct option_row rows[] = {
#define OPTION(name, argument, words, standard, help, read)      {#name, argument, standard, help, false},
#define OPTION_RARE(name, argument, words, standard, help, read) {#name, argument, standard, help, true},
#define VARIABLE(name, help, read)
#include "config/options.def"
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };
_Static_assert((int)ROW_COUNT <= (int)RUN_OPTIONS_MAX, "each has a variable");

/* --timeline-mem of TIMELINE_MEM. */
static void spell_option(const struct option_row *row, char ret[64])
{
    char *to = stpcpy(ret, "--");
    for (const char *at = row->name; *at; at++)
        *to++ = *at == '_' ? '-' : (char)tolower(*at);
    *to = '\0';
}

/* ---- values ---- */

static int append(char *list, const char *value, struct refusal *refusal)
{
    if (strlen(list) + strlen(value) + 2 > RUN_LIST_BYTES)
        return refuse(refusal, RUN_FAILED, "the names of --out are too long");
    if (*list)
        strcat(list, ",");
    strcat(list, value);
    return 0;
}

/* Other processes than the caller's write the file, and have no such stream. */
static bool is_stream(const char *path)
{
    return strcmp(path, "-") == 0 || strncmp(path, "/dev/std", 8) == 0 || strncmp(path, "/dev/fd/", 8) == 0 ||
           strncmp(path, "/proc/self/", 11) == 0;
}

static int take_out(struct run_options *options, const char *value, struct refusal *refusal)
{
    if (is_stream(value))
        return refuse(
            refusal, RUN_FAILED,
            "--out %s: it is written by other processes than this, which have no such stream; name a "
            "file",
            value);
    if (*options->outs && !format_is_said(options->outs, strlen(options->outs)))
        return refuse(refusal, RUN_FAILED,
                      "--out %s: of several outputs each but the last must say its format by its ending",
                      options->outs);
    return append(options->outs, value, refusal);
}

/* The last of several values counts. */
static int take_variable(struct run_options *options, const struct option_row *row, const char *value,
                         struct refusal *refusal)
{
    char name[80], *entry;
    int length = snprintf(name, sizeof name, "WALLPROF_%s=", row->name), at = 0;
    while (at < options->variable_count && strncmp(options->variables[at], name, (size_t)length) != 0)
        at++;
    if (asprintf(&entry, "%s%s", name, value) < 0)
        return refuse(refusal, RUN_FAILED, "there is not enough memory");
    free(options->variables[at]);
    options->variables[at] = entry;
    options->variable_count += at == options->variable_count;
    return 0;
}

static int take_runtime_names(struct run_options *options, const char *value, struct refusal *refusal)
{
    options->leaves_names = strcmp(value, "off") == 0;
    if (!options->leaves_names && *value && strcmp(value, "auto") != 0)
        return refuse(refusal, RUN_FAILED, "--runtime-names %s: it is auto or off", value);
    return 0;
}

static int take_value(struct run_options *options, const char *option, const char *value,
                      struct refusal *refusal)
{
    char spelt[64];
    if (strcmp(option, "--format") == 0)
        return append(options->formats, value, refusal);
    if (strcmp(option, "--store") == 0) {
        options->store = value;
        return 0;
    }
    if (strcmp(option, "--runtime-names") == 0)
        return take_runtime_names(options, value, refusal);
    for (int i = 0; i < ROW_COUNT; i++) {
        spell_option(&rows[i], spelt);
        if (strcmp(option, spelt) == 0)
            return i == 0 ? take_out(options, value, refusal)
                          : take_variable(options, &rows[i], value, refusal);
    }
    return -1;
}

/* What the library would complain of, it would only log once the program runs. */
static int check_values(const struct run_options *options, struct refusal *refusal)
{
    static struct config config;
    static struct log log;
    memset(&config, 0, sizeof config);
    log_init(&log, LOG_ERROR);
    config_read(&config, &log, options->variables);
    if (log.used_bytes == 0)
        return 0;
    const char *begin = log.text + strlen("wallprof: ");
    const char *end = memchr(begin, '\n', log.used_bytes);
    const char *consequence = memrchr(begin, ';', (size_t)(end - begin)); /* "; using the default" */
    end = consequence ? consequence : end;
    return refuse(refusal, RUN_FAILED, "%.*s", (int)(end - begin), begin);
}

/* ---- options ---- */

static bool take_flag(struct run_options *options, const char *option)
{
    static const struct {
        const char *option;
        enum run_wish wish;
    } wishes[] = {
        {"--help", RUN_HELP}, {"-h", RUN_HELP}, {"--help-all", RUN_HELP_ALL}, {"--version", RUN_VERSION}};
    bool *flag = strcmp(option, "--quiet") == 0      ? &options->is_quiet
                 : strcmp(option, "--top") == 0      ? &options->shows_top
                 : strcmp(option, "--merge") == 0    ? &options->merges
                 : strcmp(option, "--external") == 0 ? &options->is_external
                                                     : NULL;
    if (flag)
        *flag = true;
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        if (strcmp(option, wishes[i].option) == 0)
            options->wish = wishes[i].wish;
    }
    return flag || options->wish != RUN_PROGRAM;
}

/* Splits --option=value, -ovalue, or --option and the next argument. Returns how many arguments it was. */
static int split(char **argv, char option[64], const char **ret_value)
{
    const char *argument = argv[0], *equals = strchrnul(argument, '=');
    bool is_short = strncmp(argument, "-o", 2) == 0;
    *ret_value = is_short && argument[2] ? argument + 2 : !is_short && *equals ? equals + 1 : NULL;
    snprintf(option, 64, "%.*s", is_short ? 0 : (int)(equals - argument), argument);
    if (is_short)
        strcpy(option, "--out");
    if (*ret_value)
        return 1;
    *ret_value = argv[1] ? argv[1] : "";
    return 2;
}

static int refuse_unknown(const char *word, const char *option, struct refusal *refusal)
{
    static const char *const own[] = {"--format",   "--store", "--runtime-names", "--top",      "--merge",
                                      "--external", "--quiet", "--help",          "--help-all", "--version"};
    char spelt[ROW_COUNT][64], text[LIKENESS_TEXT_BYTES];
    struct likeness likeness = {.word = option};
    for (int i = 0; i < ROW_COUNT; i++) {
        spell_option(&rows[i], spelt[i]);
        likeness_add(&likeness, spelt[i]);
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        likeness_add(&likeness, own[i]);
    return refuse(refusal, RUN_FAILED, "unknown option %s%s (see wallprof-run --help)", word,
                  likeness_text(&likeness, text));
}

static int take_option(struct run_options *options, char ***argv, struct refusal *refusal)
{
    char option[64];
    const char *value;
    int taken = split(*argv, option, &value);
    int status = take_value(options, option, value, refusal);
    if (status < 0)
        return refuse_unknown(**argv, option, refusal);
    if (status == 0 && !*value)
        return refuse(refusal, RUN_FAILED, "option %s needs a value", option);
    *argv += taken;
    return status;
}

int run_options_read(struct run_options *ret, char **argv, struct refusal *refusal)
{
    int status = 0;
    *ret = (struct run_options){.wish = RUN_PROGRAM};
    for (argv++; status == 0 && *argv && **argv == '-' && ret->wish == RUN_PROGRAM;) {
        if (strcmp(*argv, "--") == 0) {
            argv++;
            break;
        }
        if (take_flag(ret, *argv))
            argv++;
        else
            status = take_option(ret, &argv, refusal);
    }
    ret->program = argv;
    if (status != 0 || ret->wish != RUN_PROGRAM)
        return status;
    if (!*argv)
        return refuse(refusal, RUN_FAILED, "no program given (see wallprof-run --help)");
    return check_values(ret, refusal);
}

/* ---- help ---- */

/* The option and its value; beside and below it the text, in columns. */
static void print_row(const struct option_row *row)
{
    char head[80], text[512], option[64];
    spell_option(row, option);
    snprintf(head, sizeof head, "  %s %s", option, row->argument);
    snprintf(text, sizeof text, *row->standard ? "%s (%s)" : "%s", row->help, row->standard);
    int column = printf("%-*s", HELP_TEXT_COLUMN, head);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        if (column + 1 + (int)strlen(word) > HELP_COLUMNS)
            column = printf("\n%*s", HELP_TEXT_COLUMN, "") - 1;
        column += printf(" %s", word);
    }
    putchar('\n');
}

static void print_rows(bool is_rare)
{
    for (int i = 0; i < ROW_COUNT; i++) {
        if (rows[i].is_rare == is_rare)
            print_row(&rows[i]);
    }
}

int run_options_print_help(bool is_whole)
{
    puts("Usage: wallprof-run [options] [--] program [arguments]\n"
         "Runs the program with the wallprof profiler preloaded. Its streams, signals and\n"
         "exit status pass through; then one line on stderr says where the profile is.\n");
    print_rows(false);
    puts("  --format FORMAT,...  pprof, callgrind, folded, html, perfetto, firefox, store\n"
         "  --top                show at the end where the time went, on stderr\n"
         "  --merge              one profile of the program and all that it started\n"
         "  --external           preload nothing and record from outside (see man page)\n"
         "  --runtime-names HOW  off: node and java are not told to write names (auto)\n"
         "  --quiet              do not say at the end where the profile is\n"
         "  --help, --version; --help-all shows the rare options, too; -o is --out");
    if (is_whole) {
        putchar('\n');
        print_rows(true);
    }
    puts("\nAn option that is not given leaves its variable (WALLPROF_HZ) as it is.\n"
         "Exit status: the program's; 128+N if signal N ended it; 127: not found, 126: not\n"
         "executable, 125: it cannot be profiled, or wallprof-run itself failed.");
    return output_printed();
}
