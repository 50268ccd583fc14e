/* The CPU time of a process is read as rarely as it is dear, and is right in between if the process runs on.
 */
#include "lib/unit.h"
#include "sample/program_clock.h"
#include "base/clock.h"

enum { WINDOWS = 4000 };

static const uint64_t window_ns = NS_PER_S / 4;

struct process {
    uint64_t now_ns, cpu_ns;
    uint64_t readings, worst_ns; /* how far the answer was off */
};

/* Asks in each window, of a process that runs on so many cores. */
static void play(struct program_clock *clock, struct process *process, uint64_t took_ns, unsigned cores)
{
    for (int i = 0; i < WINDOWS; i++) {
        process->now_ns += window_ns;
        process->cpu_ns += window_ns * cores;
        if (program_clock_is_due(clock, process->now_ns)) {
            program_clock_note(clock, process->now_ns, process->cpu_ns, took_ns);
            process->readings++;
        }
        uint64_t before_ns = clock->said_ns, said_ns = program_clock_at(clock, process->now_ns);
        assert_true(said_ns >= before_ns);
        uint64_t off_ns = said_ns > process->cpu_ns ? said_ns - process->cpu_ns : process->cpu_ns - said_ns;
        process->worst_ns = off_ns > process->worst_ns ? off_ns : process->worst_ns;
    }
}

static void a_cheap_clock_is_always_read(void **state)
{
    struct program_clock clock = {0};
    struct process process = {.now_ns = NS_PER_S};
    play(&clock, &process, 50 * NS_PER_US, 3);
    assert_int_equal(process.readings, WINDOWS);
    assert_int_equal(process.worst_ns, 0);
}

static void a_dear_clock_takes_a_small_part_of_the_time(void **state)
{
    static const uint64_t took_ns = 5 * NS_PER_MS; /* 20,000 threads */
    struct program_clock clock = {0};
    struct process process = {.now_ns = NS_PER_S};
    play(&clock, &process, took_ns, 3);
    uint64_t passed_ns = process.now_ns - NS_PER_S;
    assert_in_range(process.readings, 2, passed_ns / (took_ns * PROGRAM_CLOCK_PARTS) + 1);
}

/* Before the second reading no rate is known. */
static void what_is_not_read_follows_the_rate(void **state)
{
    struct program_clock clock = {0};
    struct process process = {.now_ns = NS_PER_S};
    play(&clock, &process, 5 * NS_PER_MS, 3);
    process.worst_ns = 0;
    play(&clock, &process, 5 * NS_PER_MS, 3);
    assert_true(process.worst_ns < NS_PER_US);
}

/* Another rate is known two readings later. In the long run nothing is added to what was used. */
static void a_process_that_changes_is_followed(void **state)
{
    static const uint64_t took_ns = 5 * NS_PER_MS, interval_ns = took_ns * PROGRAM_CLOCK_PARTS;
    struct program_clock clock = {0};
    struct process process = {.now_ns = NS_PER_S};
    play(&clock, &process, took_ns, 8);
    process.worst_ns = 0;
    play(&clock, &process, took_ns, 1);
    assert_in_range(process.worst_ns, 1, interval_ns * 7);
    process.worst_ns = 0;
    play(&clock, &process, took_ns, 1);
    assert_true(process.worst_ns < NS_PER_US);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cheap_clock_is_always_read),
        cmocka_unit_test(a_dear_clock_takes_a_small_part_of_the_time),
        cmocka_unit_test(what_is_not_read_follows_the_rate),
        cmocka_unit_test(a_process_that_changes_is_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
