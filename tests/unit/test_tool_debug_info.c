/* What is read of a file comes from the right file only. */
#include "lib/unit.h"
#include "tool/debug/debug_info.h"
#include "lib/elf_builder.h"
#include "lib/own_module.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const uint64_t addresses[] = {0x1000, 0x1010, 0x1020};

enum { ADDRESS_COUNT = sizeof addresses / sizeof *addresses };

/* ---- tables ---- */

static void add(struct frame_table *table, uint64_t address, const char *name, const char *file,
                uint32_t is_final)
{
    frame_table_add_row(
        table, &(struct frame_row){.address = address, .source = NAME_FROM_DWARF, .is_final = is_final});
    frame_table_add_frame(table, &(struct frame_entry){.system_name = frame_table_string(table, name),
                                                       .file = frame_table_string(table, file),
                                                       .line = 7});
}

static const char *name_at(const struct frame_table *table, uint64_t address)
{
    const struct frame_row *row = frame_table_find(table, address);
    return row ? frame_table_text(table, table->frames[row->first_frame].system_name) : NULL;
}

static void tables_keep_each_string_once(void **state)
{
    struct frame_table table = {0};
    char name[32];
    for (unsigned i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "function%u", i % 1000);
        add(&table, i, name, "/src/file.c", 1);
    }
    assert_false(table.is_broken);
    assert_int_equal(string_table_count(&table.strings), 1 + 1001); /* the empty one is there always */
    assert_string_equal(name_at(&table, 1234), "function234");
    assert_null(frame_table_find(&table, 3000));
    assert_int_equal(frame_table_string(&table, NULL), 0);
    assert_string_equal(frame_table_text(&table, 0), "");
    frame_table_free(&table);
}

static void merged_tables_say_what_the_newer_says(void **state)
{
    struct frame_table older = {0}, newer = {0};
    add(&older, 1, "one", NULL, 1);
    add(&older, 3, "three", NULL, 1);
    add(&newer, 2, "two", NULL, 0);
    add(&newer, 3, "drei", NULL, 1);
    struct frame_table all = frame_table_merge(&older, &newer, false);
    struct frame_table final = frame_table_merge(&older, &newer, true);
    assert_int_equal(all.row_count, 3);
    assert_string_equal(name_at(&all, 1), "one");
    assert_string_equal(name_at(&all, 2), "two");
    assert_string_equal(name_at(&all, 3), "drei");
    assert_int_equal(final.row_count, 2);
    assert_null(name_at(&final, 2));
    frame_table_free(&older);
    frame_table_free(&newer);
    frame_table_free(&all);
    frame_table_free(&final);
}

/* ---- files ---- */

static int read_status(const struct debug_module *module)
{
    struct frame_table table;
    int status = debug_info_read(module, addresses, ADDRESS_COUNT, &table);
    assert_int_equal(table.row_count, status == 0 ? ADDRESS_COUNT : 0);
    frame_table_free(&table);
    return status;
}

static void only_the_recorded_file_is_read(void **state)
{
    struct own_module own;
    own_module_init(&own);
    struct debug_module module = {
        .path = own.path, .build_id = own.build_id, .build_id_bytes = own.build_id_bytes};
    assert_true(own.build_id_bytes > 0);
    assert_int_equal(read_status(&module), 0);
    module.build_id_bytes--;
    assert_int_equal(read_status(&module), -ESTALE);
    module.build_id_bytes = 0;
    assert_int_equal(read_status(&module), -ESTALE);
    own.build_id[0] ^= 1;
    module.build_id_bytes = own.build_id_bytes;
    assert_int_equal(read_status(&module), -ESTALE);
}

