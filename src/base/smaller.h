/* The smaller of two numbers. */
#ifndef WALLPROF_SMALLER_H
#define WALLPROF_SMALLER_H

#include <stdint.h>

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif
