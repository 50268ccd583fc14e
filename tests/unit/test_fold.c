/*
 * Time is conserved and goes where it belongs. Numbers are small on purpose: the period is 10 "nanoseconds",
 * so every expected value can be checked by head.
 */
#include "account/fold.h"

#include "lib/fake_stacks.h"
#include "base/random.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { PERIOD = 10, START = 1000 };
enum seen { RUNNING, WAITING };

struct fixture {
    struct arena arena;
    struct tree tree;
    struct fold fold;
    struct fold_thread thread;
};

static void begin_thread(struct fixture *fixture, arena_ref root, uint64_t cpu)
{
    fold_thread_begin(&fixture->thread, root, &(struct fold_clocks){START, cpu, FOLD_NO_DELAY});
}

static void begin(struct fixture *fixture, size_t arena_bytes, uint64_t period_ns)
{
    assert_int_equal(arena_init(&fixture->arena, arena_bytes), 0);
    assert_int_equal(tree_init(&fixture->tree, &fixture->arena), 0);
    fixture->fold = (struct fold){.tree = &fixture->tree, .period_ns = period_ns};
    begin_thread(fixture, tree_root(&fixture->tree, 1), 0);
}

static int setup(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof(fixture));
    begin(&fixture, 1 << 22, PERIOD);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    tree_deinit(&fixture->tree);
    arena_deinit(&fixture->arena);
    return 0;
}

/* Times are relative to the thread's start. An observation that stands for what follows, up to `until`. */
static void observe_until(struct fixture *fixture, uint64_t time, uint64_t until, uint64_t cpu,
                          enum seen seen, const char *stack)
{
    struct fake_path path = fake_path(&fixture->tree, stack);
    struct fold_observation observation = {.time_ns = START + time,
                                           .until_ns = until == FOLD_GOES_ON ? until : START + until,
                                           .cpu_clock_ns = cpu,
                                           .delay_clock_ns = FOLD_NO_DELAY,
                                           .is_running = seen == RUNNING,
                                           .path = path.locations,
                                           .depth = path.depth};
    fold_observe(&fixture->fold, &fixture->thread, &observation);
}

static void observe(struct fixture *fixture, uint64_t time, uint64_t cpu, enum seen seen, const char *stack)
{
    observe_until(fixture, time, 0, cpu, seen, stack);
}

static void stretch_ended(struct fixture *fixture, uint64_t time)
{
    fold_stretch_ended(&fixture->thread, START + time);
}

/* What must not be read is made unreadable: no path, a depth that is not 0. */
static void observe_unchanged(struct fixture *fixture, uint64_t time, uint64_t cpu, enum seen seen)
{
    struct fold_observation observation = {.time_ns = START + time,
                                           .cpu_clock_ns = cpu,
                                           .delay_clock_ns = FOLD_NO_DELAY,
                                           .is_running = seen == RUNNING,
                                           .is_unchanged = true,
                                           .depth = 1};
    fold_observe(&fixture->fold, &fixture->thread, &observation);
}

static void observe_unknown(struct fixture *fixture, uint64_t time, uint64_t cpu, enum seen seen)
{
    struct fold_observation observation = {.time_ns = START + time,
                                           .cpu_clock_ns = cpu,
                                           .delay_clock_ns = FOLD_NO_DELAY,
                                           .is_running = seen == RUNNING,
                                           .is_unknown = true,
                                           .depth = 1};
    fold_observe(&fixture->fold, &fixture->thread, &observation);
}

static void end(struct fixture *fixture, uint64_t time, uint64_t cpu, enum fold_rest rest)
{
    const struct fold_clocks clocks = {START + time, cpu, FOLD_NO_DELAY};
    fold_thread_end(&fixture->fold, &fixture->thread, &clocks, rest);
}

static arena_ref node_of(const struct fixture *fixture, const char *stack)
{
    return fake_find(&fixture->tree, fixture->thread.root, stack);
}

static arena_ref pseudo_of(const struct fixture *fixture, enum pseudo_frame pseudo)
{
    return fake_pseudo_child(&fixture->tree, fixture->thread.root, pseudo);
}

static void assert_at(const struct fixture *fixture, arena_ref node, uint64_t samples, uint64_t cpu,
                      uint64_t blocked)
{
    fake_assert_values(&fixture->tree, node, (struct values){samples, cpu, 0, blocked});
}

static void assert_values(const struct fixture *fixture, const char *stack, uint64_t samples, uint64_t cpu,
                          uint64_t blocked)
{
    assert_at(fixture, node_of(fixture, stack), samples, cpu, blocked);
}

static void assert_sum(const struct fixture *fixture, uint64_t samples, uint64_t cpu, uint64_t blocked)
{
    struct values sum = fake_sum(&fixture->tree, fixture->thread.root);
    assert_int_equal(sum.samples, samples);
    assert_int_equal(sum.cpu_ns, cpu);
    assert_int_equal(sum.rundelay_ns, 0);
    assert_int_equal(sum.blocked_ns, blocked);
    assert_int_equal(fixture->fold.samples, samples);
}

static uint64_t calls_of(const struct fixture *fixture, const char *stack)
{
    arena_ref node = node_of(fixture, stack);
    assert_int_not_equal(node, 0);
    return tree_node(&fixture->tree, node)->calls;
}

/* ---- wall ---- */

static void wall_time_is_owed_since_the_last_observation(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 100, 0, RUNNING, "ab");
    observe(fixture, 250, 0, RUNNING, "ac");
    observe(fixture, 257, 0, RUNNING, "ab");
    observe(fixture, 257, 0, RUNNING, "a");
    assert_values(fixture, "ab", 2, 107, 0);
    assert_values(fixture, "ac", 1, 150, 0);
    assert_values(fixture, "a", 1, 0, 0);
    assert_sum(fixture, 4, 257, 0);
}

static void an_empty_stack_is_unsampled(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 5, 5, RUNNING, "");
    assert_at(fixture, pseudo_of(fixture, PSEUDO_UNSAMPLED), 1, 5, 0);
}

static void a_clock_that_goes_back_takes_nothing_away(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 100, 40, RUNNING, "a");
    observe(fixture, 90, 0, RUNNING, "b"); /* CPU clock 0: the thread was gone when it was read */
    observe(fixture, 110, 44, RUNNING, "c");
    end(fixture, 110, 44, FOLD_REST_UNSAMPLED);
    assert_values(fixture, "a", 1, 40, 0);
    assert_values(fixture, "b", 1, 0, 0);
    assert_values(fixture, "c", 1, 4, 0);
    assert_sum(fixture, 3, 44, 66);
}

static void every_thread_owes_its_own_time(void **state)
{
    struct fixture *fixture = *state;
    struct fold_thread first = fixture->thread;
    observe(fixture, 7, 7, RUNNING, "a");
    fixture->thread = first;
    fixture->thread.root = fixture->thread.node = tree_root(&fixture->tree, 2);
    observe(fixture, 50, 3, RUNNING, "a");
    assert_values(fixture, "a", 1, 50, 0);
    fixture->thread.root = first.root;
    assert_values(fixture, "a", 1, 7, 0);
}

/* ---- stretches ---- */

