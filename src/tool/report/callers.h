/*
 * Who calls a function, and what it calls: shares of the time in it and in all that it calls.
 *
 * A stack with the function counts once: for what calls its outermost frame, and for what its innermost frame
 * calls. So the callers' time is the function's, and so is that of the callees. Time in which a thread waits
 * for work is left out, unless it is wanted.
 *
 * Called from: `wallprof callers`. Malloc.
 */
#ifndef WALLPROF_CALLERS_H
#define WALLPROF_CALLERS_H

#include "base/string_table.h"
#include "tool/meaning/meaning.h"

#include <stdbool.h>
#include <stddef.h>

struct callers_row {
    const char *name; /* "" for a caller: a thread begins in the function; for a callee: its own time */
    struct values values;
};

struct callers {
    struct string_table names;   /* holds the rows' names */
    struct values whole, in;     /* of all stacks, and of those with the function */
    struct callers_row *callers; /* owned; by wall time, largest first */
    struct callers_row *callees; /* owned; likewise */
    size_t caller_count, callee_count;
    bool is_known; /* there is such a function in the profile, with time or without */
};

/*
 * wanted: a function's name, or the end of one without arguments, template arguments and outer namespaces, as
 * reports show it. All functions of such a name count as one. 0; or -ENOMEM with nothing held.
 */
int callers_find(struct callers *callers, const struct profile *profile, const char *wanted, bool shows_idle);
void callers_free(struct callers *callers);

/* Whether a function of that name is wanted. */
bool callers_matches(const char *name, const char *wanted);

#endif
