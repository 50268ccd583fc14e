/*
 * File names that are made of a pattern or of another name. Pure functions: any thread, no allocation, no
 * locale.
 */
#ifndef WALLPROF_NAME_PATTERN_H
#define WALLPROF_NAME_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a pattern's %-sequences stand for. */
struct pattern_values {
    uint32_t pid;         /* %p */
    const char *program;  /* %n: base name */
    const char *host;     /* %h */
    uint64_t start_utc_s; /* %t: as 20261121T041500Z */
    int32_t rank;         /* %r; a negative one is written as 0 */
};

/*
 * Expands %p %n %h %t %r %% %, in a file name pattern; another sequence is kept as it stands. ret_has_pid
 * says whether %p occurred. 0, or -ENAMETOOLONG.
 */
int name_pattern_expand(const char *pattern, const struct pattern_values *values, char *ret, size_t capacity,
                        bool *ret_has_pid);

/* Makes app.1234.pb.gz of app.pb.gz and the text 1234: inserts the text into the last part of a path, before
 * its endings. 0 or -ENAMETOOLONG; the path is then as it was. */
int name_pattern_insert(char *path, size_t capacity, const char *text);

#endif
