#include "html_times.h"
#include "base/sort.h"

#include <errno.h>
#include <stdlib.h>

enum spent { SPENT_CPU, SPENT_RUNDELAY, SPENT_BLOCKED, SPENT_COUNT };

/* What a node has in a slice. They are sorted by their first member. */
struct html_time {
    uint64_t place_and_slice; /* the place is in the upper half */
    uint64_t spent_ns[SPENT_COUNT];
};

static uint64_t key_of(uint32_t place, uint32_t slice)
{
    return (uint64_t)place << 32 | slice;
}

static uint32_t place_of(const struct html_time *time)
{
    return (uint32_t)(time->place_and_slice >> 32);
}

static uint32_t slice_of(const struct html_time *time)
{
    return (uint32_t)time->place_and_slice;
}

/* ---- beginning and end ---- */

bool html_times_are_known(const struct profile *profile)
{
    return profile->timeline && profile->timeline->count > 0;
}

int html_times_init(struct html_times *times, const struct profile *profile)
{
    const uint64_t units = (uint64_t)HTML_TIMES_SLICES * HTML_TIMES_UNITS;
    const uint64_t unit_ns = profile->duration_ns / units + (profile->duration_ns % units != 0);
    *times = (struct html_times){
        .profile = profile,
        .begin_ns = profile->timeline->start_ns,
        .slice_ns = (unit_ns ? unit_ns : 1) * HTML_TIMES_UNITS,
    };
    times->place_of = calloc(tree_node_index_count(profile->arena), sizeof *times->place_of);
    int status = meaning_init(&times->meaning, profile);
    if (status == 0)
        status = intervals_init(&times->intervals, profile, &times->meaning);
    return times->place_of ? status : -ENOMEM;
}

void html_times_deinit(struct html_times *times)
{
    if (times->intervals.profile)
        intervals_deinit(&times->intervals);
    meaning_deinit(&times->meaning);
    free(times->place_of);
    free(times->all);
    *times = (struct html_times){0};
}

/* ---- gathering ---- */

void html_times_place(struct html_times *times, arena_ref node, uint32_t place)
{
    times->place_of[tree_node_index(node)] = 1 + place;
}

/* The new last one, whose content is not set; NULL without memory. */
static struct html_time *grow(struct html_times *times)
{
    enum { FIRST_CAPACITY = 1024 };
    if (times->count == times->capacity) {
        size_t capacity = times->capacity ? 2 * times->capacity : FIRST_CAPACITY;
        struct html_time *all = realloc(times->all, capacity * sizeof *all);
        if (!all)
            return NULL;
        times->all = all;
        times->capacity = capacity;
    }
    return &times->all[times->count++];
}

static int add(struct html_times *times, uint64_t key, enum spent spent, uint64_t ns)
{
    struct html_time *time = times->count ? &times->all[times->count - 1] : NULL;
    if (!time || time->place_and_slice != key) {
        time = grow(times);
        if (!time)
            return -ENOMEM;
        *time = (struct html_time){.place_and_slice = key};
    }
    time->spent_ns[spent] += ns;
    return 0;
}

static uint32_t slice_at(const struct html_times *times, uint64_t time_ns)
{
    uint64_t slice = time_ns > times->begin_ns ? (time_ns - times->begin_ns) / times->slice_ns : 0;
    return slice < HTML_TIMES_SLICES ? (uint32_t)slice : HTML_TIMES_SLICES - 1;
}

static int add_interval(struct html_times *times, uint32_t place, const struct interval *interval)
{
    const enum spent spent = interval->state == STATE_RUNNING ? SPENT_CPU
                             : interval->state == WAIT_CPU    ? SPENT_RUNDELAY
                                                              : SPENT_BLOCKED;
    int status = 0;
    for (uint64_t at_ns = interval->begin_ns; status == 0 && at_ns < interval->end_ns;) {
        const uint32_t slice = slice_at(times, at_ns);
        uint64_t end_ns = times->begin_ns + (slice + 1) * times->slice_ns;
        const bool is_past_all_times = end_ns <= at_ns; /* of a damaged file */
        if (slice == HTML_TIMES_SLICES - 1 || is_past_all_times || end_ns > interval->end_ns)
            end_ns = interval->end_ns;
        status = add(times, key_of(place, slice), spent, end_ns - at_ns);
        at_ns = end_ns;
    }
    return status;
}

