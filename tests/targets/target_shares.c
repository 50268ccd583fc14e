/*
 * Functions of known shares, called in random order for calls of exponential length. Each has a loop of the
 * same instructions, so its CPU time is its share of all iterations. Prints what the program knows.
 *
 * usage: target_shares CPU_SECONDS CALL_US SEED
 */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FUNCTIONS = 8 };

static const double shares[2][FUNCTIONS] = {{5, 10, 20, 50, 100, 200, 300, 315},
                                            {900, 50, 20, 10, 6, 5, 5, 4}};
static volatile uint64_t sums[FUNCTIONS];

#define SHARE(n)                                                                                             \
    __attribute__((noinline)) static void share_##n(uint64_t iterations)                                     \
    {                                                                                                        \
        for (uint64_t i = 0; i < iterations; i++)                                                            \
            sums[n] += i;                                                                                    \
    }
SHARE(0)
SHARE(1)
SHARE(2)
SHARE(3)
SHARE(4)
SHARE(5)
SHARE(6)
SHARE(7)

static void (*const functions[FUNCTIONS])(uint64_t) = {share_0, share_1, share_2, share_3,
                                                       share_4, share_5, share_6, share_7};

static uint64_t read_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static double calibrate(void)
{
    uint64_t best_ns = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before_ns = read_ns(CLOCK_THREAD_CPUTIME_ID);
        share_0(200000);
        uint64_t took_ns = read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
    }
    return 200000 / (double)best_ns;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1, call_us = argc > 2 ? atof(argv[2]) : 50;
    long seed = argc > 3 ? atol(argv[3]) : 1;
    const double *share = shares[seed % 2];
    double per_ns = calibrate();
    uint64_t iterations[FUNCTIONS] = {0}, wall_ns[FUNCTIONS] = {0}, all = 0;
    uint64_t most = (uint64_t)(seconds * 1e9 * per_ns);
    srand48(seed);
    uint64_t cpu_ns = read_ns(CLOCK_THREAD_CPUTIME_ID), now_ns = read_ns(CLOCK_MONOTONIC);
    while (all < most) {
        int function = 0;
        for (double at = drand48() * 1000; function < FUNCTIONS - 1 && (at -= share[function]) >= 0;)
            function++;
        uint64_t count = (uint64_t)(-log(1 - drand48()) * call_us * 1000 * per_ns) + 1;
        functions[function](count);
        iterations[function] += count;
        all += count;
        uint64_t before_ns = now_ns;
        now_ns = read_ns(CLOCK_MONOTONIC);
        wall_ns[function] += now_ns - before_ns;
    }
    cpu_ns = read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    printf("{\"cpu_ns\": %" PRIu64 ", \"functions\": {", cpu_ns);
    for (int i = 0; i < FUNCTIONS; i++)
        printf("%s\"share_%d\": {\"cpu_ns\": %.0f, \"wall_ns\": %" PRIu64 ", \"share\": %g}", i ? ", " : "",
               i, (double)cpu_ns * (double)iterations[i] / (double)all, wall_ns[i], share[i] / 1000);
    printf("}}\n");
    return 0;
}
