#include "command.h"
#include "likeness.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = 8192 };

/* Names from files may hold control characters of C0 and C1, which a terminal would obey. */
static void replace_controls(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at; at++) {
        bool is_c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;
        if (is_c1)
            at[1] = '?';
        if (is_c1 || *at < ' ' || *at == 0x7f)
            *at = '?';
    }
}

int command_fail(const char *format, ...)
{
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    replace_controls(text);
    fprintf(stderr, "wallprof: %s\n", text);
    return 1;
}

int command_misused(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "wallprof %s: ", command);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\nTry 'wallprof %s --help'.\n", command);
    va_end(arguments);
    return EXIT_USAGE;
}

static const struct option *find_letter(const struct option *options, int letter)
{
    while (options->name && options->val != letter)
        options++;
    return options->name ? options : NULL;
}

static int unknown_option(const char *command, const char *word, const struct option *options)
{
    char name[80], text[LIKENESS_TEXT_BYTES];
    const int bytes = (int)strcspn(word, "=");
    struct likeness likeness = {.word = name};
    snprintf(name, sizeof name, "%.*s", bytes - 2, word + 2);
    for (; options->name; options++)
        likeness_add(&likeness, options->name);
    if (likeness.best)
        snprintf(text, sizeof text, "; did you mean --%s?", likeness.best);
    return command_misused(command, "there is no option %.*s%s", bytes, word, likeness.best ? text : "");
}

int command_wrong_option(const char *command, char **argv, const struct option *options)
{
    const char *word = argv[optind - 1];
    const struct option *known = optopt ? find_letter(options, optopt) : NULL;
    if (!optopt)
        return unknown_option(command, word, options);
    if (!known)
        return command_misused(command, "there is no option -%c", optopt);
    return command_misused(command, "option --%s %s", known->name,
                           known->has_arg ? "needs a value" : "takes no value");
}

bool command_number(const char *text, long least, long most, long *ret)
{
    char *end;
    errno = 0;
    *ret = strtol(text, &end, 10);
    return end != text && !*end && errno == 0 && *ret >= least && *ret <= most;
}

int command_word(const char *const *words, int count, const char *word)
{
    int index = count - 1;
    while (index >= 0 && strcmp(words[index], word) != 0)
        index--;
    return index;
}
