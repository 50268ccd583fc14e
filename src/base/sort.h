/*
 * Sorting without memory: the C library's qsort may call malloc, which the engine must not.
 *
 * Heap sort: in place, O(n log n) whatever the input, not stable. compare is as for qsort.
 */
#ifndef WALLPROF_SORT_H
#define WALLPROF_SORT_H

#include <stddef.h>

enum { SORT_RECORD_MAX_BYTES = 64 };

/* Sorts count records of the given size, at most SORT_RECORD_MAX_BYTES each. */
void sort_records(void *records, size_t count, size_t record_bytes,
                  int (*compare)(const void *, const void *));

#endif
