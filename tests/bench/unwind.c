/*
 * What a walk costs in a signal handler, ours and others', on stacks of compiled functions.
 *
 *     unwind PART...
 *
 * Every sample goes down a chain anew, is interrupted at its bottom by a signal, and one walker is timed in
 * the handler; the next sample is the next walker's. Parts, and what they print for each walker, in
 * picoseconds ("warm30.wallprof 123456" is the median):
 *
 *     warm       warm30, warm130: always the same stack of that depth, right after the same walk
 *     varied     varied30: another random way through 3,840 places of call each time, depth 30
 *     recursion  recursion200: a function within itself by one of two places, 200 deep, another way each time
 *     thread     thread30: the first walk of a new thread, depth 30
 *     cold       cold30: after 64 MiB were read; forgotten30: and the cached rules were dropped
 *
 * Depth is that of the whole stack, main's callers included; addresses.ROW.WALKER is how many a walker gave,
 * which is more where it begins in the handler. All walkers of one chain must agree on its addresses, or the
 * program says so and fails.
 */
#include "report.h"
#include "unwind.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

enum {
    WARM_SAMPLES = 3000,
    VARIED_SAMPLES = 12000,
    RECURSION_SAMPLES = 4000,
    THREAD_SAMPLES = 300,
    COLD_SAMPLES = 60,
    REPEATS_WARM = 3, /* walks before the one that is timed */
    SWEPT_BYTES = 64 << 20,
    DEPTH_MOST = 256,
};

struct bottom bottom;

/* What the handler is to do, and what it found; one thread at a time. */
static struct {
    const struct walker *walker;
    struct bounds bounds;
    int repeats; /* walks that are not timed, before the one that is */
    uint64_t ticks;
    size_t count;
    uint64_t addresses[WALK_CAPACITY];
} probe;

static uint64_t clock_ticks; /* between two readings with nothing in between */
static double ps_per_tick;
static bool has_failed;

/* ---- the clock ---- */

static inline uint64_t ticks_before(void)
{
    _mm_mfence();
    _mm_lfence();
    uint64_t ticks = __rdtsc();
    _mm_lfence();
    return ticks;
}

static inline uint64_t ticks_after(void)
{
    unsigned core;
    uint64_t ticks = __rdtscp(&core);
    _mm_lfence();
    return ticks;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static uint64_t median(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare_u64);
    return values[count / 2];
}

static void calibrate(void)
{
    static uint64_t empty[2001];
    uint64_t ns = clock_ns(CLOCK_MONOTONIC), ticks = ticks_before();
    for (size_t i = 0; i < 2001; i++) {
        uint64_t start = ticks_before();
        empty[i] = ticks_after() - start;
    }
    clock_ticks = median(empty, 2001);
    while (clock_ns(CLOCK_MONOTONIC) < ns + 50000000)
        continue;
    ticks = ticks_after() - ticks;
    ps_per_tick = (double)(clock_ns(CLOCK_MONOTONIC) - ns) * 1000 / (double)ticks;
}

/* ---- one sample ---- */

static void handle(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    walk_fn *walk = probe.walker->walk;
    for (int i = 0; i < probe.repeats; i++)
        walk(context, &probe.bounds, probe.addresses);
    uint64_t start = ticks_before();
    probe.count = walk(context, &probe.bounds, probe.addresses);
    uint64_t ticks = ticks_after() - start;
    probe.ticks = ticks > clock_ticks ? ticks - clock_ticks : 0;
}

static void enter_thread(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    for (size_t i = 0; i < WALKER_COUNT; i++) {
        if (walkers[i].enter)
            walkers[i].enter();
    }
    probe.bounds = (struct bounds){(uint64_t)(uintptr_t)low, (uint64_t)(uintptr_t)low + bytes};
    bottom.pid = getpid();
    bottom.tid = gettid();
}

/* The way of a walker that does not see the frames above the chain is longer by as many hops. */
static size_t hops_more[WALKER_COUNT], hops_most_more;

/* Not inlined: the stack above the chain is to be the same for all. */
KEEP_FRAME static uint64_t sample(size_t walker, const struct hop *way, int repeats)
{
    probe.walker = &walkers[walker];
    probe.repeats = repeats;
    probe.count = 0;
    walkers[walker].descend(way + hops_most_more - hops_more[walker]);
    return probe.ticks;
}

