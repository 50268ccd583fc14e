/*
 * The loader separates the elements of LD_PRELOAD by colons and blanks (ld.so(8)). An element may name our
 * library by a path, a link or the bare name, so it is recognised by the last part of the name.
 */
#include "environment.h"
#include "base/arena.h"

#include <stdbool.h>
#include <string.h>

static const char preload_name[] = "LD_PRELOAD=";
static const char our_prefix[] = "WALLPROF_";
static const char separators[] = ": ";
static const char runtime_mark[] = "::"; /* after a runtime that we have put first; the loader skips it */

enum { PRELOAD_NAME_LENGTH = sizeof(preload_name) - 1, OUR_PREFIX_LENGTH = sizeof(our_prefix) - 1 };

struct environment {
    const char *library;  /* the last part of its name */
    const char *element;  /* of LD_PRELOAD, as the user wrote it; "" if it was not there */
    const char *preloads; /* the whole LD_PRELOAD entry at the start, NULL without */
    char *others;         /* the same without our elements, NULL if nothing is left */
    size_t count;         /* of the WALLPROF_ variables, which are in `entries` */
    const char *entries[];
};

static bool is_preload(const char *entry)
{
    return strncmp(entry, preload_name, PRELOAD_NAME_LENGTH) == 0;
}

static bool is_our_variable(const char *entry)
{
    return strncmp(entry, our_prefix, OUR_PREFIX_LENGTH) == 0;
}

/* ---- elements of LD_PRELOAD ---- */

static const char *next_element(const char *at, size_t *ret_length)
{
    at += strspn(at, separators);
    *ret_length = strcspn(at, separators);
    return *ret_length ? at : NULL;
}

static bool names_library(const char *element, size_t length, const char *library)
{
    size_t library_length = strlen(library);
    return length >= library_length &&
           memcmp(element + length - library_length, library, library_length) == 0 &&
           (length == library_length || element[length - library_length - 1] == '/');
}

/* Our element of an LD_PRELOAD entry, or NULL. */
static const char *find_element(const char *entry, const char *library, size_t *ret_length)
{
    const char *at = entry + PRELOAD_NAME_LENGTH;
    while ((at = next_element(at, ret_length)) != NULL && !names_library(at, *ret_length, library))
        at += *ret_length;
    return at;
}

/* Copies an LD_PRELOAD entry without our elements to ret, which is as long. False if nothing is left. */
static bool write_others(const char *entry, const char *library, char *ret)
{
    size_t length, used = PRELOAD_NAME_LENGTH;
    memcpy(ret, entry, used);
    for (const char *at = entry + used; (at = next_element(at, &length)) != NULL; at += length) {
        if (names_library(at, length, library))
            continue;
        if (used > PRELOAD_NAME_LENGTH)
            ret[used++] = ':';
        memcpy(ret + used, at, length);
        used += length;
    }
    ret[used] = '\0';
    return used > PRELOAD_NAME_LENGTH;
}

/* ---- at the start ---- */

static size_t count_of(char *const *environment)
{
    size_t count = 0;
    while (environment && environment[count])
        count++;
    return count;
}

static char *copy_text(char **at, const char *text, size_t length)
{
    char *start = *at;
    memcpy(start, text, length);
    start[length] = '\0';
    *at += length + 1;
    return start;
}

/* An upper bound of the bytes of all copies. */
static size_t text_bytes(char *const *environment, const char *library)
{
    size_t bytes = strlen(library) + 2;
    for (; *environment; environment++) {
        if (is_our_variable(*environment) || is_preload(*environment))
            bytes += 3 * (strlen(*environment) + 1);
    }
    return bytes;
}

static void note_preload(struct environment *ours, const char *entry, char **at)
{
    size_t length;
    const char *element = find_element(entry, ours->library, &length);
    if (!element)
        return;
    ours->element = copy_text(at, element, length);
    ours->preloads = copy_text(at, entry, strlen(entry));
    ours->others = *at;
    *at += strlen(entry) + 1;
    if (!write_others(entry, ours->library, ours->others))
        ours->others = NULL;
}

static struct environment *note_ours(char *const *environment, const char *library)
{
    const char *slash = strrchr(library, '/');
    size_t count = count_of(environment), fixed = sizeof(struct environment) + count * sizeof(char *);
    library = slash ? slash + 1 : library;
    struct environment *ours = scratch_alloc(fixed + text_bytes(environment, library));
    if (!ours)
        return NULL;
    char *at = (char *)ours + fixed;
    ours->library = copy_text(&at, library, strlen(library));
    ours->element = "";
    for (; *environment; environment++) {
        if (is_our_variable(*environment))
            ours->entries[ours->count++] = copy_text(&at, *environment, strlen(*environment));
        else if (is_preload(*environment) && !ours->preloads)
            note_preload(ours, *environment, &at);
    }
    return ours;
}

