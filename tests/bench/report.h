/* What every target reports of itself just before it exits, and how it makes frames that stay. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef __clang__
#define KEEP_FRAME __attribute__((noinline))
#else
#define KEEP_FRAME __attribute__((noinline, noclone))
#endif
/* After a function's last call: makes it no tail call, so that its frame stays. The number keeps functions
 * that are otherwise alike from being merged. */
#define KEEP_CALL(number) __asm__ volatile("" ::"i"(number) : "memory")

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void report_number(const char *name, uint64_t value)
{
    printf("%s %llu\n", name, (unsigned long long)value);
}

/* "Field:   123 kB" of a file in /proc, or without the unit. */
static uint64_t read_number(const char *path, const char *field)
{
    char line[256];
    unsigned long long number = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, field, strlen(field)) == 0 && sscanf(line + strlen(field), ": %llu", &number) == 1)
            break;
    }
    if (file)
        fclose(file);
    return number;
}

/* The last thing a target does. VmHWM is summed from counters per core, which lag by up to a few hundred KiB;
 * the rollup is counted page by page. */
static inline void report_end(void)
{
    report_number("hwm_kib", read_number("/proc/self/status", "VmHWM"));
    report_number("rss_kib", read_number("/proc/self/smaps_rollup", "Rss"));
    report_number("anonymous_kib", read_number("/proc/self/smaps_rollup", "Anonymous"));
    fflush(stdout);
    report_number("exit_ns", clock_ns(CLOCK_MONOTONIC));
    fflush(stdout);
}

#endif
