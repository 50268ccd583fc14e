#include "array.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

bool array_grow(void *array, uint32_t *capacity, size_t count, size_t element_bytes)
{
    void **at = array;
    if (count < *capacity)
        return true;
    if (*capacity > UINT32_MAX / 2)
        return false;
    uint32_t larger = *capacity ? 2 * *capacity : FIRST_CAPACITY;
    void *moved = reallocarray(*at, larger, element_bytes);
    if (!moved)
        return false;
    *at = moved;
    *capacity = larger;
    return true;
}
