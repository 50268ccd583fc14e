/* A module's names come from the file that was mapped, wherever it is now, and from no other. */
#include "names/module_names.h"

#include "lib/elf_builder.h"
#include "lib/fake_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { MAPPED_BYTES = 0x3000, BIAS = 0x10000000, S = 1000000000 };

/* The same addresses have other names in the other file. */
static const struct built_symbol right[] = {{"right", 0x1000, 0x100, FUNC(LOCAL), TEXT}};
static const struct built_symbol wrong[] = {{"wrong", 0x1000, 0x100, FUNC(LOCAL), TEXT}};

struct fixture {
    struct fake_directory directory;
    struct arena arena;
    struct memory_map memory;
    struct module_names names;
    struct string_pool pool;
    struct module module;
    char path[300];
    void *mapped;
};

static void write_file(const struct fixture *fixture, const char *name, const struct built_symbol *symbols,
                       unsigned char build_id_first)
{
    struct built_elf elf = built_elf_create(symbols, 1, NULL, 0, build_id_first);
    int fd = openat(fixture->directory.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, elf.bytes, elf.size), elf.size);
    assert_int_equal(ftruncate(fd, MAPPED_BYTES), 0);
    close(fd);
    built_elf_destroy(&elf);
}

/* A module that is loaded, with its file at its path and no build-id known of it. */
static int setup(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){0};
    *state = &fixture;
    fake_directory_create(&fixture.directory);
    assert_int_equal(arena_init(&fixture.arena, 1 << 16), 0);
    fixture.names =
        (struct module_names){.arena = &fixture.arena, .pool = &fixture.pool, .memory = &fixture.memory};
    snprintf(fixture.path, sizeof fixture.path, "%s/lib.so", fixture.directory.path);
    write_file(&fixture, "lib.so", right, 1);
    int fd = open(fixture.path, O_RDONLY | O_CLOEXEC);
    fixture.mapped = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    close(fd);
    assert_ptr_not_equal(fixture.mapped, MAP_FAILED);
    fixture.module = (struct module){.start_pc = (uintptr_t)fixture.mapped + 0x1000,
                                     .end_pc = (uintptr_t)fixture.mapped + MAPPED_BYTES,
                                     .file_offset = 0x1000,
                                     .load_bias = (uintptr_t)fixture.mapped,
                                     .loaded_low = (uintptr_t)fixture.mapped,
                                     .loaded_high = (uintptr_t)fixture.mapped + MAPPED_BYTES,
                                     .path = arena_strdup(&fixture.arena, fixture.path),
                                     .is_loaded = 1};
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    munmap(fixture->mapped, MAPPED_BYTES);
    string_pool_deinit(&fixture->pool);
    memory_map_deinit(&fixture->memory);
    arena_deinit(&fixture->arena);
    fake_directory_remove(&fixture->directory);
    return 0;
}

/* The name of the one function, NULL for none; and what is said of the file. */
static const char *find(struct fixture *fixture, int *ret_error)
{
    struct elf_query query = {.elf_address = 0x1010};
    memory_map_deinit(&fixture->memory);
    *ret_error = module_names_find(&fixture->names, &fixture->module, &query, 1);
    return query.name;
}

static void assert_right(struct fixture *fixture)
{
    int error;
    assert_string_equal(find(fixture, &error), "right");
    assert_int_equal(error, 0);
}

static void assert_none(struct fixture *fixture, int expected)
{
    int error;
    assert_null(find(fixture, &error));
    assert_int_equal(error, expected);
}

/* The mapped file has no name any more: it can still be had where map_files is permitted. */
static bool can_open_map_files(const struct fixture *fixture)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", (unsigned long)(uintptr_t)fixture->mapped,
             (unsigned long)(uintptr_t)fixture->mapped + MAPPED_BYTES);
    return access(path, R_OK) == 0;
}

static void assert_right_or_none(struct fixture *fixture, int expected)
{
    if (can_open_map_files(fixture))
        assert_right(fixture);
    else
        assert_none(fixture, expected);
}

