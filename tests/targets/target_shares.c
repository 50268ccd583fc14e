/*
 * Functions of known shares, called in random order for calls of exponential length. Prints what it knows.
 *
 * Each has a loop of the same instructions. How long those take depends on what else the machine does, so the
 * CPU clock is read every 2 ms, or after a longer call. What has passed is shared among the calls since then
 * by their iterations. Reading it after each call would be a part of the time of short ones.
 *
 * usage: target_shares CPU_SECONDS CALL_US SEED
 */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FUNCTIONS = 8, NS_BETWEEN_READINGS = 2000000 };

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

/* What is known of each function. */
static struct truth {
    uint64_t iterations, wall_ns; /* iterations: since the last reading of the CPU clock */
    double cpu_ns;
} truths[FUNCTIONS];

/* Shares the CPU time since the last reading. Returns the clock now. */
static uint64_t share_cpu(uint64_t before_ns, uint64_t iterations)
{
    uint64_t cpu_ns = read_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < FUNCTIONS; i++) {
        truths[i].cpu_ns += (double)(cpu_ns - before_ns) * (double)truths[i].iterations / (double)iterations;
        truths[i].iterations = 0;
    }
    return cpu_ns;
}

static int draw_function(const double share[FUNCTIONS])
{
    int function = 0;
    for (double at = drand48() * 1000; function < FUNCTIONS - 1 && (at -= share[function]) >= 0;)
        function++;
    return function;
}

static void print_truth(const double share[FUNCTIONS], uint64_t cpu_ns)
{
    printf("{\"cpu_ns\": %" PRIu64 ", \"functions\": {", cpu_ns);
    for (int i = 0; i < FUNCTIONS; i++)
        printf("%s\"share_%d\": {\"cpu_ns\": %.0f, \"wall_ns\": %" PRIu64 ", \"share\": %g}", i ? ", " : "",
               i, truths[i].cpu_ns, truths[i].wall_ns, share[i] / 1000);
    printf("}}\n");
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1, call_us = argc > 2 ? atof(argv[2]) : 50;
    long seed = argc > 3 ? atol(argv[3]) : 1;
    const double *share = shares[seed % 2];
    double per_ns = calibrate();
    uint64_t left = (uint64_t)(seconds * 1e9 * per_ns), unread = 0;
    uint64_t unread_max = (uint64_t)(NS_BETWEEN_READINGS * per_ns);
    srand48(seed);
    uint64_t begin_ns = read_ns(CLOCK_THREAD_CPUTIME_ID), cpu_ns = begin_ns,
             now_ns = read_ns(CLOCK_MONOTONIC);
    while (left > 0) {
        struct truth *truth = &truths[draw_function(share)];
        uint64_t count = (uint64_t)(-log(1 - drand48()) * call_us * 1000 * per_ns) + 1, before_ns = now_ns;
        functions[truth - truths](count);
        now_ns = read_ns(CLOCK_MONOTONIC);
        truth->wall_ns += now_ns - before_ns;
        truth->iterations += count;
        unread += count;
        left -= count < left ? count : left;
        if (unread < unread_max && left > 0)
            continue;
        cpu_ns = share_cpu(cpu_ns, unread);
        now_ns = read_ns(CLOCK_MONOTONIC); /* a busy machine may have taken the CPU in that call */
        unread = 0;
    }
    print_truth(share, cpu_ns - begin_ns);
    return 0;
}
