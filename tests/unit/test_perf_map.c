/* The list of run-time code is anybody's text: what is an entry is believed as the format says,
 * the rest does nothing. */
#include "names/perf_map.h"

#include "lib/fake_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- reading ---- */

static int file_of(const char *text, size_t bytes)
{
    int fd = memfd_create("perf.map", MFD_CLOEXEC);
    assert_int_equal(write(fd, text, bytes), bytes);
    return fd;
}

/* The name of one address in a list; NULL for none. The store is the test's state. */
static const char *name_in(struct string_pool *names, const char *text, size_t bytes, uint64_t address)
{
    struct perf_map_query query = {.address = address};
    int fd = file_of(text, bytes);
    perf_map_name(fd, UINT64_MAX, names, &query, 1);
    close(fd);
    return query.name;
}

#define assert_named(text, address, expected)                                                                \
    assert_string_equal(name_in(*state, text, sizeof(text) - 1, address), expected)
#define assert_nameless(text, address) assert_null(name_in(*state, text, sizeof(text) - 1, address))

static uint64_t malformed_in(const char *text, size_t bytes)
{
    struct perf_map_query query = {.address = 1};
    struct string_pool names = {0};
    int fd = file_of(text, bytes);
    uint64_t malformed = perf_map_name(fd, UINT64_MAX, &names, &query, 1);
    close(fd);
    string_pool_deinit(&names);
    return malformed;
}

#define assert_malformed(text, expected) assert_int_equal(malformed_in(text, sizeof(text) - 1), expected)

static void entries_cover_their_bytes(void **state)
{
    static const char text[] = "1000 10 first\n2000 1 second\n";
    assert_nameless(text, 0xfff);
    assert_named(text, 0x1000, "first");
    assert_named(text, 0x100f, "first");
    assert_nameless(text, 0x1010);
    assert_named(text, 0x2000, "second");
    assert_nameless(text, 0x2001);
    assert_malformed(text, 0);
}

static void the_last_entry_wins(void **state)
{
    static const char text[] =
        "1000 100 old\n1010 10 inner\n1000 8 new\n1014 4 innermost\n0 ffff0 all\n1002 2 last\n";
    assert_named(text, 0x1000, "all");
    assert_named(text, 0x1002, "last");
    static const char without[] = "1000 100 old\n1010 10 inner\n1000 8 new\n1014 4 innermost\n";
    assert_named(without, 0x1000, "new");
    assert_named(without, 0x1007, "new");
    assert_named(without, 0x1008, "old");
    assert_named(without, 0x1013, "inner");
    assert_named(without, 0x1014, "innermost");
    assert_named(without, 0x1018, "inner");
    assert_named(without, 0x1020, "old");
}

static void numbers_are_hexadecimal(void **state)
{
    assert_named("7fFFabCDef00 1A name\n", 0x7fffabcdef19, "name");
    assert_named("0x1000 0X10 name\n", 0x100f, "name");
    assert_named("00000000000000001000 000000000000000000010 name\n", 0x100f, "name");
    assert_named("fffffffffffffff0 f name\n", UINT64_MAX - 1, "name");
    assert_nameless("fffffffffffffff0 f name\n", UINT64_MAX);
    assert_named("0 ffffffffffffffff name\n", UINT64_MAX - 1, "name");
    assert_named("0 ffffffffffffffff name\n", 0, "name");
    assert_nameless("1000 0 nothing\n", 0x1000);
}

static void names_are_the_rest_of_the_line(void **state)
{
    assert_named("1000 10 LazyCompile:*f /a b.js:1:2\n", 0x1000, "LazyCompile:*f /a b.js:1:2");
    assert_named("1000  10\t  spaced out \t \r\n", 0x1000, "spaced out");
    assert_named("1000 10 10 20 30\n", 0x1000, "10 20 30");
    assert_named("1000 10 [x]\n", 0x1000, "[x]");
    assert_named("1000 10 a\tb\vc\033[31m\177z\n", 0x1000, "a b?c?[31m?z");
}