static void remove_ours(const struct environment *ours, char **environment)
{
    char **to = environment;
    for (; *environment; environment++) {
        bool is_noted = ours->preloads && strcmp(*environment, ours->preloads) == 0;
        char *kept = is_our_variable(*environment) ? NULL : is_noted ? ours->others : *environment;
        if (kept)
            *to++ = kept;
    }
    *to = NULL;
}

struct environment *environment_leave(char **environment, const char *library)
{
    struct environment *ours = note_ours(environment, library);
    if (ours)
        remove_ours(ours, environment);
    return ours;
}

/* ---- for a program that is being started ---- */

const char *environment_own_element(const struct environment *ours)
{
    return ours->element;
}

size_t environment_bytes(const struct environment *ours, char *const *environment)
{
    size_t pointers = count_of(environment) + ours->count + 2;
    size_t bytes = PRELOAD_NAME_LENGTH + strlen(ours->element) + 1;
    for (; environment && *environment; environment++) {
        if (is_preload(*environment))
            bytes += strlen(*environment) + strlen(ours->element) + 2;
    }
    return pointers * sizeof(char *) + bytes;
}

static bool sets(char *const *environment, const char *entry)
{
    size_t length = (size_t)(strchrnul(entry, '=') - entry) + 1;
    for (; environment && *environment; environment++) {
        if (strncmp(*environment, entry, length) == 0)
            return true;
    }
    return false;
}

/* An LD_PRELOAD entry with our element: the entry itself, the one of the start, or a new one at *text. */
static char *preload_with(const struct environment *ours, char *entry, char **text)
{
    size_t length;
    if (find_element(entry, ours->library, &length))
        return entry;
    if (ours->others && strcmp(entry, ours->others) == 0)
        return (char *)ours->preloads;
    char *with = *text, *end = stpcpy(stpcpy(with, preload_name), ours->element);
    if (entry[PRELOAD_NAME_LENGTH])
        end = stpcpy(stpcpy(end, ":"), entry + PRELOAD_NAME_LENGTH);
    *text = end + 1;
    return with;
}

char **environment_with(const struct environment *ours, char *const *environment, void *space)
{
    char empty[] = "LD_PRELOAD=";
    char **array = space, **to = array, *text = (char *)(array + count_of(environment) + ours->count + 2);
    for (size_t i = 0; environment && environment[i]; i++) {
        bool gets_element = *ours->element && is_preload(environment[i]);
        *to++ = gets_element ? preload_with(ours, environment[i], &text) : environment[i];
    }
    if (*ours->element && !sets(environment, preload_name))
        *to++ = preload_with(ours, empty, &text);
    for (size_t i = 0; i < ours->count; i++) {
        if (!sets(environment, ours->entries[i]))
            *to++ = (char *)ours->entries[i];
    }
    *to = NULL;
    return array;
}

/* ---- for a program that starts without our library, or with another library before it ---- */

const char *environment_element(char *const *environment, const char *library, size_t *ret_length)
{
    const char *element = NULL;
    for (; environment && *environment && !element; environment++)
        element = is_preload(*environment) ? find_element(*environment, library, ret_length) : NULL;
    return element;
}

size_t environment_changed_bytes(char *const *environment, const char *runtime)
{
    size_t bytes = (count_of(environment) + 1) * sizeof(char *);
    for (; *environment; environment++) {
        if (is_preload(*environment))
            bytes += strlen(*environment) + strlen(runtime) + sizeof(runtime_mark);
    }
    return bytes;
}

static bool begins_with(const char *entry, const char *runtime)
{
    return strncmp(entry + PRELOAD_NAME_LENGTH, runtime, strlen(runtime)) == 0;
}

/* Copies an LD_PRELOAD entry with the runtime before all else. */
static void write_behind(const char *entry, const char *runtime, char *ret)
{
    ret = stpcpy(stpcpy(stpcpy(ret, preload_name), runtime), runtime_mark);
    strcpy(ret, entry + PRELOAD_NAME_LENGTH);
}

char **environment_changed(char *const *environment, const char *library, const char *runtime, void *space)
{
    char **array = space, **to = array, *text = (char *)(array + count_of(environment) + 1);
    for (; *environment; environment++) {
        bool is_kept = true;
        if (!is_preload(*environment) || (*runtime && begins_with(*environment, runtime))) {
            *to++ = *environment;
            continue;
        }
        if (*runtime)
            write_behind(*environment, runtime, text);
        else
            is_kept = write_others(*environment, library, text);
        if (is_kept)
            *to++ = text;
        text += strlen(text) + 1;
    }
    *to = NULL;
    return array;
}

void environment_take_runtime(char *const *environment, bool is_runtime(const char *name))
{
    for (; *environment; environment++) {
        char *value = *environment + PRELOAD_NAME_LENGTH;
        char *mark = is_preload(*environment) ? strstr(value, runtime_mark) : NULL;
        if (mark && is_runtime(value) && strcspn(value, separators) == (size_t)(mark - value))
            memmove(value, mark + sizeof(runtime_mark) - 1, strlen(mark + sizeof(runtime_mark) - 1) + 1);
    }
}
