/*
 * The numbers in a page's data as text, for tests that compare it: what zlib makes of them differs from
 * version to version.
 */
#ifndef WALLPROF_PAGE_NUMBERS_H
#define WALLPROF_PAGE_NUMBERS_H

/* A copy of the data in which each string of numbers is its numbers: "numbers":"0 0 1 5 7". Zeros stand one
 * by one. NULL if a string is not what src/tool/formats/html_numbers.h says. The caller frees it. */
char *page_numbers_shown(const char *data);

#endif
