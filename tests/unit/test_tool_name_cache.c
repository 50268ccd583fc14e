/* What was found is found again, of this build-id only; a file that is not whole is none;
 * the oldest files go. */
#include "lib/unit.h"
#include "tool/debug/file_frames.h"
#include "tool/debug/name_cache.h"
#include "lib/own_module.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64], path[4096];
static const uint8_t key[20] = {0xab, 0xcd, 1, 2, 3}, other_key[20] = {0xab, 0xcd, 1, 2, 4};

static int setup(void **state)
{
    strcpy(directory, "/tmp/wallprof-cache-XXXXXX");
    assert_non_null(mkdtemp(directory));
    setenv("WALLPROF_CACHE", directory, 1);
    snprintf(path, sizeof path, "%s/abcd010203000000000000000000000000000000.frames", directory);
    return 0;
}

static int teardown(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

static struct frame_table make_table(uint64_t address, const char *name)
{
    struct frame_table table = {0};
    frame_table_add_row(&table,
                        &(struct frame_row){.address = address, .source = NAME_FROM_DWARF, .is_final = 1});
    frame_table_add_frame(&table,
                          &(struct frame_entry){.system_name = frame_table_string(&table, name), .line = 7});
    return table;
}

static void store(const struct name_cache *cache, const uint8_t *build_id, size_t bytes, const char *name)
{
    struct frame_table table = make_table(0x1000, name);
    name_cache_store(cache, NAME_CACHE_DEBUG, build_id, bytes, &table);
    frame_table_free(&table);
}

/* The name of what is kept, "" for nothing. */
static const char *kept(const struct name_cache *cache, const uint8_t *build_id, size_t bytes)
{
    static char name[64];
    struct frame_table table = name_cache_load(cache, NAME_CACHE_DEBUG, build_id, bytes, NULL);
    snprintf(name, sizeof name, "%s",
             table.row_count ? frame_table_text(&table, table.frames[0].system_name) : "");
    frame_table_free(&table);
    return name;
}

static void what_is_kept_is_found_by_its_build_id(void **state)
{
    struct name_cache cache;
    struct stat status;
    name_cache_open(&cache);
    assert_string_equal(kept(&cache, key, sizeof key), "");
    store(&cache, key, sizeof key, "first");
    assert_string_equal(kept(&cache, key, sizeof key), "first");
    assert_string_equal(kept(&cache, other_key, sizeof other_key), "");
    assert_string_equal(kept(&cache, key, 8), "");
    store(&cache, key, sizeof key, "second");
    assert_string_equal(kept(&cache, key, sizeof key), "second");
    store(&cache, key, 0, "nobody's");
    assert_string_equal(kept(&cache, key, 0), "");
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    name_cache_close(&cache);
}

static void a_file_of_another_build_id_is_refused(void **state)
{
    struct name_cache cache;
    char other[4096];
    name_cache_open(&cache);
    store(&cache, other_key, sizeof other_key, "other");
    snprintf(other, sizeof other, "%s/abcd010204000000000000000000000000000000.frames", directory);
    assert_int_equal(rename(other, path), 0);
    assert_string_equal(kept(&cache, key, sizeof key), "");
    name_cache_close(&cache);
}

/* Each byte in turn, and each length. */
static void a_damaged_file_is_none(void **state)
{
    struct name_cache cache;
    unsigned char bytes[1024];
    name_cache_open(&cache);
    store(&cache, key, sizeof key, "whole");
    int fd = open(path, O_RDWR);
    ssize_t count = read(fd, bytes, sizeof bytes);
    assert_true(count > 100 && count < (ssize_t)sizeof bytes);
    for (ssize_t i = 0; i < count; i++) {
        unsigned char changed = bytes[i] ^ 0x5a;
        assert_int_equal(pwrite(fd, &changed, 1, i), 1);
        assert_string_equal(kept(&cache, key, sizeof key), "");
        assert_int_equal(pwrite(fd, &bytes[i], 1, i), 1);
    }
    assert_string_equal(kept(&cache, key, sizeof key), "whole");
    while (count-- > 0) {
        assert_int_equal(ftruncate(fd, count), 0);
        assert_string_equal(kept(&cache, key, sizeof key), "");
    }
    close(fd);
    name_cache_close(&cache);
}

/* The checksum is right, what it is about is not. */
static void hostile_tables_are_refused(void **state)
{
    static const struct {
        size_t at;
        uint64_t value;
        size_t bytes;
    } changes[] = {{offsetof(struct frame_row, first_frame), 2, 4},
                   {offsetof(struct frame_row, frame_count), 2, 4},
                   {offsetof(struct frame_row, frame_count), -1U, 4},
                   {offsetof(struct frame_row, source), 9, 4},
                   {sizeof(struct frame_row), 1000, 4},
                   {sizeof(struct frame_row) + 4, -1U, 4}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct frame_table table = make_table(0x1000, "name"), read;
        size_t count;
        char *target = changes[i].at < sizeof(struct frame_row)
                           ? (char *)table.rows + changes[i].at
                           : (char *)table.frames + changes[i].at - sizeof(struct frame_row);
        memcpy(target, &changes[i].value, changes[i].bytes);
        unsigned char *bytes = frame_table_encode(&table, key, sizeof key, &count);
        assert_int_equal(frame_table_decode(&read, bytes, count, key, sizeof key), -EBADMSG);
        assert_null(read.rows);
        frame_table_free(&table);
    }
}

static void the_oldest_files_go(void **state)
{
    struct name_cache cache;
    uint8_t build_id[20] = {0};
    struct stat status;
    name_cache_open(&cache);
    store(&cache, key, sizeof key, "size");
    assert_int_equal(stat(path, &status), 0);
    cache.max_bytes = 3 * (uint64_t)status.st_size;
    for (uint8_t i = 0; i < 4; i++) {
        build_id[0] = i;
        store(&cache, build_id, sizeof build_id, "size");
        usleep(20000);
        assert_string_equal(kept(&cache, build_id, sizeof build_id), "size");
        build_id[0] = 0; /* is used all the time */
        assert_string_equal(kept(&cache, build_id, sizeof build_id), "size");
        usleep(20000);
    }
    static const char *const expected[] = {"size", "", "size", "size"};
    assert_string_equal(kept(&cache, key, sizeof key), "");
    for (uint8_t i = 0; i < 4; i++) {
        build_id[0] = i;
        assert_string_equal(kept(&cache, build_id, sizeof build_id), expected[i]);
    }
    name_cache_close(&cache);
}

static void no_cache_is_no_error(void **state)
{
    static const char *const values[] = {"off", "/proc/nothing/here", "/dev/null"};
    struct name_cache cache;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        setenv("WALLPROF_CACHE", values[i], 1);
        name_cache_open(&cache);
        assert_int_equal(cache.directory_fd, -1);
        store(&cache, key, sizeof key, "x");
        assert_string_equal(kept(&cache, key, sizeof key), "");
        name_cache_close(&cache);
    }
}

