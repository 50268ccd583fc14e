/*
 * What a process leaves of its recording when it is killed, at whichever instruction, is read, and no time is
 * lost or made up: what a thread's tree holds, and [unsampled], add up to its life so far.
 */
#include "tool/read/recording.h"
#include "tool/read/store_file.h"

#include "lib/fake_files.h"
#include "lib/fake_recorder.h"
#include "lib/unit.h"
#include "lib/watched_stores.h"

#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ARENA_BYTES = 20 << 10, TIMELINE_BYTES = 32 * 64, THREADS_MAX = 16 };

struct fixture {
    struct fake_directory directory;
    char path[PATH_MAX];
    struct fake_recorder recorder;
    struct recording recording;
};

static int setup(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    *state = &fixture;
    fake_directory_create(&fixture.directory);
    snprintf(fixture.path, sizeof fixture.path, "%s/live.store", fixture.directory.path);
    fake_recorder_init(&fixture.recorder, ARENA_BYTES, TIMELINE_BYTES);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    recording_close(&fixture->recording);
    fake_recorder_deinit(&fixture->recorder);
    fake_directory_remove(&fixture->directory);
    return 0;
}

/* A thread that begins when the recording does, of a recording that is kept in its file from then on. */
static struct thread *begin_kept_thread(struct fixture *fixture)
{
    struct thread *thread = fake_recorder_begin(&fixture->recorder, 0, false);
    assert_int_equal(fake_recorder_keep(&fixture->recorder, fixture->path, 1000), 0);
    return thread;
}

/* ---- what is read ---- */

/* In place of what was opened before. */
static void open_store(struct fixture *fixture)
{
    recording_close(&fixture->recording);
    int status = recording_open(&fixture->recording, fixture->path);
    if (status < 0)
        fail_msg("%s", fixture->recording.reason);
}

static const struct thread_record *record_of(const struct recording *recording, uint32_t number)
{
    arena_ref ref = number <= recording->profile.thread_count ? recording->thread_of_number[number] : 0;
    return ref ? arena_at(&recording->arena, ref) : NULL;
}

static struct values sum_of(const struct recording *recording, uint32_t number)
{
    const struct thread_record *record = record_of(recording, number);
    assert_non_null(record);
    return fake_sum(&recording->tree, record->root);
}

static uint64_t wall_of(struct values values)
{
    return tree_wall_ns(&values);
}

/* Where in the tree a stack of the recorder's is, found by addresses;
 * an empty one with '?' at its end is [unsampled]. */
static const struct values *values_of(const struct recording *recording, uint32_t number, const char *stack)
{
    const struct tree *tree = &recording->tree;
    arena_ref node = record_of(recording, number)->root;
    while (node && *stack) {
        bool is_unsampled = *stack == '?';
        uint64_t address = is_unsampled ? 0 : fake_frame(&stack);
        stack += is_unsampled;
        for (node = tree_node(tree, node)->first_child; node; node = tree_node(tree, node)->next_sibling) {
            const struct location *location = tree_location_at(tree, tree_node(tree, node)->location);
            if (is_unsampled ? location->pseudo == 1 + PSEUDO_UNSAMPLED
                             : !location->pseudo && location->address == address)
                break;
        }
    }
    return node ? &tree_node(tree, node)->self : NULL;
}

static void assert_wall(const struct recording *recording, uint32_t number, const char *stack, uint64_t wall)
{
    const struct values *values = values_of(recording, number, stack);
    if (wall > 0)
        assert_non_null(values);
    assert_int_equal(values ? tree_wall_ns(values) : 0, wall);
}

/* ---- exact numbers ---- */

static void a_thread_that_lived_has_its_time_up_to_the_last_beat(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    struct thread *thread = fake_recorder_begin(recorder, 100, false);
    fake_recorder_observe(recorder, thread, 1000, 0, 450, true, "ab");
    assert_int_equal(fake_recorder_keep(recorder, fixture->path, 1000), 0);
    fake_recorder_observe(recorder, thread, 2000, 2500, 1200, true, "ac");
    fake_recorder_tick(recorder, 3200);
    open_store(fixture);
    assert_wall(&fixture->recording, 1, "ab", 450); /* half of what it stands for, as for all of them */
    assert_wall(&fixture->recording, 1, "ac", 750); /* and what it stands for after it */
    assert_wall(&fixture->recording, 1, "?", 1900);
    assert_int_equal(wall_of(sum_of(&fixture->recording, 1)), 3100);
    assert_int_equal(sum_of(&fixture->recording, 1).cpu_ns, 1200); /* as the clock said last */
    assert_int_equal(sum_of(&fixture->recording, 1).blocked_ns, 1900);
    assert_int_equal(record_of(&fixture->recording, 1)->end_ns, FAKE_START_NS + 3200);
    assert_int_equal(fixture->recording.profile.duration_ns, 3200);
}