static void what_follows_a_look_is_its_own_until_its_stretch_ends(void **state)
{
    struct fixture *fixture = *state;
    observe_until(fixture, 20, 60, 0, RUNNING, "a"); /* (0, 60] */
    assert_values(fixture, "a", 1, 20, 0);           /* the rest is not over yet */
    observe_until(fixture, 75, FOLD_GOES_ON, 0, RUNNING, "b");
    assert_values(fixture, "a", 1, 60, 0);
    assert_values(fixture, "b", 1, 15, 0);
    stretch_ended(fixture, 90);                        /* (60, 90] */
    observe_until(fixture, 130, 100, 0, RUNNING, "a"); /* one that is over already stands for nothing more */
    assert_values(fixture, "b", 1, 30, 0);
    assert_values(fixture, "a", 2, 100, 0);
    stretch_ended(fixture, 135); /* not going on: nothing to end */
    observe(fixture, 140, 0, RUNNING, "c");
    assert_values(fixture, "a", 2, 100, 0);
    assert_values(fixture, "c", 1, 10, 0);
    assert_sum(fixture, 4, 140, 0);
}

static void a_stretch_that_goes_on_reaches_to_the_next_observation(void **state)
{
    struct fixture *fixture = *state;
    observe_until(fixture, 20, FOLD_GOES_ON, 0, RUNNING, "a");
    observe(fixture, 50, 0, RUNNING, "b");
    assert_values(fixture, "a", 1, 50, 0);
    assert_values(fixture, "b", 1, 0, 0);
}

static void a_silent_threads_stretch_is_silent_too(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 10, 10, RUNNING, "a");
    observe_unknown(fixture, 20, 10, WAITING);
    fixture->thread.until_ns = START + 50;
    observe(fixture, 60, 10, WAITING, "a");
    assert_at(fixture, pseudo_of(fixture, PSEUDO_NOT_RESPONDING), 1, 0, 40);
    assert_values(fixture, "a", 2, 10, 10);
}

/* What is known of a thread that has not run is better than what its last observation stood for. */
static void unchanged_takes_everything_since(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 10, 10, RUNNING, "a");
    observe_unknown(fixture, 20, 10, WAITING);
    fixture->thread.until_ns = START + 50;
    observe_unchanged(fixture, 60, 10, WAITING);
    assert_at(fixture, pseudo_of(fixture, PSEUDO_NOT_RESPONDING), 1, 0, 10);
    assert_values(fixture, "a", 2, 10, 40);
}

/* ---- cpu and off-CPU ---- */

static void an_observation_claims_its_time_as_what_it_found(void **state)
{
    struct fixture *fixture = *state;
    observe_until(fixture, 20, 60, 5, WAITING, "w");
    observe_until(fixture, 80, 105, 13, RUNNING, "r");
    assert_values(fixture, "w", 1, 0, 60);
    assert_values(fixture, "r", 1, 20, 0);
    observe(fixture, 120, 45, WAITING, "w");
    assert_values(fixture, "r", 1, 45, 0);
    assert_values(fixture, "w", 2, 0, 75);
}

/* 100 of 400 at work, where 200 were claimed; so 300 waited, where 200 were claimed. */
static void claims_are_scaled_to_what_the_clocks_say(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 150, 10, RUNNING, "ra");
    observe(fixture, 250, 20, WAITING, "w");
    observe(fixture, 300, 90, RUNNING, "rb");
    observe(fixture, 400, 100, WAITING, "v");
    end(fixture, 400, 100, FOLD_REST_UNSAMPLED);
    assert_values(fixture, "ra", 1, 75, 0);
    assert_values(fixture, "rb", 1, 25, 0);
    assert_values(fixture, "w", 1, 0, 150);
    assert_values(fixture, "v", 1, 0, 150);
    assert_sum(fixture, 4, 100, 300);
}

/* 100 observations of 10 each. The clock says 360. */
static void observe_shares(struct fixture *fixture, uint64_t ra, uint64_t rb)
{
    for (uint64_t i = 1; i <= 100; i++)
        observe(fixture, i * 10, i * 3, i <= ra + rb ? RUNNING : WAITING,
                i <= ra        ? "ra"
                : i <= ra + rb ? "rb"
                               : "w");
    end(fixture, 1000, 360, FOLD_REST_UNSAMPLED);
}

/* Two standard deviations are 2 * sqrt(1000 * 0.36 * 1000 * 0.64 / 100) = 96. So it is by chance that 300
 * were claimed: functions that run were seen too rarely, and have more wall time. */
static void what_chance_explains_goes_to_functions_of_the_same_state(void **state)
{
    struct fixture *fixture = *state;
    observe_shares(fixture, 20, 10);
    assert_values(fixture, "ra", 20, 240, 0);
    assert_values(fixture, "rb", 10, 120, 0);
    assert_values(fixture, "w", 70, 0, 640);
}

/* 600 were claimed. Of the 240 too many chance explains 96. The rest waited where it was seen, as a short
 * sleep that is over before its thread replies. */
static void what_chance_does_not_explain_stays_where_it_was_seen(void **state)
{
    struct fixture *fixture = *state;
    observe_shares(fixture, 40, 20);
    assert_values(fixture, "ra", 40, 240, 96);
    assert_values(fixture, "rb", 20, 120, 48);
    assert_values(fixture, "w", 40, 0, 496);
}

/* A stack that was found both running and waiting keeps both shares apart. */
static void one_stack_may_have_both_kinds(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 30, 30, RUNNING, "a");
    observe(fixture, 40, 30, WAITING, "a");
    observe(fixture, 50, 40, RUNNING, "b");
    end(fixture, 50, 40, FOLD_REST_UNSAMPLED);
    assert_values(fixture, "a", 2, 30, 10);
    assert_values(fixture, "b", 1, 10, 0);
}

static void rounding_loses_nothing(void **state)
{
    static const char *const stacks[] = {"a", "b", "c", "d", "e", "f", "g"};
    struct fixture *fixture = *state;
    for (uint64_t i = 0; i < COUNT(stacks); i++)
        observe(fixture, (i + 1) * 1000000007, i + 1, RUNNING, stacks[i]);
    end(fixture, COUNT(stacks) * 1000000007, 3, FOLD_REST_UNSAMPLED); /* the clock went back: 7 stands */
    for (size_t i = 0; i < COUNT(stacks); i++)
        assert_int_equal(tree_node(&fixture->tree, node_of(fixture, stacks[i]))->self.cpu_ns, 1);
    assert_sum(fixture, 7, 7, COUNT(stacks) * 1000000007 - 7);
}

static void what_nobody_claims_is_the_rests(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 50, 8, WAITING, "w"); /* never seen running */
    end(fixture, 50, 8, FOLD_REST_UNSAMPLED);
    assert_values(fixture, "w", 1, 0, 42);
    assert_at(fixture, pseudo_of(fixture, PSEUDO_UNSAMPLED), 0, 8, 0);
    begin_thread(fixture, tree_root(&fixture->tree, 2), 0);
    observe(fixture, 50, 8, RUNNING, "r"); /* never seen waiting */
    end(fixture, 50, 8, FOLD_REST_UNSAMPLED);
    assert_values(fixture, "r", 1, 8, 0);
    assert_at(fixture, pseudo_of(fixture, PSEUDO_UNSAMPLED), 0, 0, 42);
}

/* ---- waits for a CPU ---- */

enum { QUEUED = WAITING + 1, WOKEN };

/* begin_delay: the delay clock at the thread's start, which is 0 on its CPU clock. */
static void begin_delayed(struct fixture *fixture, uint32_t root, uint64_t begin_delay)
{
    const struct fold_clocks clocks = {START, 0, begin_delay};
    fold_thread_begin(&fixture->thread, tree_root(&fixture->tree, root), &clocks);
    fixture->thread.group = root;
}

