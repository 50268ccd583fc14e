/*
 * Threads that only are numbers: what each does at any moment is drawn from its own seed, and how long it has
 * been in which function is known to the nanosecond.
 *
 * A thread's life is a row of segments, each in one function, running or waiting. Time only goes forward.
 */
#ifndef WALLPROF_FAKE_PROGRAM_H
#define WALLPROF_FAKE_PROGRAM_H

#include "base/clock.h"
#include "base/random.h"

#include <stdbool.h>
#include <stdint.h>

enum { FAKE_FUNCTIONS = 128, FAKE_STEPS_MAX = 4 };

/* Letters are functions, capital ones run. Durations vary evenly by `vary` per cent up and down. */
struct fake_kind {
    struct fake_step {
        char function;
        uint32_t ms, vary;
    } steps[FAKE_STEPS_MAX];
    uint32_t life_ms; /* on average, half to one and a half of it; 0: for ever */
    bool in_step;     /* it begins at the beginning, to change when others of its seed do */
};

struct fake_task {
    const struct fake_kind *kind;
    struct random_state random;
    uint32_t step;
    uint64_t now_ns, step_end_ns, end_ns; /* end_ns: UINT64_MAX without */
    uint64_t cpu_ns;
    uint64_t wakings; /* steps begun */
    uint64_t *truth;  /* by function, summed by the caller */
};

char fake_function(const struct fake_task *task);
bool fake_is_running(const struct fake_task *task);

/* Somewhere in the middle of its doings, unless threads of its kind are to be in step. */
void fake_begin(struct fake_task *task, const struct fake_kind *kind, uint64_t seed, uint64_t now_ns,
                uint64_t *truth);

/* To a moment that is not before the last one. */
void fake_advance(struct fake_task *task, uint64_t until_ns);

#endif
