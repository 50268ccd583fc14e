/*
 * A few threads that run among many that wait.
 *
 *     target_crowd BUSY BLOCKED MS [late]
 *
 * BLOCKED threads wait until the program ends, BUSY threads run in two functions in turn for MS milliseconds
 * from when all threads are there. late: they begin after the blocked ones, else before them. On stdout
 * stands what measured.h says of the busy ones; then how many blocked ones there are:
 *
 *     blocked COUNT
 */
#include "measured.h"

enum { BUSY_MAX = 16, STACK_BYTES = 65536 };

#define FUNCTIONS(F) F(run_longer, spin) F(run_shorter, spin)
MEASURED_FUNCTIONS

static struct measured busy[BUSY_MAX];
static _Atomic uint64_t end_ns = UINT64_MAX;
static int never[2]; /* nothing is ever written there */

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
    (void)argument;
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
    while (begun < count && pthread_create(&thread, &attributes, wait_for_ever, NULL) == 0)
        begun++;
    pthread_attr_destroy(&attributes);
    return begun;
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
    return 0;
}