static void observe_delayed(struct fixture *fixture, uint64_t time, uint64_t cpu, uint64_t delay, int seen,
                            const char *stack)
{
    struct fake_path path = fake_path(&fixture->tree, stack);
    struct fold_observation observation = {.time_ns = START + time,
                                           .cpu_clock_ns = cpu,
                                           .delay_clock_ns = delay,
                                           .is_running = seen == RUNNING,
                                           .is_queued = seen == QUEUED || seen == WOKEN,
                                           .is_woken = seen == WOKEN,
                                           .path = path.locations,
                                           .depth = path.depth};
    fold_observe(&fixture->fold, &fixture->thread, &observation);
}

static void end_delayed(struct fixture *fixture, uint64_t time, uint64_t cpu, uint64_t delay)
{
    const struct fold_clocks clocks = {START + time, cpu, delay};
    fold_thread_end(&fixture->fold, &fixture->thread, &clocks, FOLD_REST_UNSAMPLED);
}

static void assert_parts(const struct fixture *fixture, const char *stack, struct values expected)
{
    fake_assert_values(&fixture->tree, node_of(fixture, stack), expected);
}

/* Whether it was on the CPU or queued at the moment: its clocks say how much of which there was. */
static void a_runnable_threads_time_is_parted_as_its_clocks_say(void **state)
{
    struct fixture *fixture = *state;
    begin_delayed(fixture, 2, 500);
    observe_delayed(fixture, 80, 10, 570, RUNNING, "r");
    observe_delayed(fixture, 160, 40, 620, QUEUED, "q");
    observe_delayed(fixture, 200, 40, 620, WAITING, "w");
    assert_parts(fixture, "r", (struct values){1, 10, 70, 0});
    assert_parts(fixture, "q", (struct values){1, 30, 50, 0});
    assert_parts(fixture, "w", (struct values){1, 0, 0, 40});
    end_delayed(fixture, 200, 40, 620);
    assert_parts(fixture, "r", (struct values){1, 10, 70, 0});
    assert_parts(fixture, "w", (struct values){1, 0, 0, 40});
}

/* It was woken, and uses no CPU until it gets one. Its work is not preempted because of that: of the last 14
 * that it waited for a CPU 8 are of those 20. */
static void who_was_woken_has_used_no_cpu_there(void **state)
{
    struct fixture *fixture = *state;
    begin_delayed(fixture, 2, 0);
    observe_delayed(fixture, 10, 2, 8, WOKEN, "w");
    observe_delayed(fixture, 20, 4, 16, WOKEN, "w");
    observe_delayed(fixture, 30, 10, 20, RUNNING, "r");
    assert_parts(fixture, "w", (struct values){2, 0, 20, 0});
    assert_parts(fixture, "r", (struct values){1, 10, 0, 0});
    observe_delayed(fixture, 50, 16, 34, QUEUED, "q");
    assert_parts(fixture, "q", (struct values){1, 10, 10, 0});
}

/* A dump in between takes nothing back. */
static void what_a_dump_has_told_is_not_told_again(void **state)
{
    struct fixture *fixture = *state;
    const struct fold_clocks clocks = {START + 15, 2, 13};
    begin_delayed(fixture, 2, 0);
    observe_delayed(fixture, 10, 2, 8, WOKEN, "w");
    fold_thread_settle(&fixture->fold, &fixture->thread, 0, &clocks, FOLD_REST_UNCHANGED);
    observe_delayed(fixture, 25, 7, 18, QUEUED, "q"); /* 5 of the 10 that were claimed have been told */
    assert_parts(fixture, "q", (struct values){1, 10, 0, 0});
    observe_delayed(fixture, 45, 17, 28, QUEUED, "p"); /* and now the rest */
    assert_parts(fixture, "p", (struct values){1, 10, 10, 0});
}

/* However often it was woken, that it is preempted shows soon. */
static void a_debt_of_run_delay_is_bounded(void **state)
{
    struct fixture *fixture = *state;
    begin_delayed(fixture, 2, 0);
    for (uint64_t i = 1; i <= 100; i++)
        observe_delayed(fixture, i * 10, 0, 0, WOKEN, "w");
    assert_int_equal(fixture->thread.woken_ns, 160);
}

/* Of 100 claimed as CPU time there are 150, of 100 as run delay 60, and of 100 as blocked 90. */
static void all_three_parts_are_scaled(void **state)
{
    struct fixture *fixture = *state;
    begin_delayed(fixture, 2, 0);
    observe_delayed(fixture, 200, 30, 30, RUNNING, "r");
    observe_delayed(fixture, 300, 30, 30, WAITING, "w");
    end_delayed(fixture, 300, 150, 60);
    assert_parts(fixture, "r", (struct values){1, 150, 50, 0}); /* runnable for 200 */
    assert_parts(fixture, "w", (struct values){1, 0, 10, 90}); /* the rest of the delay: it was woken there */
}

static void a_clock_that_stands_still_leaves_the_state_to_decide(void **state)
{
    struct fixture *fixture = *state;
    begin_delayed(fixture, 2, 7);
    observe_delayed(fixture, 10, 0, 7, QUEUED, "q");
    observe_delayed(fixture, 30, 0, 7, RUNNING, "r");
    assert_parts(fixture, "q", (struct values){1, 0, 10, 0});
    assert_parts(fixture, "r", (struct values){1, 20, 0, 0});
}

static void a_wait_for_a_cpu_that_nobody_counts_is_blocked(void **state)
{
    struct fixture *fixture = *state;
    begin_delayed(fixture, 2, FOLD_NO_DELAY);
    observe_delayed(fixture, 10, 5, FOLD_NO_DELAY, QUEUED, "q");
    observe_delayed(fixture, 30, 25, FOLD_NO_DELAY, RUNNING, "r");
    end_delayed(fixture, 30, 20, FOLD_NO_DELAY);
    assert_parts(fixture, "q", (struct values){1, 0, 0, 5});
    assert_parts(fixture, "r", (struct values){1, 25, 0, 0});
}

/* It was runnable for 600 of 1000, and had a CPU for 300 of them. The sampler sees that less often: it needs
 * one itself. So f is queued in five of six, and has its wall time all the same. */
static void wall_time_does_not_depend_on_who_has_the_cpu(void **state)
{
    struct fixture *fixture = *state;
    begin_delayed(fixture, 2, FOLD_NO_DELAY);
    for (uint64_t i = 1; i <= 10; i++)
        observe_delayed(fixture, i * 100, i * 30, FOLD_NO_DELAY,
                        i == 3  ? RUNNING
                        : i > 6 ? WAITING
                                : QUEUED,
                        i > 6 ? "w" : "f");
    end_delayed(fixture, 1000, 300, FOLD_NO_DELAY);
    assert_parts(fixture, "f", (struct values){6, 300, 0, 300});
    assert_parts(fixture, "w", (struct values){4, 0, 0, 400});
}

/* More run delay than there was time off the CPU: part of it was before the start. */
static void there_is_no_more_run_delay_than_time_off_the_cpu(void **state)
{
    struct fixture *fixture = *state;
    begin_delayed(fixture, 2, 0);
    observe_delayed(fixture, 100, 60, 90, RUNNING, "r");
    end_delayed(fixture, 100, 60, 90);
    assert_parts(fixture, "r", (struct values){1, 60, 40, 0});
}

/* The delay clock of a thread that has ended cannot be read: of 40 off the CPU three quarters had been. */
static void the_end_is_taken_to_be_as_the_life_before(void **state)
{
    struct fixture *fixture = *state;
    begin_delayed(fixture, 2, 0);
    observe_delayed(fixture, 60, 40, 15, RUNNING, "r");
    observe_delayed(fixture, 100, 60, 30, RUNNING, "r");
    fixture->thread.until_ns = FOLD_GOES_ON;
    end_delayed(fixture, 200, 120, FOLD_NO_DELAY);
    struct values sum = fake_sum(&fixture->tree, fixture->thread.root);
    assert_int_equal(sum.cpu_ns, 120);
    assert_int_equal(sum.rundelay_ns, 60);
    assert_int_equal(sum.blocked_ns, 20);
}

