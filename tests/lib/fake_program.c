#include "fake_program.h"

static uint64_t fake_vary(struct random_state *random, uint32_t ms, uint32_t percent)
{
    uint64_t mean_ns = (uint64_t)ms * NS_PER_MS, range_ns = mean_ns * percent / 100;
    return mean_ns - range_ns + (range_ns ? random_next(random) % (2 * range_ns) : 0);
}

char fake_function(const struct fake_task *task)
{
    return task->kind->steps[task->step].function;
}

bool fake_is_running(const struct fake_task *task)
{
    return fake_function(task) < 'a';
}

void fake_begin(struct fake_task *task, const struct fake_kind *kind, uint64_t seed, uint64_t now_ns,
                uint64_t *truth)
{
    uint64_t all_ms = 0, passed_ns = 0;
    *task = (struct fake_task){.kind = kind, .now_ns = now_ns, .end_ns = UINT64_MAX, .truth = truth};
    random_init(&task->random, seed);
    for (int i = 0; i < FAKE_STEPS_MAX; i++)
        all_ms += kind->steps[i].ms;
    uint64_t at_ns = kind->in_step ? 0 : random_next(&task->random) % (all_ms * NS_PER_MS);
    for (;; task->step++) {
        passed_ns += (uint64_t)kind->steps[task->step].ms * NS_PER_MS;
        if (passed_ns > at_ns)
            break;
    }
    task->step_end_ns = now_ns + passed_ns - at_ns;
    if (kind->life_ms)
        task->end_ns = now_ns + fake_vary(&task->random, kind->life_ms, 50);
}

static void fake_pass(struct fake_task *task, uint64_t until_ns)
{
    task->truth[(int)fake_function(task)] += until_ns - task->now_ns;
    if (fake_is_running(task))
        task->cpu_ns += until_ns - task->now_ns;
    task->now_ns = until_ns;
}

void fake_advance(struct fake_task *task, uint64_t until_ns)
{
    while (task->step_end_ns <= until_ns) {
        fake_pass(task, task->step_end_ns);
        task->step++;
        if (task->step == FAKE_STEPS_MAX || task->kind->steps[task->step].ms == 0)
            task->step = 0;
        const struct fake_step *step = &task->kind->steps[task->step];
        task->step_end_ns += fake_vary(&task->random, step->ms, step->vary);
        task->wakings++;
    }
    if (until_ns > task->now_ns)
        fake_pass(task, until_ns);
}
