#include "name_pattern.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* UTC as 20261121T041500Z. gmtime_r may allocate and read /etc/localtime, so it is not used. The calendar is
 * Howard Hinnant's ("chrono-compatible low-level date algorithms", civil_from_days). */
static void format_utc(uint64_t seconds, char *ret, size_t capacity)
{
    uint64_t days = seconds / 86400 + 719468, second = seconds % 86400;
    uint64_t era = days / 146097, day_of_era = days % 146097;
    uint64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint64_t month_from_march = (5 * day_of_year + 2) / 153;
    unsigned day = (unsigned)(day_of_year - (153 * month_from_march + 2) / 5 + 1);
    unsigned month = (unsigned)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    unsigned year = (unsigned)(year_of_era + era * 400 + (month <= 2));
    snprintf(ret, capacity, "%04u%02u%02uT%02u%02u%02uZ", year, month, day, (unsigned)(second / 3600),
             (unsigned)(second / 60 % 60), (unsigned)(second % 60));
}

/* What a %-sequence stands for; NULL if it has no meaning. */
static const char *expand_sequence(char letter, const struct pattern_values *values, char *buffer,
                                   size_t capacity)
{
    switch (letter) {
    case 'p':
        snprintf(buffer, capacity, "%u", values->pid);
        return buffer;
    case 'n':
        return values->program;
    case 'h':
        return values->host;
    case 'r':
        snprintf(buffer, capacity, "%d", values->rank > 0 ? values->rank : 0);
        return buffer;
    case 't':
        format_utc(values->start_utc_s, buffer, capacity);
        return buffer;
    case '%':
        return "%";
    case ',':
        return ",";
    default:
        return NULL;
    }
}

int name_pattern_expand(const char *pattern, const struct pattern_values *values, char *ret, size_t capacity)
{
    size_t used = 0;
    for (const char *at = pattern; *at; at++) {
        char buffer[32], literal[2] = {*at, '\0'};
        const char *text = *at == '%' ? expand_sequence(at[1], values, buffer, sizeof(buffer)) : NULL;
        if (text)
            at++;
        else
            text = literal;
        size_t length = strlen(text);
        if (used + length >= capacity)
            return -ENAMETOOLONG;
        memcpy(ret + used, text, length);
        used += length;
    }
    ret[used] = '\0';
    return 0;
}

bool name_pattern_has_pid(const char *pattern)
{
    for (const char *at = strchr(pattern, '%'); at && at[1]; at = strchr(at + 2, '%')) {
        if (at[1] == 'p')
            return true;
    }
    return false;
}

/* Where the ending of a file's name begins. ".pb.gz" and the like are one ending. */
static size_t ending_at(const char *path)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    const char *dot = strrchr(base, '.');
    if (!dot || dot == base)
        return strlen(path);
    if (!strcmp(dot, ".gz")) {
        const char *inner = memrchr(base, '.', (size_t)(dot - base));
        if (inner && inner != base)
            dot = inner;
    }
    return (size_t)(dot - path);
}

int name_pattern_insert(char *path, size_t capacity, const char *text)
{
    size_t length = 1 + strlen(text), at = ending_at(path), rest = strlen(path) - at;
    if (strlen(path) + length >= capacity)
        return -ENAMETOOLONG;
    memmove(path + at + length, path + at, rest + 1);
    path[at] = '.';
    memcpy(path + at + 1, text, length - 1);
    return 0;
}
