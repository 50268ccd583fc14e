/*
 * Functions to walk through: 160, unlike each other in what they keep where, each with 24 places that call
 * another. Compiled twice; CHAIN_NAME is the name of the way in.
 */
#include "report.h"
#include "unwind.h"

#include <sys/syscall.h>

typedef uint64_t step_fn(const struct hop *way, uint64_t kept);

static step_fn *const steps[];

/* The place's number keeps the calls from being merged into one. */
#define SITE(number)                                                                                         \
    case number:                                                                                             \
        result = steps[way[1].function](way + 1, kept ^ number);                                             \
        KEEP_CALL(number);                                                                                   \
        break;

/* clang-format off */
#define SITES                                                                                                \
    SITE(0) SITE(1) SITE(2) SITE(3) SITE(4) SITE(5) SITE(6) SITE(7)                                          \
    SITE(8) SITE(9) SITE(10) SITE(11) SITE(12) SITE(13) SITE(14) SITE(15)                                    \
    SITE(16) SITE(17) SITE(18) SITE(19) SITE(20) SITE(21) SITE(22) SITE(23)

/* The functions differ in the size of their frames, and in how many registers they save: what is used after
 * the call is kept over it. */
#define STEP(number)                                                                                         \
    KEEP_FRAME static uint64_t step_##number(const struct hop *way, uint64_t kept)                           \
    {                                                                                                        \
        uint64_t room[0x##number % 9 + 1], result = 0, a = kept * 3, b = kept ^ 0x##number, c = kept + 7;    \
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c) : "r"(room) : "memory");                             \
        switch (way->site) {                                                                                 \
        SITES                                                                                                \
        }                                                                                                    \
        if (0x##number % 4 > 0)                                                                              \
            result += a;                                                                                     \
        if (0x##number % 4 > 1)                                                                              \
            result ^= b;                                                                                     \
        if (0x##number % 4 > 2)                                                                              \
            result += c;                                                                                     \
        return result + room[0];                                                                             \
    }

#define STEPS(digit)                                                                                         \
    STEP(digit##0) STEP(digit##1) STEP(digit##2) STEP(digit##3) STEP(digit##4) STEP(digit##5)                \
    STEP(digit##6) STEP(digit##7) STEP(digit##8) STEP(digit##9) STEP(digit##a) STEP(digit##b)                \
    STEP(digit##c) STEP(digit##d) STEP(digit##e) STEP(digit##f)
#define NAMES(digit)                                                                                         \
    step_##digit##0, step_##digit##1, step_##digit##2, step_##digit##3, step_##digit##4, step_##digit##5,    \
    step_##digit##6, step_##digit##7, step_##digit##8, step_##digit##9, step_##digit##a, step_##digit##b,    \
    step_##digit##c, step_##digit##d, step_##digit##e, step_##digit##f

STEPS(0) STEPS(1) STEPS(2) STEPS(3) STEPS(4) STEPS(5) STEPS(6) STEPS(7) STEPS(8) STEPS(9)
    /* clang-format on */

    KEEP_FRAME static uint64_t at_bottom(const struct hop *way, uint64_t kept)
{
    (void)way;
    for (size_t i = 0; i < bottom.swept_bytes; i += 64)
        kept += (uint64_t)bottom.swept[i];
    long number = SYS_tgkill;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(bottom.pid), "S"(bottom.tid), "d"(bottom.signal)
                     : "rcx", "r11", "memory");
    return kept;
}

static step_fn *const steps[] = {NAMES(0), NAMES(1), NAMES(2), NAMES(3), NAMES(4), NAMES(5),
                                 NAMES(6), NAMES(7), NAMES(8), NAMES(9), at_bottom};

void CHAIN_NAME(const struct hop *way)
{
    steps[way->function](way, 1);
    KEEP_CALL(0);
}
