/*
 * The tree is walked once, with the frames from the root to the present node as a stack. What each function
 * and each call cost is added up on the way.
 *
 * Readers take the sum of all calls to a function for its inclusive cost. This has to be right under
 * recursion. So a sample counts for the call that entered a function first, and not for a call that entered
 * it again from within. It also has to be right for a function that threads begin with and that may be called
 * too (clone3). So every stack has a caller: its thread.
 */
#include "callgrind_costs.h"
#include "profile/wait_labels.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct callgrind_frame {
    uint32_t function, line;
    uint32_t depth; /* of its node */
    uint32_t call;  /* number of the cost of the call that made it; of no use in the first frame */
    bool is_outermost;
    struct values inclusive;
};

/* ---- functions ---- */

static uint32_t add_function(struct callgrind_costs *costs, const char *object, const char *file,
                             const char *name, uint32_t start_line)
{
    const uint32_t key[] = {string_table_intern(&costs->objects, object),
                            string_table_intern(&costs->files, file),
                            string_table_intern(&costs->names, name)};
    uint32_t number = intern_table_intern(&costs->functions, key);
    struct callgrind_function *function = intern_table_at(&costs->functions, number);
    if (function->start_line == 0)
        function->start_line = start_line;
    return number;
}

static uint32_t function_of(struct callgrind_costs *costs, const struct location *location,
                            const struct symbol_frame *frame)
{
    const struct symbols *symbols = costs->profile->symbols;
    uint32_t *number = &costs->function_of_frame[frame - symbols->frames];
    if (*number == 0) {
        const struct symbol_function *function = &symbols->functions[frame->function];
        *number =
            1 + add_function(costs, profile_code_path(costs->profile, location),
                             function->file ? function->file : "", function->name, function->start_line);
    }
    return *number - 1;
}

/* Only by name, even where labels have the id: thousands of threads would be thousands of functions. */
static uint32_t function_of_thread(struct callgrind_costs *costs, uint32_t thread_number)
{
    const struct thread_record *thread = profile_thread(costs->profile, thread_number);
    char name[THREAD_NAME_BYTES + 1], function[sizeof name + sizeof "[thread ]"];
    if (!profile_tells_thread(costs->profile, thread))
        return add_function(costs, "", "", "[threads]", 0);
    profile_thread_name(thread, name);
    snprintf(function, sizeof function, "[thread %s]", name);
    return add_function(costs, "", "", function, 0);
}

/* ---- adding up ---- */

static uint32_t cost_of(struct callgrind_costs *costs, const struct callgrind_frame *frame, uint32_t callee)
{
    const uint32_t key[] = {frame->function, frame->line, callee};
    return intern_table_intern(&costs->costs, key);
}

static void open_frame(struct callgrind_costs *costs, uint32_t function, uint32_t line, uint32_t depth,
                       uint64_t calls)
{
    uint32_t call = 0;
    if (!costs->failed)
        costs->stack =
            scratch_reserve(costs->stack, &costs->stack_bytes,
                            (costs->stack_count + (size_t)1) * sizeof *costs->stack, SCRATCH_FIRST_BYTES);
    if (costs->failed || !costs->stack) {
        costs->failed = true;
        costs->stack_count = 0;
        return;
    }
    if (costs->stack_count > 0) {
        call = cost_of(costs, &costs->stack[costs->stack_count - 1], function + 1);
        callgrind_cost_at(costs, call)->calls += calls;
    }
    costs->stack[costs->stack_count++] =
        (struct callgrind_frame){.function = function,
                                 .line = line,
                                 .depth = depth,
                                 .call = call,
                                 .is_outermost = callgrind_function_at(costs, function)->active++ == 0};
}

/* Takes the frames of nodes at least that deep off the stack: what they cost is known now. */
static void close_frames(struct callgrind_costs *costs, uint32_t depth)
{
    while (costs->stack_count > 0 && costs->stack[costs->stack_count - 1].depth >= depth) {
        const struct callgrind_frame *frame = &costs->stack[--costs->stack_count];
        callgrind_function_at(costs, frame->function)->active--;
        if (costs->stack_count == 0)
            return;
        tree_add_values(&costs->stack[costs->stack_count - 1].inclusive, &frame->inclusive);
        if (frame->is_outermost)
            tree_add_values(&callgrind_cost_at(costs, frame->call)->values, &frame->inclusive);
    }
}

