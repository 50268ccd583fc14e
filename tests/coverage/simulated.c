/*
 * How often error bars hold the truth, in programs that are only played: by the real ticks, schedule, fold
 * and error bars. Prints a line of a table for each program (docs/accuracy.md).
 *
 * A thread calls functions of known shares, one after the other, each with pieces of its own and pieces in a
 * helper, at many addresses. Samples see the stack at their moment. Seeds are fixed.
 *
 * usage: simulated RUNS [PART_OF_A_NAME]
 */
#include "account/fold.h"
#include "base/clock.h"
#include "lib/fake_stacks.h"
#include "sample/schedule.h"
#include "sample/tick.h"
#include "tool/report/report_error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS = 8, FUNCTIONS = 9, WAIT = FUNCTIONS - 1, THREADS_MAX = 40, CLASSES = 3 };

static const uint64_t period_ns = 10 * NS_PER_MS;

/* Of a thread's running time, in per mille; the last function is its wait. */
static const uint32_t shares[2][WAIT] = {{5, 10, 20, 50, 100, 200, 300, 315}, {900, 50, 20, 10, 10, 5, 3, 2}};

enum order { IN_TURN, AT_RANDOM, IN_PHASES };

struct program {
    const char *name;
    enum order order;
    uint64_t call_ns; /* on average; in turn: of one round */
    bool is_even;     /* calls are equally long, or else of exponential length; of a round they are even */
    uint32_t wait_per_mille;
    uint64_t wait_ns;
    uint32_t threads, seconds;
    uint32_t rarer; /* stretches are so many times as long, for the overhead limit */
};

static const struct program programs[] = {
    {"calls of 50 us", AT_RANDOM, 50000, false, 0, 0, 1, 10, 1},
    {"rounds of 1 ms", IN_TURN, 1000000, true, 0, 0, 1, 10, 1},
    {"calls of 1 ms", AT_RANDOM, 1000000, false, 0, 0, 1, 10, 1},
    {"calls of 10 ms", AT_RANDOM, 10000000, false, 0, 0, 1, 20, 1},
    {"rounds of 100 ms", IN_TURN, 100000000, true, 0, 0, 1, 20, 1},
    {"calls of 100 ms", AT_RANDOM, 100000000, true, 0, 0, 1, 60, 1},
    {"calls of 500 ms", AT_RANDOM, 500000000, false, 0, 0, 1, 120, 1},
    {"calls of 200 us, in two phases", IN_PHASES, 200000, false, 0, 0, 1, 10, 1},
    {"calls of 200 us, waits of 300 us", AT_RANDOM, 200000, false, 500, 300000, 1, 20, 1},
    {"calls of 2 ms, waits of 50 ms", AT_RANDOM, 2000000, false, 500, 50000000, 1, 120, 1},
    {"calls of 200 us in 40 threads", AT_RANDOM, 200000, false, 0, 0, 40, 5, 1},
    {"calls of 300 ms in 40 threads", AT_RANDOM, 300000000, false, 0, 0, 40, 30, 1},
    {"calls of 3 ms, waits of 20 ms in 4 threads", AT_RANDOM, 3000000, true, 500, 20000000, 4, 20, 1},
    {"the same, with a fifth of the samples", AT_RANDOM, 3000000, true, 500, 20000000, 4, 100, 5},
};

struct task {
    struct schedule_thread schedule; /* first: what the schedule hands out is this too */
    struct fold_thread fold;
    uint64_t now_ns, end_ns, piece_end_ns, cpu_ns;
    uint32_t function, call; /* WAIT: none */
    bool is_in_helper, has_run;
};

struct run {
    const struct program *program;
    const uint32_t *shares;
    struct random_state random;
    uint64_t begin_ns, end_ns;
    struct task tasks[THREADS_MAX];
    uint64_t own_ns[FUNCTIONS], cum_ns[FUNCTIONS]; /* the truth */
};

static double uniform(struct run *run)
{
    return ((double)(random_next(&run->random) >> 11) + 0.5) / (double)(1ULL << 53);
}

/* ---- the program ---- */

static uint32_t draw(struct run *run, uint64_t now_ns)
{
    bool is_late = now_ns > (run->begin_ns + run->end_ns) / 2;
    for (;;) {
        uint32_t function = 0;
        int32_t at = (int32_t)random_below(&run->random, 1000);
        while (function < WAIT - 1 && (at -= (int32_t)run->shares[function]) >= 0)
            function++;
        if (run->program->order != IN_PHASES || function % 2 == is_late)
            return function;
    }
}

static uint64_t length(struct run *run, uint64_t mean_ns, bool is_even)
{
    return (uint64_t)((double)mean_ns * (is_even ? 0.95 + 0.1 * uniform(run) : -log(uniform(run)))) + 1;
}

