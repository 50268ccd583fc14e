#include "outputs.h"
#include "tool/io/command.h"
#include "tool/io/output_file.h"

#include <stdio.h>
#include <string.h>

void outputs_print_formats(void)
{
    for (int format = 0; format < FORMAT_COUNT; format++)
        printf("%s%s", format ? ", " : "", format_word((enum wp_format)format));
}

int outputs_add(struct outputs *outputs, const char *path)
{
    if (outputs->count == OUTPUTS_MAX)
        return command_misused(outputs->command, "more than %d files at once", OUTPUTS_MAX);
    outputs->paths[outputs->count++] = path;
    return 0;
}

int outputs_settle(struct outputs *outputs)
{
    if (outputs->count == 0)
        return command_misused(outputs->command, "where to? (-o OUT)");
    for (int i = 0; i < outputs->count; i++) {
        outputs->formats[i] = format_of_name(output_file_name(outputs->paths[i]));
        if (outputs->format && format_of_word(outputs->format, &outputs->formats[i]) < 0)
            return command_misused(outputs->command, "there is no format '%s'", outputs->format);
    }
    return 0;
}

int outputs_write(const struct outputs *outputs, const struct wp_profile *profile)
{
    int status = 0;
    for (int i = 0; i < outputs->count; i++) {
        int failed = output_file_write(outputs->paths[i], outputs->formats[i], profile);
        if (!failed && outputs->is_verbose && strcmp(outputs->paths[i], "-") != 0)
            printf("written: %s\n", outputs->paths[i]);
        status |= failed;
    }
    return status | output_printed();
}
