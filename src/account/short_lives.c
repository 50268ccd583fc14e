#include "short_lives.h"
#include "base/smaller.h"
#include "scale.h"
#include "settle_claims.h"
#include "thread_records.h"

#include <string.h>

enum { STACK_DEPTH_MAX = 4096 };

struct life {
    struct claims_root root; /* in its name's list */
    const struct thread_record *record;
    struct life *next;     /* the same list */
    struct values claimed; /* in its tree, once its name is settled */
};

/* Lives of one name. */
struct name {
    uint64_t hash;
    struct life *lives; /* NULL: none */
    struct values claimed, life;
};

/* Names are found by their hash, with linear probing: there are more places than lives. */
struct name_table {
    struct name *names;
    uint32_t mask;
};

static const struct thread_record *record_at(const struct tree *tree, arena_ref ref)
{
    return arena_at(tree->arena, ref);
}

static bool is_short(const struct thread_record *record)
{
    return tree_has_weight(&record->unsettled);
}

static uint32_t count_short(const struct tree *tree, arena_ref newest)
{
    uint32_t count = 0;
    for (arena_ref ref = newest; ref; ref = record_at(tree, ref)->next)
        count += is_short(record_at(tree, ref));
    return count;
}

static struct name *name_of(const struct name_table *table, const struct thread_record *record)
{
    uint64_t hash = hash_bytes(hash_of_nothing, record->name, strnlen(record->name, THREAD_NAME_BYTES));
    uint64_t at = hash ^ hash >> 32;
    while (table->names[at & table->mask].lives && table->names[at & table->mask].hash != hash)
        at++;
    table->names[at & table->mask].hash = hash;
    return &table->names[at & table->mask];
}

static void add_life(struct name *name, const struct tree *tree, struct life *life)
{
    const struct claims_sums sums = claims_sum(tree, life->root.root, 0);
    life->next = name->lives;
    life->root.next = name->lives ? &name->lives->root : NULL;
    name->lives = life;
    tree_add_values(&name->claimed, &sums.claimed);
    tree_add_values(&name->life, &life->record->unsettled);
}

/* Parts that no sample has claimed go to each life's [unsampled], by its length. */
static void give_unsampled(struct tree *tree, const struct name *name, const struct values *left)
{
    struct values all = *left;
    struct scale scales[PARTS];
    for (int part = 0; part < PARTS; part++)
        scales[part] = (struct scale){tree_wall_ns(&name->life), *part_of(&all, part), 0};
    for (const struct life *life = name->lives; life; life = life->next) {
        arena_ref node = tree_pseudo_child(tree, life->root.root, PSEUDO_UNSAMPLED);
        for (int part = 0; part < PARTS; part++)
            *part_of(&tree_node(tree, node)->self, part) +=
                scale(&scales[part], tree_wall_ns(&life->record->unsettled));
    }
}

/* ---- each life has its own length ---- */

static uint64_t missing_of(const struct life *life, enum part part)
{
    struct values claimed = life->claimed, own = life->record->unsettled;
    return since(*part_of(&claimed, part), *part_of(&own, part));
}

static struct life *next_missing(struct life *life, enum part part)
{
    while (life && missing_of(life, part) == 0)
        life = life->next;
    return life;
}

/* Under way: a part of the time of one node after the other is given away. */
struct giving {
    struct tree *tree;
    enum part part;
    struct life *to;  /* the next to get some, with those after it */
    arena_ref *stack; /* scratch: the locations of a node, innermost first */
};

static size_t read_stack(const struct giving *giving, arena_ref node)
{
    const struct tree *tree = giving->tree;
    size_t depth = 0;
    for (; tree_node(tree, node)->location; node = tree_node(tree, node)->parent)
        giving->stack[depth++] = tree_node(tree, node)->location;
    return depth;
}

/* What a node has beyond its life's share goes to the same stack of lives that lack it. It stays where it is
 * when memory runs short: [overflow] would take it from its function. */
