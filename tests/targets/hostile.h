/*
 * For programs that overwrite their interpreter's memory all the time: wild pointers into its records, to
 * pages that cannot be read, and anywhere.
 */
#ifndef WALLPROF_HOSTILE_H
#define WALLPROF_HOSTILE_H

#include "target.h"

#include <sys/mman.h>

enum { HOSTILE_PAGES = 64, HOSTILE_PAGE_WORDS = 512, HOSTILE_RECORDS_MAX = 8 };

struct hostile {
    char *pages[HOSTILE_PAGES]; /* every other one can be read */
    struct {
        uint64_t *words;
        uint32_t count;
    } records[HOSTILE_RECORDS_MAX];
    uint32_t record_count;
};

static bool hostile_ends; /* atomic */

static inline uint64_t address_of(const void *memory_of)
{
    return (uint64_t)(uintptr_t)memory_of;
}

static inline uint32_t random_word(void)
{
    static uint32_t word = 1;
    return (word = word * 1664525 + 1013904223) >> 8;
}

/* Returns so many pages that can be written. */
static inline uint64_t *hostile_init(struct hostile *hostile, int more)
{
    enum { PAGE_BYTES = HOSTILE_PAGE_WORDS * 8 };
    char *region = mmap(NULL, (size_t)(HOSTILE_PAGES + more) * PAGE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(region != MAP_FAILED, "memory is mapped");
    for (int i = 0; i < HOSTILE_PAGES; i++)
        check(mprotect(hostile->pages[i] = region + (size_t)i * PAGE_BYTES, PAGE_BYTES,
                       i % 2 ? PROT_NONE : PROT_READ) == 0,
              "pages cannot be read");
    return (uint64_t *)(void *)(region + (size_t)HOSTILE_PAGES * PAGE_BYTES);
}

/* A record that wild pointers may lead to. */
static inline void hostile_add(struct hostile *hostile, uint64_t *words, uint32_t count)
{
    hostile->records[hostile->record_count].words = words;
    hostile->records[hostile->record_count++].count = count;
}

static inline uint64_t hostile_pointer(const struct hostile *hostile)
{
    const uint32_t record = random_word() % hostile->record_count;
    switch (random_word() % 8) {
    case 0:
        return random_word();
    case 1:
        return (uint64_t)random_word() << 40 | random_word();
    case 2:
        return address_of(hostile->pages[random_word() % HOSTILE_PAGES]) +
               random_word() % HOSTILE_PAGE_WORDS * 8;
    case 3:
        return ~(uint64_t)random_word();
    case 4:
        return 0;
    default:
        return address_of(&hostile->records[record].words[random_word() % hostile->records[record].count]);
    }
}

static inline void hostile_change(const struct hostile *hostile, uint64_t *words, uint32_t count)
{
    __atomic_store_n(&words[random_word() % count], hostile_pointer(hostile), __ATOMIC_RELAXED);
}

/* For so many seconds. */
static inline void hostile_harm(void (*do_harm)(void), int seconds)
{
    const time_t end = time(NULL) + seconds;
    while (time(NULL) < end)
        do_harm();
    __atomic_store_n(&hostile_ends, true, __ATOMIC_RELAXED);
}

/* Computes and sleeps until then. */
static inline uint64_t hostile_compute(void)
{
    uint64_t sum = 0;
    for (int i = 0; !__atomic_load_n(&hostile_ends, __ATOMIC_RELAXED); i++) {
        sum += (uint64_t)i * 7;
        if (i % 2000 == 0)
            usleep(100 + (unsigned)i % 400);
    }
    return sum;
}

#endif