static void next_call(struct run *run, struct task *task)
{
    const struct program *program = run->program;
    if (task->function != WAIT && random_below(&run->random, 1000) < program->wait_per_mille) {
        task->function = WAIT;
        task->end_ns = task->now_ns + length(run, program->wait_ns, false);
        return;
    }
    uint64_t call_ns = program->call_ns;
    task->function = program->order == IN_TURN ? ++task->call % WAIT : draw(run, task->now_ns);
    if (program->order == IN_TURN)
        call_ns = call_ns * run->shares[task->function] / 1000;
    task->end_ns = task->now_ns + length(run, call_ns, program->is_even);
}

/* Pieces in a function itself and in its helper take 350 and 150 us. */
static void advance(struct run *run, struct task *task, uint64_t until_ns)
{
    while (task->now_ns < until_ns) {
        bool is_waiting = task->function == WAIT;
        if (task->piece_end_ns <= task->now_ns) {
            task->is_in_helper = !task->is_in_helper;
            task->piece_end_ns = task->now_ns + length(run, task->is_in_helper ? 150000 : 350000, true);
        }
        uint64_t to_ns = is_waiting || task->end_ns < task->piece_end_ns ? task->end_ns : task->piece_end_ns;
        to_ns = to_ns < until_ns ? to_ns : until_ns;
        uint64_t passed_ns = to_ns - task->now_ns;
        run->cum_ns[task->function] += passed_ns;
        run->own_ns[task->function] += task->is_in_helper ? 0 : passed_ns;
        task->cpu_ns += is_waiting ? 0 : passed_ns;
        task->has_run |= !is_waiting;
        task->now_ns = to_ns;
        if (to_ns == task->end_ns)
            next_call(run, task);
    }
}

/* ---- the profiler ---- */

static void observe(struct run *run, struct fold *fold, struct schedule *schedule, struct task *task)
{
    bool is_running;
    char stack[16];
    fold_stretch_ended(&task->fold, task->schedule.begin_ns);
    advance(run, task, task->schedule.sample_ns);
    is_running = task->function != WAIT;
    snprintf(stack, sizeof stack, "M%c%u%s", 'a' + (char)task->function, random_below(&run->random, 10),
             is_running && task->is_in_helper ? "z" : "");
    if (!is_running)
        strcpy(stack, "Mi");
    struct fake_path path = fake_path(fold->tree, stack);
    struct fold_observation observation = {.time_ns = task->schedule.sample_ns,
                                           .cpu_clock_ns = task->cpu_ns,
                                           .delay_clock_ns = 0,
                                           .is_running = is_running,
                                           .is_unchanged = !is_running && !task->has_run,
                                           .path = path.locations,
                                           .depth = path.depth};
    observation.until_ns = schedule_stretch(&task->schedule, &observation.time_ns);
    fold_observe(fold, &task->fold, &observation);
    schedule_seen(schedule, &task->schedule,
                  is_running || task->has_run ? SCHEDULE_ACTIVE
                  : observation.is_unchanged  ? SCHEDULE_QUIET
                                              : SCHEDULE_IDLE);
    task->has_run = false;
}

static void one_tick(struct run *run, struct fold *fold, struct schedule *schedule, uint64_t now_ns)
{
    static const enum schedule_turn turns[] = {SCHEDULE_TURN_KNOWN, SCHEDULE_TURN_FIRST, SCHEDULE_TURN_QUIET};
    struct schedule_thread *next;
    schedule_tick(schedule, now_ns);
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        while ((next = schedule_next(schedule, turns[i], now_ns)))
            observe(run, fold, schedule, (struct task *)next);
    }
}

static void play(struct run *run, struct fold *fold)
{
    static struct schedule schedule;
    struct tick tick;
    if (schedule_init(&schedule, LOOKS, period_ns, &run->random) < 0)
        abort();
    schedule.spread = run->program->rarer * SCHEDULE_SPREAD_ONE;
    tick_init(&tick, period_ns, run->begin_ns, &run->random);
    for (uint32_t i = 0; i < run->program->threads; i++) {
        struct task *task = &run->tasks[i];
        *task =
            (struct task){.now_ns = run->begin_ns, .has_run = true, .call = random_below(&run->random, WAIT)};
        fold_thread_begin(&task->fold, tree_root(fold->tree, i + 1),
                          &(struct fold_clocks){.time_ns = run->begin_ns});
        schedule_add(&schedule, &task->schedule);
        next_call(run, task);
    }
    while (tick.deadline_ns < run->end_ns) {
        uint64_t now_ns = tick.deadline_ns;
        tick_advance(&tick, now_ns, &run->random);
        one_tick(run, fold, &schedule, now_ns);
    }
    for (uint32_t i = 0; i < run->program->threads; i++) {
        struct task *task = &run->tasks[i];
        fold_stretch_ended(&task->fold, schedule_until(&schedule, &task->schedule));
        advance(run, task, run->end_ns);
        fold_thread_end(fold, &task->fold,
                        &(struct fold_clocks){.time_ns = run->end_ns, .cpu_ns = task->cpu_ns},
                        FOLD_REST_UNSAMPLED);
    }
    schedule_deinit(&schedule);
}