/* ---- threads that are rarely looked at ---- */

/* Of ten that work for 10 of 100 one is seen at it: what it claims is [unsampled] in the others. */
static void claims_in_excess_are_taken_from_unsampled_time_of_the_group(void **state)
{
    struct fixture *fixture = *state;
    arena_ref roots[10];
    struct values all = {0};
    for (uint32_t i = 0; i < COUNT(roots); i++) {
        begin_thread(fixture, roots[i] = tree_root(&fixture->tree, i + 2), 0);
        fixture->thread.group = 1;
        observe(fixture, 100, 10, i == 4 ? RUNNING : WAITING, i == 4 ? "r" : "w");
        end(fixture, 100, 10, FOLD_REST_UNSAMPLED);
    }
    for (uint32_t i = 0; i < COUNT(roots); i++) {
        struct values sum = fake_sum(&fixture->tree, roots[i]);
        assert_int_equal(tree_wall_ns(&sum), 100);
        tree_add_values(&all, &sum);
        fixture->thread.root = roots[i];
        if (i == 4)
            assert_values(fixture, "r", 1, 100, 0);
        else
            assert_values(fixture, "w", 1, 0, 100);
    }
    assert_int_equal(all.cpu_ns, 100);
    assert_int_equal(all.blocked_ns, 900);
}

/* One that is looked at often enough has what its own clocks say, where it was seen; and another group has
 * its own time. */
static void claims_in_excess_are_cut_else(void **state)
{
    struct fixture *fixture = *state;
    begin_thread(fixture, tree_root(&fixture->tree, 2), 0);
    fixture->thread.group = 1;
    observe(fixture, 100, 10, WAITING, "w");
    end(fixture, 100, 10, FOLD_REST_UNSAMPLED);
    begin_thread(fixture, tree_root(&fixture->tree, 3), 0);
    fixture->thread.group = 2;
    observe(fixture, 100, 10, RUNNING, "r");
    end(fixture, 100, 10, FOLD_REST_UNSAMPLED);
    assert_values(fixture, "r", 1, 10, 0);
    begin_thread(fixture, tree_root(&fixture->tree, 4), 0);
    fixture->thread.group = 1;
    for (uint64_t i = 1; i <= 2 * CLAIMS_EXPECTED; i++)
        observe(fixture, i * 10, i * 5, RUNNING, "r");
    end(fixture, 2 * CLAIMS_EXPECTED * 10, CLAIMS_EXPECTED * 10, FOLD_REST_UNSAMPLED);
    assert_values(fixture, "r", 2 * CLAIMS_EXPECTED, CLAIMS_EXPECTED * 10, CLAIMS_EXPECTED * 10);
}

static void cpu_time_before_the_start_is_not_ours(void **state)
{
    struct fixture *fixture = *state;
    begin_thread(fixture, fixture->thread.root, 500);
    observe(fixture, 10, 504, RUNNING, "a");
    end(fixture, 10, 504, FOLD_REST_UNSAMPLED);
    assert_values(fixture, "a", 1, 4, 0);
}

/* The CPU clock was read a little later than the wall clock, which is the thread's life. */
static void more_cpu_than_wall_is_no_negative_waiting(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 10, 12, RUNNING, "r");
    end(fixture, 10, 12, FOLD_REST_UNSAMPLED);
    assert_sum(fixture, 1, 10, 0);
}

static void settle(struct fixture *fixture, uint64_t stretch_end, uint64_t time, uint64_t cpu)
{
    const struct fold_clocks clocks = {START + time, cpu, FOLD_NO_DELAY};
    fold_thread_settle(&fixture->fold, &fixture->thread, START + stretch_end, &clocks, FOLD_REST_UNSAMPLED);
}

static void pass_over(struct fixture *fixture, uint64_t time, uint64_t cpu)
{
    fold_thread_skip(&fixture->thread, &(struct fold_clocks){START + time, cpu, FOLD_NO_DELAY});
}

static void sums_are_true_in_between_and_at_the_end(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 100, 20, RUNNING, "r");
    observe(fixture, 200, 20, WAITING, "w");
    settle(fixture, 200, 200, 50);
    assert_values(fixture, "r", 1, 50, 0);
    assert_values(fixture, "w", 1, 0, 150);
    observe(fixture, 300, 120, RUNNING, "s"); /* claims 100 */
    end(fixture, 300, 120, FOLD_REST_UNSAMPLED);
    assert_values(fixture, "r", 1, 40, 0); /* 50 and 100 share 120 */
    assert_values(fixture, "s", 1, 80, 0);
    assert_values(fixture, "w", 1, 0, 180);
}

static void a_stretch_goes_on_after_a_settlement(void **state)
{
    struct fixture *fixture = *state;
    observe_until(fixture, 20, FOLD_GOES_ON, 0, WAITING, "w");
    settle(fixture, 30, 50, 0);
    assert_values(fixture, "w", 1, 0, 30);
    assert_at(fixture, pseudo_of(fixture, PSEUDO_UNSAMPLED), 0, 0, 20);
    observe(fixture, 70, 0, WAITING, "w");
    end(fixture, 70, 0, FOLD_REST_UNSAMPLED);
    assert_values(fixture, "w", 2, 0, 50);
    assert_sum(fixture, 2, 0, 70);
}

static void settled_twice_a_shared_root_counts_once(void **state)
{
    struct fixture *fixture = *state;
    tree_node(&fixture->tree, fixture->thread.root)->thread = 0;
    observe(fixture, 10, 4, RUNNING, "a");
    settle(fixture, 10, 10, 4);
    assert_sum(fixture, 1, 4, 6);
    end(fixture, 30, 6, FOLD_REST_UNSAMPLED);
    assert_sum(fixture, 1, 6, 24);
}

/* Neither wall nor CPU time of the gap is anybody's; and what is said at the end is of both spans. */
static void what_is_skipped_is_in_nobodys_account(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 100, 20, RUNNING, "a");
    settle(fixture, 100, 110, 30);
    assert_sum(fixture, 1, 30, 80);
    pass_over(fixture, 5000, 4030);
    assert_sum(fixture, 1, 30, 80);
    observe(fixture, 5040, 4070, RUNNING, "b");
    end(fixture, 5050, 4080, FOLD_REST_UNSAMPLED);
    assert_values(fixture, "b", 1, 40, 0);
    assert_sum(fixture, 2, 80, 80);
}

static void a_stretch_does_not_reach_over_a_gap(void **state)
{
    struct fixture *fixture = *state;
    observe_until(fixture, 20, FOLD_GOES_ON, 0, WAITING, "w");
    settle(fixture, 1000, 50, 0);
    assert_values(fixture, "w", 1, 0, 50);
    pass_over(fixture, 500, 0);
    stretch_ended(fixture, 600);
    observe(fixture, 530, 30, RUNNING, "r");
    end(fixture, 530, 30, FOLD_REST_UNSAMPLED);
    assert_values(fixture, "w", 1, 0, 50);
    assert_values(fixture, "r", 1, 30, 0);
}

/* What provably has not run stands where it stood, gap or not. */
static void who_has_not_run_over_a_gap_is_where_it_was(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 20, 0, WAITING, "w");
    settle(fixture, 20, 20, 0);
    pass_over(fixture, 500, 0);
    observe_unchanged(fixture, 530, 0, WAITING);
    end(fixture, 530, 0, FOLD_REST_UNCHANGED);
    assert_values(fixture, "w", 2, 0, 50);
    assert_sum(fixture, 2, 0, 50);
}