/* ---- ways down ---- */

static uint64_t random_state = 1;

static uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void way_straight(struct hop *way, size_t count)
{
    for (size_t i = 0; i < count; i++)
        way[i] = (struct hop){.function = (uint8_t)i, .site = (uint8_t)(i * 7 % CHAIN_SITES)};
    way[count] = (struct hop){.function = CHAIN_END};
}

static void way_random(struct hop *way, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t random = random_u64() >> 16;
        way[i] = (struct hop){.function = (uint8_t)(random % CHAIN_FUNCTIONS),
                              .site = (uint8_t)((random >> 16) % CHAIN_SITES)};
    }
    way[count] = (struct hop){.function = CHAIN_END};
}

static void way_recursive(struct hop *way, size_t count)
{
    for (size_t i = 0; i < count; i++)
        way[i] = (struct hop){.function = 11, .site = (uint8_t)(random_u64() >> 20 & 1)};
    way[count] = (struct hop){.function = CHAIN_END};
}

/* How many hops make a stack of that depth in this thread, when the caller calls sample; settles how many
 * more there have to be for walkers in code of their own. */
KEEP_FRAME static size_t hops_for(size_t depth)
{
    static struct hop way[2];
    size_t around[WALKER_COUNT];
    way_straight(way, 1);
    hops_most_more = 0;
    memset(hops_more, 0, sizeof(hops_more));
    for (size_t i = 0; i < WALKER_COUNT; i++) {
        sample(i, way, 0);
        around[i] = probe.count - 1;
    }
    for (size_t i = 0; i < WALKER_COUNT; i++) {
        bool is_other_code = walkers[i].descend != walkers[WALKER_OURS].descend;
        hops_more[i] = is_other_code ? around[WALKER_OURS] - around[i] : 0;
        hops_most_more = hops_more[i] > hops_most_more ? hops_more[i] : hops_most_more;
    }
    return depth - around[WALKER_OURS] + hops_most_more;
}

/* ---- do they all see the same? ---- */

/* The chain's part of the stack: the bottom is where the signal came, so it stands first for some walkers
 * and below their own frames for others. Callers' addresses may be the return address or lie one before. */
static bool agree(const uint64_t *ours, const uint64_t *theirs, size_t their_count, size_t hops)
{
    for (size_t first = 0; first < 8 && first + hops < their_count; first++) {
        size_t i = 1;
        while (i <= hops && (theirs[first + i] == ours[i] || theirs[first + i] == ours[i] + 1))
            i++;
        if (i > hops)
            return true;
    }
    return false;
}

static void check(const char *row, const struct hop *way, size_t hops)
{
    static uint64_t ours[WALK_CAPACITY];
    sample(WALKER_OURS, way, 0);
    memcpy(ours, probe.addresses, sizeof(ours));
    hops -= hops_most_more;
    for (size_t i = 0; i < WALKER_COUNT; i++) {
        if (walkers[i].enter)
            walkers[i].enter();
        sample(i, way, 0);
        char name[64];
        snprintf(name, sizeof(name), "addresses.%s.%s", row, walkers[i].name);
        report_number(name, probe.count);
        bool is_other_code = walkers[i].descend != walkers[WALKER_OURS].descend;
        if (probe.count < hops || (!is_other_code && !agree(ours, probe.addresses, probe.count, hops))) {
            fprintf(stderr, "unwind: %s sees another stack in %s: %zu addresses\n", walkers[i].name, row,
                    probe.count);
            has_failed = true;
        }
    }
}

/* ---- the parts ---- */

static void report_median(const char *row, const struct walker *walker, uint64_t *ticks, size_t count)
{
    char name[64];
    snprintf(name, sizeof(name), "%s.%s", row, walker->name);
    report_number(name, (uint64_t)((double)median(ticks, count) * ps_per_tick));
}

static uint64_t *ticks_of[WALKER_COUNT];

static void allocate_ticks(void)
{
    for (size_t i = 0; i < WALKER_COUNT; i++)
        ticks_of[i] = calloc(VARIED_SAMPLES, sizeof(uint64_t));
}

static void report_row(const char *row, size_t samples)
{
    for (size_t i = 0; i < WALKER_COUNT; i++)
        report_median(row, &walkers[i], ticks_of[i], samples);
}

