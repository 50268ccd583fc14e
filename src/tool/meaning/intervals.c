/*
 * A node's time is divided by two lines of one length. On the first lie the stretches of its records by how
 * they were found, on the second its time by what it was spent on. Where a piece of the one meets a piece of
 * the other, that much of the stretches was spent so. Each stretch gets its share of that in proportion to
 * its length, in whole nanoseconds that add up.
 */
#include "intervals.h"

#include <errno.h>
#include <stdlib.h>

enum spent { SPENT_CPU, SPENT_QUEUED, SPENT_BLOCKED, SPENT_COUNT };

enum { FOUND_COUNT = TIMELINE_QUEUED + 1 };

struct interval_node {
    uint64_t found_ns[FOUND_COUNT]; /* by enum timeline_state: of all records */
    uint64_t done_ns[FOUND_COUNT];  /* of those that have been divided */
    uint64_t given_ns[SPENT_COUNT]; /* to intervals, of what the tree has */
};

/* Records of one node that follow each other and were found in one state. */
struct stretch {
    uint64_t begin_ns, wall_ns;
    arena_ref node;
    enum timeline_state found;
};

/* Where a part has no state: nothing was spent there that its node has. */
enum { STATE_HOLE = STATE_COUNT };

/* ---- beginning and end ---- */

int intervals_init(struct intervals *intervals, const struct profile *profile, const struct meaning *meaning)
{
    const struct timeline *timeline = profile->timeline;
    *intervals = (struct intervals){.profile = profile, .meaning = meaning};
    int status = timeline_index_init(&intervals->index, timeline, profile->thread_count);
    intervals->nodes = calloc(tree_node_index_count(profile->arena), sizeof *intervals->nodes);
    if (status < 0 || !intervals->nodes)
        return -ENOMEM;
    for (uint32_t i = 0; i < timeline->count; i++) {
        const struct timeline_record *record = &timeline->records[i];
        intervals->nodes[tree_node_index(record->node)].found_ns[record->state] += record->wall_ns;
    }
    return 0;
}

void intervals_deinit(struct intervals *intervals)
{
    timeline_index_deinit(&intervals->index);
    free(intervals->nodes);
    free(intervals->parts.all);
    free(intervals->list.all);
    intervals->nodes = NULL;
    intervals->parts = intervals->list = (struct interval_list){0};
}

/* ---- a list ---- */

static bool has_room(struct interval_list *list)
{
    enum { FIRST_CAPACITY = 256 };
    if (list->count < list->capacity)
        return true;
    uint32_t capacity = list->capacity ? 2 * list->capacity : FIRST_CAPACITY;
    struct interval *all = realloc(list->all, capacity * sizeof *all);
    if (!all) {
        list->failed = true;
        return false;
    }
    list->all = all;
    list->capacity = capacity;
    return true;
}

/* Adds an interval at the end of the list, or extends the last one if it is of the same. */
static void add(struct interval_list *list, uint64_t begin_ns, uint64_t wall_ns, arena_ref node,
                uint8_t state)
{
    struct interval *last = list->count ? &list->all[list->count - 1] : NULL;
    if (wall_ns == 0)
        return;
    if (last && last->end_ns == begin_ns && last->node == node && last->state == state)
        last->end_ns += wall_ns;
    else if (has_room(list))
        list->all[list->count++] = (struct interval){begin_ns, begin_ns + wall_ns, node, state};
}

static uint8_t state_of(const struct intervals *intervals, arena_ref node, int spent)
{
    if (spent == SPENT_BLOCKED)
        return intervals->meaning->nodes[tree_node_index(node)].wait;
    return spent == SPENT_CPU ? STATE_RUNNING : WAIT_CPU;
}

/* ---- dividing a stretch ---- */

static uint64_t share(uint64_t of_ns, uint64_t part_ns, uint64_t whole_ns)
{
    return whole_ns ? (uint64_t)((unsigned __int128)of_ns * part_ns / whole_ns) : 0;
}

