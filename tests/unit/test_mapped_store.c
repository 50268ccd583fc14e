/* Memory that becomes a file, grows with it, and is memory again where the file has no room. */
#include "account/mapped_store.h"

#include "lib/fake_files.h"
#include "lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, ARENA_PAGES = 256, RECORD_PAGES = 64, STEP = 128 * 1024 };

struct fixture {
    struct fake_directory directory;
    struct mapped_store store;
    struct store_header header;
    struct mapped_memory memory[MAPPED_PART_COUNT];
    struct arena_backing *backing[MAPPED_PART_COUNT];
    int fd;
};

static void make_memory(struct fixture *fixture, int part, size_t pages, size_t used_bytes)
{
    struct mapped_memory *memory = &fixture->memory[part];
    *memory = (struct mapped_memory){scratch_alloc(pages * PAGE), pages * PAGE, used_bytes,
                                     &fixture->backing[part]};
    memset(memory->base, 0x40 + part, used_bytes);
}

static int setup(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    *state = &fixture;
    fake_directory_create(&fixture.directory);
    fixture.fd = openat(fixture.directory.fd, "store", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fixture.fd > 2);
    make_memory(&fixture, MAPPED_ARENA, ARENA_PAGES, 3 * PAGE + 24);
    make_memory(&fixture, MAPPED_RECORDS, RECORD_PAGES, 640);
    store_describe_build(&fixture.header);
    fixture.header.live.state = STORE_LIVE;
    fixture.header.live.begin_ns = 1000;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    mapped_store_drop(&fixture->store);
    for (int i = 0; i < MAPPED_PART_COUNT; i++)
        scratch_free(fixture->memory[i].base, fixture->memory[i].bytes);
    close(fixture->fd);
    fake_directory_remove(&fixture->directory);
    return 0;
}

static void begin(struct fixture *fixture)
{
    assert_int_equal(mapped_store_begin(&fixture->store, fixture->fd, &fixture->header, fixture->memory), 0);
}

static unsigned char *memory_at(const struct fixture *fixture, int part, size_t offset)
{
    return (unsigned char *)fixture->memory[part].base + offset;
}

static unsigned char byte_in_file(const struct fixture *fixture, uint64_t offset)
{
    unsigned char byte;
    assert_int_equal(pread(fixture->fd, &byte, 1, (off_t)offset), 1);
    return byte;
}

static struct store_header header_in_file(const struct fixture *fixture)
{
    struct store_header header;
    assert_int_equal(pread(fixture->fd, &header, sizeof header, 0), sizeof header);
    return header;
}

static void the_file_takes_the_place_of_the_memory(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    const struct store_header header = header_in_file(fixture);
    assert_memory_equal(header.magic, STORE_MAGIC, sizeof header.magic);
    assert_int_equal(header.live.state, STORE_LIVE);
    assert_int_equal(header.live.arena_used_bytes, 3 * PAGE + 24);
    assert_int_equal(header.arena.offset, STORE_HEADER_BYTES);
    assert_int_equal(header.arena.bytes, ARENA_PAGES * PAGE);
    assert_int_equal(header.live.records.offset, STORE_HEADER_BYTES + ARENA_PAGES * PAGE);
    assert_int_equal(header.live.records.bytes, RECORD_PAGES * PAGE);
    assert_int_equal(header.live.events.bytes, 0);
    for (size_t at = 0; at < 3 * PAGE + 24; at++)
        assert_int_equal(*memory_at(fixture, MAPPED_ARENA, at), 0x40);
    assert_int_equal(*memory_at(fixture, MAPPED_ARENA, 3 * PAGE + 24), 0);
    assert_int_equal(*memory_at(fixture, MAPPED_RECORDS, 639), 0x41);
    *memory_at(fixture, MAPPED_ARENA, 5) = 0x77; /* and what is stored is in the file */
    *memory_at(fixture, MAPPED_RECORDS, 6) = 0x78;
    assert_int_equal(byte_in_file(fixture, header.arena.offset + 5), 0x77);
    assert_int_equal(byte_in_file(fixture, header.live.records.offset + 6), 0x78);
    assert_non_null(fixture->backing[MAPPED_ARENA]);
    assert_non_null(fixture->backing[MAPPED_RECORDS]);
    assert_true(mapped_store_is_kept(&fixture->store));
}

static uint64_t blocks_of(const struct fixture *fixture)
{
    struct stat status;
    assert_int_equal(fstat(fixture->fd, &status), 0);
    return (uint64_t)status.st_blocks * 512;
}

static void space_is_allocated_before_it_is_used(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    struct arena_backing *backing = fixture->backing[MAPPED_ARENA];
    const uint64_t before = blocks_of(fixture);
    assert_int_equal(backing->bytes, STEP);
    assert_true(before >= STORE_HEADER_BYTES + 2 * STEP);
    arena_back(backing, STEP);
    assert_int_equal(backing->bytes, STEP);
    arena_back(backing, STEP + 1);
    assert_int_equal(backing->bytes, 2 * STEP);
    assert_true(blocks_of(fixture) >= before + STEP);
    arena_back(backing, ARENA_PAGES * PAGE); /* to the end of it, and no further */
    assert_int_equal(backing->bytes, ARENA_PAGES * PAGE);
    *memory_at(fixture, MAPPED_ARENA, ARENA_PAGES * PAGE - 1) = 0x55;
    assert_int_equal(byte_in_file(fixture, STORE_HEADER_BYTES + ARENA_PAGES * PAGE - 1), 0x55);
    assert_int_equal(*memory_at(fixture, MAPPED_RECORDS, 0), 0x41);
}

