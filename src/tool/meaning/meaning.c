#include "meaning.h"
#include "code_owner.h"
#include "idle.h"
#include "profile/wait_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of a machine: functions of scripts that it calls wait for other things. */
#define MACHINE_OWN 0x80
/* Of a machine: none around it says more. */
#define MACHINE_LAST 0x40
/* Of a machine: only where it polls. */
#define MACHINE_POLLS 0x20
#define MACHINE_FLAGS (MACHINE_OWN | MACHINE_LAST | MACHINE_POLLS)

struct meaning_of_function {
    uint8_t machine; /* 1 + enum wait_kind, and these; 0 for none */
    bool is_of_language;
};

/* ---- functions and locations ---- */

/* Compiled code with names is the user's. Without names nobody can tell. */
static enum code_owner owner_of(const struct profile *profile, const struct location *location)
{
    const struct symbols *symbols = profile->symbols;
    uint32_t region = symbols->region_of[location->index];
    if (location->pseudo)
        return OWNER_RUNTIME;
    const struct symbol_function *function =
        &symbols->functions[symbols_function_of(symbols, location->index)];
    if (function->is_script)
        return code_owner_of_script(function->file);
    if (region)
        return symbols->regions[region - 1].has_names ? OWNER_USER : OWNER_LIBRARY;
    const struct module *module = location->module ? arena_at(profile->arena, location->module) : NULL;
    return code_owner_of_file(profile_code_path(profile, location), module && module->is_main);
}

static uint8_t machine_of(const struct symbol_function *function)
{
    enum wait_kind kind;
    bool is_own = false;
    bool is_machine = function->is_script
                          ? wait_machine_of_script(function->file, function->name, &kind, &is_own)
                          : wait_machine_of(function->name, &kind);
    bool is_last = !function->is_script && wait_machine_is_gil(function->name);
    if (!is_machine && !function->is_script && wait_machine_polls(function->name))
        return (1 + WAIT_SOCKET) | MACHINE_OWN | MACHINE_POLLS;
    return is_machine ? (uint8_t)((1 + kind) | (is_own ? MACHINE_OWN : 0) | (is_last ? MACHINE_LAST : 0)) : 0;
}

static void know_functions(const struct meaning_names *names)
{
    const struct symbols *symbols = names->profile->symbols;
    struct idle_setting idle;
    idle_setting_read(&idle);
    for (uint32_t i = 0; i < symbols->function_count; i++) {
        const char *name = symbols->functions[i].name;
        names->functions[i].machine = machine_of(&symbols->functions[i]);
        if (idle_setting_has(&idle, name))
            names->functions[i].machine = 1 + WAIT_IDLE;
        names->functions[i].is_of_language =
            !symbols->functions[i].is_script && code_owner_is_of_language(name);
    }
}

static void know_locations(const struct meaning_names *names)
{
    const struct tree *tree = names->profile->tree;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        const struct location *location = tree_location_at(tree, ref);
        names->owners[location->index] = (uint8_t)owner_of(names->profile, location);
    }
}

int meaning_names_init(struct meaning_names *names, const struct profile *profile)
{
    names->profile = profile;
    names->functions = calloc((size_t)profile->symbols->function_count + 1, sizeof *names->functions);
    names->owners = calloc((size_t)profile->symbols->location_count + 1, sizeof *names->owners);
    if (!names->functions || !names->owners)
        return -ENOMEM;
    know_functions(names);
    know_locations(names);
    return 0;
}

void meaning_names_deinit(struct meaning_names *names)
{
    free(names->functions);
    free(names->owners);
    *names = (struct meaning_names){0};
}

/* ---- waits ---- */

static enum wait_kind guess_wait(const struct profile *profile, const struct tree *tree, arena_ref node)
{
    const struct symbols *symbols = profile->symbols;
    struct wait_guess guess = {0};
    bool goes_on = true;
    for (; goes_on && tree_node(tree, node)->parent; node = tree_node(tree, node)->parent) {
        uint32_t count;
        const struct location *location = tree_location_at(profile->tree, tree_node(tree, node)->location);
        const struct symbol_frame *frames = symbols_frames(symbols, location->index, &count);
        for (uint32_t i = 0; goes_on && i < count; i++)
            goes_on = wait_guess_add(&guess, symbols->functions[frames[i].function].name);
    }
    return guess.kind;
}

static enum wait_kind wait_of_pseudo(const struct location *location)
{
    return location->pseudo == 1 + PSEUDO_STOPPED ? WAIT_STOPPED : WAIT_UNSEEN;
}

/* machine: of the outermost one around it, as of a function. depth: functions of the user's around that, or
 * all. */
static enum wait_kind wait_of(const struct meaning_names *names, const struct tree *tree, arena_ref node,
                              uint8_t machine, uint32_t depth)
{
    const bool is_sure = machine && !(machine & MACHINE_POLLS);
    enum wait_kind kind = is_sure ? WAIT_POLL : guess_wait(names->profile, tree, node);
    if (machine && kind == WAIT_POLL)
        kind = (enum wait_kind)((machine & ~MACHINE_FLAGS) - 1);
    return wait_kind_is_for_work(kind, depth <= MEANING_IDLE_DEPTH) ? WAIT_IDLE : kind;
}

