/*
 * A read that waits, and an alarm whose handler has no SA_RESTART: the first one ends the read. Where it does
 * not, others follow. Prints how many reads were not ended by the first.
 *
 *     target_alarm READS
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms;

static void set_alarm(long first_us, long next_us)
{
    struct itimerval time = {.it_value = {.tv_usec = first_us}, .it_interval = {.tv_usec = next_us}};
    setitimer(ITIMER_REAL, &time, NULL);
}

static void on_alarm(int number)
{
    (void)number;
    alarms++;
}

int main(int count, char **arguments)
{
    struct sigaction action = {.sa_handler = on_alarm};
    int ends[2], lost = 0;
    char byte;
    if (pipe(ends) != 0 || sigaction(SIGALRM, &action, NULL) != 0)
        return 2;
    for (long i = count > 1 ? atol(arguments[1]) : 300; i > 0; i--) {
        alarms = 0;
        set_alarm(3000, 50000);
        if (read(ends[0], &byte, 1) != -1 || errno != EINTR)
            return 1;
        lost += alarms > 1;
        set_alarm(0, 0);
    }
    printf("%d\n", lost);
    return 0;
}
