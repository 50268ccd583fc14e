#include "short_lives.h"
#include "passed.h"
#include "scale.h"
#include "settle_claims.h"
#include "thread_records.h"

struct life {
    struct claims_root root; /* in its name's list */
    const struct thread_record *record;
    struct life *next; /* the same list */
};

/* Lives of one name. */
struct name {
    uint64_t hash;
    struct life *seen, *unseen; /* by a sample or not */
    struct values claimed, life;
};

/* What a life has that no sample has seen, so that its thread appears. The others pay for it. */
enum { TOKEN_NS = 1 };

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

static bool is_taken(const struct name *name)
{
    return name->seen || name->unseen;
}

static struct name *name_of(const struct name_table *table, const struct thread_record *record)
{
    char name[THREAD_NAME_BYTES];
    thread_records_name_without_numbers(record->name, name);
    uint64_t hash = hash_bytes(hash_of_nothing, name, sizeof name);
    uint64_t at = hash ^ hash >> 32;
    while (is_taken(&table->names[at & table->mask]) && table->names[at & table->mask].hash != hash)
        at++;
    table->names[at & table->mask].hash = hash;
    return &table->names[at & table->mask];
}

static struct values *unsampled_of(struct tree *tree, const struct life *life)
{
    return &tree_node(tree, tree_pseudo_child(tree, life->root.root, PSEUDO_UNSAMPLED))->self;
}

/* One that was not seen had a token after an earlier call. */
static void add_life(struct name *name, struct tree *tree, struct life *life)
{
    const struct values claimed = claims_sum(tree, life->root.root, 0).claimed;
    const bool is_unseen = claimed.samples == 0 && tree_wall_ns(&claimed) <= TOKEN_NS;
    struct life **lives = is_unseen ? &name->unseen : &name->seen;
    life->next = *lives;
    life->root.next = *lives ? &(*lives)->root : NULL;
    *lives = life;
    tree_add_values(&name->life, &life->record->unsettled);
    if (is_unseen)
        *unsampled_of(tree, life) = (struct values){0};
    else
        tree_add_values(&name->claimed, &claimed);
}

/* Parts that no sample has claimed go to each life's [unsampled], by its length. */
static void give_unsampled(struct tree *tree, const struct life *lives, const struct values *left)
{
    uint64_t wall_ns = 0;
    for (const struct life *life = lives; life; life = life->next)
        wall_ns += tree_wall_ns(&life->record->unsettled);
    struct scale cpu = {wall_ns, left->cpu_ns, 0}, rundelay = {wall_ns, left->rundelay_ns, 0},
                 blocked = {wall_ns, left->blocked_ns, 0};
    for (const struct life *life = lives; life; life = life->next) {
        const uint64_t life_ns = tree_wall_ns(&life->record->unsettled);
        const struct values part = {.cpu_ns = scale(&cpu, life_ns),
                                    .rundelay_ns = scale(&rundelay, life_ns),
                                    .blocked_ns = scale(&blocked, life_ns)};
        tree_add_values(unsampled_of(tree, life), &part);
    }
}

/* Takes the tokens of lives that nobody saw out of what all lives have together. */
static void give_tokens(struct tree *tree, struct name *name)
{
    for (const struct life *life = name->unseen; life; life = life->next) {
        const struct values *own = &life->record->unsettled;
        const struct values token = {.cpu_ns = own->blocked_ns > 0 ? 0
                                               : own->cpu_ns > 0   ? TOKEN_NS
                                                                   : 0,
                                     .blocked_ns = own->blocked_ns > 0 ? TOKEN_NS : 0};
        *unsampled_of(tree, life) = token;
        name->life = values_less(&name->life, &token);
    }
}

static void settle_name(struct tree *tree, struct name *name, bool knows_delay)
{
    if (!tree_has_weight(&name->claimed)) {
        give_unsampled(tree, name->unseen, &name->life);
        return;
    }
    give_tokens(tree, name);
    claims_fit(tree, &name->seen->root, &name->claimed, &name->life);
    const struct values left =
        settle_claims(tree, &name->seen->root, &name->claimed, &name->life, knows_delay).left;
    if (tree_has_weight(&left))
        give_unsampled(tree, name->seen, &left);
}

static void gather_lives(const struct name_table *table, struct tree *tree, arena_ref newest,
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
    table.names = scratch_alloc(name_bytes);
    if (lives && table.names) {
        gather_lives(&table, tree, newest, lives);
        for (uint64_t i = 0; i <= table.mask; i++) {
            if (is_taken(&table.names[i]))
                settle_name(tree, &table.names[i], knows_delay);
        }
    }
    scratch_free(lives, life_bytes);
    scratch_free(table.names, name_bytes);
}