static void many_spans_add_up(void **state)
{
    struct fixture *fixture = *state;
    uint64_t time = 0, cpu = 0, wall = 0, used = 0;
    for (unsigned i = 1; i <= 1000; i++) {
        uint64_t span = i % 17, gap = i % 13 * 100;
        time += span;
        cpu += span / 2;
        wall += span;
        used += span / 2;
        observe(fixture, time, cpu, i % 3 ? RUNNING : WAITING, i % 2 ? "a" : "b");
        settle(fixture, time, time, cpu);
        assert_sum(fixture, i, used, wall - used);
        time += gap;
        cpu += gap / 3;
        pass_over(fixture, time, cpu);
    }
    end(fixture, time, cpu, FOLD_REST_UNSAMPLED);
    assert_sum(fixture, 1000, used, wall - used);
}

/* Whose claims they are would not be known at the end: what the clocks say stands there at once. */
static void a_shared_root_has_no_claims(void **state)
{
    struct fixture *fixture = *state;
    tree_node(&fixture->tree, fixture->thread.root)->thread = 0;
    struct fold_thread other = fixture->thread;
    observe(fixture, 10, 4, RUNNING, "a");
    end(fixture, 10, 4, FOLD_REST_UNSAMPLED);
    fixture->thread = other;
    observe(fixture, 20, 5, RUNNING, "a");
    end(fixture, 30, 6, FOLD_REST_UNSAMPLED);
    assert_values(fixture, "a", 2, 9, 21);
    assert_at(fixture, pseudo_of(fixture, PSEUDO_UNSAMPLED), 0, 1, 9);
}

/* ---- unchanged and unknown ---- */

static void unchanged_adds_to_the_last_stack(void **state)
{
    struct fixture *fixture = *state;
    observe_unchanged(fixture, 3, 0, WAITING); /* not seen before */
    observe(fixture, 10, 4, WAITING, "ab");
    observe_unchanged(fixture, 30, 4, WAITING);
    observe_unchanged(fixture, 41, 4, WAITING);
    assert_at(fixture, pseudo_of(fixture, PSEUDO_UNSAMPLED), 1, 0, 3);
    assert_values(fixture, "ab", 3, 0, 38);
    assert_int_equal(calls_of(fixture, "ab"), 1);
}

/* Of such a time the CPU clock is all that is known. */
static void unknown_goes_to_not_responding(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 10, 10, RUNNING, "ab");
    observe_unknown(fixture, 32, 13, WAITING);
    arena_ref silent = pseudo_of(fixture, PSEUDO_NOT_RESPONDING);
    assert_at(fixture, silent, 1, 3, 19);
    observe_unknown(fixture, 50, 35, RUNNING);
    assert_at(fixture, silent, 2, 3 + 18, 19);
    assert_values(fixture, "ab", 1, 10, 0);
    assert_int_equal(tree_node(&fixture->tree, silent)->depth, 1);
    observe(fixture, 51, 36, RUNNING, "ab");
    assert_values(fixture, "ab", 2, 11, 0);
}

/* ---- the end ---- */

struct end_case {
    enum fold_rest rest;
    uint64_t seen_blocked; /* at the stack seen last */
    bool is_pseudo;
    enum pseudo_frame pseudo;
};

/* Seen waiting at 25, ends at 32 with CPU 2 more: 7 wall, of which 5 waiting. */
static void the_rest_goes_where_it_is_known_to_belong(void **state)
{
    static const struct end_case cases[] = {
        {FOLD_REST_UNSAMPLED, 25, true, PSEUDO_UNSAMPLED},
        {FOLD_REST_NOT_RESPONDING, 25, true, PSEUDO_NOT_RESPONDING},
        {FOLD_REST_UNCHANGED, 30, false, PSEUDO_COUNT},
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct end_case *c = &cases[i];
        begin_thread(fixture, tree_root(&fixture->tree, (uint32_t)i + 2), 0);
        observe(fixture, 25, 0, WAITING, "ab");
        end(fixture, 32, 2, c->rest);
        assert_values(fixture, "ab", 1, c->is_pseudo ? 0 : 2, c->seen_blocked);
        for (int pseudo = 0; pseudo < PSEUDO_COUNT; pseudo++) {
            if (c->is_pseudo && pseudo == (int)c->pseudo)
                assert_at(fixture, pseudo_of(fixture, c->pseudo), 0, 2, 5);
            else
                assert_int_equal(pseudo_of(fixture, (enum pseudo_frame)pseudo), 0);
        }
    }
}

static void the_last_stretch_may_reach_the_end(void **state)
{
    static const uint64_t ends[] = {60, 45, FOLD_GOES_ON};
    struct fixture *fixture = *state;
    for (uint32_t i = 0; i < COUNT(ends); i++) {
        begin_thread(fixture, tree_root(&fixture->tree, i + 2), 0);
        observe_until(fixture, 25, ends[i], 0, WAITING, "ab");
        end(fixture, 45, 0, FOLD_REST_UNSAMPLED);
        assert_values(fixture, "ab", 1, 0, 45);
        assert_int_equal(pseudo_of(fixture, PSEUDO_UNSAMPLED), 0);
    }
    begin_thread(fixture, tree_root(&fixture->tree, 9), 0);
    observe_until(fixture, 25, FOLD_GOES_ON, 25, RUNNING, "ab");
    stretch_ended(fixture, 35);
    end(fixture, 42, 40, FOLD_REST_UNSAMPLED); /* of 15 at work in 17 there are 6 in the last 7 */
    assert_values(fixture, "ab", 1, 34, 0);
    assert_at(fixture, pseudo_of(fixture, PSEUDO_UNSAMPLED), 0, 6, 2);
}

static void nothing_is_left_after_a_stretch_with_nothing_after_it(void **state)
{
    struct fixture *fixture = *state;
    observe_until(fixture, 20, FOLD_GOES_ON, 20, RUNNING, "a");
    end(fixture, 42, 42, FOLD_REST_UNSAMPLED);
    assert_values(fixture, "a", 1, 42, 0);
    assert_int_equal(pseudo_of(fixture, PSEUDO_UNSAMPLED), 0);
}

static void a_thread_never_seen_has_its_lifetime(void **state)
{
    struct fixture *fixture = *state;
    end(fixture, 42, 5, FOLD_REST_UNSAMPLED);
    assert_at(fixture, pseudo_of(fixture, PSEUDO_UNSAMPLED), 0, 5, 37);
    assert_at(fixture, fixture->thread.root, 0, 0, 0);
    assert_sum(fixture, 0, 5, 37);
}

static void an_end_before_the_last_observation_adds_nothing(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 42, 42, RUNNING, "a");
    end(fixture, 40, 41, FOLD_REST_UNSAMPLED);
    assert_sum(fixture, 1, 42, 0);
}

/* ---- conservation ---- */

static const char *const random_stacks[] = {"a", "ab", "abc", "a1b", "d", "dab", "abcdef", ""};

struct walk {
    uint64_t time, cpu;
};

/* A step of 0..39 wall; the CPU clock moves by up to as much, plus a reading error of up to skew. */
static void walk_step(struct walk *walk, struct random_state *random, uint32_t skew)
{
    uint64_t wall = random_below(random, 40);
    walk->time += wall;
    walk->cpu += random_below(random, 3) == 0 ? 0 : random_below(random, (uint32_t)wall + 1);
    if (skew)
        walk->cpu += random_below(random, skew);
}

