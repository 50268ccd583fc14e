#include "object_sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many different names of a kind are told. More members are counted, up to so many. */
enum { NAMED = 3, COUNTED = 8 };

static void sort_names(struct object_set *set)
{
    char name[KNOWN_OBJECT_BYTES];
    for (uint32_t i = 1; i < set->count; i++) {
        uint32_t at = i;
        strcpy(name, set->names[i]);
        for (; at > 0 && strcmp(set->names[at - 1], name) > 0; at--)
            strcpy(set->names[at], set->names[at - 1]);
        strcpy(set->names[at], name);
    }
}

static size_t kind_bytes(const char *name)
{
    return strcspn(name, " ");
}

static bool is_same_kind(const char *a, const char *b)
{
    return kind_bytes(a) == kind_bytes(b) && strncmp(a, b, kind_bytes(a)) == 0;
}

static const char *comma_after(const char *text)
{
    return strstr(text, " of ") ? ", " : " of ";
}

/* How many different names there are; 0 if one of them has nothing but its kind. */
static uint32_t count_different(const char (*names)[KNOWN_OBJECT_BYTES], uint32_t count)
{
    uint32_t different = names[0][kind_bytes(names[0])] != '\0';
    for (uint32_t i = 1; different && i < count; i++)
        different += strcmp(names[i], names[i - 1]) != 0;
    return different;
}

static void append_names(const char (*names)[KNOWN_OBJECT_BYTES], uint32_t count, char *text)
{
    for (uint32_t i = 0; i < count; i++) {
        const size_t length = strlen(text);
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
            snprintf(text + length, KNOWN_OBJECT_BYTES - length, "%s%s", comma_after(text), names[i]);
    }
}

/* names: all of one kind, sorted, so that one that has nothing but its kind is the first. */
static void append_kind(const char (*names)[KNOWN_OBJECT_BYTES], uint32_t count, char *text)
{
    const size_t length = strlen(text), bytes = kind_bytes(names[0]);
    const uint32_t different = count_different(names, count);
    if (different >= 1 && different <= NAMED)
        append_names(names, count, text);
    else if (count > COUNTED)
        snprintf(text + length, KNOWN_OBJECT_BYTES - length, "%smany %.*s", comma_after(text), (int)bytes,
                 names[0]);
    else
        snprintf(text + length, KNOWN_OBJECT_BYTES - length, "%s%u %.*s", comma_after(text), count,
                 (int)bytes, names[0]);
}

void object_set_name(struct object_set *set, const char *word, char ret[KNOWN_OBJECT_BYTES])
{
    snprintf(ret, KNOWN_OBJECT_BYTES, "%s", word);
    sort_names(set);
    if (set->count > 0 && strcmp(set->names[0], set->names[set->count - 1]) == 0) {
        strcpy(ret, set->names[0]);
        return;
    }
    for (uint32_t first = 0, end; first < set->count; first = end) {
        for (end = first + 1; end < set->count && is_same_kind(set->names[first], set->names[end]);)
            end++;
        append_kind(&set->names[first], end - first, ret);
    }
}

int object_set_members(const char *text, int ret[OBJECT_SET_MAX])
{
    static const char field[] = "tfd:";
    int count = 0;
    while ((text = strstr(text, field))) {
        text += sizeof field - 1;
        if (count == OBJECT_SET_MAX)
            return -1;
        ret[count++] = atoi(text);
    }
    return count;
}