/* The moment of tick 4 is told by the last beat's, which was tick 7's. */
static void a_stretch_goes_on_to_its_end(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    struct thread *thread = begin_kept_thread(fixture);
    fake_recorder_tick(recorder, 2000);
    thread->schedule.begin = 4;
    fake_recorder_observe(recorder, thread, 2100, FOLD_GOES_ON, 0, false, "a");
    fake_recorder_tick(recorder, 3000);
    open_store(fixture);
    assert_wall(&fixture->recording, 1, "a", 3000);
    assert_wall(&fixture->recording, 1, "?", 0);
    fake_recorder_tick(recorder, 7000);
    open_store(fixture);
    assert_wall(&fixture->recording, 1, "a", 4000);
    assert_wall(&fixture->recording, 1, "?", 3000);
}

static void what_is_told_of_its_end_is_believed(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    begin_kept_thread(fixture);
    fake_recorder_tick(recorder, 5000);
    mapped_store_note_end(&recorder->sampler.mapped_store, STORE_END_EXIT, 7, FAKE_START_NS + 5600);
    open_store(fixture);
    assert_int_equal(wall_of(sum_of(&fixture->recording, 1)), 5600);
    assert_string_equal(fixture->recording.ending, "ended by _exit(7)");
    fake_recorder_tick(recorder, 5000 + 200000000); /* it has not ended */
    open_store(fixture);
    assert_int_equal(wall_of(sum_of(&fixture->recording, 1)), 200005000);
    assert_string_equal(fixture->recording.ending, "it had not ended");
}

/* The process may go on for hours, and end then. */
static void a_store_that_was_given_up_ends_there(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    struct thread *thread = begin_kept_thread(fixture);
    fake_recorder_tick(recorder, 5000);
    mapped_store_give_up(&recorder->sampler.mapped_store, -ENOSPC);
    recorder->fd = -1;
    fake_recorder_observe(recorder, thread, 7000, 0, 100, true, "abc");
    fake_recorder_tick(recorder, 8000);
    mapped_store_note_end(&recorder->sampler.mapped_store, STORE_END_EXIT, 0, FAKE_START_NS + 9000000);
    open_store(fixture);
    assert_int_equal(wall_of(sum_of(&fixture->recording, 1)), 5000);
    assert_wall(&fixture->recording, 1, "abc", 0);
    assert_string_equal(fixture->recording.ending,
                        "no longer kept in this file from there on: No space left on device");
    assert_int_equal(wall_of(fake_sum(&recorder->sampler.tree, thread->fold.root)), 7000);
}

static void new_nodes_that_nothing_leads_to_yet_are_unsampled(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    struct thread *thread = begin_kept_thread(fixture);
    fake_recorder_observe(recorder, thread, 1000, 0, 0, false, "ab");
    fake_recorder_tick(recorder, 1500);
    fake_recorder_fold(recorder, thread, 2000, 2500, 0, false, "ac"); /* killed before it is shown */
    open_store(fixture);
    assert_wall(&fixture->recording, 1, "ab", 1000);
    assert_wall(&fixture->recording, 1, "ac", 0);
    assert_int_equal(wall_of(sum_of(&fixture->recording, 1)), 1500);
}

static void values_without_the_state_of_their_thread_count(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    struct thread *thread = begin_kept_thread(fixture);
    fake_recorder_observe(recorder, thread, 1000, 0, 0, false, "ab");
    fake_recorder_observe(recorder, thread, 2000, 2900, 0, false, "ac");
    fake_recorder_fold(recorder, thread, 4000, 4500, 0, false, "ab"); /* its state is the one before */
    fake_recorder_tick(recorder, 4200);
    open_store(fixture);
    assert_wall(&fixture->recording, 1, "ab", 2100);
    assert_wall(&fixture->recording, 1, "ac", 1900);
    assert_wall(&fixture->recording, 1, "?", 200);
}

