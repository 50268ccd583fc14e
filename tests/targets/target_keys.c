/*
 * How many thread-specific keys a program can have, and how its threads end while it has them all, for
 * e2e_keys.sh.
 *
 *     target_keys count         prints how many keys there are, in the main thread and in another
 *     target_keys END [all]     threads end in every way, and main last, by END: return, exit, cancel
 *                               all: while every key is taken
 *
 * Each thread says as its last statement "thread TID CPU_NS". A destructor of the program works in
 * work_in_destructor, in the last round that there is, and says "destroyed TID CPU_NS".
 */
#include "target.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <threads.h>

enum { WORK_MS = 60 };

static pthread_key_t keys[PTHREAD_KEYS_MAX];
static int key_count;
static pthread_t main_thread;

static void take_all_keys(void)
{
    while (key_count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[key_count], NULL) == 0)
        key_count++;
}

static void *count_keys(void *unused)
{
    take_all_keys();
    printf("%d keys\n", key_count);
    while (key_count > 0)
        CHECK(pthread_key_delete(keys[--key_count]) == 0);
    return unused;
}

static __thread uint64_t before_ns; /* CPU time of the main thread before main */

static void say_as(const char *what)
{
    printf("%s %ld %ju\n", what, syscall(SYS_gettid),
           (uintmax_t)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns));
}

static void say(void *unused)
{
    (void)unused;
    say_as("thread");
}

KEEP_FRAME static void work(void)
{
    work_ms(WORK_MS);
    KEEP_CALL();
}

KEEP_FRAME static void work_in_destructor(void)
{
    work_ms(WORK_MS);
    KEEP_CALL();
}

static void *end_by_return(void *unused)
{
    work();
    say(NULL);
    return unused;
}

static void *end_by_exit(void *unused)
{
    work();
    say(NULL);
    pthread_exit(unused);
}

static int end_by_thrd_exit(void *unused)
{
    (void)unused;
    work();
    say(NULL);
    thrd_exit(7);
}

static void *be_cancelled(void *barrier)
{
    pthread_cleanup_push(say, NULL);
    work();
    pthread_barrier_wait(barrier);
    for (;;)
        pause();
    pthread_cleanup_pop(0);
    return NULL;
}

/* ---- a destructor of the program ---- */

static pthread_key_t round_key;

static void destroy(void *round)
{
    if ((uintptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(round_key, (void *)((uintptr_t)round + 1));
        return;
    }
    work_in_destructor();
    say_as("destroyed");
}

static void *end_with_key(void *unused)
{
    pthread_setspecific(round_key, (void *)1);
    return unused;
}

static pthread_t start(void *(*routine)(void *), void *argument)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, routine, argument) == 0);
    return thread;
}

static void run_threads(void)
{
    pthread_barrier_t barrier;
    void *result;
    thrd_t c11;
    int status = 0;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t cancelled = start(be_cancelled, &barrier);
    pthread_join(start(end_by_return, NULL), NULL);
    pthread_join(start(end_by_exit, NULL), NULL);
    pthread_join(start(end_with_key, NULL), NULL);
    CHECK(thrd_create(&c11, end_by_thrd_exit, NULL) == thrd_success &&
          thrd_join(c11, &status) == thrd_success);
    CHECK(status == 7);
    pthread_barrier_wait(&barrier);
    pthread_cancel(cancelled);
    CHECK(pthread_join(cancelled, &result) == 0 && result == PTHREAD_CANCELED);
}

/* ---- the end of main ---- */

static void *cancel_main(void *unused)
{
    pthread_cancel(main_thread);
    return unused;
}

static void say_at_exit(void)
{
    puts("exit handler");
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    main_thread = pthread_self();
    before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    atexit(say_at_exit);
    if (!strcmp(how, "count")) {
        count_keys(NULL);
        pthread_join(start(count_keys, NULL), NULL);
        return failures != 0;
    }
    CHECK(pthread_key_create(&round_key, destroy) == 0);
    if (argc > 2)
        take_all_keys();
    run_threads();
    work();
    say(NULL);
    if (!strcmp(how, "cancel")) {
        pthread_detach(start(cancel_main, NULL));
        for (;;)
            pause();
    }
    if (!strcmp(how, "exit"))
        pthread_exit(NULL);
    return failures != 0;
}
