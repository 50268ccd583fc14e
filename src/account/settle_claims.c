#include "settle_claims.h"
#include "base/smaller.h"
#include "scale.h"

#include <stdbool.h>

/* How many observations stand for a part of a thread's time; less than one may. */
static bool are_fewer(uint64_t part_ns, const struct values *life, uint64_t observations, uint32_t than)
{
    return (unsigned __int128)part_ns * observations < (unsigned __int128)than * tree_wall_ns(life);
}

/*
 * Whether so little was to be seen of the thread's work that chance decides what was seen of it. Where more
 * was seen than chance can do, the thread was not at work: a wait was over before it replied.
 */
static bool is_rarely_seen(const struct values *life, const struct values *claimed)
{
    return life->cpu_ns > 0 && are_fewer(life->cpu_ns, life, claimed->samples, CLAIMS_EXPECTED) &&
           are_fewer(claimed->cpu_ns, life, claimed->samples, 3 * CLAIMS_EXPECTED);
}

bool claims_are_known(const struct tree *tree, arena_ref node)
{
    arena_ref location = tree_node(tree, node)->location;
    uint32_t pseudo = location ? tree_location_at(tree, location)->pseudo : 0;
    return pseudo == 1 + PSEUDO_STOPPED || pseudo == 1 + PSEUDO_NOT_OBSERVED;
}

/* The nodes of trees, but for one that nobody has claimed (0: all have been). */
struct claimed_trees {
    const struct tree *tree;
    const struct claims_root *roots;
    arena_ref rest;
};

struct claimed_node {
    const struct claims_root *root; /* of the tree that it is in */
    arena_ref node;                 /* 0 after the last one */
};

static struct claimed_node first_claimed(const struct claimed_trees *trees)
{
    return (struct claimed_node){trees->roots, trees->roots->root};
}

static struct claimed_node next_claimed(const struct claimed_trees *trees, struct claimed_node at)
{
    do {
        at.node = tree_next(trees->tree, at.root->root, at.node);
        if (!at.node && at.root->next)
            at = (struct claimed_node){at.root->next, at.root->next->root};
    } while (at.node && claims_are_known(trees->tree, at.node));
    return at;
}

/* Scales the parts that become smaller, or those that become larger. */
static void scale_some(const struct claimed_trees *claimed, struct scale scales[PARTS], bool are_larger)
{
    for (struct claimed_node at = first_claimed(claimed); at.node; at = next_claimed(claimed, at)) {
        for (int part = 0; part < PARTS && at.node != claimed->rest; part++) {
            uint64_t *claim_ns = part_of(&tree_node(claimed->tree, at.node)->self, part);
            if ((scales[part].true_ns > scales[part].claimed_ns) == are_larger)
                *claim_ns = scale(&scales[part], *claim_ns);
        }
    }
}

/* A process may be killed meanwhile: what is in its store is at no moment more than the thread's life. */
static void scale_trees(const struct claimed_trees *claimed, struct scale scales[PARTS])
{
    scale_some(claimed, scales, false);
    scale_some(claimed, scales, true);
}

struct claims_sums claims_sum(const struct tree *tree, arena_ref root, arena_ref rest)
{
    struct claims_sums sums = {0};
    for (arena_ref node = root; node; node = tree_next(tree, root, node)) {
        if (node != rest)
            tree_add_values(claims_are_known(tree, node) ? &sums.known : &sums.claimed,
                            &tree_node(tree, node)->self);
    }
    return sums;
}

/* The time of a runnable thread that was not CPU time, by its claims. */
static uint64_t queued_time(const struct values *life, const struct values *claimed)
{
    return since(life->cpu_ns, claimed->cpu_ns + claimed->rundelay_ns);
}

/*
 * A thread that was woken waits for a CPU where it was blocked, and is seen as blocked there. So much of its
 * run delay is in the time that blocked observations stand for: what those of a runnable thread leave of it.
 */
static uint64_t delay_of_waits(const struct values *life, const struct values *claimed)
{
    return claimed->blocked_ns == 0 ? 0 : since(queued_time(life, claimed), life->rundelay_ns);
}

/*
 * The run delay of a thread whose clock does not tell it: what it was runnable for, less its CPU time. That
 * is no more than was claimed of it. For the sampler has a CPU itself, so others are queued for one more
 * often.
 */
static uint64_t untold_delay(const struct values *life, const struct values *claimed)
{
    return smaller(queued_time(life, claimed), smaller(claimed->rundelay_ns, life->blocked_ns));
}

/* Time that was claimed as one part of a node's and is another one. */
struct moved {
    int from, to;
    uint64_t ns;
};

