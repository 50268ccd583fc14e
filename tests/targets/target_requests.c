/*
 * A server that makes a thread for each request, to be profiled with little memory.
 *
 *     target_requests COUNT [killed]
 *
 * COUNT threads called "request" work for a moment each, a few at a time. Then a thread called "newcomer"
 * works for 1 s of CPU time in newcomer_work. Each measures its own life:
 *
 *     requests COUNT sum_of_lifetimes_ns
 *     newcomer lifetime_ns
 *
 * killed: at the end the process kills itself.
 */
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

enum { AT_ONCE = 4, WORK_NS = 50000, TURNS = 8 };

static uint64_t requests_ns; /* atomic */

KEEP_FRAME static void work(uint64_t ns)
{
    for (uint64_t end_ns = now_ns() + ns; now_ns() < end_ns;)
        ;
}

/* By the digits of the number, so that stacks are of many kinds. */
KEEP_FRAME static void left(unsigned number, unsigned turns);
KEEP_FRAME static void right(unsigned number, unsigned turns);

#define TURN(side)                                                                                           \
    KEEP_FRAME static void side(unsigned number, unsigned turns)                                             \
    {                                                                                                        \
        if (turns == 0)                                                                                      \
            work(WORK_NS);                                                                                   \
        else if (number % 2)                                                                                 \
            right(number / 2, turns - 1);                                                                    \
        else                                                                                                 \
            left(number / 2, turns - 1);                                                                     \
        KEEP_CALL();                                                                                         \
    }

TURN(left)
TURN(right)

static void *request(void *argument)
{
    uint64_t start_ns = now_ns();
    prctl(PR_SET_NAME, "request");
    left((unsigned)(uintptr_t)argument, TURNS);
    __atomic_fetch_add(&requests_ns, now_ns() - start_ns, __ATOMIC_SEQ_CST);
    return NULL;
}

KEEP_FRAME static void newcomer_work(void)
{
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < NS_PER_S)
        work(NS_PER_MS);
    KEEP_CALL();
}

static void *newcomer(void *argument)
{
    uint64_t start_ns = now_ns();
    prctl(PR_SET_NAME, "newcomer");
    newcomer_work();
    *(uint64_t *)argument = now_ns() - start_ns;
    return NULL;
}

static void start(pthread_t *thread, void *(*routine)(void *), void *argument)
{
    errno = pthread_create(thread, NULL, routine, argument);
    if (errno)
        die("pthread_create");
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    pthread_t threads[AT_ONCE];
    uint64_t newcomer_ns = 0;
    for (unsigned i = 0; i < count; i += AT_ONCE) {
        for (unsigned j = 0; j < AT_ONCE && i + j < count; j++)
            start(&threads[j], request, (void *)(uintptr_t)(i + j));
        for (unsigned j = 0; j < AT_ONCE && i + j < count; j++)
            pthread_join(threads[j], NULL);
    }
    start(&threads[0], newcomer, &newcomer_ns);
    pthread_join(threads[0], NULL);
    printf("requests %u %ju\nnewcomer %ju\n", count, (uintmax_t)requests_ns, (uintmax_t)newcomer_ns);
    fflush(stdout);
    if (argc > 2)
        raise(SIGKILL);
    return 0;
}
