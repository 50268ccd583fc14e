#include "merge_title.h"
#include "base/name_pattern.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Longer ones lose their directories. */
enum { SOURCE_BYTES = 48 };

static const char *const endings[] = {
    ".c",  ".cc",  ".cpp", ".cxx", ".C",   ".i",   ".ii",  ".s",     ".S",     ".m",    ".mm",
    ".d",  ".f",   ".f90", ".go",  ".rs",  ".hs",  ".ml",  ".zig",   ".kt",    ".py",   ".rb",
    ".pl", ".php", ".lua", ".js",  ".mjs", ".cjs", ".ts",  ".sh",    ".swift", ".java", ".R",
    ".jl", ".ex",  ".exs", ".erl", ".tcl", ".awk", ".jar", ".class", ".sql"};

static bool is_source(const char *word, size_t bytes)
{
    for (size_t i = 0; *word != '-' && i < sizeof endings / sizeof *endings; i++) {
        size_t ending_bytes = strlen(endings[i]);
        if (bytes > ending_bytes && memcmp(word + bytes - ending_bytes, endings[i], ending_bytes) == 0)
            return true;
    }
    return false;
}

const char *merge_title(const struct process_record *process, const char *command,
                        char ret[PROCESS_TITLE_TEXT_BYTES])
{
    *ret = '\0';
    if (process->title && *process->title) {
        snprintf(ret, PROCESS_TITLE_TEXT_BYTES, "%s", process->title);
        return ret;
    }
    const char *word = command + strcspn(command, " ");
    for (size_t bytes = 0; *word; word += bytes) {
        word += strspn(word, " ");
        bytes = strcspn(word, " ");
        if (!is_source(word, bytes))
            continue;
        char source[PROCESS_TITLE_TEXT_BYTES];
        snprintf(source, sizeof source, "%.*s", (int)bytes, word);
        snprintf(ret, PROCESS_TITLE_TEXT_BYTES, "%.64s %.62s", process->name,
                 bytes > SOURCE_BYTES ? name_last_part(source) : source);
        break;
    }
    return ret;
}