static void a_thread_without_a_state_lived_if_it_has_no_end(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    struct thread *thread = fake_recorder_begin(recorder, 0, false);
    struct thread *other = fake_recorder_begin(recorder, 0, false);
    assert_int_equal(fake_recorder_keep(recorder, fixture->path, 1000), 0);
    fake_recorder_observe(recorder, thread, 1000, 0, 400, true, "ab");
    fake_recorder_end(recorder, other, 2000, 0);
    struct thread_record *record = arena_at(&recorder->sampler.arena, thread->record);
    record->state = 0; /* there was no memory for it */
    mapped_store_beat_alone(&recorder->sampler.mapped_store, FAKE_START_NS + 3000);
    open_store(fixture);
    assert_int_equal(wall_of(sum_of(&fixture->recording, 1)), 3000);
    assert_wall(&fixture->recording, 1, "?", 2000);
    assert_int_equal(wall_of(sum_of(&fixture->recording, 2)), 2000);
}

/* What lies in it is another thread's, or nothing yet. */
static void a_state_that_was_just_taken_is_not_believed(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    struct thread *thread = begin_kept_thread(fixture);
    fake_recorder_begin(recorder, 2000, false);
    fake_recorder_tick(recorder, 3000);
    struct thread_record *record = arena_at(&recorder->sampler.arena, thread->record);
    memset(arena_at(&recorder->sampler.arena, record->state), 0, sizeof(struct thread_state));
    open_store(fixture);
    assert_int_equal(wall_of(sum_of(&fixture->recording, 1)), 3000);
    assert_int_equal(wall_of(sum_of(&fixture->recording, 2)), 1000);
}

/* After the last beat: it has lived for no time. */
static void a_thread_does_not_end_before_it_begins(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    assert_int_equal(fake_recorder_keep(recorder, fixture->path, 1000), 0);
    fake_recorder_tick(recorder, 1000);
    fake_recorder_begin(recorder, 1700, false);
    open_store(fixture);
    assert_int_equal(wall_of(sum_of(&fixture->recording, 1)), 0);
    assert_int_equal(record_of(&fixture->recording, 1)->end_ns, FAKE_START_NS + 1700);
}

static void threads_that_share_a_tree_have_their_time_there(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    struct thread *first = fake_recorder_begin(recorder, 0, true);
    fake_recorder_begin(recorder, 500, true);
    assert_int_equal(fake_recorder_keep(recorder, fixture->path, 1000), 0);
    fake_recorder_observe(recorder, first, 1000, 0, 200, true, "ab");
    fake_recorder_tick(recorder, 2000);
    open_store(fixture);
    struct values sum = fake_sum(&fixture->recording.tree, fixture->recording.tree.spare_root);
    assert_int_equal(tree_wall_ns(&sum), 2000 + 1500);
    assert_int_equal(sum.cpu_ns, 200);
    assert_int_equal(tree_offcpu_ns(&sum), 1800 + 1500);
}

/* The newest heads first: what they lead to may not be told of elsewhere yet. */
static void heads_that_are_of_two_moments_lose_what_is_new_only(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    struct thread *first = fake_recorder_begin(recorder, 0, false);
    assert_int_equal(fake_recorder_keep(recorder, fixture->path, 1000), 0);
    fake_recorder_observe(recorder, first, 1000, 0, 1000, true, "ab");
    fake_recorder_tick(recorder, 1500);
    const struct store_tree before = recorder->sampler.mapped_store.header->tree;
    fake_recorder_begin(recorder, 1600, false);
    const struct store_tree after = recorder->sampler.mapped_store.header->tree;
    assert_int_not_equal(before.newest_thread, after.newest_thread);
    for (size_t bytes = 0; bytes <= sizeof after; bytes += sizeof(uint32_t)) {
        struct store_tree torn = before;
        memcpy(&torn, &after, bytes);
        recorder->sampler.mapped_store.header->tree = torn;
        open_store(fixture);
        assert_int_equal(wall_of(sum_of(&fixture->recording, 1)), 1500);
        assert_wall(&fixture->recording, 1, "ab", 1000);
        torn = after;
        memcpy(&torn, &before, bytes);
        recorder->sampler.mapped_store.header->tree = torn;
        open_store(fixture);
        assert_int_equal(wall_of(sum_of(&fixture->recording, 1)), 1500);
        assert_wall(&fixture->recording, 1, "ab", 1000);
    }
}

/* ---- the timeline ---- */

