/* Strings only get shorter, so they are changed where they lie. ld.so(8): entries of LD_PRELOAD are separated
 * by colons or blanks. */
#include "environment.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const char preload_name[] = "LD_PRELOAD=", own_prefix[] = "WALLPROF_", separators[] = ": ";

static const char *last_part(const char *path, size_t length, size_t *ret_length)
{
    const char *slash = memrchr(path, '/', length);
    const char *name = slash ? slash + 1 : path;
    *ret_length = length - (size_t)(name - path);
    return name;
}

static bool is_called(const char *entry, size_t length, const char *library)
{
    size_t name_length, own_length;
    const char *name = last_part(entry, length, &name_length);
    const char *own = last_part(library, strlen(library), &own_length);
    return name_length == own_length && memcmp(name, own, own_length) == 0;
}

/* Keeps the entries that are not ours, each with the separator that follows it. Returns whether any is left.
 */
static bool remove_entries(char *list, const char *library)
{
    char *to = list;
    bool is_any = false;
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, separators), with_separator = length + (at[length] != '\0');
        if (length == 0 || !is_called(at, length, library)) {
            memmove(to, at, with_separator);
            to += with_separator;
            is_any |= length > 0;
        }
        at += with_separator;
    }
    while (to > list && strchr(separators, to[-1]))
        to--;
    *to = '\0';
    return is_any;
}

static bool is_to_stay(char *entry, const char *library)
{
    if (!strncmp(entry, own_prefix, sizeof(own_prefix) - 1))
        return false;
    if (strncmp(entry, preload_name, sizeof(preload_name) - 1) != 0)
        return true;
    return remove_entries(entry + sizeof(preload_name) - 1, library);
}

void environment_leave(char **environment, const char *library)
{
    char **to = environment;
    for (char **at = environment; *at; at++) {
        if (is_to_stay(*at, library))
            *to++ = *at;
    }
    *to = NULL;
}
