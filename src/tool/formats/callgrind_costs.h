/*
 * What each function of a profile cost, and each call from one function to another, by line: as the callgrind
 * format counts it.
 *
 * Called from: enc_callgrind.c. Functions and costs are numbered from 0 in the order in which they are met.
 */
#ifndef WALLPROF_CALLGRIND_COSTS_H
#define WALLPROF_CALLGRIND_COSTS_H

#include "base/intern_table.h"
#include "base/string_table.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* One function, as the format sees it: readers tell functions apart by the first three. Those are numbers in
 * the string tables; 0 is not known. */
struct callgrind_function {
    uint32_t object, file, name;
    uint32_t start_line;
    uint32_t active; /* how many frames it has on the stack at present */
    bool is_defined; /* its name has been written */
};
enum { CALLGRIND_FUNCTION_KEY_BYTES = 3 * sizeof(uint32_t) };

/* The cost of a line of a function: its own, or that of a function called there. */
struct callgrind_cost {
    uint32_t function, line;
    uint32_t callee; /* 1 + function; 0: the line itself */
    uint64_t calls;
    struct values values; /* of a call: inclusive */
};
enum { CALLGRIND_COST_KEY_BYTES = 3 * sizeof(uint32_t) };

struct callgrind_costs {
    const struct profile *profile;
    struct string_table objects, files, names;
    struct intern_table functions, costs;
    uint32_t *function_of_frame;   /* by index of struct symbol_frame: 1 + function; 0 before it is met */
    struct callgrind_frame *stack; /* the frames from the root to the present node */
    uint32_t stack_count;
    size_t stack_bytes; /* that it has room for */
    bool failed;        /* the stack found no memory */
};

/* 0 or -ENOMEM; deinit in any case. */
int callgrind_costs_init(struct callgrind_costs *costs, const struct profile *profile);
void callgrind_costs_deinit(struct callgrind_costs *costs);

/* Adds up what is below a root of the profile's tree. */
void callgrind_costs_add_tree(struct callgrind_costs *costs, arena_ref root);

/* Whether memory has run out: the sums are then not to be used. */
bool callgrind_costs_have_failed(const struct callgrind_costs *costs);

static inline struct callgrind_cost *callgrind_cost_at(const struct callgrind_costs *costs, uint32_t number)
{
    return intern_table_at(&costs->costs, number);
}

static inline struct callgrind_function *callgrind_function_at(const struct callgrind_costs *costs,
                                                               uint32_t number)
{
    return intern_table_at(&costs->functions, number);
}

#endif
