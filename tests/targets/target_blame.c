/*
 * Threads that make others wait, each in a way of its own. The functions that hold a lock meanwhile have
 * names of their own: the waits are to be blamed on these.
 *
 *     target_blame io|compute|chain|lock_test|producer_consumer MS
 *     target_blame deadlock THREADS
 *     target_blame timed|philosophers MS
 *
 * io, compute: one thread holds the journal for long, while it syncs a file, or while it computes. It holds a
 * second lock too, for as short as can be, which others take as often.
 * chain: the first waits for the second, which waits for the third, which waits for nobody.
 * lock_test, producer_consumer: after the programs of those names of Coz (Curtsinger, Berger: SOSP 2015).
 * deadlock: so many threads wait for each other for good. A reader of the standard output sees a line once
 * they do. The program ends when its standard input does.
 * timed, philosophers: the same locks, but nobody waits for good.
 */
#include "target.h"

#include <pthread.h>
#include <stdlib.h>

enum { PHILOSOPHERS = 5, ITEMS = 64 };

static pthread_mutex_t journal_mutex = PTHREAD_MUTEX_INITIALIZER, short_mutex = PTHREAD_MUTEX_INITIALIZER,
                       table_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t forks[PHILOSOPHERS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                              PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                              PTHREAD_MUTEX_INITIALIZER};
static uint64_t until_ns;
static volatile uint64_t sink;

static bool goes_on(void)
{
    return clock_ns(CLOCK_MONOTONIC) < until_ns;
}

static void pause_ns(uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
    nanosleep(&time, NULL);
}

static uint64_t turns_a_ms;

/* So much work that it takes a known CPU time, without a call. */
#define WORK(ns)                                                                                             \
    for (uint64_t turn = turns_a_ms * (ns) / NS_PER_MS; turn-- > 0;)                                         \
    sink += turn

static void measure_work(void)
{
    const uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    turns_a_ms = 2000000;
    WORK(NS_PER_MS);
    turns_a_ms = turns_a_ms * NS_PER_MS / (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) + 1;
}

static pthread_t begin(const char *name, void *(*routine)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, routine, argument) != 0)
        die("pthread_create");
    pthread_setname_np(thread, name);
    return thread;
}

/* ---- a holder that waits, and one that computes ---- */

static KEEP_FRAME void sync_journal(void)
{
    const struct timespec time = {0, 5 * NS_PER_MS};
    nanosleep(&time, NULL); /* a disk of a known speed */
    KEEP_CALL();
}

static KEEP_FRAME void compress_journal(void)
{
    WORK(5 * NS_PER_MS);
    KEEP_CALL();
}

static KEEP_FRAME void touch_counter(void)
{
    pthread_mutex_lock(&short_mutex);
    sink++;
    pthread_mutex_unlock(&short_mutex);
    KEEP_CALL();
}

static void *writer(void *inside)
{
    while (goes_on()) {
        pthread_mutex_lock(&journal_mutex);
        ((void (*)(void))inside)();
        pthread_mutex_unlock(&journal_mutex);
        touch_counter();
        pause_ns(NS_PER_MS);
    }
    return NULL;
}

static KEEP_FRAME void append(void)
{
    pthread_mutex_lock(&journal_mutex);
    sink++;
    pthread_mutex_unlock(&journal_mutex);
    KEEP_CALL();
}

static void *client(void *unused)
{
    while (goes_on()) {
        append();
        touch_counter();
        WORK(NS_PER_MS / 10);
    }
    return unused;
}