static uint64_t spent_ns(const struct values *self, int spent)
{
    return spent == SPENT_CPU ? self->cpu_ns : spent == SPENT_QUEUED ? self->rundelay_ns : self->blocked_ns;
}

/* How far the pieces before one reach on the line, scaled to the line's length. */
static uint64_t spent_before(const struct values *self, int spent, uint64_t length_ns)
{
    uint64_t before_ns = 0;
    for (int i = 0; i < spent; i++)
        before_ns += spent_ns(self, i);
    return share(length_ns, before_ns, tree_wall_ns(self));
}

static const enum timeline_state found_order[FOUND_COUNT] = {TIMELINE_RUNNING, TIMELINE_QUEUED,
                                                             TIMELINE_UNKNOWN, TIMELINE_WAITING};

static uint64_t all_found(const struct interval_node *node)
{
    uint64_t all_ns = 0;
    for (int i = 0; i < FOUND_COUNT; i++)
        all_ns += node->found_ns[i];
    return all_ns;
}

static uint64_t found_before(const struct interval_node *node, enum timeline_state found, uint64_t length_ns)
{
    uint64_t before_ns = 0;
    for (int i = 0; found_order[i] != found; i++)
        before_ns += node->found_ns[found_order[i]];
    return share(length_ns, before_ns, all_found(node));
}

static uint64_t overlap(uint64_t begin, uint64_t end, uint64_t other_begin, uint64_t other_end)
{
    uint64_t from = begin > other_begin ? begin : other_begin, to = end < other_end ? end : other_end;
    return to > from ? to - from : 0;
}

/* How much of a node's stretches that were found in a state was spent on something. */
static uint64_t spent_in(const struct interval_node *node, const struct values *self,
                         enum timeline_state found, int spent)
{
    uint64_t length_ns = all_found(node), wall_ns = tree_wall_ns(self);
    length_ns = length_ns < wall_ns ? length_ns : wall_ns;
    uint64_t begin_ns = found_before(node, found, length_ns);
    uint64_t end_ns = found == TIMELINE_WAITING
                          ? length_ns /* the last one: it has what rounding has left */
                          : begin_ns + share(length_ns, node->found_ns[found], all_found(node));
    return overlap(begin_ns, end_ns, spent_before(self, spent, length_ns),
                   spent_before(self, spent + 1, length_ns));
}

/* The state in which the thread was found comes last. Before that, a thread that is woken waits for a CPU,
 * runs, and then waits. */
static const uint8_t spent_order[FOUND_COUNT][SPENT_COUNT] = {
    [TIMELINE_RUNNING] = {SPENT_BLOCKED, SPENT_QUEUED, SPENT_CPU},
    [TIMELINE_QUEUED] = {SPENT_CPU, SPENT_BLOCKED, SPENT_QUEUED},
    [TIMELINE_WAITING] = {SPENT_QUEUED, SPENT_CPU, SPENT_BLOCKED},
    [TIMELINE_UNKNOWN] = {SPENT_QUEUED, SPENT_CPU, SPENT_BLOCKED},
};

static void divide(struct intervals *intervals, const struct stretch *stretch)
{
    struct interval_node *node = &intervals->nodes[tree_node_index(stretch->node)];
    const struct values *self = &tree_node(intervals->profile->tree, stretch->node)->self;
    const uint64_t found_ns = node->found_ns[stretch->found], done_ns = node->done_ns[stretch->found];
    uint64_t begin_ns = stretch->begin_ns, left_ns = stretch->wall_ns;
    for (int i = 0; i < SPENT_COUNT; i++) {
        const int spent = spent_order[stretch->found][i];
        const uint64_t all_ns = spent_in(node, self, stretch->found, spent);
        uint64_t part_ns =
            share(all_ns, done_ns + stretch->wall_ns, found_ns) - share(all_ns, done_ns, found_ns);
        part_ns = part_ns < left_ns ? part_ns : left_ns;
        add(&intervals->parts, begin_ns, part_ns, stretch->node, state_of(intervals, stretch->node, spent));
        node->given_ns[spent] += part_ns;
        begin_ns += part_ns;
        left_ns -= part_ns;
    }
    add(&intervals->parts, begin_ns, left_ns, 0, STATE_HOLE);
    node->done_ns[stretch->found] += stretch->wall_ns;
}

