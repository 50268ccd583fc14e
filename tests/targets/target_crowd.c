/*
 * A few threads that run among many that wait.
 *
 *     target_crowd BUSY BLOCKED MS [late]
 *
 * BLOCKED threads wait until the program ends, BUSY threads run in two functions in turn for MS milliseconds
 * from when all threads are there. late: they begin after the blocked ones, else before them. On stdout
 * stands what measured.h says of the busy ones; then how many blocked ones there are, and for how long the
 * kernel has let them wait for a CPU, all together, in nanoseconds (0: it does not tell), and the main
 * thread's id:
 *
 *     blocked COUNT
 *     delay TOTAL main TID
 */
#include "measured.h"

enum { BUSY_MAX = 16, STACK_BYTES = 65536 };

#define FUNCTIONS(F) F(run_longer, spin) F(run_shorter, spin)
MEASURED_FUNCTIONS

static struct measured busy[BUSY_MAX];
static _Atomic uint64_t end_ns = UINT64_MAX;
static int never[2]; /* nothing is ever written there */
static _Atomic pid_t *blocked_tids;

KEEP_FRAME static void *run(void *argument)
{
    struct measured *self = argument;
    measured_begin(self);
    while (now_ns() < end_ns) {
        level_01(self, run_longer, 17 * NS_PER_MS);
        level_01(self, run_shorter, 8 * NS_PER_MS);
    }
    measured_end(self);
    return NULL;
}

KEEP_FRAME static void *wait_for_ever(void *argument)
{
    char byte;
    *(_Atomic pid_t *)argument = (pid_t)syscall(SYS_gettid);
    while (read(never[0], &byte, 1) < 0)
        ;
    KEEP_CALL();
    return NULL;
}

static void start_busy(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        snprintf(busy[i].name, sizeof busy[i].name, "busy-%u", i);
        measured_create(&busy[i], run);
    }
}

static unsigned start_blocked(unsigned count)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    unsigned begun = 0;
    blocked_tids = calloc(count, sizeof *blocked_tids);
    while (begun < count && pthread_create(&thread, &attributes, wait_for_ever, &blocked_tids[begun]) == 0)
        begun++;
    pthread_attr_destroy(&attributes);
    return begun;
}

/* One that has not run yet has waited for a CPU all the time, and its life has not begun. */
static unsigned long long delay_of(pid_t tid)
{
    char path[64];
    unsigned long long cpu_ns, delay_ns = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", tid);
    FILE *schedstat = tid ? fopen(path, "r") : NULL;
    if (!schedstat)
        return 0;
    if (fscanf(schedstat, "%llu %llu", &cpu_ns, &delay_ns) != 2)
        delay_ns = 0;
    fclose(schedstat);
    return delay_ns;
}

static unsigned long long delay_of_blocked(unsigned count)
{
    unsigned long long sum_ns = 0;
    for (unsigned i = 0; i < count; i++)
        sum_ns += delay_of(blocked_tids[i]);
    return sum_ns;
}

int main(int argc, char **argv)
{
    struct report sums;
    process_start_ns = now_ns();
    unsigned count = argc > 3 ? (unsigned)atoi(argv[1]) : 0;
    if (count == 0 || count > BUSY_MAX || pipe(never))
        die("target_crowd BUSY BLOCKED MS [late]");
    if (argc == 4)
        start_busy(count);
    unsigned blocked = start_blocked((unsigned)atoi(argv[2]));
    if (argc > 4)
        start_busy(count);
    end_ns = now_ns() + (uint64_t)atoi(argv[3]) * NS_PER_MS;
    for (unsigned i = 0; i < count; i++)
        measured_join(&busy[i]);
    report_begin(&sums);
    for (unsigned i = 0; i < count; i++)
        report_thread(&sums, &busy[i], function_names, FUNCTION_COUNT);
    report_end(&sums, function_names, FUNCTION_COUNT);
    printf("blocked %u\n", blocked);
    printf("delay %llu main %d\n", delay_of_blocked(blocked), (int)getpid());
    return 0;
}