static void given_up_it_goes_on_in_memory(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    *memory_at(fixture, MAPPED_ARENA, STEP - 1) = 0x66; /* not used yet, but there is room for it */
    mapped_store_give_up(&fixture->store, -ENOSPC);
    assert_false(mapped_store_is_kept(&fixture->store));
    assert_null(fixture->backing[MAPPED_ARENA]);
    assert_null(fixture->backing[MAPPED_RECORDS]);
    assert_int_equal(*memory_at(fixture, MAPPED_ARENA, 0), 0x40);
    assert_int_equal(*memory_at(fixture, MAPPED_ARENA, STEP - 1), 0x66);
    assert_int_equal(*memory_at(fixture, MAPPED_RECORDS, 639), 0x41);
    memset(fixture->memory[MAPPED_ARENA].base, 0x22, ARENA_PAGES * PAGE); /* all of it can be used */
    assert_int_equal(byte_in_file(fixture, STORE_HEADER_BYTES), 0x40);    /* and is not the file's */
    const struct store_header header = header_in_file(fixture);
    assert_int_equal(header.live.state, STORE_GIVEN_UP);
    assert_int_equal(header.live.error, -ENOSPC);
    mapped_store_beat_alone(&fixture->store, 5000); /* nothing more is said there */
    const struct store_tree tree = {.node_count = 7};
    mapped_store_show(&fixture->store, &tree, PAGE);
    assert_int_equal(header_in_file(fixture).live.beat_ns, 0);
    assert_int_equal(header_in_file(fixture).tree.node_count, 0);
}

/* The lock on the file says that its process lives. */
static void given_up_the_file_stays_open(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    mapped_store_give_up(&fixture->store, -ENOSPC);
    assert_true(fcntl(fixture->fd, F_GETFD) >= 0);
}

static void without_its_descriptor_it_is_given_up_where_room_ends(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    mapped_store_lose_file(&fixture->store);
    arena_back(fixture->backing[MAPPED_ARENA], STEP);
    assert_true(mapped_store_is_kept(&fixture->store));
    arena_back(fixture->backing[MAPPED_ARENA], STEP + 1);
    assert_false(mapped_store_is_kept(&fixture->store));
    assert_int_equal(*memory_at(fixture, MAPPED_ARENA, 0), 0x40);
    *memory_at(fixture, MAPPED_ARENA, STEP) = 1;
}

