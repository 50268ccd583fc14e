/* What an address in no module is in, in this process, and which list names it. */
/* test: not-emulated */
#include "names/anonymous_code.h"

#include "lib/fake_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { PAGE = 4096, FIRST_PID = 1000000000 /* above all that Linux gives */ };

struct fixture {
    struct arena arena;
    struct modules modules;
    struct memory_map memory;
    struct perf_maps perf_maps;
    struct log log;
    struct anonymous_code code;
    unsigned char *pages; /* six: rwx, rx, rx of a file, nothing, rw, nothing */
    struct fake_directory directory;
};

static int setup(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.modules = {.list.arena = &fixture.arena}};
    *state = &fixture;
    fake_directory_create(&fixture.directory);
    fake_write(&fixture.directory, "code.bin", "x");
    assert_int_equal(arena_init(&fixture.arena, 1 << 16), 0);
    log_init(&fixture.log, LOG_INFO);
    perf_maps_init(&fixture.perf_maps, FIRST_PID + getpid(), 0, NULL);
    fixture.pages = mmap(NULL, 6 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(fixture.pages, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    mprotect(fixture.pages + PAGE, PAGE, PROT_READ | PROT_EXEC);
    int fd = openat(fixture.directory.fd, "code.bin", O_RDONLY | O_CLOEXEC);
    assert_ptr_equal(
        mmap(fixture.pages + 2 * PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 3 * PAGE),
        fixture.pages + 2 * PAGE);
    close(fd);
    munmap(fixture.pages + 3 * PAGE, PAGE);
    munmap(fixture.pages + 5 * PAGE, PAGE);
    return 0;
}

static void remove_lists(const struct fixture *fixture)
{
    char path[PERF_MAP_PATH_BYTES];
    for (uint32_t i = 0; i < fixture->perf_maps.count; i++) {
        perf_map_path(fixture->perf_maps.sources[i].pid, path);
        unlink(path);
    }
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    remove_lists(fixture);
    anonymous_code_deinit(&fixture->code);
    memory_map_deinit(&fixture->memory);
    munmap(fixture->pages, 6 * PAGE);
    arena_deinit(&fixture->arena);
    fake_directory_remove(&fixture->directory);
    return 0;
}

/* A line of the list of a generation: the pages, from an offset on. */
static void list(const struct fixture *fixture, uint32_t generation, size_t offset, size_t bytes,
                 const char *name)
{
    char path[PERF_MAP_PATH_BYTES], line[128];
    perf_map_path(fixture->perf_maps.sources[generation].pid, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int length = snprintf(line, sizeof line, "%lx %zx %s\n",
                          (unsigned long)(uintptr_t)fixture->pages + offset, bytes, name);
    assert_int_equal(write(fd, line, (size_t)length), length);
    close(fd);
}

static void find(struct fixture *fixture, struct anonymous_address *addresses, size_t count)
{
    anonymous_code_deinit(&fixture->code);
    memory_map_deinit(&fixture->memory);
    assert_int_equal(anonymous_code_init(&fixture->code, &fixture->modules, &fixture->memory,
                                         &fixture->perf_maps, &fixture->log, addresses, count),
                     0);
}

static struct anonymous_address at(const struct fixture *fixture, size_t offset)
{
    return (struct anonymous_address){.address = (uintptr_t)fixture->pages + offset};
}

static void nothing_is_wanted_and_nothing_found(void **state)
{
    struct fixture *fixture = *state;
    find(fixture, NULL, 0);
    assert_int_equal(fixture->code.region_count, 0);
    assert_false(fixture->memory.is_read);
}

static void addresses_are_in_what_is_mapped_there(void **state)
{
    struct fixture *fixture = *state;
    uint64_t start = (uintptr_t)fixture->pages;
    struct anonymous_address addresses[] = {at(fixture, 8), at(fixture, PAGE + 8), at(fixture, 2 * PAGE + 16),
                                            at(fixture, 3 * PAGE), at(fixture, 5 * PAGE - 1)};
    find(fixture, addresses, COUNT(addresses));
    for (size_t i = 0; i < COUNT(addresses); i++)
        assert_int_equal(addresses[i].kind, i == 2 ? ANONYMOUS_FILE : ANONYMOUS_MEMORY);
    assert_string_equal(addresses[2].name, "code.bin");
    assert_int_equal(addresses[2].file_offset, 3 * PAGE + 16);
    const struct code_region *regions = fixture->code.regions;
    assert_int_equal(fixture->code.region_count, 3);
    assert_int_equal(addresses[0].region, 1);
    assert_int_equal(addresses[1].region, 1); /* one after the other */
    assert_true(regions[0].start <= start && regions[0].end == start + 2 * PAGE);
    assert_string_equal(regions[0].path, "[anonymous executable]");
    assert_int_equal(addresses[2].region, 2);
    assert_int_equal(regions[1].start, start + 2 * PAGE);
    assert_int_equal(regions[1].file_offset, 3 * PAGE);
    assert_non_null(strstr(regions[1].path, "/code.bin"));
    assert_int_equal(addresses[3].region, 3);
    assert_int_equal(regions[2].start, start + 3 * PAGE);
    assert_int_equal(regions[2].end, start + 5 * PAGE); /* what is written to now is no code now */
    assert_true(regions[2].is_gone);
    assert_int_equal(addresses[4].region, 3);
    assert_int_equal(*fixture->log.text, '\0');
}

static void a_file_without_a_name_is_memory(void **state)
{
    struct fixture *fixture = *state;
    unlinkat(fixture->directory.fd, "code.bin", 0);
    struct anonymous_address address = at(fixture, 2 * PAGE);
    find(fixture, &address, 1);
    assert_int_equal(address.kind, ANONYMOUS_MEMORY);
    assert_null(address.name);
    assert_string_equal(fixture->code.regions[0].path, "[anonymous executable]");
}

static void a_module_that_is_there_now_was_not_then(void **state)
{
    struct fixture *fixture = *state;
    arena_ref ref = arena_alloc(&fixture->arena, sizeof(struct module));
    uint64_t start_pc = (uintptr_t)fixture->pages + 2 * PAGE;
    struct modules_entry loaded = {.start_pc = start_pc, .end_pc = start_pc + PAGE, .record = ref};
    fixture->modules.now.entries = &loaded;
    fixture->modules.now.count = 1;
    struct anonymous_address addresses[] = {at(fixture, 2 * PAGE - 1), at(fixture, 2 * PAGE)};
    find(fixture, addresses, COUNT(addresses));
    assert_int_equal(addresses[0].region, 1);
    assert_int_equal(addresses[1].region, 0);
    assert_int_equal(addresses[1].kind, ANONYMOUS_MEMORY);
    list(fixture, 0, 2 * PAGE, 1, "before");
    find(fixture, addresses, COUNT(addresses));
    assert_string_equal(addresses[1].name, "before");
    assert_int_equal(addresses[1].region, 0);
}

static void the_youngest_list_that_knows_an_address_wins(void **state)
{
    struct fixture *fixture = *state;
    struct perf_maps parent;
    list(fixture, 0, 0, 3 * PAGE, "of the parent");
    parent = fixture->perf_maps;
    perf_maps_init(&fixture->perf_maps, parent.sources[0].pid + 1, 0, &parent);
    list(fixture, 0, 0, 3 * PAGE, "of the parent's later life");
    list(fixture, 1, PAGE, 0x10, "own");
    struct anonymous_address addresses[] = {at(fixture, 0), at(fixture, PAGE), at(fixture, PAGE + 0x10),
                                            at(fixture, 3 * PAGE), at(fixture, 4 * PAGE)};
    find(fixture, addresses, COUNT(addresses));
    assert_string_equal(addresses[0].name, "of the parent");
    assert_string_equal(addresses[1].name, "own");
    assert_string_equal(addresses[2].name, "of the parent");
    assert_null(addresses[3].name);
    assert_int_equal(addresses[3].kind, ANONYMOUS_MEMORY);
    assert_string_equal(fixture->code.regions[0].path, "[JIT]");
    assert_true(fixture->code.regions[0].has_names);
    assert_string_equal(fixture->code.regions[1].path, "[anonymous executable]");
    assert_false(fixture->code.regions[1].has_names);
    assert_int_equal(fixture->log.used_bytes, 0);
}

static void assert_logged(struct fixture *fixture, const char *expected)
{
    char path[PERF_MAP_PATH_BYTES], line[256];
    perf_map_path(fixture->perf_maps.sources[0].pid, path);
    int length = snprintf(line, sizeof line, "wallprof: %s%s\n", path, expected);
    assert_int_equal(fixture->log.used_bytes, length);
    assert_memory_equal(fixture->log.text, line, (size_t)length);
    fixture->log.used_bytes = 0;
}

static void what_is_wrong_with_a_list_is_said_once(void **state)
{
    struct fixture *fixture = *state;
    char path[PERF_MAP_PATH_BYTES];
    struct anonymous_address addresses[] = {at(fixture, 0), at(fixture, 1)};
    list(fixture, 0, 0, 1, "good");
    list(fixture, 0, 1, 1, "\nbad\nbad");
    find(fixture, addresses, COUNT(addresses));
    assert_string_equal(addresses[0].name, "good");
    assert_logged(fixture, ": 3 lines are no entries and were skipped");
    fixture->perf_maps.sources[0].since_utc_ns = UINT64_MAX;
    find(fixture, addresses, COUNT(addresses));
    assert_null(addresses[0].name);
    assert_logged(fixture, " is not used: it is older than this process");
    perf_map_path(fixture->perf_maps.sources[0].pid, path);
    unlink(path);
    find(fixture, addresses, COUNT(addresses));
    assert_int_equal(fixture->log.used_bytes, 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    find(fixture, addresses, COUNT(addresses));
    assert_logged(fixture, " is not used: it is not a regular file");
}

#define OUTSIDE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OUTSIDE_TEST(nothing_is_wanted_and_nothing_found),
        OUTSIDE_TEST(addresses_are_in_what_is_mapped_there),
        OUTSIDE_TEST(a_file_without_a_name_is_memory),
        OUTSIDE_TEST(a_module_that_is_there_now_was_not_then),
        OUTSIDE_TEST(the_youngest_list_that_knows_an_address_wins),
        OUTSIDE_TEST(what_is_wrong_with_a_list_is_said_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