static uint64_t timed_wall_of(const struct timeline *timeline, uint32_t number)
{
    uint64_t wall_ns = 0;
    for (uint32_t i = 0; i < timeline->count; i++)
        wall_ns += timeline->records[i].thread == number ? timeline->records[i].wall_ns : 0;
    return wall_ns;
}

/* Records move when there is no room for more: until the next tick the file tells of more than there are. */
static void records_that_have_moved_are_not_there_twice(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    struct thread *thread = begin_kept_thread(fixture);
    const struct timeline *timeline = recorder->sampler.timeline;
    uint64_t time = 0;
    while (timeline->thinned == 0) {
        if (time < 5000 || timeline->count < timeline->capacity)
            fake_recorder_tick(recorder, time);
        time += 1000;
        fake_recorder_observe(recorder, thread, time, 0, time / 2, true, time / 1000 % 2 ? "ab" : "ac");
    }
    open_store(fixture);
    timeline = fixture->recording.profile.timeline;
    assert_true(!timeline || timed_wall_of(timeline, 1) <= wall_of(sum_of(&fixture->recording, 1)));
    fake_recorder_tick(recorder, time);
    open_store(fixture);
    assert_non_null(fixture->recording.profile.timeline);
    assert_int_equal(timed_wall_of(fixture->recording.profile.timeline, 1), time);
}

/* ---- killed at every instruction ---- */

/* What the recorder knows to be true. Times are after FAKE_START_NS. */
struct truth {
    uint32_t begun, begun_for_sure; /* threads, up to this number */
    uint64_t beat_ns, now_ns;       /* the last that is told of for sure, and the latest that may be */
    struct {
        uint64_t start_ns, end_ns, cpu_ns;
        uint32_t is_ending, has_ended;
    } threads[THREADS_MAX];
};

static struct thread *play_begin_thread(struct fake_recorder *recorder, struct truth *truth, uint64_t time_ns)
{
    truth->now_ns = time_ns;
    truth->threads[truth->begun + 1].start_ns = time_ns;
    truth->begun++;
    struct thread *thread = fake_recorder_begin(recorder, time_ns, false);
    truth->begun_for_sure = truth->begun;
    return thread;
}

static void play_end_thread(struct fake_recorder *recorder, struct truth *truth, struct thread *thread,
                            uint64_t time_ns, uint64_t cpu_ns)
{
    uint32_t number = thread->number;
    truth->now_ns = time_ns;
    truth->threads[number].end_ns = time_ns;
    truth->threads[number].cpu_ns = cpu_ns;
    truth->threads[number].is_ending = 1;
    fake_recorder_end(recorder, thread, time_ns, cpu_ns);
    truth->threads[number].has_ended = 1;
}

static void play_observe_thread(struct fake_recorder *recorder, struct truth *truth, struct thread *thread,
                                uint64_t time_ns, unsigned which)
{
    static const char *const stacks[] = {"ab", "abc", "ad", "ab1ef", "g", "ab1eh", "abcdefg", "ad1"};
    truth->now_ns = time_ns;
    truth->threads[thread->number].cpu_ns += 400;
    thread->schedule.begin = recorder->sampler.schedule.tick + 1;
    fake_recorder_observe(recorder, thread, time_ns, which % 3 ? FOLD_GOES_ON : time_ns + 300,
                          truth->threads[thread->number].cpu_ns, which % 2,
                          stacks[which % (sizeof stacks / sizeof *stacks)]);
}

static void play_tick(struct fake_recorder *recorder, struct truth *truth, uint64_t time_ns)
{
    truth->now_ns = time_ns;
    fake_recorder_tick(recorder, time_ns);
    truth->beat_ns = time_ns;
}

static void begin_to_record(struct fixture *fixture, struct truth *truth)
{
    struct fake_recorder *recorder = &fixture->recorder;
    play_observe_thread(recorder, truth, play_begin_thread(recorder, truth, 0), 1000, 0);
    assert_int_equal(fake_recorder_keep(recorder, fixture->path, 1000), 0);
}

/* Some of everything, and more records than the timeline has room for. */
static void record_something(struct fixture *fixture, struct truth *truth)
{
    struct fake_recorder *recorder = &fixture->recorder;
    struct thread *first = recorder->threads.live[0];
    play_tick(recorder, truth, 2000);
    struct thread *second = play_begin_thread(recorder, truth, 2100);
    for (unsigned i = 1; i <= 18; i++) {
        uint64_t time_ns = 2000 + 1000 * (uint64_t)i;
        play_observe_thread(recorder, truth, first, time_ns - 500, i);
        play_observe_thread(recorder, truth, second, time_ns - 300, i / 4);
        if (i == 9)
            fake_recorder_module(recorder, "/lib/another");
        if (i == 6 || i == 12) {
            play_end_thread(recorder, truth, second, time_ns - 200,
                            truth->threads[second->number].cpu_ns + 100);
            second = play_begin_thread(recorder, truth, time_ns - 100);
        }
        play_tick(recorder, truth, time_ns);
    }
}