static void run_writer(void (*inside)(void))
{
    pthread_t threads[4];
    threads[0] = begin("writer", writer, (void *)inside);
    for (int i = 1; i < 4; i++)
        threads[i] = begin("client", client, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

/* ---- a chain ---- */

static KEEP_FRAME void read_table(void)
{
    const struct timespec time = {0, 6 * NS_PER_MS};
    nanosleep(&time, NULL);
    KEEP_CALL();
}

static void *third(void *unused)
{
    while (goes_on()) {
        pthread_mutex_lock(&table_mutex);
        read_table();
        pthread_mutex_unlock(&table_mutex);
        pause_ns(NS_PER_MS);
    }
    return unused;
}

static KEEP_FRAME void ask_table(void)
{
    pthread_mutex_lock(&table_mutex);
    sink++;
    pthread_mutex_unlock(&table_mutex);
    KEEP_CALL();
}

static void *second(void *unused)
{
    while (goes_on()) {
        pthread_mutex_lock(&journal_mutex);
        ask_table();
        pthread_mutex_unlock(&journal_mutex);
        pause_ns(NS_PER_MS);
    }
    return unused;
}

static void *first(void *unused)
{
    while (goes_on()) {
        append();
        pause_ns(NS_PER_MS / 10);
    }
    return unused;
}

static void run_chain(void)
{
    pthread_t threads[] = {begin("third", third, NULL), begin("second", second, NULL),
                           begin("first", first, NULL)};
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

/* ---- Coz's ---- */

static KEEP_FRAME void in_the_section(void)
{
    WORK(NS_PER_MS / 2);
    KEEP_CALL();
}

static KEEP_FRAME void outside_the_section(void)
{
    WORK(NS_PER_MS / 8);
    KEEP_CALL();
}

static void *contender(void *unused)
{
    while (goes_on()) {
        pthread_mutex_lock(&journal_mutex);
        in_the_section();
        pthread_mutex_unlock(&journal_mutex);
        outside_the_section();
    }
    return unused;
}

static void run_lock_test(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        threads[i] = begin("contender", contender, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int count;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

/* The queue's own work, under its lock. */
static KEEP_FRAME void move_item(int step)
{
    queue.count += step;
    WORK(NS_PER_MS / 4);
    pthread_cond_broadcast(&queue.changed);
    KEEP_CALL();
}

static void *producer(void *unused)
{
    while (goes_on()) {
        pthread_mutex_lock(&queue.mutex);
        while (queue.count == ITEMS && goes_on())
            pthread_cond_wait(&queue.changed, &queue.mutex);
        move_item(1);
        pthread_mutex_unlock(&queue.mutex);
    }
    return unused;
}

static void *consumer(void *unused)
{
    while (goes_on()) {
        pthread_mutex_lock(&queue.mutex);
        while (queue.count == 0 && goes_on())
            pthread_cond_wait(&queue.changed, &queue.mutex);
        move_item(-1);
        pthread_mutex_unlock(&queue.mutex);
    }
    return unused;
}

static void run_producer_consumer(void)
{
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
        threads[i] = i < 3 ? begin("producer", producer, NULL) : begin("consumer", consumer, NULL);
    pause_ns((until_ns - clock_ns(CLOCK_MONOTONIC)));
    for (int i = 0; i < 6; i++) { /* whoever waits for a change gets one */
        pthread_mutex_lock(&queue.mutex);
        pthread_cond_broadcast(&queue.changed);
        pthread_mutex_unlock(&queue.mutex);
    }
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
}

/* ---- circles ---- */

static pthread_barrier_t all_have_one;
static long seats;

static KEEP_FRAME void take_second_fork(long seat)
{
    pthread_mutex_lock(&forks[(seat + 1) % seats]);
    KEEP_CALL();
}

static void *stuck(void *seat)
{
    pthread_mutex_lock(&forks[(long)seat]);
    pthread_barrier_wait(&all_have_one);
    take_second_fork((long)seat);
    return NULL;
}

static void run_deadlock(void)
{
    char name[32], end;
    if (seats < 1 || seats > PHILOSOPHERS || pthread_barrier_init(&all_have_one, NULL, (unsigned)seats + 1))
        die("pthread_barrier_init");
    for (long seat = 0; seat < seats; seat++) {
        snprintf(name, sizeof name, "eater-%d", (int)seat + 1);
        begin(name, stuck, (void *)seat);
    }
    pthread_barrier_wait(&all_have_one);
    puts("stuck");
    fflush(stdout);
    while (read(STDIN_FILENO, &end, 1) > 0)
        continue;
}

static KEEP_FRAME void eat(long low, long high)
{
    pthread_mutex_lock(&forks[low]);
    pthread_mutex_lock(&forks[high]);
    sink++;
    pthread_mutex_unlock(&forks[high]);
    pthread_mutex_unlock(&forks[low]);
    KEEP_CALL();
}

/* The lower fork first: no circle closes. */
static void *philosopher(void *argument)
{
    const long seat = (long)argument, next = (seat + 1) % PHILOSOPHERS;
    while (goes_on())
        eat(seat < next ? seat : next, seat < next ? next : seat);
    return NULL;
}

/* Each takes its own fork and waits for the next one, but not for good. */
static void *patient(void *argument)
{
    const long seat = (long)argument;
    while (goes_on()) {
        struct timespec end;
        pthread_mutex_lock(&forks[seat]);
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_nsec += (long)(200 * NS_PER_MS);
        end.tv_sec += end.tv_nsec / (long)NS_PER_S;
        end.tv_nsec %= (long)NS_PER_S;
        if (pthread_mutex_timedlock(&forks[(seat + 1) % PHILOSOPHERS], &end) == 0)
            pthread_mutex_unlock(&forks[(seat + 1) % PHILOSOPHERS]);
        pthread_mutex_unlock(&forks[seat]);
    }
    return NULL;
}

static void run_philosophers(void *(*routine)(void *))
{
    pthread_t threads[PHILOSOPHERS];
    for (long seat = 0; seat < PHILOSOPHERS; seat++)
        threads[seat] = begin("philosopher", routine, (void *)seat);
    for (int seat = 0; seat < PHILOSOPHERS; seat++)
        pthread_join(threads[seat], NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc == 3 ? argv[1] : "";
    const long number = argc == 3 ? atol(argv[2]) : 0;
    measure_work();
    until_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t)number * NS_PER_MS;
    seats = number;
    if (strcmp(what, "io") == 0)
        run_writer(sync_journal);
    else if (strcmp(what, "compute") == 0)
        run_writer(compress_journal);
    else if (strcmp(what, "chain") == 0)
        run_chain();
    else if (strcmp(what, "lock_test") == 0)
        run_lock_test();
    else if (strcmp(what, "producer_consumer") == 0)
        run_producer_consumer();
    else if (strcmp(what, "deadlock") == 0)
        run_deadlock();
    else if (strcmp(what, "philosophers") == 0)
        run_philosophers(philosopher);
    else if (strcmp(what, "timed") == 0)
        run_philosophers(patient);
    else
        die("usage: target_blame WHAT NUMBER");
    return failures != 0;
}
