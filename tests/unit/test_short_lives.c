/*
 * Lives of any length: what is done in them comes out as long as it was, wherever in the life it was done.
 * And no time is lost or made up.
 */
#include "account/short_lives.h"

#include "account/fold.h"
#include "account/merge_ended.h"
#include "account/thread_records.h"
#include "base/clock.h"
#include "lib/fake_stacks.h"
#include "sample/schedule.h"
#include "sample/tick.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { AT_ONCE_MAX = 64, LOOKS = 8, SKIPPED_MAX = 64 };

static const uint64_t period_ns = 10 * NS_PER_MS, skip_ns = 50 * NS_PER_MS, start_ns = NS_PER_S;

/* Lives of one kind, one after the other in each of some places. The first part of a life is spent in f. */
struct kind {
    uint32_t lives, at_once;
    uint64_t life_ns, varies_ns; /* the mean, and by how much it may be longer or shorter */
    uint32_t first_percent, varies_percent;
    bool first_waits;        /* and the rest runs */
    uint64_t look_ns;        /* what a sample takes; the thread is seen at its beginning */
    uint32_t spread_percent; /* how much longer stretches are than they need be */
};

struct place {
    struct schedule_thread schedule; /* first */
    struct fold_thread fold;
    struct thread_record *record;
    uint64_t begin_ns, middle_ns, end_ns;
    bool is_there; /* in the schedule */
};

/* Lives that follow each other: the one that goes on, and the one before, while the schedule has both. */
struct row {
    struct place places[2];
    unsigned now;
};

struct play {
    const struct kind *kind;
    struct random_state random;
    struct schedule schedule;
    struct tick tick;
    struct arena arena;
    struct tree tree;
    struct thread_records records;
    struct fold fold;
    struct row rows[AT_ONCE_MAX];
    uint64_t admitted_ns, admitted_tick, next_tick_ns, skipped_ns[SKIPPED_MAX];
    uint32_t skipped, born;
    struct values first, second; /* the truth */
};

static void be_born(struct play *play, struct place *place, uint64_t now_ns)
{
    const struct kind *kind = play->kind;
    uint64_t life_ns = kind->life_ns;
    if (kind->varies_ns)
        life_ns += random_below(&play->random, (uint32_t)(2 * kind->varies_ns)) - kind->varies_ns;
    place->is_there = false;
    if (play->born == kind->lives) {
        place->begin_ns = UINT64_MAX;
        return;
    }
    play->born++;
    place->begin_ns = now_ns + random_below(&play->random, NS_PER_MS / 4);
    place->middle_ns = place->begin_ns + life_ns * kind->first_percent / 100;
    place->end_ns = place->begin_ns + life_ns;
}

static uint64_t cpu_at(const struct play *play, const struct place *place, uint64_t now_ns)
{
    if (!play->kind->first_waits)
        return now_ns - place->begin_ns;
    return now_ns > place->middle_ns ? now_ns - place->middle_ns : 0;
}

static struct thread_record *new_record(struct arena *arena, struct thread_records *records, const char *name)
{
    uint32_t number = 0;
    arena_ref ref = thread_records_take(records, arena, &number);
    struct thread_record *record = arena_at(arena, ref);
    strcpy(record->name, name);
    thread_records_link(records, arena, ref);
    return record;
}

/* As sampler_record does it. */
static void enter(struct play *play, struct place *place)
{
    uint64_t seen_ns = play->next_tick_ns;
    place->record = new_record(&play->arena, &play->records, "worker-1");
    place->record->root = tree_root(&play->tree, place->record->number);
    fold_thread_begin(&place->fold, place->record->root,
                      &(struct fold_clocks){place->begin_ns, 0, FOLD_NO_DELAY});
    schedule_add(&play->schedule, &place->schedule);
    for (uint32_t i = play->skipped; i-- > 0 && play->skipped_ns[i] > place->begin_ns;) {
        seen_ns = play->skipped_ns[i];
        place->schedule.begin++;
    }
    fold_first_stretch(&place->fold, play->admitted_ns + play->next_tick_ns - seen_ns);
    place->is_there = true;
}