/* ---- the judgement ---- */

struct found {
    struct values flat, cum;
    struct changes changes;
};

static void add_up(const struct tree *tree, struct found found[FUNCTIONS])
{
    memset(found, 0, sizeof(*found) * FUNCTIONS);
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref ref = tree_next(tree, root, root); ref; ref = tree_next(tree, root, ref)) {
            const struct tree_node *node = tree_node(tree, ref);
            if (node->depth < 2)
                continue;
            arena_ref above = tree_node(tree, tree_ancestor_at(tree, ref, 2))->location;
            struct found *function = &found[(tree_location_at(tree, above)->address >> 8) - 'a'];
            tree_add_values(&function->cum, &node->self);
            function->changes.cum_near += node->changes.cum_near;
            function->changes.cum_far += node->changes.cum_far;
            if (node->depth > 2)
                continue;
            tree_add_values(&function->flat, &node->self);
            function->changes.flat_near += node->changes.flat_near;
            function->changes.flat_far += node->changes.flat_far;
        }
    }
}

/* Of functions of some share: how many had 5 samples, and in how many the interval held the truth. Of all:
 * their wall time, in truth and as found. */
struct tally {
    uint64_t cases, few, flat, cum, cpu, true_ns, found_ns;
};

static bool holds(uint64_t found_ns, uint64_t true_ns, uint64_t error_ns)
{
    return (found_ns > true_ns ? found_ns - true_ns : true_ns - found_ns) <= error_ns;
}

static void judge(const struct run *run, const struct found found[FUNCTIONS], struct tally tallies[CLASSES])
{
    for (uint32_t i = 0; i < WAIT; i++) {
        const struct found *at = &found[i];
        struct tally *tally = &tallies[run->shares[i] < 50 ? 0 : run->shares[i] < 500 ? 1 : 2];
        struct report_error flat =
            report_error_of(&at->flat, at->changes.flat_near, at->changes.flat_far, period_ns);
        struct report_error cum =
            report_error_of(&at->cum, at->changes.cum_near, at->changes.cum_far, period_ns);
        tally->true_ns += run->cum_ns[i];
        tally->found_ns += tree_wall_ns(&at->cum);
        if (run->shares[i] < 5)
            continue;
        if (flat.wall_ns == REPORT_ERROR_UNKNOWN || cum.wall_ns == REPORT_ERROR_UNKNOWN) {
            tally->few++;
            continue;
        }
        tally->cases++;
        /* A row's wall time is the sum of its parts, each scaled to the clocks. */
        tally->flat += holds(tree_wall_ns(&at->flat), run->own_ns[i], flat.wall_ns);
        tally->cum += holds(tree_wall_ns(&at->cum), run->cum_ns[i], cum.wall_ns);
        tally->cpu += holds(at->cum.cpu_ns, run->cum_ns[i], cum.cpu_ns);
    }
}

static void one_run(const struct program *program, uint64_t seed, struct tally tallies[CLASSES])
{
    static struct run run;
    struct arena arena;
    struct tree tree;
    struct found found[FUNCTIONS];
    run = (struct run){.program = program, .shares = shares[seed % 2], .begin_ns = NS_PER_S};
    run.end_ns = run.begin_ns + (uint64_t)program->seconds * NS_PER_S;
    random_init(&run.random, seed);
    if (arena_init(&arena, 1 << 24) < 0 || tree_init(&tree, &arena) < 0)
        abort();
    struct fold fold = {.tree = &tree, .period_ns = period_ns};
    play(&run, &fold);
    add_up(&tree, found);
    judge(&run, found, tallies);
    tree_deinit(&tree);
    arena_deinit(&arena);
}

/* How much more time the functions were found to have than they had, of all runs together. */
static double excess(const struct tally tallies[CLASSES])
{
    double true_ns = 0, found_ns = 0;
    for (int i = 0; i < CLASSES; i++) {
        true_ns += (double)tallies[i].true_ns;
        found_ns += (double)tallies[i].found_ns;
    }
    return found_ns / true_ns - 1;
}

int main(int argc, char **argv)
{
    uint64_t runs = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        struct tally tallies[CLASSES] = {{0}};
        if (argc > 2 && !strstr(programs[p].name, argv[2]))
            continue;
        for (uint64_t seed = 1; seed <= runs; seed++)
            one_run(&programs[p], seed, tallies);
        printf("| %s |", programs[p].name);
        for (int i = 0; i < CLASSES; i++) {
            const struct tally *tally = &tallies[i];
            double cases = (double)(tally->cases ? tally->cases : 1);
            printf(" %.1f / %.1f / %.1f |", 100 * (double)tally->flat / cases,
                   100 * (double)tally->cum / cases, 100 * (double)tally->cpu / cases);
        }
        double few = (double)tallies[0].few / (double)(tallies[0].few + tallies[0].cases);
        printf(" %.0f %% | %+.1f %% |\n", 100 * few, 100 * excess(tallies));
        fflush(stdout);
    }
    return 0;
}