static void move(const struct fixture *fixture, const char *from, const char *to)
{
    assert_int_equal(renameat(fixture->directory.fd, from, fixture->directory.fd, to), 0);
}

static void know_build_id(struct fixture *fixture)
{
    memcpy(fixture->module.build_id, "\1\xab", 2);
    fixture->module.build_id_bytes = BUILT_BUILD_ID_BYTES;
}

static void a_file_that_is_where_it_was_is_used(void **state)
{
    assert_right(*state);
    know_build_id(*state);
    assert_right(*state);
}

static void a_file_that_was_moved_is_followed(void **state)
{
    struct fixture *fixture = *state;
    move(fixture, "lib.so", "lib.so.old");
    assert_right(fixture);
    write_file(fixture, "lib.so", wrong, 2);
    assert_right(fixture);
    know_build_id(fixture);
    assert_right(fixture);
}

static void a_file_that_was_replaced_is_not_believed(void **state)
{
    struct fixture *fixture = *state;
    write_file(fixture, "new", wrong, 2);
    move(fixture, "new", "lib.so");
    assert_right_or_none(fixture, -ESTALE);
    know_build_id(fixture);
    assert_right_or_none(fixture, -ESTALE);
}

static void a_file_that_was_deleted_is_missed(void **state)
{
    struct fixture *fixture = *state;
    unlinkat(fixture->directory.fd, "lib.so", 0);
    assert_right_or_none(fixture, -ENOENT);
    assert_int_equal(mkdirat(fixture->directory.fd, "lib.so", 0755), 0);
    assert_right_or_none(fixture, -EISDIR);
}

static void the_same_build_id_is_the_same_file(void **state)
{
    struct fixture *fixture = *state;
    know_build_id(fixture);
    write_file(fixture, "new", right, 1);
    move(fixture, "new", "lib.so");
    assert_right(fixture);
}

/* Without /proc, or once it is unloaded, its memory tells nothing, and what is mapped there now neither. */
static void an_unloaded_module_without_build_id_is_judged_by_time(void **state)
{
    struct fixture *fixture = *state;
    struct stat status;
    assert_int_equal(stat(fixture->path, &status), 0);
    const uint64_t changed_ns = (uint64_t)status.st_ctim.tv_sec * S + (uint64_t)status.st_ctim.tv_nsec;
    fixture->module.is_loaded = 0;
    fixture->names.start_utc_ns = changed_ns;
    assert_right(fixture);
    fixture->names.start_utc_ns = changed_ns - 1;
    assert_none(fixture, -ESTALE);
    fixture->names.start_utc_ns = 0; /* not known */
    assert_right(fixture);
    fixture->names.start_utc_ns = changed_ns - 1;
    fixture->module.is_loaded = 1;
    assert_right(fixture);                 /* the inode is better */
    fixture->module.file_offset += 0x1000; /* another piece of a file is mapped there: not this module */
    assert_none(fixture, -ESTALE);
}

static void an_unloaded_module_is_known_by_its_build_id(void **state)
{
    struct fixture *fixture = *state;
    fixture->module.is_loaded = 0;
    fixture->names.start_utc_ns = 1;
    know_build_id(fixture);
    assert_right(fixture);
    fixture->module.build_id[3] ^= 1;
    assert_none(fixture, -ESTALE);
}

/* This test was started from a file that its record does not name. */
static void the_program_itself_is_found_through_proc(void **state)
{
    struct fixture *fixture = *state;
    struct elf_query query = {0};
    memory_map_read(&fixture->memory);
    const struct memory_region *code = memory_map_find(&fixture->memory, (uintptr_t)know_build_id);
    const struct memory_region *low = code;
    while (low->file_offset > 0)
        low = memory_map_find(&fixture->memory, low->start - 1);
    fixture->module = (struct module){.start_pc = code->start,
                                      .end_pc = code->end,
                                      .file_offset = code->file_offset,
                                      .path = fixture->module.path,
                                      .load_bias = low->start,
                                      .is_loaded = 1,
                                      .is_main = 1};
    query.elf_address = (uintptr_t)know_build_id - low->start;
    assert_int_equal(module_names_find(&fixture->names, &fixture->module, &query, 1), 0);
    assert_string_equal(query.name, "know_build_id");
    fixture->module.path = arena_strdup(&fixture->arena, "[program]"); /* readlink had failed */
    query = (struct elf_query){.elf_address = query.elf_address};
    assert_int_equal(module_names_find(&fixture->names, &fixture->module, &query, 1), 0);
    assert_string_equal(query.name, "know_build_id");
}

