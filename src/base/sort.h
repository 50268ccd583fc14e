/*
 * Sorting without memory: the C library's qsort may call malloc, which the engine must not. And binary search
 * by a number. Any thread.
 *
 * Heap sort: in place, O(n log n) whatever the input, not stable. compare is as for qsort.
 */
#ifndef WALLPROF_SORT_H
#define WALLPROF_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SORT_RECORD_MAX_BYTES = 64 };

/* Sorts count records of the given size, at most SORT_RECORD_MAX_BYTES each. */
void sort_records(void *records, size_t count, size_t record_bytes,
                  int (*compare)(const void *, const void *));

/* Compares records that begin with a number, a uint64_t. */
static inline int sort_compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/*
 * The index of the first record whose number is at least `number`; count if there is none. Each record begins
 * with its number, and the records ascend by it.
 */
static inline size_t sort_find_first(const void *records, size_t count, size_t record_bytes, uint64_t number)
{
    const char *first = records;
    for (size_t left = count; left > 0;) {
        size_t half = left / 2;
        const char *middle = first + half * record_bytes;
        uint64_t found;
        memcpy(&found, middle, sizeof found);
        bool is_before = found < number;
        first = is_before ? middle + record_bytes : first;
        left = is_before ? left - half - 1 : half;
    }
    return (size_t)(first - (const char *)records) / record_bytes;
}

#endif
