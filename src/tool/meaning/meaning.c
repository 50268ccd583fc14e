#include "meaning.h"
#include "code_owner.h"
#include "base/smaller.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is known of a function, and of a file, whatever stack it is on. */
struct meaning_of_function {
    uint8_t machine; /* 1 + enum wait_kind; 0 for none */
    bool is_of_language;
};

struct making {
    const struct profile *profile;
    struct meaning_of_function *functions; /* by index */
    uint8_t *owners;                       /* enum code_owner, by location index */
    struct meaning_of_node *nodes;
};

/* ---- functions and locations ---- */

/* Compiled code with names is the user's. Without names nobody can tell. */
static enum code_owner owner_of(const struct profile *profile, const struct location *location)
{
    const struct symbols *symbols = profile->symbols;
    uint32_t region = symbols->region_of[location->index];
    if (location->pseudo)
        return OWNER_RUNTIME;
    if (region)
        return symbols->regions[region - 1].has_names ? OWNER_USER : OWNER_LIBRARY;
    const struct module *module = location->module ? arena_at(profile->arena, location->module) : NULL;
    return code_owner_of_file(profile_code_path(profile, location), module && module->is_main);
}

static void know_functions(struct making *making)
{
    const struct symbols *symbols = making->profile->symbols;
    for (uint32_t i = 0; i < symbols->function_count; i++) {
        const char *name = symbols->functions[i].name;
        enum wait_kind kind;
        making->functions[i].machine = wait_machine_of(name, &kind) ? 1 + kind : 0;
        making->functions[i].is_of_language = code_owner_is_of_language(name);
    }
}

static void know_locations(struct making *making)
{
    const struct tree *tree = making->profile->tree;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        const struct location *location = tree_location_at(tree, ref);
        making->owners[location->index] = (uint8_t)owner_of(making->profile, location);
    }
}

/* ---- nodes ---- */

enum wait_kind meaning_guess_wait(const struct profile *profile, arena_ref node)
{
    const struct tree *tree = profile->tree;
    const struct symbols *symbols = profile->symbols;
    struct wait_guess guess = {0};
    bool goes_on = true;
    for (; goes_on && tree_node(tree, node)->parent; node = tree_node(tree, node)->parent) {
        uint32_t count;
        const struct location *location = tree_location_at(tree, tree_node(tree, node)->location);
        const struct symbol_frame *frames = symbols_frames(symbols, location->index, &count);
        for (uint32_t i = 0; goes_on && i < count; i++)
            goes_on = wait_guess_add(&guess, symbols->functions[frames[i].function].name);
    }
    return guess.kind;
}

/* One more frame inwards. A frame of the user's replaces any other; one of a library replaces none of the
 * user's. */
static void enter_frame(const struct making *making, struct meaning_of_node *node, uint32_t frame,
                        enum code_owner owner)
{
    const struct meaning_of_function *known =
        &making->functions[making->profile->symbols->frames[frame].function];
    if (known->machine && !node->machine) {
        node->machine = known->machine;
        if (!node->frame || node->owner == OWNER_RUNTIME) /* nobody around it says more */
            *node = (struct meaning_of_node){
                .frame = 1 + frame, .owner = OWNER_LIBRARY, .depth = node->depth, .machine = node->machine};
    }
    if (node->machine)
        return;
    if (known->is_of_language)
        owner = OWNER_RUNTIME;
    node->depth += owner == OWNER_USER && node->depth < UINT8_MAX;
    if (node->frame && owner < node->owner)
        return;
    node->frame = 1 + frame;
    node->owner = (uint8_t)owner;
}

static enum wait_kind wait_of(const struct making *making, arena_ref node,
                              const struct meaning_of_node *known)
{
    enum wait_kind kind =
        known->machine ? (enum wait_kind)(known->machine - 1) : meaning_guess_wait(making->profile, node);
    return wait_kind_is_for_work(kind, known->depth <= MEANING_IDLE_DEPTH) ? WAIT_IDLE : kind;
}

static void enter_node(struct making *making, arena_ref ref)
{
    const struct tree *tree = making->profile->tree;
    const struct tree_node *node = tree_node(tree, ref);
    struct meaning_of_node *known = &making->nodes[tree_node_index(ref)];
    if (!node->parent) /* a root */
        return;
    *known = making->nodes[tree_node_index(node->parent)];
    const struct location *location = tree_location_at(tree, node->location);
    if (tree_is_label(location))
        return;
    const struct symbols *symbols = making->profile->symbols;
    for (uint32_t i = symbols->first_frame[location->index + 1]; i-- > symbols->first_frame[location->index];)
        enter_frame(making, known, i, making->owners[location->index]);
    known->wait = (uint8_t)(location->pseudo == 1 + PSEUDO_STOPPED ? WAIT_STOPPED
                            : location->pseudo                     ? WAIT_UNSEEN
                                                                   : wait_of(making, ref, known));
}

static bool fill(struct making *making)
{
    const struct tree *tree = making->profile->tree;
    const struct symbols *symbols = making->profile->symbols;
    making->functions = calloc((size_t)symbols->function_count + 1, sizeof *making->functions);
    making->owners = calloc((size_t)symbols->location_count + 1, sizeof *making->owners);
    if (!making->functions || !making->owners || !making->nodes)
        return false;
    know_functions(making);
    know_locations(making);
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref node = root; node; node = tree_next(tree, root, node))
            enter_node(making, node);
    }
    return true;
}

int meaning_init(struct meaning *meaning, const struct profile *profile)
{
    size_t count = tree_node_index((arena_ref)(profile->arena->used_bytes / ARENA_UNIT_BYTES)) + 1;
    struct making making = {.profile = profile, .nodes = calloc(count, sizeof *making.nodes)};
    bool is_filled = fill(&making);
    free(making.functions);
    free(making.owners);
    meaning->nodes = making.nodes;
    return is_filled ? 0 : -ENOMEM;
}

void meaning_deinit(struct meaning *meaning)
{
    free(meaning->nodes);
    meaning->nodes = NULL;
}

struct values meaning_shown(const struct meaning *meaning, const struct tree *tree, arena_ref node)
{
    struct values self = tree_node(tree, node)->self;
    if (meaning->nodes[tree_node_index(node)].wait != WAIT_IDLE)
        return self;
    self.blocked_ns = 0;
    self.samples = tree_wall_ns(&self) ? self.samples : 0;
    return self;
}
