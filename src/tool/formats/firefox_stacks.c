/* The frames and the stacks of a Firefox profile, column by column, as docs/formats.md has them. */
#include "firefox_tables.h"

/* ---- frames: those of all locations, and after them the innermost one of each wait ---- */

struct firefox_frame {
    const struct location *location;
    struct symbol_frame frame;
    uint32_t function; /* the one that the location's code was made for */
    uint32_t depth;    /* how many inlined calls are around it */
    uint32_t category;
};

typedef void frame_cell_fn(struct firefox_tables *tables, struct json *json,
                           const struct firefox_frame *frame);

/* The i-th frame of a location, the innermost one being 0. */
static struct firefox_frame frame_of(const struct firefox_tables *tables, const struct location *location,
                                     uint32_t i)
{
    uint32_t count;
    const struct symbol_frame *frames = symbols_frames(tables->profile->symbols, location->index, &count);
    return (struct firefox_frame){.location = location,
                                  .frame = frames[i],
                                  .function = frames[count - 1].function,
                                  .depth = count - 1 - i,
                                  .category = location->pseudo ? CATEGORY_OTHER : CATEGORY_RUNNING};
}

static void write_frame_column(struct firefox_tables *tables, struct json *json, const char *key,
                               frame_cell_fn *cell)
{
    const struct tree *tree = tables->profile->tree;
    json_member_array(json, key);
    for (uint32_t i = 0; i < tree->location_count; i++) {
        uint32_t count;
        symbols_frames(tables->profile->symbols, i, &count);
        for (uint32_t j = 0; j < count; j++) {
            struct firefox_frame frame = frame_of(tables, tree_location_at(tree, tables->locations[i]), j);
            cell(tables, json, &frame);
        }
    }
    for (uint32_t i = 0; i < tables->wait_count; i++) {
        struct firefox_frame frame = frame_of(tables, firefox_location_of(tables, tables->waits[i].node), 0);
        frame.category = tables->waits[i].category;
        cell(tables, json, &frame);
    }
    json_end_array(json);
}

static void frame_address(struct firefox_tables *tables, struct json *json, const struct firefox_frame *frame)
{
    const struct location *location = frame->location;
    if (tables->lib_of_function[frame->function] > 0 && location->module)
        json_uint(json, location->address - firefox_module_at(tables, location->module)->loaded_low);
    else
        json_int(json, -1);
}

static void frame_depth(struct firefox_tables *tables, struct json *json, const struct firefox_frame *frame)
{
    (void)tables;
    json_uint(json, frame->depth);
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
    (void)tables;
    json_uint(json, frame->frame.function);
}

static void frame_symbol(struct firefox_tables *tables, struct json *json, const struct firefox_frame *frame)
{
    firefox_index_or_null(json, tables->symbol_of_function[frame->function]);
}

static void frame_line(struct firefox_tables *tables, struct json *json, const struct firefox_frame *frame)
{
    (void)tables;
    firefox_index_or_null(json, frame->frame.line ? frame->frame.line + 1 : 0);
}

static uint32_t frames_of_locations(const struct firefox_tables *tables)
{
    return tables->profile->symbols->first_frame[tables->profile->tree->location_count];
}

void firefox_write_frames(struct firefox_tables *tables, struct json *json)
{
    const uint64_t count = (uint64_t)frames_of_locations(tables) + tables->wait_count;
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

/* ---- stacks ---- */

struct stack_entry {
    uint32_t index, frame;
    int64_t prefix; /* FIREFOX_NO_STACK for a root */
};

typedef void stack_cell_fn(struct json *json, const struct stack_entry *stack);

/* The innermost entry of a node, FIREFOX_NO_STACK for a root. */
static int64_t stack_of(const struct firefox_tables *tables, arena_ref node)
{
    return (int64_t)tables->stacks[STACK_RUNNING][tree_node_index(node)] - 1;
}

/* The entries of one node, the outermost of its frames first. */
static void write_node(struct firefox_tables *tables, struct json *json, arena_ref node, stack_cell_fn *cell)
{
    uint32_t count, location = firefox_location_of(tables, node)->index;
    const struct symbols *symbols = tables->profile->symbols;
    symbols_frames(symbols, location, &count);
    int64_t prefix = stack_of(tables, tree_node(tables->profile->tree, node)->parent);
    for (uint32_t i = count; i-- > 0;) {
        const struct stack_entry stack = {.index = (uint32_t)stack_of(tables, node) - i,
                                          .frame = symbols->first_frame[location] + i,
                                          .prefix = prefix};
        cell(json, &stack);
        prefix = stack.index;
    }
}

/* The entry that calls the innermost frame of a wait: another frame of the node, or its caller's. */
static int64_t prefix_of_wait(const struct firefox_tables *tables, arena_ref node)
{
    uint32_t count;
    symbols_frames(tables->profile->symbols, firefox_location_of(tables, node)->index, &count);
    return count > 1 ? stack_of(tables, node) - 1
                     : stack_of(tables, tree_node(tables->profile->tree, node)->parent);
}

static void write_stack_column(struct firefox_tables *tables, struct json *json, const char *key,
                               stack_cell_fn *cell)
{
    const struct tree *tree = tables->profile->tree;
    json_member_array(json, key);
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref node = tree_next(tree, root, root); node; node = tree_next(tree, root, node))
            write_node(tables, json, node, cell);
    }
    for (uint32_t i = 0; i < tables->wait_count; i++) {
        const struct stack_entry stack = {.index = tables->stack_count + i,
                                          .frame = frames_of_locations(tables) + i,
                                          .prefix = prefix_of_wait(tables, tables->waits[i].node)};
        cell(json, &stack);
    }
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
    firefox_end_table(json, (uint64_t)tables->stack_count + tables->wait_count);
}
