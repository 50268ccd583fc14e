/* The stacks of a report as JSON. A frame is written once, and stacks have its number. */
#include "report_table.h"
#include "profile/wait_labels.h"

#include <stdlib.h>

struct used_frame {
    uint32_t frame; /* index into symbols->frames */
    const struct location *location;
};

struct writing {
    const struct report_table *table;
    struct json *json;
    uint32_t *number_of;     /* by index into symbols->frames: 1 + its number; 0: it has none yet */
    struct used_frame *used; /* by number */
    uint32_t used_count;
};

static const struct location *location_of(const struct writing *writing, arena_ref node)
{
    const struct tree *tree = writing->table->profile->tree;
    return tree_location_at(tree, tree_node(tree, node)->location);
}

static uint32_t number_of(struct writing *writing, uint32_t frame, const struct location *location)
{
    if (!writing->number_of[frame]) {
        writing->used[writing->used_count] = (struct used_frame){frame, location};
        writing->number_of[frame] = ++writing->used_count;
    }
    return writing->number_of[frame] - 1;
}

/* Innermost first. Returns the root. */
static arena_ref write_frames(struct writing *writing, arena_ref node)
{
    const struct tree *tree = writing->table->profile->tree;
    const uint32_t *first = writing->table->profile->symbols->first_frame;
    json_member_array(writing->json, "frames");
    for (; tree_node(tree, node)->parent; node = tree_node(tree, node)->parent) {
        const struct location *location = location_of(writing, node);
        for (uint32_t i = first[location->index]; !tree_is_label(location) && i < first[location->index + 1];
             i++)
            json_uint(writing->json, number_of(writing, i, location));
    }
    json_end_array(writing->json);
    return node;
}

static void write_labels(struct writing *writing, arena_ref node)
{
    const struct profile *profile = writing->table->profile;
    json_member_object(writing->json, "labels");
    for (; tree_node(profile->tree, node)->parent; node = tree_node(profile->tree, node)->parent) {
        const struct location *location = location_of(writing, node);
        if (tree_is_label(location) && !wait_label_is(profile->tree, location))
            json_member_string(writing->json, tree_label_key(profile->arena, location),
                               tree_label_value(profile->arena, location));
    }
    json_end_object(writing->json);
}

static void write_stack(struct writing *writing, const struct report_stack *stack, size_t *thread)
{
    const struct report *report = writing->table->report;
    const struct tree *tree = writing->table->profile->tree;
    const struct wait_labels waited = wait_labels_of(tree, tree, stack->node);
    const enum wait_kind wait = (enum wait_kind)report->meaning.nodes[tree_node_index(stack->node)].wait;
    json_newline(writing->json);
    json_begin_object(writing->json);
    const arena_ref root = write_frames(writing, stack->node);
    if (*thread == report->thread_count || report->threads[*thread].root != root) {
        for (*thread = 0; *thread < report->thread_count && report->threads[*thread].root != root;)
            ++*thread;
    }
    json_member_uint(writing->json, "thread", *thread);
    write_labels(writing, stack->node);
    json_member_text(writing->json, "waits_for", stack->values.blocked_ns ? wait_kind_words[wait] : NULL);
    json_member_text(writing->json, WAIT_LABEL_ON, waited.on);
    json_member_text(writing->json, WAIT_LABEL_HOLDER, waited.holder);
    report_json_values(writing->json, "values", &stack->values);
    json_end_object(writing->json);
}

static void write_frame(const struct writing *writing, const struct used_frame *used)
{
    const struct profile *profile = writing->table->profile;
    const struct symbol_frame *frame = &profile->symbols->frames[used->frame];
    const struct symbol_function *function = &profile->symbols->functions[frame->function];
    const char *path = profile_code_path(profile, used->location);
    json_newline(writing->json);
    json_begin_object(writing->json);
    json_member_string(writing->json, "function", function->name);
    json_member_text(writing->json, "file", function->file);
    json_key(writing->json, "line");
    if (frame->line)
        json_uint(writing->json, frame->line);
    else
        json_null(writing->json);
    json_member_text(writing->json, "module", *path ? path : NULL);
    json_end_object(writing->json);
}

bool report_json_stacks(const struct report_table *table, struct json *json)
{
    const struct symbols *symbols = table->profile->symbols;
    const size_t frames = (size_t)symbols->first_frame[symbols->location_count] + 1;
    struct writing writing = {.table = table, .json = json};
    size_t thread = 0;
    writing.number_of = calloc(frames, sizeof *writing.number_of);
    writing.used = calloc(frames, sizeof *writing.used);
    const bool has_memory = writing.number_of && writing.used;
    json_member_array(json, "stacks");
    for (uint32_t i = 0; has_memory && i < table->report->stack_count; i++)
        write_stack(&writing, &table->report->stacks[i], &thread);
    json_end_array(json);
    json_member_array(json, "frames");
    for (uint32_t i = 0; i < writing.used_count; i++)
        write_frame(&writing, &writing.used[i]);
    json_end_array(json);
    free(writing.number_of);
    free(writing.used);
    return has_memory;
}
