#include "report_title.h"
#include "base/name_pattern.h"

#include <stdio.h>

const char *report_title(const struct symbol_function *function, bool has_line,
                         char buffer[REPORT_TITLE_BYTES])
{
    if (!function->is_script)
        return function->name;
    snprintf(buffer, REPORT_TITLE_BYTES, has_line && function->start_line ? "%s %s:%u" : "%s %s",
             function->name, name_last_part(function->file), function->start_line);
    return buffer;
}