/* As sampler_threads.c does it. */
static void leave(struct play *play, struct place *place)
{
    uint64_t until_ns = schedule_until(&play->schedule, &place->schedule);
    uint64_t first_ns = place->middle_ns - place->begin_ns, second_ns = place->end_ns - place->middle_ns;
    bool first_waits = play->kind->first_waits;
    if (until_ns == UINT64_MAX)
        until_ns = play->next_tick_ns + (place->schedule.begin - play->schedule.tick - 1) * period_ns;
    fold_stretch_ended(&place->fold, until_ns);
    schedule_remove(&play->schedule, &place->schedule);
    const struct fold_clocks end = {place->end_ns, cpu_at(play, place, place->end_ns), FOLD_NO_DELAY};
    place->record->unsettled = fold_life_end(&play->fold, &place->fold, &end, FOLD_REST_UNSAMPLED);
    tree_add_values(&play->first,
                    &(struct values){0, first_waits ? 0 : first_ns, 0, first_waits ? first_ns : 0});
    tree_add_values(&play->second, &(struct values){0, second_ns, 0, 0});
}

static void look(struct play *play, struct place *place)
{
    uint64_t now_ns = place->schedule.sample_ns;
    if (now_ns >= place->end_ns)
        return; /* it does not reply any more */
    bool is_first = now_ns < place->middle_ns;
    struct fake_path path = fake_path(&play->tree, is_first ? "f" : "g");
    struct fold_observation observation = {.time_ns = now_ns,
                                           .cpu_clock_ns = cpu_at(play, place, now_ns),
                                           .delay_clock_ns = FOLD_NO_DELAY,
                                           .is_running = !is_first || !play->kind->first_waits,
                                           .path = path.locations,
                                           .depth = path.depth};
    fold_stretch_ended(&place->fold, place->schedule.begin_ns);
    observation.until_ns = schedule_stretch(&place->schedule, &observation.time_ns);
    fold_observe(&play->fold, &place->fold, &observation);
    schedule_seen(&play->schedule, &place->schedule,
                  observation.is_running ? SCHEDULE_ACTIVE : SCHEDULE_IDLE);
}

static void see_out(struct play *play, struct place *place)
{
    if (place->is_there)
        leave(play, place);
    place->is_there = false;
}

/* The life of a row at a time, after the one that was in the schedule at the last tick. Those that have begun
 * and ended meanwhile were in it too. Returns one that is to enter it, or NULL. */
static struct place *go_on(struct play *play, struct row *row, uint64_t now_ns)
{
    struct place *before = &row->places[row->now], *place = before;
    see_out(play, &row->places[row->now ^ 1]);
    if (before->is_there && before->end_ns <= now_ns) {
        row->now ^= 1;
        place = &row->places[row->now];
        be_born(play, place, before->end_ns);
    }
    while (place->begin_ns <= now_ns && !place->is_there && place->end_ns <= now_ns) {
        enter(play, place);
        leave(play, place);
        be_born(play, place, place->end_ns);
    }
    return place->begin_ns <= now_ns && !place->is_there ? place : NULL;
}

/* The newest first, as threads.h has it. */
static void take_arrived(struct play *play, uint64_t now_ns)
{
    struct place *arrived[AT_ONCE_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < play->kind->at_once; i++) {
        struct place *place = go_on(play, &play->rows[i], now_ns);
        uint32_t at = count;
        if (!place)
            continue;
        for (; at > 0 && arrived[at - 1]->begin_ns < place->begin_ns; at--)
            arrived[at] = arrived[at - 1];
        arrived[at] = place;
        count++;
    }
    for (uint32_t i = 0; i < count; i++)
        enter(play, arrived[i]);
}

/* Those that were born since the last tick, then the ticks that were skipped, and then the ends, as
 * sampler_gather has it. */
static void gather(struct play *play, uint64_t now_ns)
{
    take_arrived(play, now_ns);
    for (uint32_t i = 0; i < play->skipped; i++)
        schedule_tick(&play->schedule, play->skipped_ns[i]);
    play->skipped = 0;
    for (uint32_t i = 0; i < play->kind->at_once; i++)
        see_out(play, &play->rows[i].places[play->rows[i].now ^ 1]);
}

