/*
 * Thousands of threads, to be profiled.
 *
 *     target_many hold COUNT MS     COUNT threads at once, which wait for MS milliseconds
 *     target_many churn COUNT SEED  COUNT threads in all, begun and ended at random moments
 *
 * Each thread measures its own life, by the clock read in the first and in the last line of its start
 * routine. At the end they are reported on stdout:
 *
 *     thread NAME tid lifetime_ns
 *     main lifetime_ns
 *     late ns
 */
#include "target.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum {
    STACK_BYTES = 32768,
    WOKEN_AT_ONCE = 32,
    CREATORS = 4,
    PAUSE_US_MAX = 2000,
    LIFE_US_MAX = 200000,
    SPIN_US_MAX = 200
};

struct life {
    unsigned number;
    uint32_t life_us, spin_us; /* of churn */
    pid_t tid;
    uint64_t start_ns, end_ns;
};

static struct life *lives;
static unsigned count;
static atomic_uint begun, ended, gate;

static void sleep_us(uint64_t us)
{
    uint64_t due_ns = now_ns() + us * 1000;
    struct timespec until = timespec_of(due_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
    note_wakeup(due_ns, now_ns());
}

static void set_name(const struct life *life)
{
    char name[16];
    snprintf(name, sizeof name, "t-%u", life->number);
    prctl(PR_SET_NAME, name);
}

static void report(uint64_t main_ns)
{
    for (unsigned i = 0; i < count; i++)
        printf("thread t-%u %d %ju\n", lives[i].number, lives[i].tid,
               (uintmax_t)(lives[i].end_ns - lives[i].start_ns));
    printf("main %ju\nlate %ju\n", (uintmax_t)main_ns, (uintmax_t)latest_ns);
}

/* ---- hold ---- */

KEEP_FRAME static void wait_at_gate(void)
{
    while (!atomic_load(&gate))
        syscall(SYS_futex, &gate, FUTEX_WAIT_PRIVATE, 0, NULL);
    KEEP_CALL();
}

static void *held(void *argument)
{
    struct life *life = argument;
    life->start_ns = now_ns();
    life->tid = gettid();
    set_name(life);
    atomic_fetch_add(&begun, 1);
    wait_at_gate();
    life->end_ns = now_ns();
    return NULL;
}

/* A few at a time: of thousands that run at once,
 * many would be put off between their last line and their end. */
static void open_gate(void)
{
    atomic_store(&gate, 1);
    while (syscall(SYS_futex, &gate, FUTEX_WAKE_PRIVATE, WOKEN_AT_ONCE) > 0)
        sleep_us(500);
}

/* All stacks in one mapping: with one each, and a guard page, the kernel's limit of mappings is near. */
static char *map_stacks(void)
{
    size_t bytes = (size_t)STACK_BYTES * count;
    char *stacks =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED || madvise(stacks, bytes, MADV_NOHUGEPAGE))
        die("mmap");
    return stacks;
}

static void run_hold(unsigned ms)
{
    pthread_t *threads = calloc(count, sizeof(*threads));
    char *stacks = map_stacks();
    for (unsigned i = 0; i < count; i++) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, stacks + (size_t)STACK_BYTES * i, STACK_BYTES);
        errno = pthread_create(&threads[i], &attributes, held, &lives[i]);
        if (errno)
            die("pthread_create");
        pthread_attr_destroy(&attributes);
    }
    while (atomic_load(&begun) < count)
        sleep_us(1000);
    sleep_us((uint64_t)ms * 1000);
    open_gate();
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

/* ---- churn ---- */

static void spin_us(uint32_t us)
{
    for (uint64_t end_ns = now_ns() + us * (uint64_t)1000; now_ns() < end_ns;)
        ;
}

static void *pass(void *argument)
{
    struct life *life = argument;
    life->start_ns = now_ns();
    life->tid = gettid();
    set_name(life);
    spin_us(life->spin_us);
    sleep_us(life->life_us);
    atomic_fetch_add(&ended, 1);
    life->end_ns = now_ns();
    return NULL;
}

struct creator {
    pthread_t handle;
    struct life *own, *first;
    unsigned count, seed;
};

/* Every other thread is detached, and a tenth of them end at once. */
static void create(struct creator *creator)
{
    pthread_t *joined = calloc(creator->count, sizeof(*joined));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 2 * STACK_BYTES);
    for (unsigned i = 0; i < creator->count; i++) {
        struct life *life = &creator->first[i];
        unsigned us = (unsigned)rand_r(&creator->seed) % LIFE_US_MAX;
        life->life_us = us % 10 ? us : 0;
        life->spin_us = life->life_us ? (unsigned)rand_r(&creator->seed) % SPIN_US_MAX : 0;
        errno = pthread_create(&joined[i], &attributes, pass, life);
        if (errno)
            die("pthread_create");
        if (i % 2)
            pthread_detach(joined[i]);
        sleep_us((unsigned)rand_r(&creator->seed) % PAUSE_US_MAX);
    }
    for (unsigned i = 0; i < creator->count; i += 2)
        pthread_join(joined[i], NULL);
    pthread_attr_destroy(&attributes);
    free(joined);
}

static void *create_many(void *argument)
{
    struct creator *creator = argument;
    struct life *life = creator->own;
    life->start_ns = now_ns();
    life->tid = gettid();
    set_name(life);
    create(creator);
    life->end_ns = now_ns();
    return NULL;
}

static void run_churn(unsigned seed)
{
    struct creator creators[CREATORS];
    unsigned each = (count - CREATORS) / CREATORS;
    count = CREATORS + each * CREATORS;
    for (unsigned i = 0; i < CREATORS; i++) {
        creators[i] = (struct creator){.own = &lives[i],
                                       .first = &lives[CREATORS + (size_t)each * i],
                                       .count = each,
                                       .seed = seed * CREATORS + i};
        errno = pthread_create(&creators[i].handle, NULL, create_many, &creators[i]);
        if (errno)
            die("pthread_create");
    }
    for (unsigned i = 0; i < CREATORS; i++)
        pthread_join(creators[i].handle, NULL);
    while (atomic_load(&ended) < each * CREATORS)
        sleep_us(1000);
    sleep_us(100000); /* the last detached ones are on their way out */
}

int main(int argc, char **argv)
{
    uint64_t begin_ns = now_ns();
    if (argc != 4)
        return 2;
    count = (unsigned)atoi(argv[2]);
    lives = calloc(count, sizeof(*lives));
    for (unsigned i = 0; i < count; i++)
        lives[i].number = i;
    if (!strcmp(argv[1], "hold"))
        run_hold((unsigned)atoi(argv[3]));
    else if (!strcmp(argv[1], "churn") && count > CREATORS)
        run_churn((unsigned)atoi(argv[3]));
    else
        return 2;
    report(now_ns() - begin_ns);
    return 0;
}
