/*
 * What reports call a function: its name. Scripts have many functions of one name, such as <module>, and
 * people know them by their place: "fetch shop.py:21", where the function begins.
 *
 * Called from: reports.
 */
#ifndef WALLPROF_REPORT_TITLE_H
#define WALLPROF_REPORT_TITLE_H

#include "profile/symbols.h"

#include <stdbool.h>

enum { REPORT_TITLE_BYTES = 2048 };

/* In the buffer, or the function's own name. has_line: with the line, which other versions of the script have
 * elsewhere. */
const char *report_title(const struct symbol_function *function, bool has_line,
                         char buffer[REPORT_TITLE_BYTES]);

#endif