static void move_part(const struct claimed_trees *whole, const struct moved *moved, uint64_t sum_ns)
{
    struct scale share = {.claimed_ns = sum_ns, .true_ns = moved->ns};
    for (struct claimed_node at = first_claimed(whole); at.node && moved->ns > 0;
         at = next_claimed(whole, at)) {
        struct values *self = &tree_node(whole->tree, at.node)->self;
        uint64_t moved_ns = scale(&share, *part_of(self, moved->from));
        *part_of(self, moved->from) -= moved_ns;
        *part_of(self, moved->to) += moved_ns;
    }
}

/* Of a thread that is seen often: its observations have the time right, and only its parts are not as the
 * clocks say. What is too much of one part becomes another, in each node alike. */
static void relabel(const struct claimed_trees *whole, struct values life, struct values claimed)
{
    static const enum part from[] = {RUNDELAY, RUNDELAY, BLOCKED, CPU, CPU, BLOCKED},
                           to[] = {CPU, BLOCKED, RUNDELAY, RUNDELAY, BLOCKED, CPU};
    for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
        uint64_t *there_ns = part_of(&claimed, from[i]), *other_ns = part_of(&claimed, to[i]);
        uint64_t surplus_ns = since(*part_of(&life, from[i]), *there_ns);
        uint64_t missing_ns = since(*other_ns, *part_of(&life, to[i]));
        const struct moved moved = {from[i], to[i], smaller(surplus_ns, missing_ns)};
        move_part(whole, &moved, *there_ns);
        *there_ns -= moved.ns;
        *other_ns += moved.ns;
    }
}

/* Time that stands in the nodes as `from` and is `to`: the same before and after both are scaled. */
static struct moved misplaced_delay(const struct values *life, const struct values *claimed, bool knows_delay)
{
    return knows_delay ? (struct moved){BLOCKED, RUNDELAY, delay_of_waits(life, claimed)}
                       : (struct moved){RUNDELAY, BLOCKED, untold_delay(life, claimed)};
}

/* What nodes would have in all before that is moved, if their claims were right. */
static struct values before_moving(const struct values *life, const struct moved *moved)
{
    struct values values = *life;
    *part_of(&values, moved->from) += moved->ns;
    *part_of(&values, moved->to) -= moved->ns;
    return values;
}

/* Each part of the claims to what it is in all, alike in each node. */
static void scale_to(const struct claimed_trees *whole, struct values claimed, struct values aim)
{
    struct scale scales[PARTS];
    for (int part = 0; part < PARTS; part++)
        scales[part] =
            (struct scale){.claimed_ns = *part_of(&claimed, part), .true_ns = *part_of(&aim, part)};
    scale_trees(whole, scales);
}

/* Of a thread that is seen rarely. */
static struct claims_settled scale_parts(const struct claimed_trees *whole, struct values claimed,
                                         struct values known)
{
    struct claims_settled settled = {0};
    for (int part = 0; part < PARTS; part++) {
        const uint64_t claimed_ns = *part_of(&claimed, part), true_ns = *part_of(&known, part);
        if (claimed_ns == 0)
            *part_of(&settled.left, part) = true_ns;
        else if (claimed_ns > true_ns)
            *part_of(&settled.excess, part) = claimed_ns - true_ns;
        else
            *part_of(&settled.raised, part) = true_ns - claimed_ns;
    }
    scale_to(whole, claimed, known);
    return settled;
}

/* ---- what chance has done ---- */

static uint64_t square_root(unsigned __int128 square)
{
    uint64_t root = 0;
    for (int bit = 63; bit >= 0; bit--) {
        const unsigned __int128 with = root | (uint64_t)1 << bit;
        if (with * with <= square)
            root = (uint64_t)with;
    }
    return root;
}

/* How far chance moves the sum of one state's claims: two standard deviations of so many independent samples,
 * and one sample for states that are rare. */
static uint64_t by_chance(uint64_t runnable_ns, uint64_t blocked_ns, uint64_t samples)
{
    if (samples == 0)
        return 0;
    const uint64_t one_ns = (runnable_ns + blocked_ns) / samples;
    return square_root((unsigned __int128)4 * runnable_ns * blocked_ns / samples +
                       (unsigned __int128)one_ns * one_ns);
}

/* The claims' sums after both states were scaled towards what is known, as far as chance explains that they
 * are not. */
static struct values without_chance(const struct values *known, const struct values *claimed)
{
    const uint64_t runnable_ns = known->cpu_ns + known->rundelay_ns,
                   found_ns = claimed->cpu_ns + claimed->rundelay_ns,
                   most_ns = by_chance(runnable_ns, known->blocked_ns, claimed->samples);
    if (found_ns == 0 || claimed->blocked_ns == 0)
        return *claimed;
    const uint64_t aim_ns = found_ns > runnable_ns ? found_ns - smaller(found_ns - runnable_ns, most_ns)
                                                   : found_ns + smaller(runnable_ns - found_ns, most_ns);
    struct values aim = *claimed;
    aim.cpu_ns = (uint64_t)((unsigned __int128)claimed->cpu_ns * aim_ns / found_ns);
    aim.rundelay_ns = aim_ns - aim.cpu_ns;
    aim.blocked_ns = found_ns + claimed->blocked_ns - aim_ns;
    return aim;
}