static void walk_observe(struct fixture *fixture, const struct walk *walk, struct random_state *random)
{
    enum seen seen = random_below(random, 2) ? RUNNING : WAITING;
    const char *stack = random_stacks[random_below(random, COUNT(random_stacks))];
    switch (random_below(random, 8)) {
    case 0:
        observe_unknown(fixture, walk->time, walk->cpu, seen);
        break;
    case 1:
        observe_unchanged(fixture, walk->time, walk->cpu, seen);
        break;
    case 2:
        observe_until(fixture, walk->time, FOLD_GOES_ON, walk->cpu, seen, stack);
        break;
    case 3:
    case 4:
        observe_until(fixture, walk->time, walk->time + random_below(random, 60), walk->cpu, seen, stack);
        break;
    default:
        observe(fixture, walk->time, walk->cpu, seen, stack);
    }
    if (random_below(random, 2))
        stretch_ended(fixture, walk->time + random_below(random, 40));
}

static void walk_far(struct fixture *fixture, struct walk *walk, uint64_t seed, uint32_t skew)
{
    struct random_state random;
    random_init(&random, seed);
    for (int i = 0; i < 10000; i++) {
        walk_step(walk, &random, skew);
        walk_observe(fixture, walk, &random);
        struct values sum = fake_sum(&fixture->tree, fixture->thread.root);
        assert_int_equal(tree_wall_ns(&sum), walk->time);
    }
}

static void every_nanosecond_is_accounted_for_once(void **state)
{
    struct fixture *fixture = *state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct walk walk = {0};
        fixture->fold.samples = 0;
        begin_thread(fixture, tree_root(&fixture->tree, (uint32_t)seed + 1), 0);
        walk_far(fixture, &walk, seed, 0);
        end(fixture, walk.time + 17, walk.cpu + 5, (enum fold_rest)(seed - 1));
        assert_sum(fixture, 10000, walk.cpu + 5, walk.time + 17 - walk.cpu - 5);
    }
}

/* With clocks that are not read at one instant the sums still hold as
 * soon as the thread has slept a little. */
static void skewed_clocks_even_out(void **state)
{
    struct fixture *fixture = *state;
    struct walk walk = {0};
    walk_far(fixture, &walk, 4, 4);
    end(fixture, walk.time + 1000, walk.cpu, FOLD_REST_UNSAMPLED);
    assert_sum(fixture, 10000, walk.cpu, walk.time + 1000 - walk.cpu);
}

static void a_thread_that_only_runs_has_no_offcpu_time(void **state)
{
    struct fixture *fixture = *state;
    struct random_state random;
    struct walk walk = {0};
    random_init(&random, 5);
    for (int i = 0; i < 10000; i++) {
        uint64_t wall = 1 + random_below(&random, 20);
        walk.time += wall;
        walk.cpu += wall + (i % 2 == 0); /* read a little late every other time */
        observe(fixture, walk.time, walk.cpu, random_below(&random, 2) ? RUNNING : WAITING, "ab");
    }
    end(fixture, walk.time, walk.cpu, FOLD_REST_UNSAMPLED);
    assert_sum(fixture, 10000, walk.time, 0);
}

/* The claims of each stack by a second, plain account of the same rules. */
static void values_per_stack_match_a_second_account(void **state)
{
    struct fixture *fixture = *state;
    struct random_state random;
    struct values expected[COUNT(random_stacks)] = {0};
    struct walk walk = {0};
    uint64_t wall_before = 0;
    random_init(&random, 6);
    for (int i = 0; i < 10000; i++) {
        uint32_t at = random_below(&random, COUNT(random_stacks));
        bool is_running = random_below(&random, 2);
        walk_step(&walk, &random, 0);
        observe(fixture, walk.time, walk.cpu, is_running ? RUNNING : WAITING, random_stacks[at]);
        expected[at].samples++;
        *(is_running ? &expected[at].cpu_ns : &expected[at].blocked_ns) += walk.time - wall_before;
        wall_before = walk.time;
    }
    for (size_t i = 0; i < COUNT(random_stacks); i++) {
        bool is_empty = !*random_stacks[i];
        arena_ref node = is_empty ? pseudo_of(fixture, PSEUDO_UNSAMPLED) : node_of(fixture, random_stacks[i]);
        fake_assert_values(&fixture->tree, node, expected[i]);
    }
}

/* ---- calls ---- */

struct edges {
    uint64_t count[128][128];
};

/* Sums the calls of all nodes by (caller's letter, callee's letter); 0 is the root. */
static void edges_of_tree(const struct fixture *fixture, struct edges *ret)
{
    const struct tree *tree = &fixture->tree;
    memset(ret, 0, sizeof(*ret));
    for (arena_ref at = fixture->thread.root; at; at = fake_next(tree, fixture->thread.root, at)) {
        const struct tree_node *node = tree_node(tree, at);
        if (!node->parent)
            continue;
        arena_ref above = tree_node(tree, node->parent)->location;
        uint64_t caller = above ? tree_location_at(tree, above)->address >> 8 : 0;
        ret->count[caller][tree_location_at(tree, node->location)->address >> 8] += node->calls;
    }
}

static void observe_all(struct fixture *fixture, const char *const *stacks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        observe(fixture, i + 1, i + 1, RUNNING, stacks[i]);
}

struct edge {
    char caller, callee;
    uint64_t calls;
};

static void assert_edges(const struct fixture *fixture, const struct edge *edges, size_t count)
{
    static struct edges all;
    uint64_t sum = 0, expected = 0;
    edges_of_tree(fixture, &all);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(all.count[(int)edges[i].caller][(int)edges[i].callee], edges[i].calls);
        expected += edges[i].calls;
    }
    for (int caller = 1; caller < 128; caller++) {
        for (int callee = 0; callee < 128; callee++)
            sum += all.count[caller][callee];
    }
    assert_int_equal(sum, expected); /* and no edge that is not listed */
}

/* The example in rbspy's callgrind.rs; its table is per edge,
 * which is the sum over the nodes of that edge. */
static void rbspy_example(void **state)
{
    static const char *const stacks[] = {"abcddgx", "abcdd", "abcd", "abcdd", "abefg"};
    static const struct edge edges[] = {{'a', 'b', 1}, {'b', 'c', 1}, {'b', 'e', 1},
                                        {'c', 'd', 1}, {'d', 'd', 2}, {'d', 'g', 1},
                                        {'g', 'x', 1}, {'e', 'f', 1}, {'f', 'g', 1}};
    struct fixture *fixture = *state;
    observe_all(fixture, stacks, COUNT(stacks));
    assert_edges(fixture, edges, COUNT(edges));
    assert_int_equal(calls_of(fixture, "a"), 1);
    assert_int_equal(calls_of(fixture, "abcdd"), 2);
    assert_int_equal(calls_of(fixture, "abcddgx"), 1);
    assert_values(fixture, "abcdd", 2, 2, 0); /* "exclusive" of d is 3: twice here and once there */
    assert_values(fixture, "abcd", 1, 1, 0);
}

/* rbspy's unit test stats_aggregate, with x for the second function of the first file. */
static void rbspy_unit_test(void **state)
{
    static const char *const stacks[] = {"a", "abc", "ab", "ac", "ab", "axc"};
    static const struct edge edges[] = {
        {'a', 'b', 2}, {'a', 'c', 1}, {'a', 'x', 1}, {'b', 'c', 1}, {'x', 'c', 1}};
    struct fixture *fixture = *state;
    observe_all(fixture, stacks, COUNT(stacks));
    assert_edges(fixture, edges, COUNT(edges));
    assert_int_equal(calls_of(fixture, "a"), 1);
    assert_values(fixture, "a", 1, 1, 0);
    assert_values(fixture, "ab", 2, 2, 0);
}

