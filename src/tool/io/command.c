#include "command.h"

#include <errno.h>
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