struct claims_settled settle_claims(const struct tree *tree, const struct claims_root *roots,
                                    const struct values *claimed, const struct values *life, bool knows_delay,
                                    bool has_gaps)
{
    const struct claimed_trees whole = {tree, roots, 0};
    const struct moved moved = misplaced_delay(life, claimed, knows_delay);
    struct values known = before_moving(life, &moved);
    if (tree_wall_ns(claimed) != tree_wall_ns(life) || is_rarely_seen(life, claimed)) {
        struct claims_settled settled = scale_parts(&whole, *claimed, known);
        move_part(&whole, &moved, *part_of(&known, moved.from));
        return settled;
    }
    const struct values aim = has_gaps ? *claimed : without_chance(&known, claimed);
    scale_to(&whole, *claimed, aim);
    relabel(&whole, *life, aim);
    return (struct claims_settled){0};
}

void claims_fit(const struct tree *tree, const struct claims_root *roots, struct values *claimed,
                const struct values *life)
{
    const struct claimed_trees whole = {tree, roots, 0};
    struct scale wall = {.claimed_ns = tree_wall_ns(claimed), .true_ns = tree_wall_ns(life)};
    const struct values before = *claimed;
    for (int part = 0; part < PARTS; part++)
        *part_of(claimed, part) = scale(&wall, *part_of(claimed, part));
    scale_to(&whole, before, *claimed);
}

/* ---- among threads ---- */

/* Changes what the thread's observations have claimed of a part, in proportion. */
static void change_part(const struct tree *tree, const struct claims_trader *trader, int part, int64_t by_ns)
{
    const struct claims_root root = {trader->root, NULL};
    const struct claimed_trees claimed = {tree, &root, trader->rest};
    const struct values now = claims_sum(tree, trader->root, trader->rest).claimed;
    struct values changed = now;
    *part_of(&changed, part) += (uint64_t)by_ns;
    scale_to(&claimed, now, changed);
}

/* Time of a part goes to what another thread's observations claim. */
static void give(const struct tree *tree, struct claims_trader *from, struct claims_trader *to, int part,
                 uint64_t ns)
{
    *part_of(&from->lends, part) -= ns;
    *part_of(&to->wants, part) -= ns;
    if (*part_of(&from->left, part) > 0)
        *part_of(&tree_node(tree, from->rest)->self, part) -= ns;
    else
        change_part(tree, from, part, -(int64_t)ns);
    change_part(tree, to, part, (int64_t)ns);
}

/* Each gives the other as much of one part as it gets of another. */
static void exchange(const struct tree *tree, struct claims_trader *one, struct claims_trader *other)
{
    for (int i = 0; i < PARTS * PARTS; i++) {
        int given = i / PARTS, taken = i % PARTS;
        uint64_t ns = smaller(smaller(*part_of(&one->lends, given), *part_of(&other->wants, given)),
                              smaller(*part_of(&other->lends, taken), *part_of(&one->wants, taken)));
        if (ns == 0)
            continue;
        give(tree, one, other, given, ns);
        give(tree, other, one, taken, ns);
    }
}

/* What observations claim of a part, in the end, limits what can be taken of it. To nothing nothing can be
 * added.
 */
static void limit_trade(const struct tree *tree, struct claims_trader *trader)
{
    struct values sum = claims_sum(tree, trader->root, trader->rest).claimed;
    for (int part = 0; part < PARTS; part++) {
        uint64_t there_ns = *part_of(&sum, part), *lends_ns = part_of(&trader->lends, part);
        if (*part_of(&trader->left, part) == 0)
            *lends_ns = smaller(*lends_ns, there_ns);
        if (there_ns == 0)
            *part_of(&trader->wants, part) = 0;
    }
}

static bool can_trade(const struct claims_trader *trader)
{
    return tree_has_weight(&trader->lends) && tree_has_weight(&trader->wants);
}

void claims_trade(struct claims_pool *pool, const struct tree *tree, struct claims_trader trader)
{
    if (can_trade(&trader))
        limit_trade(tree, &trader);
    struct claims_trader *place = &pool->traders[pool->count % CLAIMS_TRADERS];
    for (uint32_t i = 0; i < CLAIMS_TRADERS; i++) {
        struct claims_trader *other = &pool->traders[i];
        if (other->root == trader.root)
            *other = (struct claims_trader){0}; /* settled before, and now anew */
        if (!other->root)
            place = other;
        if (!other->root || other->group != trader.group)
            continue;
        exchange(tree, other, &trader);
        if (!can_trade(other))
            *other = (struct claims_trader){0};
    }
    if (!trader.group || !can_trade(&trader))
        return;
    *place = trader;
    pool->count++;
}
