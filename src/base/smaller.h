/* The smaller of two numbers, and differences that are not negative. */
#ifndef WALLPROF_SMALLER_H
#define WALLPROF_SMALLER_H

#include <stdint.h>

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What has passed from one number to another. 0 if that is smaller: two clocks are not read at one instant.
 */
static inline uint64_t since(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

#endif