static void names_become_valid_utf8(void **state)
{
    assert_named("1000 10 gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\xa5\n", 0x1000,
                 "gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\xa5");
    assert_named("1000 10 a\xffz\xc3\n", 0x1000, "a?z?");
    assert_named("1000 10 a\0b\n", 0x1000, "a?b");
    assert_named("1000 10 \0\n", 0x1000, "?");
}

static void what_is_no_entry_is_skipped_and_counted(void **state)
{
    static const char text[] = "1000 10 good\n"
                               "\n"
                               " \n"
                               "1000\n"
                               "1000 \n"
                               "1000 10\n"
                               "1000 10 \n"
                               "1000 10 \t\r\n"
                               " 1000 10 begins with a space\n"
                               "1000,10,comma\n"
                               "1000 10x sticks\n"
                               "0x 10 none\n"
                               "-1000 10 negative\n"
                               "+1000 10 positive\n"
                               "1000 -1 negative\n"
                               "g 10 no number\n"
                               "10000000000000000 10 too large\n"
                               "1000 10000000000000000 too large\n"
                               "1000 ffffffffffffffff beyond the end\n"
                               "\0\0\0\0\n"
                               "2000 10 also good\n";
    assert_named(text, 0x1000, "good");
    assert_named(text, 0x2000, "also good");
    assert_malformed(text, 19);
}

static void a_line_that_is_still_being_written_is_none(void **state)
{
    assert_named("1000 10 whole\n1000 10 hal", 0x1000, "whole");
    assert_malformed("1000 10 whole\n1000 10 hal", 0);
    assert_malformed("junk", 0);
    assert_nameless("", 0);
}

static void long_names_are_cut(void **state)
{
    enum { LONG = 300000 };
    char *text = malloc(LONG + 64);
    memcpy(text, "1000 10 ", 8);
    memset(text + 8, 'x', LONG);
    memcpy(text + 8 + LONG, "\n2000 10 next\n", 15);
    const char *name = name_in(*state, text, 8 + LONG + 14, 0x1000);
    assert_non_null(name);
    assert_int_equal(strlen(name), PERF_MAP_NAME_BYTES);
    assert_int_equal(strspn(name, "x"), PERF_MAP_NAME_BYTES);
    assert_string_equal(name_in(*state, text, 8 + LONG + 14, 0x2000), "next");
    /* The cut goes through a character. */
    memset(text + 8, 'x', PERF_MAP_NAME_BYTES - 1);
    memcpy(text + 8 + PERF_MAP_NAME_BYTES - 1, "\xc3\xbc\n", 3);
    name = name_in(*state, text, 8 + PERF_MAP_NAME_BYTES + 2, 0x1000);
    assert_int_equal(strlen(name), PERF_MAP_NAME_BYTES);
    assert_int_equal(name[PERF_MAP_NAME_BYTES - 1], '?');
    free(text);
}

static void only_the_given_bytes_count(void **state)
{
    static const char text[] = "1000 10 before\n1000 10 after\n";
    for (uint64_t bytes = 0; bytes <= sizeof text; bytes++) {
        struct perf_map_query query = {.address = 0x1000};
        int fd = file_of(text, sizeof text - 1);
        assert_int_equal(perf_map_name(fd, bytes, *state, &query, 1), 0);
        close(fd);
        if (bytes < 15)
            assert_null(query.name);
        else
            assert_string_equal(query.name, bytes < sizeof text - 1 ? "before" : "after");
    }
}

static void names_that_are_there_stay(void **state)
{
    struct perf_map_query queries[] = {{0x1000, "mine"}, {0x1001, NULL}};
    int fd = file_of("1000 10 other\n", 14);
    perf_map_name(fd, UINT64_MAX, *state, queries, COUNT(queries));
    close(fd);
    assert_string_equal(queries[0].name, "mine");
    assert_string_equal(queries[1].name, "other");
}