KEEP_FRAME static void warm_row(const char *row, size_t depth)
{
    struct hop way[DEPTH_MOST];
    size_t hops = hops_for(depth);
    way_straight(way, hops);
    check(row, way, hops);
    for (size_t at = 0; at < WARM_SAMPLES; at++) {
        for (size_t i = 0; i < WALKER_COUNT; i++)
            ticks_of[i][at] = sample(i, way, REPEATS_WARM);
    }
    report_row(row, WARM_SAMPLES);
}

static void warm(void)
{
    warm_row("warm30", 30);
    warm_row("warm130", 130);
}

/* The first half is not counted: it fills the caches of rules. */
KEEP_FRAME static void changing_row(const char *row, size_t depth, size_t samples,
                                    void (*make_way)(struct hop *way, size_t count))
{
    struct hop way[DEPTH_MOST];
    size_t hops = hops_for(depth);
    make_way(way, hops);
    check(row, way, hops);
    for (size_t at = 0; at < 2 * samples; at++) {
        for (size_t i = 0; i < WALKER_COUNT; i++) {
            make_way(way, hops);
            ticks_of[i][at % samples] = sample(i, way, 0);
        }
    }
    report_row(row, samples);
}

static void varied(void)
{
    changing_row("varied30", 30, VARIED_SAMPLES, way_random);
}

static void recursion(void)
{
    changing_row("recursion200", 200, RECURSION_SAMPLES, way_recursive);
}

struct first_walk {
    size_t walker, hops; /* 0 hops: to find out how many */
    uint64_t ticks;
};

static void *take_first(void *data)
{
    struct first_walk *first = data;
    struct hop way[DEPTH_MOST];
    enter_thread();
    if (first->hops == 0)
        first->hops = hops_for(30);
    way_straight(way, first->hops);
    first->ticks = sample(first->walker, way, 0);
    return NULL;
}

static void run_thread(struct first_walk *first)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, take_first, first) != 0)
        exit(1);
    pthread_join(thread, NULL);
}

static void new_thread(void)
{
    struct first_walk first = {.walker = WALKER_OURS};
    run_thread(&first);
    size_t hops = first.hops;
    for (size_t at = 0; at < THREAD_SAMPLES; at++) {
        for (size_t i = 0; i < WALKER_COUNT; i++) {
            first = (struct first_walk){.walker = i, .hops = hops};
            run_thread(&first);
            ticks_of[i][at] = first.ticks;
        }
    }
    report_row("thread30", THREAD_SAMPLES);
    enter_thread();
}

KEEP_FRAME static void cold_row(const char *row, bool forgets)
{
    struct hop way[DEPTH_MOST];
    size_t hops = hops_for(30);
    way_straight(way, hops);
    check(row, way, hops);
    bottom.swept_bytes = SWEPT_BYTES;
    for (size_t at = 0; at < COLD_SAMPLES; at++) {
        for (size_t i = 0; i < WALKER_COUNT; i++) {
            if (forgets && walkers[i].forget)
                walkers[i].forget();
            ticks_of[i][at] = sample(i, way, 0);
        }
    }
    bottom.swept_bytes = 0;
    for (size_t i = 0; i < WALKER_COUNT; i++) {
        if (!forgets || walkers[i].forget)
            report_median(row, &walkers[i], ticks_of[i], COLD_SAMPLES);
    }
}

static void cold(void)
{
    char *memory =
        mmap(NULL, SWEPT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    memset(memory, 1, SWEPT_BYTES);
    bottom.swept = memory;
    cold_row("cold30", false);
    cold_row("forgotten30", true);
    munmap(memory, SWEPT_BYTES);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {
        {"warm", warm}, {"varied", varied}, {"recursion", recursion}, {"thread", new_thread}, {"cold", cold}};
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    sigaction(SIGPROF, &action, NULL);
    bottom.signal = SIGPROF;
    if (walkers_init() != 0)
        return 1;
    allocate_ticks();
    calibrate();
    enter_thread();
    for (int i = 1; i < argc; i++) {
        for (size_t part = 0; part < sizeof(parts) / sizeof(parts[0]); part++) {
            if (strcmp(argv[i], parts[part].name) == 0)
                parts[part].run();
        }
    }
    report_end();
    return has_failed;
}
