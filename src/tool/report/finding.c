#include "finding.h"
#include "report_title.h"
#include "profile/wait_labels.h"
#include "tool/meaning/code_owner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct looking {
    const struct profile *profile;
    const struct meaning *meaning;
    struct finding *finding;
    uint64_t *in_frame;    /* by index into symbols->frames: wall time of the row at that frame */
    uint64_t *in_function; /* by function: wall time of what the row calls directly */
    arena_ref longest;     /* the node with the most wall time */
    uint64_t longest_ns;
};

static const struct location *location_of(const struct looking *looking, arena_ref node)
{
    const struct tree *tree = looking->profile->tree;
    return tree_location_at(tree, tree_node(tree, node)->location);
}

/* A pseudo-frame, or a label where no frame of it is known. */
static bool is_no_code(const struct looking *looking, arena_ref node)
{
    const struct tree *tree = looking->profile->tree;
    return location_of(looking, wait_label_leaf(tree, tree, node))->pseudo;
}

static const struct symbol_function *function_at(const struct looking *looking, uint32_t frame)
{
    const struct symbols *symbols = looking->profile->symbols;
    return &symbols->functions[symbols->frames[frame].function];
}

static const char *function_name(const struct looking *looking, uint32_t frame)
{
    return function_at(looking, frame)->name;
}

/* The function that the user's function at `frame` calls on the way to a node; -1 for none with a name. */
static int64_t callee_of(const struct looking *looking, arena_ref node, uint32_t frame)
{
    const struct tree *tree = looking->profile->tree;
    const struct symbols *symbols = looking->profile->symbols;
    int64_t callee = -1;
    for (; tree_node(tree, node)->parent; node = tree_node(tree, node)->parent) {
        const uint32_t index = location_of(looking, node)->index;
        for (uint32_t i = symbols->first_frame[index]; i < symbols->first_frame[index + 1]; i++) {
            if (i == frame)
                return callee;
            if (symbols->functions[symbols->frames[i].function].is_symbol)
                callee = symbols->frames[i].function;
        }
    }
    return -1;
}

static void look_at_node(struct looking *looking, arena_ref node)
{
    char title[REPORT_TITLE_BYTES];
    const uint32_t frame = looking->meaning->nodes[tree_node_index(node)].frame;
    const struct tree *tree = looking->profile->tree;
    const struct values shown = meaning_shown(looking->meaning, tree, node);
    const struct wait_labels known = wait_labels_of(tree, tree, node);
    const uint64_t wall_ns = tree_wall_ns(&shown);
    if (!frame || wall_ns == 0 || is_no_code(looking, node) ||
        strcmp(report_title(function_at(looking, frame - 1), true, title), looking->finding->row->name) != 0)
        return;
    wait_sums_add(&looking->finding->waits,
                  (enum wait_kind)looking->meaning->nodes[tree_node_index(node)].wait, &known,
                  shown.blocked_ns);
    looking->in_frame[frame - 1] += wall_ns;
    const int64_t callee = callee_of(looking, node, frame - 1);
    if (callee >= 0)
        looking->in_function[callee] += wall_ns;
    if (wall_ns > looking->longest_ns) {
        looking->longest = node;
        looking->longest_ns = wall_ns;
    }
}

/* ---- what was seen ---- */

static void take_line(struct looking *looking, uint32_t frame_count)
{
    const struct symbols *symbols = looking->profile->symbols;
    const struct symbol_frame *frames = symbols->frames;
    uint64_t most_ns = 0;
    for (uint32_t i = 0; i < frame_count; i++) {
        uint64_t line_ns = 0;
        for (uint32_t k = i; looking->in_frame[i] && k < frame_count; k++) {
            bool is_same = frames[k].line == frames[i].line && frames[k].function == frames[i].function;
            line_ns += is_same ? looking->in_frame[k] : 0;
        }
        if (line_ns > most_ns) {
            most_ns = line_ns;
            looking->finding->file = symbols->functions[frames[i].function].file;
            looking->finding->line = frames[i].line;
        }
    }
}

static void take_callee(struct looking *looking)
{
    const struct symbols *symbols = looking->profile->symbols;
    for (uint32_t i = 0; i < symbols->function_count; i++) {
        if (looking->in_function[i] <= looking->finding->through_ns)
            continue;
        looking->finding->through = symbols->functions[i].name;
        looking->finding->through_ns = looking->in_function[i];
    }
}

static void take_module(struct looking *looking, arena_ref node, uint32_t frame)
{
    const uint32_t *first = looking->profile->symbols->first_frame;
    const struct location *location = location_of(looking, node);
    if (looking->finding->module || !location->module || frame < first[location->index] ||
        frame >= first[location->index + 1])
        return;
    const struct module *module = arena_at(looking->profile->arena, location->module);
    looking->finding->module = arena_at(looking->profile->arena, module->path);
}

/* Outwards from the node with the most time: where the frame of the user's changes, there is a caller. */
static void take_surroundings(struct looking *looking)
{
    const struct tree *tree = looking->profile->tree;
    struct finding *finding = looking->finding;
    uint32_t last = 0;
    for (arena_ref node = looking->longest; node && tree_node(tree, node)->parent;
         node = tree_node(tree, node)->parent) {
        const struct meaning_of_node *known = &looking->meaning->nodes[tree_node_index(node)];
        if (last == 0)
            last = known->frame;
        take_module(looking, node, looking->meaning->nodes[tree_node_index(looking->longest)].frame - 1);
        if (known->frame == 0 || known->frame == last || known->owner != OWNER_USER)
            continue;
        last = known->frame;
        if (finding->caller_count < FINDING_CALLERS_MAX)
            finding->callers[finding->caller_count++] = function_name(looking, last - 1);
    }
}

int finding_look(struct finding *ret, const struct report *report, const struct profile *profile,
                 const struct report_row *row)
{
    const struct symbols *symbols = profile->symbols;
    const struct tree *tree = profile->tree;
    const uint32_t frame_count = symbols->first_frame[symbols->location_count];
    struct looking looking = {.profile = profile, .meaning = &report->meaning, .finding = ret};
    looking.in_frame = calloc((size_t)frame_count + 1, sizeof *looking.in_frame);
    looking.in_function = calloc((size_t)symbols->function_count + 1, sizeof *looking.in_function);
    *ret = (struct finding){.row = row};
    bool has_memory = wait_sums_init(&ret->waits) == 0 && looking.in_frame && looking.in_function;
    for (arena_ref root = tree->newest_root; has_memory && root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref node = tree_next(tree, root, root); node; node = tree_next(tree, root, node))
            look_at_node(&looking, node);
    }
    if (has_memory) {
        take_line(&looking, frame_count);
        take_callee(&looking);
        take_surroundings(&looking);
    }
    free(looking.in_frame);
    free(looking.in_function);
    return has_memory && !wait_sums_have_failed(&ret->waits) ? 0 : -ENOMEM;
}

void finding_free(struct finding *finding)
{
    wait_sums_deinit(&finding->waits);
}

bool finding_waits_for(const struct finding *finding, struct wait_thing *ret)
{
    return wait_sums_things(&finding->waits, ret, 1) == 1 && ret->on;
}