static void skip_ticks(struct play *play, uint64_t now_ns)
{
    uint32_t empty = schedule_empty_ticks(&play->schedule, SKIPPED_MAX);
    while (play->skipped < empty && play->tick.deadline_ns < now_ns + skip_ns) {
        play->skipped_ns[play->skipped++] = play->tick.deadline_ns;
        tick_advance(&play->tick, play->tick.deadline_ns, &play->random);
    }
    play->next_tick_ns = play->tick.deadline_ns;
}

/* Samples what is due, one after the other. */
static void look_at_due(struct play *play, uint64_t *now_ns, enum schedule_turn turn)
{
    struct schedule_thread *due;
    for (; (due = schedule_next(&play->schedule, turn, *now_ns)) != NULL; *now_ns += play->kind->look_ns)
        look(play, (struct place *)due);
}

static bool one_tick(struct play *play)
{
    uint64_t now_ns = play->tick.deadline_ns, admitted_ns;
    bool is_any = false;
    tick_advance(&play->tick, now_ns, &play->random);
    gather(play, now_ns);
    schedule_tick(&play->schedule, now_ns);
    look_at_due(play, &now_ns, SCHEDULE_TURN_KNOWN);
    admitted_ns = now_ns;
    take_arrived(play, now_ns);
    schedule_admit(&play->schedule, play->admitted_tick);
    look_at_due(play, &now_ns, SCHEDULE_TURN_FIRST);
    look_at_due(play, &now_ns, SCHEDULE_TURN_QUIET);
    play->admitted_ns = admitted_ns;
    play->admitted_tick = play->schedule.tick;
    skip_ticks(play, now_ns);
    for (uint32_t i = 0; i < play->kind->at_once; i++)
        is_any |= play->rows[i].places[play->rows[i].now].begin_ns != UINT64_MAX;
    return is_any;
}

static void play_lives(struct play *play, const struct kind *kind, uint64_t seed)
{
    memset(play, 0, sizeof(*play));
    play->kind = kind;
    random_init(&play->random, seed);
    assert_int_equal(schedule_init(&play->schedule, LOOKS, period_ns, &play->random), 0);
    assert_int_equal(arena_init(&play->arena, (size_t)kind->lives * 768 + (1 << 20)), 0);
    assert_int_equal(tree_init(&play->tree, &play->arena), 0);
    play->schedule.spread = SCHEDULE_SPREAD_ONE * kind->spread_percent / 100;
    play->fold = (struct fold){.tree = &play->tree, .period_ns = period_ns};
    tick_init(&play->tick, period_ns, start_ns, &play->random);
    play->next_tick_ns = play->tick.deadline_ns;
    play->admitted_ns = start_ns;
    for (uint32_t i = 0; i < kind->at_once; i++)
        be_born(play, &play->rows[i].places[0], start_ns);
    while (one_tick(play))
        ;
    short_lives_settle(&play->tree, play->records.newest, false);
}

static void play_end(struct play *play)
{
    schedule_deinit(&play->schedule);
    tree_deinit(&play->tree);
    arena_deinit(&play->arena);
}

static struct values sum_of(const struct play *play, const char *stack)
{
    struct values sum = {0}, all;
    for (arena_ref root = play->tree.newest_root; root; root = tree_node(&play->tree, root)->next_sibling) {
        arena_ref node = stack ? fake_find(&play->tree, root, stack) : 0;
        all = stack ? (struct values){0} : fake_sum(&play->tree, root);
        tree_add_values(&sum, node ? &tree_node(&play->tree, node)->self : &all);
    }
    return sum;
}

static uint64_t wall(const struct values *values)
{
    return tree_wall_ns(values);
}

static uint64_t square(uint64_t number)
{
    return number * number;
}

/*
 * A function that N samples saw is off by 1 / sqrt(N) of its time at most, in one of three cases: of short
 * lives its samples are independent of each other, of longer ones they are more even. Four times that is
 * allowed, and 1 %. It is so much of all CPU time where wall time becomes CPU time. In microseconds, whose
 * squares fit.
 */
static void assert_close(const struct kind *kind, const char *what, uint64_t found_ns, uint64_t true_ns,
                         uint64_t of_ns, uint64_t samples)
{
    uint64_t off_us = (found_ns > true_ns ? found_ns - true_ns : true_ns - found_ns) / NS_PER_US;
    uint64_t of_us = of_ns / NS_PER_US, beyond_us = off_us > of_us / 100 ? off_us - of_us / 100 : 0;
    if (square(beyond_us) / 16 * samples > square(of_us))
        fail_msg("%ju us of %ju us %s in lives of %ju us, %ju samples", (uintmax_t)(found_ns / NS_PER_US),
                 (uintmax_t)(true_ns / NS_PER_US), what, (uintmax_t)(kind->life_ns / NS_PER_US),
                 (uintmax_t)samples);
}