enum wait_kind meaning_wait_at(const struct meaning_names *names, const struct tree *tree, arena_ref node)
{
    const struct symbols *symbols = names->profile->symbols;
    uint8_t machine = 0;
    uint32_t depth = 0;
    bool has_script = false;
    node = wait_label_leaf(names->profile->tree, tree, node);
    if (!tree_node(tree, node)->parent)
        return WAIT_UNSEEN;
    const struct location *innermost =
        tree_location_at(names->profile->tree, tree_node(tree, node)->location);
    if (innermost->pseudo)
        return wait_of_pseudo(innermost);
    for (arena_ref at = node; tree_node(tree, at)->parent; at = tree_node(tree, at)->parent) {
        uint32_t count,
            location = tree_location_at(names->profile->tree, tree_node(tree, at)->location)->index;
        const struct symbol_frame *frames = symbols_frames(symbols, location, &count);
        for (uint32_t i = 0; i < count; i++) {
            const struct meaning_of_function *known = &names->functions[frames[i].function];
            const bool is_machine = known->machine && !(has_script && known->machine & MACHINE_OWN);
            machine = is_machine && !(machine & MACHINE_LAST) ? known->machine : machine;
            depth += !known->is_of_language && names->owners[location] == OWNER_USER;
            depth = is_machine ? 0 : depth;
            has_script |= symbols->functions[frames[i].function].is_script;
        }
    }
    return wait_of(names, tree, node, machine, depth);
}

/* ---- nodes ---- */

struct making {
    const struct meaning_names *names;
    struct meaning_of_node *nodes;
};

/* One more frame inwards. A frame of the user's replaces any other; one of a library replaces none of the
 * user's. */
static void enter_frame(const struct making *making, struct meaning_of_node *node, uint32_t frame,
                        enum code_owner owner)
{
    const struct symbols *symbols = making->names->profile->symbols;
    const uint32_t function = symbols->frames[frame].function;
    const struct meaning_of_function *known = &making->names->functions[function];
    if (node->machine & MACHINE_OWN && symbols->functions[function].is_script)
        node->machine = 0;
    if (known->machine && !node->machine) {
        node->machine = known->machine;
        if (!node->frame || node->owner == OWNER_RUNTIME) /* nobody around it says more */
            *node = (struct meaning_of_node){
                .frame = 1 + frame, .owner = OWNER_LIBRARY, .depth = node->depth, .machine = node->machine};
    }
    if (known->machine & MACHINE_LAST)
        node->machine = known->machine;
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

static void enter_node(const struct making *making, arena_ref ref)
{
    const struct tree *tree = making->names->profile->tree;
    const struct tree_node *node = tree_node(tree, ref);
    struct meaning_of_node *known = &making->nodes[tree_node_index(ref)];
    if (!node->parent) /* a root */
        return;
    *known = making->nodes[tree_node_index(node->parent)];
    const struct location *location = tree_location_at(tree, node->location);
    if (tree_is_label(location))
        return;
    const struct symbols *symbols = making->names->profile->symbols;
    for (uint32_t i = symbols->first_frame[location->index + 1]; i-- > symbols->first_frame[location->index];)
        enter_frame(making, known, i, making->names->owners[location->index]);
    known->wait = (uint8_t)(location->pseudo ? wait_of_pseudo(location)
                            : making->names->profile->measure
                                ? WAIT_OTHER /* its values are no waits */
                                : wait_of(making->names, tree, ref, known->machine, known->depth));
}

static void enter_nodes(const struct making *making)
{
    const struct tree *tree = making->names->profile->tree;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref node = root; node; node = tree_next(tree, root, node))
            enter_node(making, node);
    }
}

int meaning_init(struct meaning *meaning, const struct profile *profile)
{
    size_t count = tree_node_index_count(profile->arena);
    struct meaning_names names;
    int status = meaning_names_init(&names, profile);
    meaning->nodes = calloc(count, sizeof *meaning->nodes);
    status = meaning->nodes ? status : -ENOMEM;
    if (status == 0)
        enter_nodes(&(struct making){&names, meaning->nodes});
    meaning_names_deinit(&names);
    return status;
}

void meaning_deinit(struct meaning *meaning)
{
    free(meaning->nodes);
    meaning->nodes = NULL;
}

struct values meaning_shown(const struct meaning *meaning, const struct tree *tree, arena_ref node)
{
    struct values self = tree_node(tree, node)->self;
    if (meaning->nodes[tree_node_index(node)].wait == WAIT_IDLE)
        (void)tree_take_waited(&self);
    return self;
}

const char *meaning_function(const struct meaning *meaning, const struct profile *profile, arena_ref node)
{
    const struct symbols *symbols = profile->symbols;
    uint32_t frame = meaning->nodes[tree_node_index(node)].frame;
    return frame ? symbols->functions[symbols->frames[frame - 1].function].name : NULL;
}
