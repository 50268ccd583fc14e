/*
 * Many different stacks: 128 functions in 16 levels, through which every path leads from top to bottom.
 *
 *     paths PATHS MS     walks PATHS different paths in turn, for MS milliseconds
 *
 * Report on stdout: the lines of report_end.
 */
#include "report.h"

#include <stdlib.h>

typedef void step_fn(uint64_t path);

static step_fn *const *const levels[];

/* The path's lowest three bits choose one of the next level's eight functions. */
#define STEP(level, which)                                                                                   \
    KEEP_FRAME static void step_##level##_##which(uint64_t path)                                             \
    {                                                                                                        \
        levels[level + 1][path & 7](path >> 3);                                                              \
        KEEP_CALL(level * 8 + which);                                                                        \
    }

/* A level's functions and the table of them. */
/* clang-format off */
#define LEVEL(level)                                                                                         \
    STEP(level, 0) STEP(level, 1) STEP(level, 2) STEP(level, 3)                                              \
    STEP(level, 4) STEP(level, 5) STEP(level, 6) STEP(level, 7)                                              \
    static step_fn *const level_##level[] = {                                                                \
        step_##level##_0, step_##level##_1, step_##level##_2, step_##level##_3,                              \
        step_##level##_4, step_##level##_5, step_##level##_6, step_##level##_7};

LEVEL(0) LEVEL(1) LEVEL(2) LEVEL(3) LEVEL(4) LEVEL(5) LEVEL(6) LEVEL(7)
LEVEL(8) LEVEL(9) LEVEL(10) LEVEL(11) LEVEL(12) LEVEL(13) LEVEL(14) LEVEL(15)
    /* clang-format on */

    /* A few microseconds: nearly every sample finds a path walked to its end. */
    KEEP_FRAME static void bottom(uint64_t path)
{
    for (uint64_t i = path; i < path + 5000; i++)
        __asm__ volatile("" ::"r"(i));
}

static step_fn *const level_16[] = {bottom, bottom, bottom, bottom, bottom, bottom, bottom, bottom};

static step_fn *const *const levels[] = {level_0,  level_1,  level_2,  level_3,  level_4,  level_5,
                                         level_6,  level_7,  level_8,  level_9,  level_10, level_11,
                                         level_12, level_13, level_14, level_15, level_16};

/* The finalizer of splitmix64: neighbouring numbers become paths that part at once. */
static uint64_t path_of(uint64_t number)
{
    number = (number + 1) * 0x9e3779b97f4a7c15u;
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
    number = (number ^ number >> 27) * 0x94d049bb133111ebu;
    return number ^ number >> 31;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    uint64_t paths = strtoull(argv[1], NULL, 10);
    uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + strtoull(argv[2], NULL, 10) * 1000000;
    for (uint64_t number = 0; clock_ns(CLOCK_MONOTONIC) < end_ns; number++) {
        uint64_t path = path_of(number % paths);
        level_0[path & 7](path >> 3);
    }
    report_end();
    return 0;
}
