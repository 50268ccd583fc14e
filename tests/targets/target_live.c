/*
 * What is looked at while it runs, for e2e_live.sh: until stdin ends, one thread runs in burn(), one holds
 * the lock `ledger` in hold_lock() most of the time, and one waits for it in want_lock().
 *
 * Prints "ready" first, and "done" at its end.
 */
#include "target.h"

#include <pthread.h>
#include <sys/prctl.h>

enum { BURN_NS = 20000000, LOOPS = 1000000, HOLD_US = 30000, FREE_US = 1000 };

pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static bool is_over; /* atomic */

static bool goes_on(void)
{
    return !__atomic_load_n(&is_over, __ATOMIC_SEQ_CST);
}

KEEP_FRAME static void burn(void)
{
    uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + BURN_NS;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
        for (int i = 0; i < LOOPS; i++)
            KEEP_CALL();
    }
}

KEEP_FRAME static void hold_lock(void)
{
    pthread_mutex_lock(&ledger);
    usleep(HOLD_US);
    pthread_mutex_unlock(&ledger);
    usleep(FREE_US);
}

KEEP_FRAME static void want_lock(void)
{
    pthread_mutex_lock(&ledger);
    pthread_mutex_unlock(&ledger);
    usleep(FREE_US); /* else the holder would hardly get it again */
}

struct worker {
    const char *name;
    void (*work)(void);
};

static void *run(void *argument)
{
    const struct worker *worker = argument;
    prctl(PR_SET_NAME, worker->name);
    while (goes_on())
        worker->work();
    return NULL;
}

int main(void)
{
    static struct worker workers[] = {{"burner", burn}, {"holder", hold_lock}, {"wanter", want_lock}};
    pthread_t threads[3];
    char byte;
    for (int i = 0; i < 3; i++) {
        if (pthread_create(&threads[i], NULL, run, &workers[i]) != 0)
            return 1;
    }
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    __atomic_store_n(&is_over, true, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
