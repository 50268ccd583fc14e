#include "command.h"
#include "tool/read/recording.h"
#include "tool/read/store_names.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { MESSAGE_BYTES = 8192 };

/* Names out of files may hold what a terminal would obey: C0's and C1's controls, and escapes. */
static void disarm(char *text)
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
    disarm(text);
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

int command_open(struct recording *recording, const char *path)
{
    if (recording_open(recording, path) < 0)
        return command_fail("%s: %s", path, recording->reason);
    if (store_names_make(recording) < 0)
        command_fail("%s: there is not enough memory for names from debug information", path);
    return 0;
}
