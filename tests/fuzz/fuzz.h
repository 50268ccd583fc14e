/*
 * What the fuzzers share: bytes of an input taken one after the other, and memory at fixed addresses between
 * guard pages.
 *
 * An input means the same in every run: addresses are those of the arena, which lies where neither the
 * loader nor a sanitizer puts anything, and nothing outside of it counts as readable.
 */
#ifndef WALLPROF_FUZZ_H
#define WALLPROF_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* libFuzzer's entry; always returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_ASSERT(condition)                                                                               \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition);                  \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* ---- input ---- */

struct fuzz_input {
    const uint8_t *at, *end;
};

/* After the end there are zeros. */
static inline uint8_t take_u8(struct fuzz_input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

static inline uint64_t take_fixed(struct fuzz_input *input, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)take_u8(input) << (8 * i);
    return value;
}

/* A number in one byte if it is small, negated or next to a power of two, else in three to nine. */
static inline uint64_t take_number(struct fuzz_input *input)
{
    uint8_t first = take_u8(input);
    if (first < 0x80)
        return first;
    if (first < 0xa0)
        return (uint64_t)0 - (first - 0x7fU);
    if (first < 0xe0)
        return (uint64_t)1 << (first - 0xa0U);
    if (first < 0xf0)
        return ((uint64_t)1 << (4 * (first - 0xdfU) - 1)) - 1;
    return take_fixed(input, first < 0xf6 ? 2 : first < 0xfb ? 4 : 8);
}

/* ---- memory ---- */

#define FUZZ_ARENA ((uint64_t)0x200000000000)
enum { FUZZ_ARENA_BYTES = 16 << 20, FUZZ_PAGE_BYTES = 4096 };

/* Nothing of the arena can be touched until it is opened; what was opened before stays where it is. */
static inline void fuzz_arena_reserve(void)
{
    void *want = (void *)(uintptr_t)FUZZ_ARENA;
    void *got = mmap(want, FUZZ_ARENA_BYTES, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    FUZZ_ASSERT(got == want);
}

static inline uint8_t *fuzz_arena_open(uint64_t offset, size_t bytes)
{
    uint8_t *start = (uint8_t *)(uintptr_t)(FUZZ_ARENA + offset);
    FUZZ_ASSERT(mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0);
    return start;
}

static inline bool fuzz_arena_holds(uint64_t address)
{
    return address >= FUZZ_ARENA && address < FUZZ_ARENA + FUZZ_ARENA_BYTES;
}

#endif
