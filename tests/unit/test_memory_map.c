/* The kernel's map of this process, and maps that no kernel writes. */
#include "names/memory_map.h"

#include "lib/fake_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int teardown(void **state)
{
    memory_map_deinit(*state);
    return 0;
}

static int setup(void **state)
{
    static struct memory_map map;
    map = (struct memory_map){0};
    *state = &map;
    return 0;
}

static void read_text(struct memory_map *map, const char *text)
{
    int fd = memfd_create("maps", MFD_CLOEXEC);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    memory_map_read_fd(map, fd);
    close(fd);
}

static void assert_region(const struct memory_map *map, uint64_t address, uint64_t start, uint64_t end,
                          uint64_t file_offset, uint64_t inode, const char *path, bool is_deleted)
{
    const struct memory_region *region = memory_map_find(map, address);
    assert_non_null(region);
    assert_int_equal(region->start, start);
    assert_int_equal(region->end, end);
    assert_int_equal(region->file_offset, file_offset);
    assert_int_equal(region->inode, inode);
    assert_string_equal(region->path, path);
    assert_int_equal(region->is_deleted, is_deleted);
}

static void lines_of_the_kernel_are_understood(void **state)
{
    struct memory_map *map = *state;
    read_text(map,
              "55b305740000-55b305746000 r--p 00000000 fe:00 247101                     /usr/bin/ls\n"
              "55b305746000-55b30575a000 r-xp 00006000 fe:00 247101                     /usr/bin/ls\n"
              "55b306000000-55b306021000 rw-p 00000000 00:00 0                          [heap]\n"
              "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
              "7f0000001000-7f0000002000 r-xp 00001000 00:01 77 /memfd:jit code (deleted)\n"
              "7f0000002000-7f0000003000 r-xp abc000 08:01 18446744073709551615 /a b/lib x.so (deleted)\n"
              "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n");
    assert_int_equal(map->count, 7);
    assert_region(map, 0x55b305740000, 0x55b305740000, 0x55b305746000, 0, 247101, "/usr/bin/ls", false);
    assert_region(map, 0x55b305759fff, 0x55b305746000, 0x55b30575a000, 0x6000, 247101, "/usr/bin/ls", false);
    assert_region(map, 0x55b306000001, 0x55b306000000, 0x55b306021000, 0, 0, "[heap]", false);
    assert_region(map, 0x7f0000000fff, 0x7f0000000000, 0x7f0000001000, 0, 0, "", false);
    assert_region(map, 0x7f0000001000, 0x7f0000001000, 0x7f0000002000, 0x1000, 77, "/memfd:jit code", true);
    assert_region(map, 0x7f0000002000, 0x7f0000002000, 0x7f0000003000, 0xabc000, UINT64_MAX, "/a b/lib x.so",
                  true);
    assert_region(map, 0xffffffffff600000, 0xffffffffff600000, 0xffffffffff601000, 0, 0, "[vsyscall]", false);
    assert_null(memory_map_find(map, 0));
    assert_null(memory_map_find(map, 0x55b30575a000));
    assert_null(memory_map_find(map, UINT64_MAX));
    assert_false(memory_map_find(map, 0x55b305740000)->is_executable);
    assert_true(memory_map_find(map, 0x55b305746000)->is_executable);
    assert_true(memory_region_has_file(memory_map_find(map, 0x55b305740000)));
    assert_false(memory_region_has_file(memory_map_find(map, 0x55b306000000)));
    assert_false(memory_region_has_file(memory_map_find(map, 0x7f0000000000)));
    assert_false(memory_region_has_file(memory_map_find(map, 0x7f0000001000)));
    assert_false(memory_region_has_file(memory_map_find(map, 0x7f0000002000)));
}

static void what_no_kernel_writes_is_left_out(void **state)
{
    struct memory_map *map = *state;
    read_text(map,
              "\n \nx\n-\n1000\n1000-\n1000-2000\n1000-2000 \n1000-2000 r-xp\n1000-2000 r-xp 0\n"
              "1000-2000 r-xp 0 fe:00\n2000-1000 r-xp 0 fe:00 1 /turned\n1000-1000 r-xp 0 fe:00 1 /empty\n"
              "g000-h000 r-xp 0 fe:00 1 /no\n"
              "5000-6000 r-xp 0 fe:00 1 /good\n"
              "5800-7000 r-xp 0 fe:00 1 /overlaps\n4000-4800 r-xp 0 fe:00 1 /goes back\n"
              "6000-7000 r-xp 0 fe:00 2\n"
              "8000-9000 r-xp 0 fe:00 3 (deleted)\n9000-a000 r-xp 0 fe:00 4 /not whole");
    assert_int_equal(map->count, 3);
    assert_region(map, 0x5000, 0x5000, 0x6000, 0, 1, "/good", false);
    assert_region(map, 0x6fff, 0x6000, 0x7000, 0, 2, "", false);
    assert_region(map, 0x8000, 0x8000, 0x9000, 0, 3, "(deleted)", false);
}

static void many_regions_are_found(void **state)
{
    enum { REGIONS = 5000 };
    struct memory_map *map = *state;
    char *text = malloc(REGIONS * 64), *at = text;
    for (uint64_t i = 1; i <= REGIONS; i++)
        at += sprintf(at, "%" PRIx64 "-%" PRIx64 " r-xp 0 fe:00 %" PRIu64 " /file.%" PRIu64 "\n", i << 16,
                      (i << 16) + 0x1000, i, i / 3);
    read_text(map, text);
    free(text);
    assert_int_equal(map->count, REGIONS);
    for (uint64_t i = 1; i <= REGIONS; i++) {
        char path[32];
        sprintf(path, "/file.%" PRIu64, i / 3);
        assert_region(map, (i << 16) + 0xfff, i << 16, (i << 16) + 0x1000, 0, i, path, false);
        assert_null(memory_map_find(map, (i << 16) + 0x1000));
    }
}

static void this_process_is_found(void **state)
{
    struct memory_map *map = *state;
    char path[4096] = "";
    struct stat status;
    void *plain = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory_map_read(map);
    const struct memory_region *code = memory_map_find(map, (uintptr_t)setup);
    assert_non_null(code);
    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    assert_int_equal(stat(path, &status), 0);
    assert_string_equal(code->path, path);
    assert_int_equal(code->inode, status.st_ino);
    assert_true(memory_region_has_file(code));
    assert_non_null(memory_map_find(map, (uintptr_t)plain));
    munmap(plain, 4096);
    size_t count = map->count;
    memory_map_read(map); /* once is enough */
    assert_int_equal(map->count, count);
    assert_non_null(memory_map_find(map, (uintptr_t)plain));
}

#define MAP_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MAP_TEST(lines_of_the_kernel_are_understood),
        MAP_TEST(what_no_kernel_writes_is_left_out),
        MAP_TEST(many_regions_are_found),
        MAP_TEST(this_process_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