static void what_is_no_program_is_refused(void **state)
{
    char fifo[] = "/tmp/wallprof-fifo-XXXXXX";
    assert_int_equal(read_status(&(struct debug_module){.path = "/no/such/file"}), -ENOENT);
    assert_int_equal(read_status(&(struct debug_module){.path = "/"}), -EISDIR);
    assert_int_equal(read_status(&(struct debug_module){.path = "/dev/zero"}), -ENOEXEC);
    assert_int_equal(read_status(&(struct debug_module){.path = "/etc/passwd"}), -ENOEXEC);
    close(mkstemp(fifo));
    unlink(fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(read_status(&(struct debug_module){.path = fifo}), -ENOEXEC);
    unlink(fifo);
}

/* The builder's files are not for loading. */
static void make_loadable(struct built_elf *elf)
{
    Elf64_Phdr segments[2];
    memcpy(&segments[0], elf->bytes + built_elf_header(elf)->e_phoff, sizeof segments[0]);
    segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
                               .p_flags = PF_R | PF_X,
                               .p_filesz = elf->size,
                               .p_memsz = 0x10000,
                               .p_align = 0x1000};
    size_t at = built_elf_append(elf, segments, sizeof segments);
    built_elf_header(elf)->e_phoff = at;
    built_elf_header(elf)->e_phnum = 2;
    built_elf_header(elf)->e_type = ET_DYN;
}

/* No debug information: symbols. They are not kept, for a debug file may come. */
static void symbols_serve_without_debug_information(void **state)
{
    static const struct built_symbol symbols[] = {{"first", 0x1000, 0x18, FUNC(GLOBAL), TEXT},
                                                  {"label", 0x1020, 0, NOTYPE(GLOBAL), TEXT}};
    struct built_elf elf = built_elf_create(symbols, 2, NULL, 0, 1);
    char path[] = "/tmp/wallprof-elf-XXXXXX";
    struct frame_table table;
    make_loadable(&elf);
    int fd = mkstemp(path);
    assert_int_equal(write(fd, elf.bytes, elf.size), elf.size);
    close(fd);
    uint8_t build_id[BUILT_BUILD_ID_BYTES] = {1, 0xab};
    struct debug_module module = {.path = path, .build_id = build_id, .build_id_bytes = sizeof build_id};
    assert_int_equal(debug_info_read(&module, addresses, ADDRESS_COUNT, &table), 0);
    unlink(path);
    assert_string_equal(name_at(&table, 0x1000), "first");
    assert_string_equal(name_at(&table, 0x1010), "first");
    assert_string_equal(name_at(&table, 0x1020), "label");
    assert_int_equal(table.rows[0].symbol_bytes, 0x18);
    assert_int_equal(table.rows[2].symbol_bytes, 0);
    for (int i = 0; i < ADDRESS_COUNT; i++) {
        assert_int_equal(table.rows[i].source, NAME_FROM_SYMBOL);
        assert_int_equal(table.rows[i].is_final, 0);
    }
    frame_table_free(&table);
    built_elf_destroy(&elf);
}

/* ---- rows of many addresses ---- */

static void add_range(struct frame_table *table, uint64_t address, uint64_t bytes, const char *name)
{
    add(table, address, name, NULL, 1);
    table->rows[table->row_count - 1].bytes = bytes;
}

static void neighbours_that_say_the_same_are_one_row(void **state)
{
    struct frame_table table = {0};
    static const char *const names[] = {"a", "a", "b", "b", "a"};
    for (unsigned i = 0; i < 5; i++) {
        add(&table, 10 + i, names[i], "/src/file.c", 1);
        frame_table_join_last(&table);
    }
    add(&table, 20, "a", "/src/file.c", 1);
    frame_table_join_last(&table);
    assert_int_equal(table.row_count, 4);
    assert_int_equal(table.frame_count, 4);
    assert_null(name_at(&table, 9));
    assert_string_equal(name_at(&table, 11), "a");
    assert_string_equal(name_at(&table, 13), "b");
    assert_string_equal(name_at(&table, 14), "a");
    assert_null(name_at(&table, 15));
    assert_string_equal(name_at(&table, 20), "a");
    frame_table_free(&table);
}

