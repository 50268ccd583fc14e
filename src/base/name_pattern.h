/* File names made from a pattern or another name. Pure functions: any thread, no allocation, no locale. */
#ifndef WALLPROF_NAME_PATTERN_H
#define WALLPROF_NAME_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The last part of a path; all of a path that ends with '/'. */
static inline const char *name_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* What a pattern's %-sequences stand for. */
struct pattern_values {
    uint32_t pid;         /* %p */
    const char *program;  /* %n: base name */
    const char *host;     /* %h */
    uint64_t start_utc_s; /* %t: as 20261121T041500Z */
    int32_t rank;         /* %r; a negative rank is written as 0 */
};

/* Expands %p %n %h %t %r %% %, in a file name pattern. Other sequences are kept as they are. 0 or
 * -ENAMETOOLONG. */
int name_pattern_expand(const char *pattern, const struct pattern_values *values, char *ret, size_t capacity);

/* Whether %p occurs in a pattern. */
bool name_pattern_has_pid(const char *pattern);

/* Inserts a text before the ending of a path: of app.pb.gz and 1234 it makes app.1234.pb.gz. 0; or
 * -ENAMETOOLONG with the path as it was. */
int name_pattern_insert(char *path, size_t capacity, const char *text);

#endif