/* Adds values to the innermost frame. */
static void add_self(struct callgrind_costs *costs, const struct values *values)
{
    if (costs->failed || !tree_has_weight(values))
        return;
    struct callgrind_frame *frame = &costs->stack[costs->stack_count - 1];
    tree_add_values(&frame->inclusive, values);
    tree_add_values(&callgrind_cost_at(costs, cost_of(costs, frame, 0))->values, values);
}

static void open_location(struct callgrind_costs *costs, arena_ref ref, uint32_t depth, uint64_t calls)
{
    const struct location *location = tree_location_at(costs->profile->tree, ref);
    uint32_t count;
    if (wait_label_is(costs->profile->tree, location)) /* its time is that of the frame around it */
        return;
    const struct symbol_frame *frames = symbols_frames(costs->profile->symbols, location->index, &count);
    for (uint32_t i = count; i-- > 0;)
        open_frame(costs, function_of(costs, location, &frames[i]), frames[i].line, depth, calls);
}

/* Where there are several processes, each is a function that calls its threads. */
static void open_process(struct callgrind_costs *costs, uint32_t thread_number)
{
    const struct thread_record *thread = profile_thread(costs->profile, thread_number);
    char title[PROCESS_TITLE_BYTES], function[sizeof title + sizeof "[process ]"];
    if (!*profile_process_title(costs->profile, thread, title))
        return;
    snprintf(function, sizeof function, "[process %s]", title);
    open_frame(costs, add_function(costs, "", "", function, 0), 0, 0, 1);
}

/* A root has weight only when there was no memory for a pseudo-frame below it. */
static void add_root(struct callgrind_costs *costs, const struct tree_node *root)
{
    const struct tree *tree = costs->profile->tree;
    open_process(costs, root->thread);
    open_frame(costs, function_of_thread(costs, root->thread), 0, 0, 1);
    if (tree_has_weight(&root->self)) {
        open_location(costs, tree->pseudo[PSEUDO_OVERFLOW], 1, 1);
        add_self(costs, &root->self);
    }
}

void callgrind_costs_add_tree(struct callgrind_costs *costs, arena_ref root)
{
    const struct tree *tree = costs->profile->tree;
    add_root(costs, tree_node(tree, root));
    for (arena_ref ref = tree_next(tree, root, root); ref; ref = tree_next(tree, root, ref)) {
        const struct tree_node *node = tree_node(tree, ref);
        close_frames(costs, node->depth);
        open_location(costs, node->location, node->depth, node->calls);
        add_self(costs, &node->self);
    }
    close_frames(costs, 0);
}

/* ---- the whole ---- */

bool callgrind_costs_have_failed(const struct callgrind_costs *costs)
{
    return costs->failed || costs->functions.failed || costs->costs.failed || costs->objects.failed ||
           costs->files.failed || costs->names.failed;
}

static size_t frame_bytes(const struct symbols *symbols)
{
    return sizeof(uint32_t) * symbols->first_frame[symbols->location_count];
}

int callgrind_costs_init(struct callgrind_costs *costs, const struct profile *profile)
{
    *costs = (struct callgrind_costs){.profile = profile};
    string_table_init(&costs->objects);
    string_table_init(&costs->files);
    string_table_init(&costs->names);
    int status =
        intern_table_init(&costs->functions, sizeof(struct callgrind_function), CALLGRIND_FUNCTION_KEY_BYTES);
    if (status == 0)
        status = intern_table_init(&costs->costs, sizeof(struct callgrind_cost), CALLGRIND_COST_KEY_BYTES);
    costs->function_of_frame = scratch_alloc(frame_bytes(profile->symbols));
    return status < 0 ? status : costs->function_of_frame ? 0 : -ENOMEM;
}

void callgrind_costs_deinit(struct callgrind_costs *costs)
{
    scratch_free(costs->stack, costs->stack_bytes);
    scratch_free(costs->function_of_frame, frame_bytes(costs->profile->symbols));
    intern_table_deinit(&costs->costs);
    intern_table_deinit(&costs->functions);
    string_table_deinit(&costs->names);
    string_table_deinit(&costs->files);
    string_table_deinit(&costs->objects);
}