/* Entries and addresses drawn at random, held against going through all entries for each address. */
static void agrees_with_the_definition(void **state)
{
    enum { ROUNDS = 200, ENTRIES = 60, SPACE = 500 };
    uint64_t random = 88172645463325252U;
    for (unsigned round = 0; round < ROUNDS; round++) {
        char text[ENTRIES * 32], expected[32], *at = text;
        uint64_t starts[ENTRIES], sizes[ENTRIES];
        struct perf_map_query queries[SPACE];
        size_t count = 0;
        for (unsigned i = 0; i < ENTRIES; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17; /* Marsaglia's xorshift */
            starts[i] = random % SPACE, sizes[i] = (random >> 20) % (round % 2 ? 8 : 200);
            at += sprintf(at, "%" PRIx64 " %" PRIx64 " n%u\n", starts[i], sizes[i], i);
        }
        for (uint64_t address = round % 7; address < SPACE; address += 1 + round % 3)
            queries[count++] = (struct perf_map_query){.address = address};
        int fd = file_of(text, (size_t)(at - text));
        assert_int_equal(perf_map_name(fd, UINT64_MAX, *state, queries, count), 0);
        close(fd);
        for (size_t i = 0; i < count; i++) {
            int last = -1;
            for (int entry = 0; entry < ENTRIES; entry++) {
                if (queries[i].address >= starts[entry] && queries[i].address - starts[entry] < sizes[entry])
                    last = entry;
            }
            sprintf(expected, "n%d", last);
            if (last < 0)
                assert_null(queries[i].name);
            else
                assert_string_equal(queries[i].name, expected);
        }
    }
}

/* Bytes drawn at random, most of them of those that mean something. */
static void noise_is_survived(void **state)
{
    static const char alphabet[] = "0123456789abcdefABCDEFx \t\n\n\r\0\xff\xc3\xbcname-";
    enum { ROUNDS = 2000, BYTES = 4000, QUERIES = 64 };
    char text[BYTES];
    uint64_t random = 1234567;
    struct perf_map_query queries[QUERIES];
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < BYTES; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            text[i] = alphabet[random % (sizeof alphabet - 1)];
        }
        for (uint64_t i = 0; i < QUERIES; i++)
            queries[i] = (struct perf_map_query){.address = UINT64_C(1) << i};
        int fd = file_of(text, BYTES);
        perf_map_name(fd, UINT64_MAX, *state, queries, QUERIES);
        close(fd);
        for (size_t i = 0; i < QUERIES; i++) {
            for (const char *at = queries[i].name; at && *at; at++)
                assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
        }
    }
}