static void recursion_is_one_call_per_level(void **state)
{
    static const char *const stacks[] = {"aa", "aaaa", "aaa", "aaaa", "aaaa"};
    struct fixture *fixture = *state;
    observe_all(fixture, stacks, COUNT(stacks));
    assert_int_equal(calls_of(fixture, "a"), 1);
    assert_int_equal(calls_of(fixture, "aa"), 1);
    assert_int_equal(calls_of(fixture, "aaa"), 1);
    assert_int_equal(calls_of(fixture, "aaaa"), 2);
}

struct calls_case {
    const char *name;
    const char *stacks[4];
    const char *node;
    uint64_t calls;
};

static const struct calls_case call_sites[] = {
    {"leaf moves on inside its function", {"ab1", "ab2", "ab3"}, "ab3", 0},
    {"the first address of a leaf is the call", {"ab1", "ab2", "ab3"}, "ab1", 1},
    {"another function at the same depth", {"ab1", "ac1"}, "ac1", 1},
    {"and back again", {"ab1", "ac1", "ab1"}, "ab1", 2},
    {"the caller has moved on: it is no new call", {"a1b", "a2b"}, "a2", 0},
    {"but what it calls from there is", {"a1b", "a2b"}, "a2b", 1},
    {"also when the callee is the same address", {"a1b1", "a2b1"}, "a2b1", 1},
    {"a return to the caller, further on", {"a1b", "a2"}, "a2", 0},
    {"a call by the leaf, further on", {"a1", "a2b"}, "a2b", 1},
    {"a call by the leaf does not call the leaf", {"a1", "a2b"}, "a2", 0},
    {"the outermost function differs", {"ab", "cb"}, "cb", 1},
    {"below a function that goes on, all is new", {"a1b1", "a2b2"}, "a2b2", 1},
    {"the same stack again", {"abc", "abc", "abc"}, "abc", 1},
    {"in and out", {"ab", "a", "ab", "a"}, "ab", 2},
    {"an empty stack ends every call", {"ab", "", "ab"}, "a", 2},
};

static void a_call_site_further_on_is_the_same_call(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT(call_sites); i++) {
        const struct calls_case *c = &call_sites[i];
        begin_thread(fixture, tree_root(&fixture->tree, (uint32_t)i + 2), 0);
        for (size_t j = 0; j < COUNT(c->stacks) && c->stacks[j]; j++)
            observe(fixture, j, 0, RUNNING, c->stacks[j]);
        if (calls_of(fixture, c->node) != c->calls)
            fail_msg("%s: %s has %u calls", c->name, c->node, (unsigned)calls_of(fixture, c->node));
    }
}

/* Code without a known function start cannot be said to go on; nor can equal offsets in two modules. */
static void only_a_known_function_goes_on(void **state)
{
    static const struct {
        arena_ref module[2];
        uint64_t start[2];
        uint64_t calls;
    } cases[] = {{{1, 1}, {0, 0}, 1}, {{1, 2}, {0x100, 0x100}, 1}, {{3, 3}, {0x100, 0x100}, 0}};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        arena_ref node = 0;
        begin_thread(fixture, tree_root(&fixture->tree, (uint32_t)i + 2), 0);
        for (uint64_t j = 0; j < 2; j++) {
            uint64_t address = 0x1000 * (i + 1) + 0x10 * j;
            arena_ref path = tree_location(&fixture->tree, cases[i].module[j], address, cases[i].start[j]);
            struct fold_observation observation = {
                .time_ns = START, .is_running = true, .path = &path, .depth = 1};
            fold_observe(&fixture->fold, &fixture->thread, &observation);
            node = fake_child(&fixture->tree, fixture->thread.root, path);
        }
        assert_int_equal(tree_node(&fixture->tree, node)->calls, cases[i].calls);
    }
}

static void silence_and_pauses_are_no_calls(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 1, 0, RUNNING, "abc");
    observe_unknown(fixture, 2, 0, WAITING);
    observe_unchanged(fixture, 3, 0, WAITING);
    observe_unknown(fixture, 4, 0, WAITING);
    observe(fixture, 5, 0, RUNNING, "abd");
    assert_int_equal(calls_of(fixture, "a"), 1);
    assert_int_equal(calls_of(fixture, "ab"), 1);
    assert_int_equal(calls_of(fixture, "abc"), 1);
    assert_int_equal(calls_of(fixture, "abd"), 1);
    assert_int_equal(tree_node(&fixture->tree, pseudo_of(fixture, PSEUDO_NOT_RESPONDING))->calls, 0);
    assert_values(fixture, "abc", 2, 1, 1);
}

static void random_stack(struct random_state *random, char *ret)
{
    uint32_t depth = random_below(random, 8);
    for (uint32_t i = 0; i < depth; i++)
        *ret++ = (char)('a' + random_below(random, i < 2 ? 2 : 4));
    *ret = '\0';
}

/* rbspy's rule once more, on the text itself: what differs from the stack before is called. */
static void calls_match_a_second_account(void **state)
{
    static struct edges expected, found;
    struct fixture *fixture = *state;
    struct random_state random;
    char before[16] = "", now[16];
    memset(&expected, 0, sizeof(expected));
    random_init(&random, 7);
    for (int i = 0; i < 10000; i++) {
        random_stack(&random, now);
        observe(fixture, 0, 0, RUNNING, now);
        size_t common = 0;
        while (before[common] && before[common] == now[common])
            common++;
        for (size_t at = common; now[at]; at++)
            expected.count[at ? (int)now[at - 1] : 0][(int)now[at]]++;
        strcpy(before, now);
    }
    edges_of_tree(fixture, &found);
    assert_memory_equal(&found, &expected, sizeof(expected));
}

/* ---- a full arena ---- */

static void a_location_without_room_ends_in_overflow(void **state)
{
    struct fixture *fixture = *state;
    struct fake_path path = fake_path(&fixture->tree, "abcd");
    path.locations[1] = 0; /* c, the second from the inside */
    struct fold_observation observation = {.time_ns = START + 9,
                                           .cpu_clock_ns = 2,
                                           .is_running = true,
                                           .path = path.locations,
                                           .depth = path.depth};
    fold_observe(&fixture->fold, &fixture->thread, &observation);
    arena_ref overflow = fake_pseudo_child(&fixture->tree, node_of(fixture, "ab"), PSEUDO_OVERFLOW);
    assert_at(fixture, overflow, 1, 9, 0);
    assert_int_equal(fixture->tree.overflows, 1);
    observe_unchanged(fixture, 12, 2, WAITING);
    assert_at(fixture, overflow, 2, 9, 3);
}

/* The node for as much of a stack as exists. */
static arena_ref deepest_of(const struct fixture *fixture, const char *stack)
{
    char part[FAKE_DEPTH_MAX];
    arena_ref node = 0;
    strcpy(part, stack);
    for (size_t length = strlen(stack); !node; part[--length] = '\0') {
        node = node_of(fixture, part);
        if (!length)
            break;
    }
    return node;
}