static void check(const struct kind *kind)
{
    static struct play play;
    play_lives(&play, kind, 1);
    struct values f = sum_of(&play, "f"), g = sum_of(&play, "g"), all = sum_of(&play, NULL);
    const uint64_t cpu_ns = play.first.cpu_ns + play.second.cpu_ns;
    assert_close(kind, "in f", wall(&f), wall(&play.first), wall(&play.first), f.samples);
    assert_close(kind, "in g", wall(&g), wall(&play.second), wall(&play.second), g.samples);
    assert_close(kind, "of CPU in f", f.cpu_ns, play.first.cpu_ns, cpu_ns, f.samples);
    assert_close(kind, "of CPU in g", g.cpu_ns, play.second.cpu_ns, cpu_ns, g.samples);
    assert_int_equal(wall(&all), wall(&play.first) + wall(&play.second));
    assert_int_equal(all.cpu_ns, cpu_ns);
    assert_int_equal(all.blocked_ns, play.first.blocked_ns);
    play_end(&play);
}

static const uint64_t lives_ms[] = {1, 2, 5, 10, 20, 50, 100, 200, 500};

static void check_all_lengths(struct kind kind)
{
    for (size_t i = 0; i < COUNT(lives_ms); i++) {
        kind.life_ns = lives_ms[i] * NS_PER_MS;
        kind.varies_ns = kind.life_ns * kind.varies_percent / 100;
        check(&kind);
    }
}

static void lives_of_any_length_are_even(void **state)
{
    (void)state;
    check_all_lengths(
        (struct kind){.lives = 20000, .at_once = 4, .first_percent = 50, .spread_percent = 100});
    check_all_lengths(
        (struct kind){.lives = 20000, .at_once = 6, .first_percent = 10, .spread_percent = 100});
}

static void waits_and_work_are_even(void **state)
{
    (void)state;
    check_all_lengths((struct kind){
        .lives = 20000, .at_once = 4, .first_percent = 50, .first_waits = true, .spread_percent = 100});
}

/* More threads than samples in a tick, or an overhead limit: stretches of many ticks, of which some are
 * skipped. */
static void long_stretches_are_even(void **state)
{
    (void)state;
    check_all_lengths(
        (struct kind){.lives = 20000, .at_once = 40, .first_percent = 50, .spread_percent = 100});
    check_all_lengths((struct kind){
        .lives = 20000, .at_once = 4, .first_percent = 30, .varies_percent = 30, .spread_percent = 400});
}

/* A tick takes as long as its samples, a good part of these lives. */
static void slow_looks_are_even(void **state)
{
    (void)state;
    for (uint64_t life_ms = 1; life_ms <= 4; life_ms++)
        check(&(struct kind){.lives = 200000 / (uint32_t)life_ms,
                             .at_once = 8,
                             .life_ns = life_ms * NS_PER_MS,
                             .first_percent = 50,
                             .look_ns = 50 * NS_PER_US,
                             .spread_percent = 100});
}

static void a_hundred_thousand_lives_add_up(void **state)
{
    (void)state;
    check(&(struct kind){
        .lives = 100000, .at_once = 10, .life_ns = NS_PER_MS, .first_percent = 50, .spread_percent = 100});
}

/* ---- by hand ---- */

struct fixture {
    struct arena arena;
    struct tree tree;
    struct thread_records records;
};

static int set_up(void **state, size_t arena_bytes)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof(fixture));
    assert_int_equal(arena_init(&fixture.arena, arena_bytes), 0);
    assert_int_equal(tree_init(&fixture.tree, &fixture.arena), 0);
    *state = &fixture;
    return 0;
}

static int setup(void **state)
{
    return set_up(state, 1 << 22);
}

static int setup_small(void **state)
{
    return set_up(state, 1 << 16);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    tree_deinit(&fixture->tree);
    arena_deinit(&fixture->arena);
    return 0;
}