static void the_cache_is_in_its_usual_place(void **state)
{
    struct name_cache cache;
    struct stat status;
    char deep[128];
    unsetenv("WALLPROF_CACHE");
    snprintf(deep, sizeof deep, "%s/a/b", directory);
    setenv("XDG_CACHE_HOME", deep, 1);
    name_cache_open(&cache);
    assert_true(cache.directory_fd >= 0);
    name_cache_close(&cache);
    snprintf(deep, sizeof deep, "%s/a/b/wallprof", directory);
    assert_int_equal(stat(deep, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    unsetenv("XDG_CACHE_HOME");
}

static struct debug_module own_file(struct own_module *own)
{
    own_module_init(own);
    return (struct debug_module){
        .path = own->path, .build_id = own->build_id, .build_id_bytes = own->build_id_bytes};
}

/* Naming the same code again does not touch its file. */
static void what_was_read_once_is_not_read_again(void **state)
{
    struct own_module own;
    struct name_cache cache;
    struct frame_table table;
    struct debug_module module = own_file(&own);
    const uint64_t address = (uint64_t)(uintptr_t)setup - own.load_bias, next = address + 1;
    name_cache_open(&cache);
    assert_int_equal(file_frames_find(&module, &cache, &address, 1, &table), 0);
    assert_string_equal(frame_table_text(&table, table.frames[0].system_name), "setup");
    frame_table_free(&table);
    module.path = "/no/such/file";
    assert_int_equal(file_frames_find(&module, &cache, &address, 1, &table), 0);
    assert_string_equal(frame_table_text(&table, table.frames[0].system_name), "setup");
    assert_true(table.frames[0].line > 0 && table.frames[0].file > 0);
    frame_table_free(&table);
    assert_int_equal(file_frames_find(&module, &cache, &next, 1, &table), -ENOENT);
    frame_table_free(&table);
    name_cache_close(&cache);
}

/* Other addresses of a function that has been read twice are found too. */
static void what_is_missing_is_read_with_its_function(void **state)
{
    struct own_module own;
    struct name_cache cache;
    struct frame_table table;
    struct debug_module module = own_file(&own);
    const uint64_t start = (uint64_t)(uintptr_t)setup - own.load_bias;
    name_cache_open(&cache);
    for (uint64_t address = start; address < start + 8; address++) {
        assert_int_equal(file_frames_find(&module, &cache, &address, 1, &table), 0);
        assert_int_equal(table.row_count, 1);
        assert_int_equal(table.rows[0].address, address);
        assert_int_equal(table.rows[0].bytes, 1);
        assert_string_equal(frame_table_text(&table, table.frames[0].system_name), "setup");
        frame_table_free(&table);
        if (address > start)
            module.path = "/no/such/file";
    }
    name_cache_close(&cache);
}

/* ---- what symbols say ---- */

struct stripped {
    struct name_cache cache;
    struct debug_module module;
    char path[96], kept_path[160];
    uint64_t address;
};

static void set_age(const char *file, time_t seconds)
{
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[1]);
    times[1].tv_sec -= seconds;
    times[0] = times[1];
    assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
}

static void set_ages(const struct stripped *stripped)
{
    char folder[96];
    set_age(stripped->path, 1000);
    snprintf(folder, sizeof folder, "%s/bin", directory);
    set_age(folder, 1000);
}

static int print_build_id(char *text, const uint8_t *build_id, size_t bytes)
{
    int used = 0;
    for (size_t i = 0; i < bytes; i++)
        used += sprintf(text + used, "%02x", build_id[i]);
    return used;
}

/* A copy of this program without debug information, in a directory that has not changed for long. */
static void strip_own(struct stripped *stripped)
{
    static struct own_module own;
    char command[PATH_MAX + 256];
    own_module_init(&own);
    snprintf(stripped->path, sizeof stripped->path, "%s/bin/program", directory);
    snprintf(command, sizeof command, "mkdir '%s/bin' && strip -g -o '%s' '%s'", directory, stripped->path,
             own.path);
    assert_int_equal(system(command), 0);
    stripped->module = (struct debug_module){
        .path = stripped->path, .build_id = own.build_id, .build_id_bytes = own.build_id_bytes};
    stripped->address = (uint64_t)(uintptr_t)setup - own.load_bias;
    int used = snprintf(stripped->kept_path, sizeof stripped->kept_path, "%s/", directory);
    used += print_build_id(stripped->kept_path + used, own.build_id, own.build_id_bytes);
    strcpy(stripped->kept_path + used, ".symbols");
    set_ages(stripped);
    name_cache_open(&stripped->cache);
}

/* "" if it was not found. */
static const char *name_of(const struct stripped *stripped)
{
    static char name[64];
    struct frame_table table;
    file_frames_find(&stripped->module, &stripped->cache, &stripped->address, 1, &table);
    snprintf(name, sizeof name, "%s",
             table.frame_count ? frame_table_text(&table, table.frames[0].system_name) : "");
    frame_table_free(&table);
    return name;
}

/* What is in the file then cannot be read. Nobody has changed it, as far as one can see. */
static void empty_file(const struct stripped *stripped)
{
    assert_int_equal(truncate(stripped->path, 0), 0);
    set_ages(stripped);
}

static void symbols_are_believed_for_a_time(void **state)
{
    struct stripped stripped;
    strip_own(&stripped);
    assert_string_equal(name_of(&stripped), "setup");
    empty_file(&stripped);
    assert_string_equal(name_of(&stripped), "setup");
    set_age(stripped.kept_path, 610);
    assert_string_equal(name_of(&stripped), "");
    name_cache_close(&stripped.cache);
}

static void symbols_are_not_believed_where_a_debug_file_may_be(void **state)
{
    struct stripped stripped;
    char debug_file[128];
    strip_own(&stripped);
    assert_string_equal(name_of(&stripped), "setup");
    empty_file(&stripped);
    setenv("DEBUGINFOD_URLS", "http://localhost:1/", 1);
    assert_string_equal(name_of(&stripped), "");
    setenv("DEBUGINFOD_URLS", "", 1);
    assert_string_equal(name_of(&stripped), "setup");
    unsetenv("DEBUGINFOD_URLS");
    snprintf(debug_file, sizeof debug_file, "%s.debug", stripped.path);
    assert_int_equal(close(creat(debug_file, 0600)), 0);
    assert_string_equal(name_of(&stripped), "");
    name_cache_close(&stripped.cache);
}

static void symbols_of_a_file_that_has_changed_are_not_believed(void **state)
{
    struct stripped stripped;
    strip_own(&stripped);
    assert_string_equal(name_of(&stripped), "setup");
    empty_file(&stripped);
    set_age(stripped.path, 0);
    assert_string_equal(name_of(&stripped), "");
    name_cache_close(&stripped.cache);
}

/* ---- without a child ---- */

/* Of all children that have ended: each has some. */
static long faults_of_children(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
    return usage.ru_minflt;
}

static void more_symbols_of_a_known_module_need_no_child(void **state)
{
    struct stripped stripped;
    strip_own(&stripped);
    long before = faults_of_children();
    assert_string_equal(name_of(&stripped), "setup");
    assert_true(faults_of_children() > before);
    before = faults_of_children();
    stripped.address = (uint64_t)(uintptr_t)teardown - ((uint64_t)(uintptr_t)setup - stripped.address);
    assert_string_equal(name_of(&stripped), "teardown");
    assert_int_equal(faults_of_children(), before);
    empty_file(&stripped);
    assert_string_equal(name_of(&stripped), "teardown"); /* it was kept too */
    name_cache_close(&stripped.cache);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_is_kept_is_found_by_its_build_id),
        TEST(a_file_of_another_build_id_is_refused),
        TEST(a_damaged_file_is_none),
        TEST(hostile_tables_are_refused),
        TEST(the_oldest_files_go),
        TEST(no_cache_is_no_error),
        TEST(the_cache_is_in_its_usual_place),
        TEST(what_was_read_once_is_not_read_again),
        TEST(what_is_missing_is_read_with_its_function),
        TEST(symbols_are_believed_for_a_time),
        TEST(symbols_are_not_believed_where_a_debug_file_may_be),
        TEST(symbols_of_a_file_that_has_changed_are_not_believed),
        TEST(more_symbols_of_a_known_module_need_no_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