static void the_same_file_is_taken_again_and_no_other(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    mapped_store_lose_file(&fixture->store);
    int other = openat(fixture->directory.fd, "other", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(mapped_store_take_file(&fixture->store, other), -ESTALE);
    close(other);
    int again = openat(fixture->directory.fd, "store", O_RDWR | O_CLOEXEC);
    assert_int_equal(mapped_store_take_file(&fixture->store, again), 0);
    arena_back(fixture->backing[MAPPED_ARENA], STEP + 1);
    assert_true(mapped_store_is_kept(&fixture->store));
    assert_int_equal(fixture->backing[MAPPED_ARENA]->bytes, 2 * STEP);
    close(again);
}

/* A file that cannot be as large as it would become is not begun with, and nothing has changed. */
static void a_file_that_is_too_large_is_not_begun(void **state)
{
    struct fixture *fixture = *state;
    const struct rlimit none = {100 * PAGE, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    int status = mapped_store_begin(&fixture->store, fixture->fd, &fixture->header, fixture->memory);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_int_equal(status, -EFBIG);
    assert_null(fixture->store.header);
    assert_null(fixture->backing[MAPPED_ARENA]);
    assert_int_equal(*memory_at(fixture, MAPPED_ARENA, 3 * PAGE), 0x40);
    memset(fixture->memory[MAPPED_ARENA].base, 1, ARENA_PAGES * PAGE);
}

static void lists_are_shown_with_what_they_lead_to(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    const struct store_tree tree = {
        .newest_root = 11, .newest_location = 12, .newest_thread = 13, .node_count = 3};
    assert_true(mapped_store_is_behind(&fixture->store, 4 * PAGE, 13));
    mapped_store_show(&fixture->store, &tree, 4 * PAGE);
    assert_false(mapped_store_is_behind(&fixture->store, 4 * PAGE, 13));
    assert_true(mapped_store_is_behind(&fixture->store, 4 * PAGE, 12)); /* its memory serves again */
    const struct store_header header = header_in_file(fixture);
    assert_memory_equal(&header.tree, &tree, sizeof tree);
    assert_int_equal(header.live.arena_used_bytes, 4 * PAGE);
}

static void beat(struct fixture *fixture, uint64_t time_s, uint64_t tick)
{
    const struct counters counters = {.ticks = tick};
    const struct timeline timeline = {.start_ns = 9, .count = (uint32_t)tick};
    mapped_store_beat(&fixture->store, time_s * UINT64_C(1000000000), tick, &counters, &timeline);
}

static void a_beat_says_how_far_it_got(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    fixture->store.header->live.timeline_is_moving = 1;
    beat(fixture, 3, 17);
    const struct store_header header = header_in_file(fixture);
    assert_int_equal(header.live.beat_ns, UINT64_C(3000000000));
    assert_int_equal(header.live.tick, 17);
    assert_int_equal(header.counters.ticks, 17);
    assert_int_equal(header.live.timeline.count, 17);
    assert_int_equal(header.live.timeline.start_ns, 9);
    assert_int_equal(header.live.timeline_is_moving, 0);
}

/* One a minute, in turns: the older one is of a minute before. */
static void checkpoints_are_what_the_lists_were(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture);
    for (uint32_t second = 0; second <= 200; second++) {
        const struct store_tree tree = {.newest_root = 1000 + second};
        mapped_store_show(&fixture->store, &tree, PAGE + 8 * second);
        beat(fixture, 100 + second, second);
    }
    const struct store_checkpoint *checkpoints = fixture->store.header->live.checkpoints;
    assert_int_equal(checkpoints[0].tree.newest_root, 1180);
    assert_int_equal(checkpoints[0].arena_used_bytes, PAGE + 8 * 180);
    assert_int_equal(checkpoints[0].time_ns, UINT64_C(280000000000));
    assert_int_equal(checkpoints[1].tree.newest_root, 1120);
}

static void an_end_is_noted_whoever_says_it(void **state)
{
    struct fixture *fixture = *state;
    struct mapped_store none = {0};
    mapped_store_note_end(&none, STORE_END_EXIT, 1, 1);
    begin(fixture);
    mapped_store_note_end(&fixture->store, STORE_END_EXIT, 42, 777);
    const struct store_header header = header_in_file(fixture);
    assert_int_equal(header.live.end.kind, STORE_END_EXIT);
    assert_int_equal(header.live.end.value, 42);
    assert_int_equal(header.live.end.time_ns, 777);
}

/* The process may say it while the file is being put in place. */
static void an_end_is_noted_that_came_before_the_file(void **state)
{
    struct fixture *fixture = *state;
    mapped_store_note_end(&fixture->store, STORE_END_EXIT, 42, 777);
    begin(fixture);
    struct store_header header = header_in_file(fixture);
    assert_int_equal(header.live.end.kind, STORE_END_EXIT);
    assert_int_equal(header.live.end.value, 42);
    assert_int_equal(header.live.end.time_ns, 777);
    mapped_store_note_end(&fixture->store, STORE_END_EXEC, 0, 888);
    mapped_store_cancel_end(&fixture->store);
    header = header_in_file(fixture);
    assert_int_equal(header.live.end.kind, STORE_END_UNKNOWN);
    assert_int_equal(header.live.end.time_ns, 0);
}

static void closed_it_is_cut_to_what_it_holds(void **state)
{
    struct fixture *fixture = *state;
    struct stat status;
    scratch_free(fixture->memory[MAPPED_RECORDS].base, fixture->memory[MAPPED_RECORDS].bytes);
    fixture->memory[MAPPED_RECORDS] = (struct mapped_memory){.backing = &fixture->backing[MAPPED_RECORDS]};
    begin(fixture);
    const struct store_tree tree = {0};
    mapped_store_show(&fixture->store, &tree, 3 * PAGE + 24);
    const uint64_t end = mapped_store_cut(&fixture->store);
    assert_int_equal(end, STORE_HEADER_BYTES + 4 * PAGE);
    assert_int_equal(fstat(fixture->fd, &status), 0);
    assert_int_equal(status.st_size, end);
    const struct store_part names = {end, 64};
    mapped_store_close(&fixture->store, 9000, "why", 0, &names);
    const struct store_header header = header_in_file(fixture);
    assert_int_equal(header.live.state, STORE_CLOSED);
    assert_int_equal(header.duration_ns, 9000);
    assert_int_equal(header.arena.bytes, 3 * PAGE + 24);
    assert_int_equal(header.symbols.offset, end);
    assert_string_equal(header.restraint, "why");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(the_file_takes_the_place_of_the_memory),
        TEST(space_is_allocated_before_it_is_used),
        TEST(given_up_it_goes_on_in_memory),
        TEST(given_up_the_file_stays_open),
        TEST(without_its_descriptor_it_is_given_up_where_room_ends),
        TEST(the_same_file_is_taken_again_and_no_other),
        TEST(a_file_that_is_too_large_is_not_begun),
        TEST(lists_are_shown_with_what_they_lead_to),
        TEST(a_beat_says_how_far_it_got),
        TEST(checkpoints_are_what_the_lists_were),
        TEST(an_end_is_noted_whoever_says_it),
        TEST(an_end_is_noted_that_came_before_the_file),
        TEST(closed_it_is_cut_to_what_it_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