/* A life, and what its samples claim for the functions of a stack; NULL: it has no sample. Returns its root.
 */
static arena_ref add(struct fixture *fixture, const char *name, const char *stack, struct values claimed,
                     struct values life)
{
    struct thread_record *record = new_record(&fixture->arena, &fixture->records, name);
    record->root = tree_root(&fixture->tree, record->number);
    record->unsettled = life;
    record->has_ended = true;
    if (stack) {
        struct fake_path path = fake_path(&fixture->tree, stack);
        arena_ref node = record->root;
        for (size_t i = path.depth; i-- > 0;)
            node = tree_child(&fixture->tree, node, path.locations[i]);
        tree_node(&fixture->tree, node)->self = claimed;
    }
    return record->root;
}

static void settle(struct fixture *fixture, bool knows_delay)
{
    short_lives_settle(&fixture->tree, fixture->records.newest, knows_delay);
}

static void assert_at(const struct fixture *fixture, arena_ref root, const char *stack, struct values values)
{
    arena_ref node = stack ? fake_find(&fixture->tree, root, stack)
                           : fake_pseudo_child(&fixture->tree, root, PSEUDO_UNSAMPLED);
    fake_assert_values(&fixture->tree, node, values);
}

static struct values running(uint64_t samples, uint64_t ns)
{
    return (struct values){.samples = samples, .cpu_ns = ns};
}

static struct values blocked(uint64_t samples, uint64_t ns)
{
    return (struct values){.samples = samples, .blocked_ns = ns};
}

static const struct values nothing;

/* In all f has half of the time. Each life has its own length. */
static void lives_of_a_name_are_settled_together(void **state)
{
    struct fixture *fixture = *state;
    arena_ref other = add(fixture, "w", NULL, nothing, running(0, 3));
    arena_ref seen = add(fixture, "w", "ab", running(1, 10), running(0, 4));
    arena_ref last = add(fixture, "w", "ac", running(1, 10), running(0, 5));
    arena_ref apart = add(fixture, "w1", "ab", running(1, 10), running(0, 7));
    for (int again = 0; again < 2; again++) {
        settle(fixture, true);
        assert_at(fixture, seen, "ab", running(1, 4));
        assert_at(fixture, last, "ac", running(1, 5));
        assert_at(fixture, other, "ab", running(0, 2));
        assert_at(fixture, other, "ac", running(0, 1));
        assert_at(fixture, apart, "ab", running(1, 7));
    }
}

/* The new claims are whole stretches again. */
static void lives_are_settled_again_with_new_ones(void **state)
{
    struct fixture *fixture = *state;
    arena_ref seen = add(fixture, "w", "ab", running(1, 10), running(0, 4));
    settle(fixture, true);
    assert_at(fixture, seen, "ab", running(1, 4));
    arena_ref other = add(fixture, "w", "c", running(1, 4), running(0, 12));
    settle(fixture, true);
    assert_at(fixture, seen, "ab", running(1, 4));
    assert_at(fixture, other, "c", running(1, 8));
    assert_at(fixture, other, "ab", running(0, 4));
}

static void lives_that_nobody_saw_are_unsampled(void **state)
{
    struct fixture *fixture = *state;
    arena_ref one = add(fixture, "w", NULL, nothing, (struct values){.cpu_ns = 2, .blocked_ns = 3}),
              other = add(fixture, "w", NULL, nothing, blocked(0, 5));
    settle(fixture, true);
    assert_at(fixture, one, NULL, (struct values){.cpu_ns = 2, .blocked_ns = 3});
    assert_at(fixture, other, NULL, blocked(0, 5));
}

/* They were seen at work twice as often as their clocks say: time of each becomes another part, in
 * proportion. And each has its own parts in the end. */
static void the_parts_are_what_all_clocks_say(void **state)
{
    struct fixture *fixture = *state;
    arena_ref work = add(fixture, "w", "ab", running(20, 200), (struct values){0, 60, 10, 30});
    arena_ref wait = add(fixture, "w", "ac", blocked(20, 200), (struct values){0, 40, 0, 60});
    settle(fixture, true);
    assert_at(fixture, work, "ab", (struct values){20, 60, 0, 0});
    assert_at(fixture, work, "ac", (struct values){0, 0, 10, 30});
    assert_at(fixture, wait, "ac", (struct values){20, 0, 0, 60});
    assert_at(fixture, wait, "ab", (struct values){0, 40, 0, 0});
}

