/* Arrays that grow. */
#ifndef WALLPROF_ARRAY_H
#define WALLPROF_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Makes room for one more element after `count` in a malloc'd array of elements of so many bytes. `array`
 * points to the caller's pointer to it, which is NULL with a capacity of 0 at first. False without memory:
 * the array and its capacity are then as they were.
 */
bool array_grow(void *array, uint32_t *capacity, size_t count, size_t element_bytes);

#endif