static void a_merged_table_has_no_overlaps(void **state)
{
    struct frame_table older = {0}, newer = {0};
    unsigned char *bytes;
    size_t count;
    add_range(&older, 10, 10, "before");
    add_range(&older, 22, 1, "within");
    add_range(&older, 24, 3, "across");
    add_range(&older, 40, 2, "after");
    add_range(&newer, 15, 3, "first");
    add_range(&newer, 20, 6, "second");
    struct frame_table merged = frame_table_merge(&older, &newer, true);
    assert_string_equal(name_at(&merged, 14), "before");
    assert_string_equal(name_at(&merged, 17), "first");
    assert_null(name_at(&merged, 18));
    assert_string_equal(name_at(&merged, 22), "second");
    assert_string_equal(name_at(&merged, 25), "second");
    assert_null(name_at(&merged, 26));
    assert_string_equal(name_at(&merged, 41), "after");
    frame_table_free(&older);
    assert_non_null(bytes = frame_table_encode(&merged, NULL, 0, &count));
    assert_int_equal(frame_table_decode(&older, bytes, count, NULL, 0), 0);
    merged.rows[1].bytes = 6; /* into the next one */
    assert_non_null(bytes = frame_table_encode(&merged, NULL, 0, &count));
    frame_table_free(&newer);
    assert_int_equal(frame_table_decode(&newer, bytes, count, NULL, 0), -EBADMSG);
    frame_table_free(&older);
    frame_table_free(&newer);
    frame_table_free(&merged);
}

/* ---- functions ---- */

static inline __attribute__((always_inline)) unsigned inlined(unsigned value)
{
    return value * 33 ^ (value >> 3);
}

__attribute__((noinline)) static unsigned with_inlined(unsigned value)
{
    for (unsigned i = 0; i < value; i++)
        value -= inlined(i) & 1;
    return inlined(value);
}

static void assert_same_frames(const struct frame_table *table, const struct frame_table *expected,
                               uint64_t address)
{
    const struct frame_row *row = frame_table_find(table, address),
                           *alone = frame_table_find(expected, address);
    assert_non_null(row);
    assert_int_equal(row->frame_count, alone->frame_count);
    for (uint32_t i = 0; i < row->frame_count; i++) {
        const struct frame_entry *frame = &table->frames[row->first_frame + i],
                                 *other = &expected->frames[alone->first_frame + i];
        assert_string_equal(frame_table_text(table, frame->system_name),
                            frame_table_text(expected, other->system_name));
        assert_string_equal(frame_table_text(table, frame->file), frame_table_text(expected, other->file));
        assert_int_equal(frame->line, other->line);
    }
}

/* Of a module that is known, one address tells all of its function, as if each were read alone. */
static void a_known_module_s_functions_are_read_as_a_whole(void **state)
{
    struct own_module own;
    struct frame_table one, alone;
    uint32_t most_frames = 0;
    own_module_init(&own);
    struct debug_module module = {
        .path = own.path, .build_id = own.build_id, .build_id_bytes = own.build_id_bytes, .is_known = true};
    const uint64_t start = (uint64_t)(uintptr_t)with_inlined - own.load_bias;
    assert_int_equal(with_inlined(0), inlined(0));
    assert_int_equal(debug_info_read(&module, &start, 1, &one), 0);
    assert_true(one.row_count > 1);
    const struct frame_row *last = &one.rows[one.row_count - 1];
    const uint64_t end = last->address + last->bytes;
    module.is_known = false;
    for (uint64_t address = start; address < end; address++) {
        assert_int_equal(debug_info_read(&module, &address, 1, &alone), 0);
        assert_same_frames(&one, &alone, address);
        most_frames = alone.rows[0].frame_count > most_frames ? alone.rows[0].frame_count : most_frames;
        frame_table_free(&alone);
    }
    assert_int_equal(one.rows[0].address, start);
    assert_true(end - start > 8 && most_frames == 2);
    frame_table_free(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_keep_each_string_once),
        cmocka_unit_test(merged_tables_say_what_the_newer_says),
        cmocka_unit_test(only_the_recorded_file_is_read),
        cmocka_unit_test(what_is_no_program_is_refused),
        cmocka_unit_test(symbols_serve_without_debug_information),
        cmocka_unit_test(neighbours_that_say_the_same_are_one_row),
        cmocka_unit_test(a_merged_table_has_no_overlaps),
        cmocka_unit_test(a_known_module_s_functions_are_read_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
