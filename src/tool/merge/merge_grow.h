/* Growing arrays of the merging. */
#ifndef WALLPROF_TOOL_MERGE_GROW_H
#define WALLPROF_TOOL_MERGE_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Room for one more behind count entries of a malloc'd array, whose address `array` points to. False without
 * memory, and then the array is as it was. */
static inline bool merge_grow(void *array, uint32_t *capacity, uint32_t count, size_t bytes)
{
    void **at = array;
    if (count < *capacity)
        return true;
    if (*capacity > UINT32_MAX / 2)
        return false;
    uint32_t larger = *capacity ? 2 * *capacity : 64;
    void *moved = reallocarray(*at, larger, bytes);
    if (!moved)
        return false;
    *at = moved;
    *capacity = larger;
    return true;
}

#endif