static bool is_plain(struct fixture *fixture)
{
    int error;
    fixture->names.leaves_plain = true;
    return !find(fixture, &error) && error == 0;
}

/* The notes are found by their segment, whatever their section is called. */
static void call_note_section(struct fixture *fixture, const char *name)
{
    static const char old[] = ".note.gnu.build-id";
    static char bytes[MAPPED_BYTES];
    static off_t name_at;
    int fd = open(fixture->path, O_RDWR | O_CLOEXEC);
    assert_true(pread(fd, bytes, sizeof bytes, 0) == sizeof bytes);
    const char *found = memmem(bytes, sizeof bytes, old, sizeof old);
    name_at = found ? found - bytes : name_at;
    assert_true(strlen(name) < sizeof old);
    assert_int_equal(pwrite(fd, name, strlen(name) + 1, name_at), strlen(name) + 1);
    close(fd);
}

static void symbols_are_all_without_debug_information(void **state)
{
    struct fixture *fixture = *state;
    assert_false(is_plain(fixture)); /* another reader could not tell that it is the file */
    know_build_id(fixture);
    assert_true(is_plain(fixture));
    setenv("DEBUGINFOD_URLS", "http://localhost", 1);
    assert_false(is_plain(fixture));
    unsetenv("DEBUGINFOD_URLS");
    fixture->module.build_id[3] ^= 1;
    assert_false(is_plain(fixture));
    fixture->module.build_id[3] ^= 1;
    move(fixture, "lib.so", "lib.so.old");
    assert_false(is_plain(fixture));
}

static void debug_information_has_more(void **state)
{
    static const char *const sections[] = {".debug_info", ".zdebug_info", ".gnu_debugdata"};
    struct fixture *fixture = *state;
    know_build_id(fixture);
    for (size_t i = 0; i < COUNT(sections); i++) {
        call_note_section(fixture, sections[i]);
        assert_false(is_plain(fixture));
    }
    call_note_section(fixture, ".debug_inf");
    assert_true(is_plain(fixture));
}

/* As a link the note says "\4", the length of its name. */
static void a_debug_file_that_is_linked_has_more(void **state)
{
    static const char *const places[] = {"\4", ".debug/\4"};
    struct fixture *fixture = *state;
    know_build_id(fixture);
    call_note_section(fixture, ".gnu_debuglink");
    assert_int_equal(mkdirat(fixture->directory.fd, ".debug", 0700), 0);
    for (size_t i = 0; i < COUNT(places); i++) {
        assert_true(is_plain(fixture));
        close(openat(fixture->directory.fd, places[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        assert_false(is_plain(fixture));
        unlinkat(fixture->directory.fd, places[i], 0);
    }
    unlinkat(fixture->directory.fd, ".debug", AT_REMOVEDIR);
}

#define NAMES_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NAMES_TEST(a_file_that_is_where_it_was_is_used),
        NAMES_TEST(a_file_that_was_moved_is_followed),
        NAMES_TEST(a_file_that_was_replaced_is_not_believed),
        NAMES_TEST(a_file_that_was_deleted_is_missed),
        NAMES_TEST(the_same_build_id_is_the_same_file),
        NAMES_TEST(an_unloaded_module_without_build_id_is_judged_by_time),
        NAMES_TEST(an_unloaded_module_is_known_by_its_build_id),
        NAMES_TEST(the_program_itself_is_found_through_proc),
        NAMES_TEST(symbols_are_all_without_debug_information),
        NAMES_TEST(debug_information_has_more),
        NAMES_TEST(a_debug_file_that_is_linked_has_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