/* All stacks of the letters p and q, longer and longer, until not even the reserve has room. */
static void no_time_is_lost_in_a_full_arena(void **state)
{
    struct fixture *fixture = *state;
    teardown(state);
    begin(fixture, 4096, PERIOD);
    uint32_t cut = 0, merged = 0;
    for (unsigned i = 2; i < 400; i++) {
        char stack[FAKE_DEPTH_MAX] = "";
        for (unsigned bits = i, length = 0; bits > 1; bits >>= 1, length++)
            stack[length] = bits & 1 ? 'p' : 'q';
        observe(fixture, i, i / 2, i % 2 ? RUNNING : WAITING, stack);
        arena_ref deepest = deepest_of(fixture, stack), at = fixture->thread.node;
        arena_ref overflow = fake_pseudo_child(&fixture->tree, deepest, PSEUDO_OVERFLOW);
        bool is_whole = deepest == node_of(fixture, stack);
        assert_int_equal(at, is_whole || !overflow ? deepest : overflow);
        cut += !is_whole && overflow;
        merged += !is_whole && !overflow;
    }
    assert_true(cut > 0);
    assert_true(merged > 0);
    assert_int_equal(fixture->tree.overflows, cut + merged);
    end(fixture, 400, 210, FOLD_REST_UNSAMPLED);
    assert_sum(fixture, 398, 210, 190);
}

/* ---- short lives ---- */

static struct values end_life(struct fixture *fixture, uint64_t time, uint64_t cpu)
{
    const struct fold_clocks clocks = {START + time, cpu, FOLD_NO_DELAY};
    return fold_life_end(&fixture->fold, &fixture->thread, &clocks, FOLD_REST_UNSAMPLED);
}

static void assert_life(struct values life, uint64_t cpu, uint64_t blocked)
{
    assert_int_equal(life.cpu_ns, cpu);
    assert_int_equal(life.rundelay_ns, 0);
    assert_int_equal(life.blocked_ns, blocked);
}

/* 4 before the thread, 6 up to the sample, 3 up to the end and 7 after it. */
static void a_short_life_claims_whole_stretches(void **state)
{
    struct fixture *fixture = *state;
    fold_first_stretch(&fixture->thread, START - 4);
    observe_until(fixture, 6, FOLD_GOES_ON, 6, RUNNING, "ab");
    stretch_ended(fixture, 16);
    assert_life(end_life(fixture, 9, 9), 9, 0);
    assert_sum(fixture, 1, 20, 0);
    assert_values(fixture, "ab", 1, 20, 0);
}

static void a_first_stretch_that_begins_late_claims_less(void **state)
{
    struct fixture *fixture = *state;
    fold_first_stretch(&fixture->thread, START + 2);
    observe(fixture, 6, 6, RUNNING, "ab");
    observe_until(fixture, 8, 8, 6, WAITING, "ac");
    assert_life(end_life(fixture, 9, 6), 6, 3);
    assert_values(fixture, "ab", 1, 4, 0);
    assert_values(fixture, "ac", 1, 0, 2);
    assert_sum(fixture, 2, 4, 2);
}

static void a_short_life_without_a_sample_claims_nothing(void **state)
{
    struct fixture *fixture = *state;
    fold_first_stretch(&fixture->thread, START - 4);
    assert_life(end_life(fixture, 9, 3), 3, 6);
    assert_sum(fixture, 0, 0, 0);
}

static void other_lives_are_settled_alone(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t periods = FOLD_SHORT_PERIODS;
    fold_first_stretch(&fixture->thread, START - 4);
    observe(fixture, 6, 6, RUNNING, "ab");
    assert_life(end_life(fixture, periods * PERIOD, periods * PERIOD), 0, 0);
    assert_sum(fixture, 1, periods * PERIOD, 0);
    assert_at(fixture, pseudo_of(fixture, PSEUDO_UNSAMPLED), 0, periods * PERIOD - 6, 0);
}

static void a_life_that_began_before_the_recording_is_settled_alone(void **state)
{
    struct fixture *fixture = *state;
    observe_until(fixture, 6, 16, 6, RUNNING, "ab");
    assert_life(end_life(fixture, 9, 9), 0, 0);
    assert_values(fixture, "ab", 1, 9, 0);
    assert_sum(fixture, 1, 9, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(wall_time_is_owed_since_the_last_observation),
        TEST(an_empty_stack_is_unsampled),
        TEST(a_clock_that_goes_back_takes_nothing_away),
        TEST(every_thread_owes_its_own_time),
        TEST(what_follows_a_look_is_its_own_until_its_stretch_ends),
        TEST(a_stretch_that_goes_on_reaches_to_the_next_observation),
        TEST(a_silent_threads_stretch_is_silent_too),
        TEST(unchanged_takes_everything_since),
        TEST(an_observation_claims_its_time_as_what_it_found),
        TEST(claims_are_scaled_to_what_the_clocks_say),
        TEST(sums_are_true_in_between_and_at_the_end),
        TEST(a_stretch_goes_on_after_a_settlement),
        TEST(settled_twice_a_shared_root_counts_once),
        TEST(what_is_skipped_is_in_nobodys_account),
        TEST(a_stretch_does_not_reach_over_a_gap),
        TEST(who_has_not_run_over_a_gap_is_where_it_was),
        TEST(many_spans_add_up),
        TEST(what_chance_explains_goes_to_functions_of_the_same_state),
        TEST(what_chance_does_not_explain_stays_where_it_was_seen),
        TEST(one_stack_may_have_both_kinds),
        TEST(rounding_loses_nothing),
        TEST(what_nobody_claims_is_the_rests),
        TEST(more_cpu_than_wall_is_no_negative_waiting),
        TEST(a_shared_root_has_no_claims),
        TEST(a_runnable_threads_time_is_parted_as_its_clocks_say),
        TEST(who_was_woken_has_used_no_cpu_there),
        TEST(what_a_dump_has_told_is_not_told_again),
        TEST(a_debt_of_run_delay_is_bounded),
        TEST(all_three_parts_are_scaled),
        TEST(a_clock_that_stands_still_leaves_the_state_to_decide),
        TEST(a_wait_for_a_cpu_that_nobody_counts_is_blocked),
        TEST(wall_time_does_not_depend_on_who_has_the_cpu),
        TEST(there_is_no_more_run_delay_than_time_off_the_cpu),
        TEST(the_end_is_taken_to_be_as_the_life_before),
        TEST(claims_in_excess_are_taken_from_unsampled_time_of_the_group),
        TEST(claims_in_excess_are_cut_else),
        TEST(cpu_time_before_the_start_is_not_ours),
        TEST(unchanged_adds_to_the_last_stack),
        TEST(unknown_goes_to_not_responding),
        TEST(the_rest_goes_where_it_is_known_to_belong),
        TEST(the_last_stretch_may_reach_the_end),
        TEST(nothing_is_left_after_a_stretch_with_nothing_after_it),
        TEST(a_thread_never_seen_has_its_lifetime),
        TEST(an_end_before_the_last_observation_adds_nothing),
        TEST(every_nanosecond_is_accounted_for_once),
        TEST(skewed_clocks_even_out),
        TEST(a_thread_that_only_runs_has_no_offcpu_time),
        TEST(values_per_stack_match_a_second_account),
        TEST(rbspy_example),
        TEST(rbspy_unit_test),
        TEST(recursion_is_one_call_per_level),
        TEST(a_call_site_further_on_is_the_same_call),
        TEST(only_a_known_function_goes_on),
        TEST(silence_and_pauses_are_no_calls),
        TEST(calls_match_a_second_account),
        TEST(a_location_without_room_ends_in_overflow),
        TEST(no_time_is_lost_in_a_full_arena),
        TEST(a_short_life_claims_whole_stretches),
        TEST(a_first_stretch_that_begins_late_claims_less),
        TEST(a_short_life_without_a_sample_claims_nothing),
        TEST(other_lives_are_settled_alone),
        TEST(a_life_that_began_before_the_recording_is_settled_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
