#include "refusal.h"

#include <stdarg.h>
#include <stdio.h>

int refuse(struct refusal *refusal, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(refusal->text, sizeof refusal->text, format, arguments);
    va_end(arguments);
    return refusal->status = status;
}