/* ---- a thread's stretches ---- */

/* A record ends no earlier than where it was seen last: what was before it is not in the timeline. */
static uint64_t begin_of(const struct timeline_record *record, uint64_t so_far_ns)
{
    return record->last_ns > so_far_ns + record->wall_ns ? record->last_ns - record->wall_ns : so_far_ns;
}

static void make_parts(struct intervals *intervals, const struct thread_record *thread)
{
    const uint32_t count = timeline_index_count(&intervals->index, thread->number);
    uint64_t now_ns = thread->start_ns;
    struct stretch stretch = {0};
    for (uint32_t i = 0; i < count; i++) {
        const struct timeline_record *record = timeline_index_at(&intervals->index, thread->number, i);
        const uint64_t begin_ns = begin_of(record, now_ns);
        if (record->node != stretch.node || record->state != stretch.found || begin_ns > now_ns) {
            if (stretch.node)
                divide(intervals, &stretch);
            add(&intervals->parts, now_ns, begin_ns - now_ns, 0, STATE_HOLE);
            stretch = (struct stretch){begin_ns, 0, record->node, record->state};
        }
        stretch.wall_ns += record->wall_ns;
        now_ns = begin_ns + record->wall_ns;
    }
    if (stretch.node)
        divide(intervals, &stretch);
}

/* ---- what no record shows ---- */

/* Walks the thread's tree for time that is in no part. */
struct rest {
    arena_ref root, node;
    int spent;
};

/* What is left of the node's time where the walk stands, or of the next one's that has any; 0 after the
 * last. */
static uint64_t rest_ns(const struct intervals *intervals, struct rest *rest)
{
    const struct tree *tree = intervals->profile->tree;
    while (rest->node) {
        const uint64_t all_ns = spent_ns(&tree_node(tree, rest->node)->self, rest->spent);
        const uint64_t given_ns = intervals->nodes[tree_node_index(rest->node)].given_ns[rest->spent];
        if (all_ns > given_ns)
            return all_ns - given_ns;
        if (++rest->spent == SPENT_COUNT) {
            rest->spent = 0;
            rest->node = tree_next(tree, rest->root, rest->node);
        }
    }
    return 0;
}

/* Puts such time from begin_ns on into the list, for at most wall_ns. */
static void fill(struct intervals *intervals, struct rest *rest, uint64_t begin_ns, uint64_t wall_ns)
{
    for (uint64_t ns; wall_ns > 0 && (ns = rest_ns(intervals, rest)) > 0;) {
        ns = ns < wall_ns ? ns : wall_ns;
        add(&intervals->list, begin_ns, ns, rest->node, state_of(intervals, rest->node, rest->spent));
        intervals->nodes[tree_node_index(rest->node)].given_ns[rest->spent] += ns;
        begin_ns += ns;
        wall_ns -= ns;
    }
}

int intervals_make(struct intervals *intervals, const struct thread_record *thread)
{
    struct rest rest = {thread->root, thread->root, 0};
    uint64_t end_ns = thread->start_ns;
    intervals->parts.count = intervals->list.count = 0;
    make_parts(intervals, thread);
    for (uint32_t i = 0; i < intervals->parts.count; i++) {
        const struct interval *part = &intervals->parts.all[i];
        if (part->state == STATE_HOLE)
            fill(intervals, &rest, part->begin_ns, part->end_ns - part->begin_ns);
        else
            add(&intervals->list, part->begin_ns, part->end_ns - part->begin_ns, part->node, part->state);
        end_ns = part->end_ns;
    }
    fill(intervals, &rest, end_ns, UINT64_MAX - end_ns);
    return intervals->parts.failed || intervals->list.failed ? -ENOMEM : 0;
}
