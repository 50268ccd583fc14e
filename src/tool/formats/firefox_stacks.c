/* The frames and the stacks of a Firefox profile, column by column, as docs/formats.md has them. */
#include "firefox_tables.h"
#include "profile/wait_labels.h"

/* ---- stacks: those of all nodes, and after them those that end in a state ---- */

struct stack_entry {
    uint32_t index, frame;
    int64_t prefix; /* FIREFOX_NO_STACK for a root */
};

typedef void stack_cell_fn(struct json *json, const struct stack_entry *stack);

static uint32_t frame_number(struct firefox_tables *tables, struct firefox_frame frame)
{
    return intern_table_intern(&tables->frames, &frame);
}

/* The path of one of a node's frames, the innermost one being 0. */
static const struct firefox_path *path_of(const struct firefox_tables *tables, arena_ref node,
                                          uint32_t inlined)
{
    const struct firefox_path *path = firefox_path_of(&tables->paths, node);
    for (; inlined > 0; inlined--)
        path = firefox_path_around(&tables->paths, path);
    return path;
}

/* The entries of one node, the outermost of its frames first. */
static void write_node(struct firefox_tables *tables, struct json *json, arena_ref node, stack_cell_fn *cell)
{
    uint32_t count, location = firefox_location_of(tables, node)->index;
    symbols_frames(tables->profile->symbols, location, &count);
    int64_t prefix = firefox_stack_of(tables, tree_node(tables->profile->tree, node)->parent);
    for (uint32_t i = count; i-- > 0;) {
        const struct firefox_frame frame = {1 + location, i, path_of(tables, node, i)->category};
        const struct stack_entry stack = {.index = (uint32_t)firefox_stack_of(tables, node) - i,
                                          .frame = frame_number(tables, frame),
                                          .prefix = prefix};
        cell(json, &stack);
        prefix = stack.index;
    }
}

static void write_state(struct firefox_tables *tables, struct json *json, uint32_t i, stack_cell_fn *cell)
{
    const struct firefox_state_stack *state = intern_table_at(&tables->states, i);
    const struct firefox_frame frame = {.category = state->category};
    const struct stack_entry stack = {.index = tables->stack_count + i,
                                      .frame = frame_number(tables, frame),
                                      .prefix = firefox_stack_of(tables, state->node)};
    cell(json, &stack);
}

static void write_stack_column(struct firefox_tables *tables, struct json *json, const char *key,
                               stack_cell_fn *cell)
{
    const struct tree *tree = tables->profile->tree;
    json_member_array(json, key);
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref node = tree_next(tree, root, root); node; node = tree_next(tree, root, node)) {
            if (!wait_label_is(tree, firefox_location_of(tables, node)))
                write_node(tables, json, node, cell);
        }
    }
    for (uint32_t i = 0; i < tables->states.count; i++)
        write_state(tables, json, i, cell);
    json_end_array(json);
}

static void stack_frame(struct json *json, const struct stack_entry *stack)
{
    json_uint(json, stack->frame);
}

static void stack_prefix_offset(struct json *json, const struct stack_entry *stack)
{
    json_uint(json, stack->prefix == FIREFOX_NO_STACK ? 0 : stack->index - (uint32_t)stack->prefix);
}

void firefox_write_stacks(struct firefox_tables *tables, struct json *json)
{
    json_member_object(json, "stackTable");
    write_stack_column(tables, json, "frame", stack_frame);
    write_stack_column(tables, json, "prefixOffset", stack_prefix_offset);
    firefox_end_table(json, (uint64_t)tables->stack_count + tables->states.count);
}

/* ---- frames ---- */

typedef void frame_cell_fn(struct firefox_tables *tables, struct json *json,
                           const struct firefox_frame *frame);

static void write_frame_column(struct firefox_tables *tables, struct json *json, const char *key,
                               frame_cell_fn *cell)
{
    json_member_array(json, key);
    for (uint32_t i = 0; i < tables->frames.count; i++)
        cell(tables, json, intern_table_at(&tables->frames, i));
    json_end_array(json);
}

/* NULL for a state's. */
static const struct location *location_of(const struct firefox_tables *tables,
                                          const struct firefox_frame *frame)
{
    return frame->location ? tree_location_at(tables->profile->tree, tables->locations[frame->location - 1])
                           : NULL;
}

/* The function that the frame's code was made for: it is inlined there unless it is the same. */
static uint32_t function_around(const struct firefox_tables *tables, const struct firefox_frame *frame,
                                uint32_t *ret_count)
{
    const struct symbol_frame *frames =
        symbols_frames(tables->profile->symbols, frame->location - 1, ret_count);
    return frames[*ret_count - 1].function;
}

static void frame_address(struct firefox_tables *tables, struct json *json, const struct firefox_frame *frame)
{
    uint32_t count;
    const struct location *location = location_of(tables, frame);
    if (location && location->module && tables->lib_of_function[function_around(tables, frame, &count)] > 0)
        json_uint(json, location->address - firefox_module_at(tables, location->module)->loaded_low);
    else
        json_int(json, -1);
}

static void frame_depth(struct firefox_tables *tables, struct json *json, const struct firefox_frame *frame)
{
    uint32_t count = 1;
    if (frame->location)
        function_around(tables, frame, &count);
    json_uint(json, count - 1 - frame->inlined);
}

static void frame_category(struct firefox_tables *tables, struct json *json,
                           const struct firefox_frame *frame)
{
    (void)tables;
    json_uint(json, frame->category);
}

static void frame_function(struct firefox_tables *tables, struct json *json,
                           const struct firefox_frame *frame)
{
    const struct symbols *symbols = tables->profile->symbols;
    uint32_t count;
    json_uint(json, frame->location
                        ? symbols_frames(symbols, frame->location - 1, &count)[frame->inlined].function
                        : symbols->function_count + frame->category);
}

static void frame_symbol(struct firefox_tables *tables, struct json *json, const struct firefox_frame *frame)
{
    uint32_t count;
    firefox_index_or_null(
        json, frame->location ? tables->symbol_of_function[function_around(tables, frame, &count)] : 0);
}

static void frame_line(struct firefox_tables *tables, struct json *json, const struct firefox_frame *frame)
{
    uint32_t count,
        line =
            frame->location
                ? symbols_frames(tables->profile->symbols, frame->location - 1, &count)[frame->inlined].line
                : 0;
    firefox_index_or_null(json, line ? line + 1 : 0);
}

void firefox_write_frames(struct firefox_tables *tables, struct json *json)
{
    const uint32_t count = tables->frames.count;
    json_member_object(json, "frameTable");
    write_frame_column(tables, json, "address", frame_address);
    write_frame_column(tables, json, "inlineDepth", frame_depth);
    write_frame_column(tables, json, "category", frame_category);
    firefox_write_same(json, "subcategory", count, 0);
    write_frame_column(tables, json, "func", frame_function);
    write_frame_column(tables, json, "nativeSymbol", frame_symbol);
    firefox_write_same(json, "innerWindowID", count, 0);
    write_frame_column(tables, json, "line", frame_line);
    firefox_write_nulls(json, "column", count);
    firefox_write_nulls(json, "originalLocation", count);
    firefox_end_table(json, count);
}