/* Every entry covers every address: still one visit each. Of a list too long, the last part is read. */
static void a_huge_list_is_read_in_bounded_time_and_memory(void **state)
{
    enum { QUERIES = 20000, BLOCK_ENTRIES = 4096 };
    static char block[BLOCK_ENTRIES * 64];
    struct perf_map_query *queries = calloc(QUERIES, sizeof *queries);
    size_t used = 0, copies = 0;
    int fd = memfd_create("perf.map", MFD_CLOEXEC);
    assert_int_equal(write(fd, "ffff000000 10 early\n0 10000000 everything\n", 42), 42);
    for (unsigned i = 0; i < BLOCK_ENTRIES; i++)
        used += (size_t)sprintf(block + used, "0 fffffff all %u\n", i);
    for (uint64_t bytes = 42; bytes <= perf_map_max_bytes; bytes += used, copies++)
        assert_int_equal(write(fd, block, used), used);
    for (uint64_t i = 0; i < QUERIES - 1; i++)
        queries[i].address = i * 1000;
    queries[QUERIES - 1].address = 0xffff000000;
    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    assert_int_equal(perf_map_name(fd, UINT64_MAX, *state, queries, QUERIES), 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    print_message("%zu entries for each of %d addresses: %ld ms\n", copies * BLOCK_ENTRIES, QUERIES,
                  (long)((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000));
    close(fd);
    assert_string_equal(queries[0].name, "all 4095");
    assert_ptr_equal(queries[0].name, queries[QUERIES - 2].name);
    assert_null(queries[QUERIES - 1].name);
    free(queries);
}

/* ---- whose lists ---- */

struct place {
    struct fake_directory directory;
    char path[300];
};

static void place_create(struct place *place, const char *text)
{
    fake_directory_create(&place->directory);
    snprintf(place->path, sizeof place->path, "%s/perf.map", place->directory.path);
    if (text)
        fake_write(&place->directory, "perf.map", text);
}

static void assert_opens(const char *path, uint64_t since_utc_ns, int expected)
{
    int fd = perf_map_open(path, since_utc_ns);
    assert_int_equal(fd < 0 ? fd : 0, expected);
    if (fd >= 0) {
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        close(fd);
    }
}

static void only_regular_files_are_opened(void **state)
{
    struct place place;
    char link_path[320];
    place_create(&place, "1000 10 name\n");
    assert_opens(place.path, 0, 0);
    snprintf(link_path, sizeof link_path, "%s.link", place.path);
    assert_int_equal(symlink(place.path, link_path), 0);
    assert_opens(link_path, 0, -ELOOP);
    assert_opens(place.directory.path, 0, -EINVAL);
    assert_opens("/dev/zero", 0, -EINVAL);
    unlink(place.path);
    assert_opens(place.path, 0, -ENOENT);
    assert_int_equal(mkfifo(place.path, 0600), 0);
    assert_opens(place.path, 0, -EINVAL); /* and does not wait for a writer */
    fake_directory_remove(&place.directory);
}

static void a_list_of_an_earlier_process_is_refused(void **state)
{
    enum { WRITTEN_S = 1700000000 };
    const uint64_t written_ns = UINT64_C(1000000000) * WRITTEN_S;
    const struct timespec times[2] = {{.tv_sec = WRITTEN_S}, {.tv_sec = WRITTEN_S}};
    struct place place;
    place_create(&place, "1000 10 name\n");
    assert_int_equal(utimensat(AT_FDCWD, place.path, times, 0), 0);
    assert_opens(place.path, 0, 0);
    assert_opens(place.path, written_ns, 0);
    assert_opens(place.path, written_ns + 1000000000, 0); /* file systems that keep seconds */
    assert_opens(place.path, written_ns + 1000000001, -ESTALE);
    fake_directory_remove(&place.directory);
}

/* In a child, which becomes another user and back: a list of root is anybody's,
 * that of another user nobody's. */
static void lists_of_other_users_are_refused(void **state)
{
    enum { SOMEBODY = 12345, SOMEBODY_ELSE = 54321 };
    struct place place;
    if (geteuid() != 0)
        skip(); /* only root can give files away */
    place_create(&place, "1000 10 name\n");
    assert_int_equal(chmod(place.directory.path, 0755), 0);
    pid_t child = fork();
    if (child == 0) {
        if (seteuid(SOMEBODY) != 0)
            _exit(1);
        int of_root = perf_map_open(place.path, 0);
        if (seteuid(0) != 0 || chown(place.path, SOMEBODY, 0) != 0 || seteuid(SOMEBODY) != 0)
            _exit(1);
        int own = perf_map_open(place.path, 0);
        if (seteuid(0) != 0 || chown(place.path, SOMEBODY_ELSE, 0) != 0 || seteuid(SOMEBODY) != 0)
            _exit(1);
        int other = perf_map_open(place.path, 0);
        _exit(of_root < 0 ? 2 : own < 0 ? 3 : other != -EPERM ? 4 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    fake_directory_remove(&place.directory);
}

/* ---- generations ---- */

enum { FIRST_PID = 1000000000 }; /* above all that Linux gives */

static void write_list(pid_t pid, const char *text)
{
    char path[PERF_MAP_PATH_BYTES];
    perf_map_path(pid, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void remove_list(pid_t pid)
{
    char path[PERF_MAP_PATH_BYTES];
    perf_map_path(pid, path);
    unlink(path);
}

static void paths_are_those_of_perf(void **state)
{
    char path[PERF_MAP_PATH_BYTES];
    perf_map_path(1, path);
    assert_string_equal(path, "/tmp/perf-1.map");
    perf_map_path(INT32_MAX, path);
    assert_string_equal(path, "/tmp/perf-2147483647.map");
}

static void a_child_inherits_what_was_there(void **state)
{
    const pid_t pid = FIRST_PID + getpid();
    struct perf_maps parent, child, grandchild;
    perf_maps_init(&parent, pid, 100, NULL);
    assert_int_equal(parent.count, 1);
    assert_int_equal(parent.sources[0].pid, pid);
    assert_int_equal(parent.sources[0].since_utc_ns, 100);
    assert_true(parent.sources[0].bytes == UINT64_MAX);

    perf_maps_init(&child, pid + 1, 200, &parent); /* no list yet: nothing is inherited, now or later */
    write_list(pid, "1 1 a\n");
    assert_int_equal(child.count, 1);
    assert_int_equal(child.sources[0].pid, pid + 1);

    perf_maps_init(&child, pid + 1, 200, &parent);
    write_list(pid, "2 2 b\n");
    write_list(pid + 1, "3 3 c\n4 4 d\n");
    perf_maps_init(&grandchild, pid + 2, 300, &child);
    write_list(pid + 1, "5 5 e\n");
    assert_int_equal(grandchild.count, 3);
    assert_int_equal(grandchild.sources[0].pid, pid);
    assert_int_equal(grandchild.sources[0].bytes, 6);
    assert_int_equal(grandchild.sources[0].since_utc_ns, 100);
    assert_int_equal(grandchild.sources[1].pid, pid + 1);
    assert_int_equal(grandchild.sources[1].bytes, 12);
    assert_int_equal(grandchild.sources[2].pid, pid + 2);
    assert_true(grandchild.sources[2].bytes == UINT64_MAX);
    remove_list(pid);
    remove_list(pid + 1);
}

static void the_youngest_generations_are_kept(void **state)
{
    const pid_t pid = FIRST_PID + getpid();
    struct perf_maps maps, next;
    perf_maps_init(&maps, pid, 0, NULL);
    for (int i = 1; i < 2 * PERF_MAPS_MAX; i++) {
        write_list(pid + i - 1, "1 1 a\n");
        perf_maps_init(&next, pid + i, 0, &maps);
        maps = next;
    }
    assert_int_equal(maps.count, PERF_MAPS_MAX);
    for (int i = 0; i < PERF_MAPS_MAX; i++)
        assert_int_equal(maps.sources[i].pid, pid + PERF_MAPS_MAX + i);
    for (int i = 0; i < 2 * PERF_MAPS_MAX; i++)
        remove_list(pid + i);
}

static int setup(void **state)
{
    static struct string_pool names;
    names = (struct string_pool){0};
    *state = &names;
    return 0;
}

static int teardown(void **state)
{
    string_pool_deinit(*state);
    return 0;
}

#define MAP_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MAP_TEST(entries_cover_their_bytes),
        MAP_TEST(the_last_entry_wins),
        MAP_TEST(numbers_are_hexadecimal),
        MAP_TEST(names_are_the_rest_of_the_line),
        MAP_TEST(names_become_valid_utf8),
        MAP_TEST(what_is_no_entry_is_skipped_and_counted),
        MAP_TEST(a_line_that_is_still_being_written_is_none),
        MAP_TEST(long_names_are_cut),
        MAP_TEST(only_the_given_bytes_count),
        MAP_TEST(names_that_are_there_stay),
        MAP_TEST(agrees_with_the_definition),
        MAP_TEST(noise_is_survived),
        MAP_TEST(a_huge_list_is_read_in_bounded_time_and_memory),
        MAP_TEST(only_regular_files_are_opened),
        MAP_TEST(a_list_of_an_earlier_process_is_refused),
        MAP_TEST(lists_of_other_users_are_refused),
        MAP_TEST(paths_are_those_of_perf),
        MAP_TEST(a_child_inherits_what_was_there),
        MAP_TEST(the_youngest_generations_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