static void check_thread(const struct recording *recording, const struct truth *truth, uint32_t number)
{
    const struct thread_record *record = record_of(recording, number);
    if (number > truth->begun_for_sure && !record)
        return;
    assert_non_null(record);
    const uint64_t start_ns = FAKE_START_NS + truth->threads[number].start_ns;
    const struct values sum = fake_sum(&recording->tree, record->root);
    const struct timeline *timeline = recording->profile.timeline;
    assert_int_equal(record->start_ns, start_ns);
    assert_true(record->end_ns >= start_ns);
    assert_int_equal(tree_wall_ns(&sum), record->end_ns - start_ns);
    assert_int_equal(sum.cpu_ns + tree_offcpu_ns(&sum), tree_wall_ns(&sum));
    assert_true(sum.cpu_ns <= truth->threads[number].cpu_ns);
    if (timeline)
        assert_true(timed_wall_of(timeline, number) <= tree_wall_ns(&sum));
    if (truth->threads[number].has_ended)
        assert_int_equal(record->end_ns, FAKE_START_NS + truth->threads[number].end_ns);
    else if (!truth->threads[number].is_ending && start_ns <= FAKE_START_NS + truth->beat_ns)
        assert_true(record->end_ns >= FAKE_START_NS + truth->beat_ns);
    assert_true(record->end_ns <= FAKE_START_NS + truth->now_ns);
}

static void check_what_is_left(struct fixture *fixture, const struct truth *truth)
{
    open_store(fixture);
    for (uint32_t number = 1; number <= truth->begun; number++)
        check_thread(&fixture->recording, truth, number);
}

struct killed {
    struct fixture *fixture;
    struct truth truth;
};

static void check_killed(void *context)
{
    struct killed *killed = context;
    check_what_is_left(killed->fixture, &killed->truth);
}

static void killed_at_any_instruction_it_leaves_all_its_time(void **state)
{
    struct fixture *fixture = *state;
    struct killed killed = {.fixture = fixture};
    begin_to_record(fixture, &killed.truth);
    if (!watch_stores(&fixture->recorder.sampler.mapped_store, check_killed, &killed))
        skip();
    record_something(fixture, &killed.truth);
    assert_true(watch_no_more() > 1500);
    assert_int_equal(killed.truth.begun, 4);
    assert_true(fixture->recorder.sampler.timeline->thinned > 0);
}

/* ---- a crash of the machine ---- */

static void a_store_whose_pages_are_lost_is_read_or_refused(void **state)
{
    struct fixture *fixture = *state;
    struct truth truth = {0};
    struct random_state random;
    unsigned read = 0, refused = 0;
    begin_to_record(fixture, &truth);
    record_something(fixture, &truth);
    struct fake_bytes whole = fake_read(&fixture->directory, "live.store");
    random_init(&random, 7);
    for (int round = 0; round < 400; round++) {
        int fd = open(fixture->path, O_WRONLY | O_CLOEXEC);
        size_t bytes = round % 2 ? 512 : 4096, zeros = 1 + random_next(&random) % 3;
        static const unsigned char none[4096];
        for (size_t i = 0; i < zeros; i++) {
            size_t at = random_next(&random) % (4096 + 16384) / bytes * bytes;
            if (round % 8 < 6 && at < 4096)
                at += 4096; /* the header is one page, and whole or older */
            assert_int_equal(pwrite(fd, none, bytes, (off_t)at), bytes);
        }
        if (recording_open(&fixture->recording, fixture->path) == 0) {
            read++;
            for (uint32_t number = 1; number <= fixture->recording.profile.thread_count; number++) {
                const struct thread_record *record = record_of(&fixture->recording, number);
                if (record && record->end_ns && !truth.threads[number].has_ended)
                    assert_int_equal(wall_of(sum_of(&fixture->recording, number)),
                                     record->end_ns - record->start_ns);
            }
            recording_close(&fixture->recording);
        } else {
            refused++;
            assert_true(*fixture->recording.reason);
        }
        assert_int_equal(pwrite(fd, whole.bytes, 4096 + 16384, 0), 4096 + 16384);
        close(fd);
    }
    assert_true(read > 20 && refused > 20);
    fake_bytes_free(&whole);
}