/* The spare root's time belongs to no thread: it is taken as that of one which has lived from the start on.
 */
static int gather_thread(struct html_times *times, const struct thread_group_member *member)
{
    const struct thread_record nobody = {.root = member->root,
                                         .number = tree_node(times->profile->tree, member->root)->thread,
                                         .start_ns = times->begin_ns};
    int status = intervals_make(&times->intervals, member->thread ? member->thread : &nobody);
    const struct interval_list *list = &times->intervals.list;
    for (uint32_t i = 0; status == 0 && i < list->count; i++) {
        const uint32_t place = times->place_of[tree_node_index(list->all[i].node)];
        if (place) /* a damaged timeline may have nodes of other trees */
            status = add_interval(times, place - 1, &list->all[i]);
    }
    return status;
}

static void forget_places(struct html_times *times, arena_ref root)
{
    const struct tree *tree = times->profile->tree;
    for (arena_ref node = root; node; node = tree_next(tree, root, node))
        times->place_of[tree_node_index(node)] = 0;
}

/* A stack that was seen several times in a slice has one time there. */
static void fold(struct html_times *times)
{
    size_t kept = 0;
    for (size_t i = 1; i < times->count; i++) {
        struct html_time *last = &times->all[kept], *next = &times->all[i];
        if (last->place_and_slice != next->place_and_slice) {
            times->all[++kept] = *next;
            continue;
        }
        for (int spent = 0; spent < SPENT_COUNT; spent++)
            last->spent_ns[spent] += next->spent_ns[spent];
    }
    times->count = times->count ? kept + 1 : 0;
}

int html_times_gather(struct html_times *times, const struct thread_group_member *members, size_t count)
{
    int status = 0;
    times->count = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = gather_thread(times, &members[i]);
    for (size_t i = 0; i < count; i++)
        forget_places(times, members[i].root);
    sort_records(times->all, times->count, sizeof *times->all, sort_compare_numbers);
    fold(times);
    return status;
}

/* ---- columns ---- */

static void put_counts(const struct html_times *times, struct html_numbers *numbers, uint64_t nodes)
{
    for (uint64_t place = 0, at = 0; place < nodes; place++) {
        const uint64_t first = at;
        while (at < times->count && place_of(&times->all[at]) == place)
            at++;
        html_numbers_uint(numbers, at - first);
    }
    html_numbers_end_column(numbers);
}

static bool is_first(const struct html_times *times, size_t i)
{
    return i == 0 || place_of(&times->all[i - 1]) != place_of(&times->all[i]);
}

/* Of a node's first one the slice, of the others how many slices are skipped. */
static void put_slices(const struct html_times *times, struct html_numbers *numbers)
{
    for (size_t i = 0; i < times->count; i++) {
        const uint32_t slice = slice_of(&times->all[i]);
        html_numbers_uint(numbers, is_first(times, i) ? slice : slice - slice_of(&times->all[i - 1]) - 1);
    }
    html_numbers_end_column(numbers);
}

static bool is_last(const struct html_times *times, size_t i)
{
    return i + 1 == times->count || place_of(&times->all[i]) != place_of(&times->all[i + 1]);
}

/* Rounded are the sums so far, so that errors do not add up. */
static void put_spent(const struct html_times *times, struct html_numbers *numbers, enum spent spent)
{
    const uint64_t unit_ns = times->slice_ns / HTML_TIMES_UNITS;
    uint64_t sum_ns = 0, told = 0;
    for (size_t i = 0; i < times->count; i++) {
        if (is_first(times, i))
            sum_ns = told = 0;
        sum_ns += times->all[i].spent_ns[spent];
        if (!is_last(times, i))
            html_numbers_uint(numbers, sum_ns / unit_ns - told);
        told = sum_ns / unit_ns;
    }
    html_numbers_end_column(numbers);
}

void html_times_put(const struct html_times *times, struct html_numbers *numbers, uint64_t nodes)
{
    put_counts(times, numbers, nodes);
    put_slices(times, numbers);
    put_spent(times, numbers, SPENT_CPU);
    put_spent(times, numbers, SPENT_BLOCKED);
    if (times->profile->has_rundelay)
        put_spent(times, numbers, SPENT_RUNDELAY);
}
