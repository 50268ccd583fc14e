#include "command.h"
#include "recording.h"
#include "store_names.h"

#include <stdarg.h>
#include <stdio.h>

int command_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("wallprof: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
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

int command_open(struct recording *recording, const char *path)
{
    if (recording_open(recording, path) < 0)
        return command_fail("%s: %s", path, recording->reason);
    if (store_names_make(recording) < 0)
        command_fail("%s: there is not enough memory for names from debug information", path);
    return 0;
}