/* Older lists, which lead to what was written long ago. */
static void a_checkpoint_is_used_where_the_newest_lists_are_broken(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    const uint64_t minute_ns = UINT64_C(60000000000);
    struct thread *thread = begin_kept_thread(fixture);
    fake_recorder_observe(recorder, thread, 1000, 0, 0, false, "ab");
    fake_recorder_tick(recorder, 2000);
    fake_recorder_tick(recorder, 2 * minute_ns - 1000);
    fake_recorder_tick(recorder, 2 * minute_ns);
    struct store_header *header = recorder->sampler.mapped_store.header;
    assert_true(header->live.checkpoints[0].time_ns > 0);
    fake_recorder_observe(recorder, thread, 2 * minute_ns + 1000, 0, 0, false, "xyz");
    fake_recorder_tick(recorder, 2 * minute_ns + 2000);
    assert_true(header->tree.location_count > header->live.checkpoints[0].tree.location_count);
    memset(arena_at(&recorder->sampler.arena, header->tree.newest_location), 0, sizeof(struct location));
    open_store(fixture);
    assert_wall(&fixture->recording, 1, "ab", 1000);
    assert_int_equal(wall_of(sum_of(&fixture->recording, 1)), 2 * minute_ns + 2000);
}

/* No checkpoint has more than the header that it is older than. */
static void a_checkpoint_that_is_larger_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    begin_kept_thread(fixture);
    fake_recorder_tick(recorder, 1000);
    struct store_header *header = recorder->sampler.mapped_store.header;
    struct thread_record *record = arena_at(&recorder->sampler.arena, header->tree.newest_thread);
    header->live.checkpoints[0].tree = header->tree;
    header->live.checkpoints[0].tree.thread_count = 5000;
    header->tree.newest_location = 0; /* so that this says nothing */
    record->number = 4900;
    tree_node(&recorder->sampler.tree, record->root)->thread = 4900;
    assert_true(recording_open(&fixture->recording, fixture->path) < 0);
}

/* What is added while threads are settled is not of the file. */
static void a_state_outside_the_file_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    fake_recorder_begin(recorder, 0, false);
    begin_kept_thread(fixture);
    fake_recorder_tick(recorder, 1000);
    struct thread_record *record = arena_at(&recorder->sampler.arena, recorder->threads.live[0]->record);
    record->state = (arena_ref)(ARENA_BYTES / ARENA_UNIT_BYTES) + 1;
    assert_true(recording_open(&fixture->recording, fixture->path) < 0);
}

/* Each by itself is a time that something can last. */
static void times_that_add_up_to_too_much_are_refused(void **state)
{
    struct fixture *fixture = *state;
    struct fake_recorder *recorder = &fixture->recorder;
    for (int i = 0; i < 12; i++)
        begin_kept_thread(fixture);
    fake_recorder_tick(recorder, (UINT64_C(1) << 61) - FAKE_START_NS - 1);
    assert_int_equal(recording_open(&fixture->recording, fixture->path), -EBADMSG);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(a_thread_that_lived_has_its_time_up_to_the_last_beat),
        TEST(a_stretch_goes_on_to_its_end),
        TEST(what_is_told_of_its_end_is_believed),
        TEST(a_store_that_was_given_up_ends_there),
        TEST(new_nodes_that_nothing_leads_to_yet_are_unsampled),
        TEST(values_without_the_state_of_their_thread_count),
        TEST(a_thread_without_a_state_lived_if_it_has_no_end),
        TEST(a_state_that_was_just_taken_is_not_believed),
        TEST(a_thread_does_not_end_before_it_begins),
        TEST(threads_that_share_a_tree_have_their_time_there),
        TEST(heads_that_are_of_two_moments_lose_what_is_new_only),
        TEST(records_that_have_moved_are_not_there_twice),
        TEST(killed_at_any_instruction_it_leaves_all_its_time),
        TEST(a_store_whose_pages_are_lost_is_read_or_refused),
        TEST(a_checkpoint_is_used_where_the_newest_lists_are_broken),
        TEST(a_checkpoint_that_is_larger_is_refused),
        TEST(a_state_outside_the_file_is_refused),
        TEST(times_that_add_up_to_too_much_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
