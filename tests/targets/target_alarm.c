/*
 * A read that waits, and a signal whose handler has no SA_RESTART: the first one ends the read. Where it does
 * not, others follow. Prints how many reads were not ended by the first.
 *
 *     target_alarm READS
 *
 * A signal is sent only after the kernel has said that the reader sleeps, so none comes before the read. It
 * comes at any moment of the read: also in a handler of the profiler, after which the kernel begins the read
 * again.
 */
#include "target.h"
#include "asleep.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>

static atomic_uint begun, ended; /* reads */
static atomic_uint handled;      /* signals */

static void on_alarm(int number)
{
    (void)number;
    handled++;
}

/* Again when the handler has run and the read goes on: the reader sleeps nowhere else. */
static void *send_alarms(void *unused)
{
    const pid_t reader = getpid();
    unsigned seed = 1;
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    for (unsigned sent = 0;;) {
        usleep(200);
        unsigned number = ended;
        if (sent == handled && number < begun && is_asleep(reader) && ended == number) {
            struct itimerval once = {.it_value = {.tv_usec = 1 + rand_r(&seed) % 3000}};
            sent++;
            setitimer(ITIMER_REAL, &once, NULL);
        }
    }
    return unused;
}

int main(int count, char **arguments)
{
    struct sigaction action = {.sa_handler = on_alarm};
    pthread_t sender;
    unsigned lost = 0, reads = count > 1 ? (unsigned)atoi(arguments[1]) : 300;
    int ends[2];
    char byte;
    if (pipe(ends) != 0 || sigaction(SIGALRM, &action, NULL) != 0 ||
        pthread_create(&sender, NULL, send_alarms, NULL) != 0)
        return 2;
    for (unsigned i = 0; i < reads; i++) {
        unsigned before = handled;
        begun++;
        if (read(ends[0], &byte, 1) != -1 || errno != EINTR)
            return 1;
        ended++;
        lost += handled > before + 1;
    }
    printf("%u\n", lost);
    return 0;
}