static void a_thread_that_was_settled_stays_as_it_is(void **state)
{
    struct fixture *fixture = *state;
    arena_ref alone = add(fixture, "w", "ab", running(1, 10), nothing);
    arena_ref seen = add(fixture, "w", "ab", running(1, 10), running(0, 4));
    settle(fixture, true);
    assert_at(fixture, alone, "ab", running(1, 10));
    assert_at(fixture, seen, "ab", running(1, 4));
}

/* ---- little memory ---- */

enum { UNSEEN = 99 };

/* One life was seen on a stack of eight. Each of the others needs that stack. Returns the root of the first.
 */
static arena_ref add_crowd(struct fixture *fixture)
{
    arena_ref seen = add(fixture, "w", "abcdefgh", running(1, 7000), running(0, 10));
    for (int i = 0; i < UNSEEN; i++)
        add(fixture, "w", NULL, nothing, running(0, 10));
    add(fixture, "newest", "ab", running(1, 5), running(0, 5));
    return seen;
}

static bool make_room(struct fixture *fixture)
{
    struct merge_ended merge = {0};
    const struct merge_ended_recording recording = {&fixture->tree, &fixture->records, NULL};
    return merge_ended_for_lives(&merge, &recording);
}

static const struct thread_record *record_after(const struct fixture *fixture, arena_ref ref)
{
    return arena_at(&fixture->arena, ((const struct thread_record *)arena_at(&fixture->arena, ref))->next);
}

static void without_room_the_unseen_become_one(void **state)
{
    struct fixture *fixture = *state;
    arena_ref seen = add_crowd(fixture);
    assert_true(make_room(fixture));
    settle(fixture, true);
    const struct thread_record *merged = record_after(fixture, fixture->records.newest);
    assert_int_equal(merged->merged_threads, UNSEEN - 1);
    assert_int_equal(((const struct thread_record *)arena_at(&fixture->arena, merged->next))->root, seen);
    assert_at(fixture, merged->root, "abcdefgh", running(0, UNSEEN * 10));
    assert_at(fixture, seen, "abcdefgh", running(1, 10));
    assert_int_equal(fixture->tree.overflows, 0);
}

static void with_room_all_stay_apart(void **state)
{
    struct fixture *fixture = *state;
    add_crowd(fixture);
    assert_false(make_room(fixture));
    settle(fixture, true);
    const struct thread_record *last = record_after(fixture, fixture->records.newest);
    assert_at(fixture, last->root, "abcdefgh", running(0, 10));
}

/* Nobody has made room: what there is no node for stays where it was claimed. */
static void no_time_is_moved_to_overflow(void **state)
{
    struct fixture *fixture = *state;
    struct values sum = {0};
    add_crowd(fixture);
    settle(fixture, true);
    for (arena_ref root = fixture->tree.newest_root; root;
         root = tree_node(&fixture->tree, root)->next_sibling) {
        arena_ref node = fake_find(&fixture->tree, root, "abcdefgh");
        if (node)
            fake_add_values(&sum, &tree_node(&fixture->tree, node)->self);
    }
    assert_int_equal(sum.cpu_ns, (1 + UNSEEN) * 10);
    assert_int_equal(fixture->tree.overflows, 0);
}

int main(void)
{
#define TEST(name)       cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_SMALL(name) cmocka_unit_test_setup_teardown(name, setup_small, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lives_of_any_length_are_even),    cmocka_unit_test(waits_and_work_are_even),
        cmocka_unit_test(long_stretches_are_even),         cmocka_unit_test(slow_looks_are_even),
        cmocka_unit_test(a_hundred_thousand_lives_add_up), TEST(lives_of_a_name_are_settled_together),
        TEST(lives_are_settled_again_with_new_ones),       TEST(lives_that_nobody_saw_are_unsampled),
        TEST(the_parts_are_what_all_clocks_say),           TEST(a_thread_that_was_settled_stays_as_it_is),
        TEST_SMALL(without_room_the_unseen_become_one),    TEST(with_room_all_stay_apart),
        TEST_SMALL(no_time_is_moved_to_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