static void give(struct giving *giving, arena_ref from, uint64_t ns)
{
    const enum part part = giving->part;
    if (tree_node(giving->tree, from)->depth > STACK_DEPTH_MAX)
        return;
    const size_t depth = read_stack(giving, from);
    while (ns > 0 && tree_nodes_left(giving->tree) > depth &&
           (giving->to = next_missing(giving->to, part)) != NULL) {
        struct life *to = giving->to;
        const uint64_t given_ns = smaller(ns, missing_of(to, part));
        arena_ref node = tree_path(giving->tree, to->root.root, giving->stack, depth);
        *part_of(&tree_node(giving->tree, from)->self, part) -= given_ns;
        *part_of(&tree_node(giving->tree, node)->self, part) += given_ns;
        *part_of(&to->claimed, part) += given_ns;
        ns -= given_ns;
    }
}

/* All nodes of a life give alike. */
static void give_surplus(struct giving *giving, struct life *from)
{
    const struct tree *tree = giving->tree;
    struct values own = from->record->unsettled;
    struct scale kept = {.claimed_ns = *part_of(&from->claimed, giving->part),
                         .true_ns = *part_of(&own, giving->part)};
    if (kept.claimed_ns <= kept.true_ns)
        return;
    for (arena_ref node = from->root.root; node; node = tree_next(tree, from->root.root, node)) {
        const uint64_t there_ns = *part_of(&tree_node(tree, node)->self, giving->part);
        if (there_ns > 0 && !claims_are_known(tree, node))
            give(giving, node, there_ns - scale(&kept, there_ns));
    }
}

static void even_out(struct tree *tree, const struct name *name, arena_ref *stack)
{
    for (struct life *life = name->lives; life; life = life->next)
        life->claimed = claims_sum(tree, life->root.root, 0).claimed;
    for (enum part part = CPU; part < PARTS; part++) {
        struct giving giving = {tree, part, name->lives, stack};
        for (struct life *life = name->lives; life; life = life->next)
            give_surplus(&giving, life);
    }
}

/* ---- names ---- */

static void settle_name(struct tree *tree, struct name *name, arena_ref *stack, bool knows_delay)
{
    struct values left = name->life;
    if (tree_has_weight(&name->claimed)) {
        claims_fit(tree, &name->lives->root, &name->claimed, &name->life);
        left = settle_claims(tree, &name->lives->root, &name->claimed, &name->life, knows_delay, false).left;
    }
    if (tree_has_weight(&left))
        give_unsampled(tree, name, &left);
    even_out(tree, name, stack);
}

static void gather_lives(const struct name_table *table, const struct tree *tree, arena_ref newest,
                         struct life *lives)
{
    for (arena_ref ref = newest; ref; ref = record_at(tree, ref)->next) {
        const struct thread_record *record = record_at(tree, ref);
        if (!is_short(record))
            continue;
        *lives = (struct life){.root.root = record->root, .record = record};
        add_life(name_of(table, record), tree, lives++);
    }
}

void short_lives_settle(struct tree *tree, arena_ref newest, bool knows_delay)
{
    const uint32_t count = count_short(tree, newest);
    if (count == 0)
        return;
    struct name_table table = {.mask = 1};
    while (table.mask < 2 * (uint64_t)count)
        table.mask = 2 * table.mask + 1;
    const size_t name_bytes = sizeof(struct name) * ((size_t)table.mask + 1),
                 life_bytes = sizeof(struct life) * count;
    struct life *lives = scratch_alloc(life_bytes);
    arena_ref *stack = scratch_alloc(sizeof *stack * STACK_DEPTH_MAX);
    table.names = scratch_alloc(name_bytes);
    if (lives && table.names && stack) {
        gather_lives(&table, tree, newest, lives);
        for (uint64_t i = 0; i <= table.mask; i++) {
            if (table.names[i].lives)
                settle_name(tree, &table.names[i], stack, knows_delay);
        }
    }
    scratch_free(stack, sizeof *stack * STACK_DEPTH_MAX);
    scratch_free(lives, life_bytes);
    scratch_free(table.names, name_bytes);
}
