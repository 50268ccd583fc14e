/* pprof files made by hand: read, they are the profile that they say; written again, the same bytes; and what
 * is wrong with them is refused. */
#include "tool/read/recording.h"

#include "encode/enc_pprof.h"
#include "lib/fake_files.h"
#include "lib/pprof_builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fixture {
    struct pprof_builder built;
    struct recording recording;
    struct fake_directory directory;
    bool is_open;
    const char *measure; /* to be read of another program's file */
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof fixture);
    built_init(&fixture.built);
    fake_directory_create(&fixture.directory);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    if (fixture->is_open)
        recording_close(&fixture->recording);
    built_deinit(&fixture->built);
    fake_directory_remove(&fixture->directory);
    return 0;
}

#define STACK(...)  ((const uint32_t[]){__VA_ARGS__, 0})
#define VALUES(...) ((const uint64_t[]){__VA_ARGS__})
#define LINES(...)  ((const struct built_line[]){__VA_ARGS__})

enum { UNSAMPLED = 1, TRUNCATED = 3, MAIN = 6, WORK, WAIT, JITTED, INLINED };

/* Two threads, one name; inlined frames; code in no file; time without a label. */
static void build_samples(struct pprof_builder *built)
{
    built_sample(built, NULL, 0, STACK(UNSAMPLED), VALUES(0, 0, 5, 5));
    built_sample(built, "app", 7, STACK(WORK, MAIN), VALUES(3, 30, 0, 30));
    built_sample(built, "app", 7, STACK(WAIT, WORK, MAIN), VALUES(2, 1, 19, 20));
    built_sample(built, "app", 7, STACK(INLINED, WORK, MAIN), VALUES(1, 10, 0, 10));
    built_sample(built, "app", 7, STACK(WORK, TRUNCATED), VALUES(1, 0, 10, 10));
    built_sample(built, "app", 8, STACK(JITTED, MAIN), VALUES(4, 40, 0, 40));
    built_sample(built, "pool", 9, STACK(MAIN), VALUES(1, 0, 7, 7));
}

static void build_tables(struct pprof_builder *built)
{
    built_mapping(built, 0x400000, 0, "/bin/app", "00a1ff", 15);
    built_mapping(built, 0x500000, 0x100000, "/bin/app", "00a1ff", 0);
    built_mapping(built, 0x700000, 0x2000, "/lib/libfoo.so (deleted)", "", 1);
    built_mapping(built, 0x900000, 0, "[JIT]", "", 1);
    built_mapping(built, 0xa00000, 0x3000, "/opt/mapped", "", 0);
    built_pseudo_locations(built);
    built_location(built, 1, 0x400010, LINES({6, 12}), 1);
    built_location(built, 1, 0x400020, LINES({7, 30}), 1);
    built_location(built, 3, 0x700123, LINES({8, 0}), 1);
    built_location(built, 4, 0x900001, LINES({9, 0}), 1);
    built_location(built, 1, 0x400030, LINES({6, 3}, {7, 31}), 2);
    built_pseudo_functions(built);
    built_function(built, "main", "main", "/src/app.c", 10);
    built_function(built, "work(int)", "_Z4worki", "/src/app.c", 20);
    built_function(built, "[libfoo.so+0x123]", "[libfoo.so+0x123]", "", 0);
    built_function(built, "LazyCompile:x", "LazyCompile:x", "", 0);
}

static void build(struct fixture *fixture)
{
    built_header(&fixture->built, "command: ./app --flag");
    built_comment(&fixture->built,
                  "100 ticks a second requested, 200 made, 3 missed; up to 8 threads a tick");
    built_comment(&fixture->built, "restrained to 1 % of the program's CPU time: as with 50 ticks");
    build_samples(&fixture->built);
    build_tables(&fixture->built);
    built_strings(&fixture->built);
}

static int read_bytes(struct fixture *fixture, const unsigned char *bytes, size_t count)
{
    if (fixture->is_open)
        recording_close(&fixture->recording);
    memset(&fixture->recording, 0, sizeof fixture->recording);
    int status = recording_read_pprof(&fixture->recording, bytes, count, fixture->measure);
    fixture->is_open = true;
    return status;
}

static int read_built(struct fixture *fixture)
{
    assert_false(fixture->built.out.failed);
    return read_bytes(fixture, fixture->built.out.bytes, fixture->built.out.used);
}

static struct fake_bytes write_again(const struct fixture *fixture)
{
    int error;
    struct sink *sink = sink_create(fixture->directory.fd, "again.pb", SINK_PLAIN, &error);
    assert_non_null(sink);
    assert_int_equal(enc_pprof_write(&fixture->recording.profile, sink), 0);
    assert_int_equal(sink_commit(sink), 0);
    return fake_read(&fixture->directory, "again.pb");
}

static void assert_same_again(const struct fixture *fixture)
{
    struct fake_bytes again = write_again(fixture);
    assert_int_equal(again.size, fixture->built.out.used);
    assert_memory_equal(again.bytes, fixture->built.out.bytes, again.size);
    fake_bytes_free(&again);
}

/* ---- what is read ---- */

static void written_again_it_is_the_same(void **state)
{
    struct fixture *fixture = *state;
    build(fixture);
    assert_int_equal(read_built(fixture), 0);
    assert_same_again(fixture);
}

static void threads_by_name_only_are_kept(void **state)
{
    struct fixture *fixture = *state;
    built_header(&fixture->built, "command: x");
    built_sample(&fixture->built, "a", 0, STACK(MAIN), VALUES(1, 1, 1, 2));
    built_sample(&fixture->built, "b", 0, STACK(MAIN), VALUES(1, 1, 1, 2));
    build_tables(&fixture->built);
    built_strings(&fixture->built);
    assert_int_equal(read_built(fixture), 0);
    assert_int_equal(fixture->recording.profile.labels, LABELS_NAME);
    assert_int_equal(fixture->recording.profile.thread_count, 2);
    assert_same_again(fixture);
}

static void no_labels_and_no_samples_are_kept(void **state)
{
    struct fixture *fixture = *state;
    for (int with_sample = 1; with_sample >= 0; with_sample--) {
        built_deinit(&fixture->built);
        built_init(&fixture->built);
        built_header(&fixture->built, "command: x");
        if (with_sample)
            built_sample(&fixture->built, NULL, 0, STACK(WORK, MAIN), VALUES(1, 1, 1, 2));
        build_tables(&fixture->built);
        built_strings(&fixture->built);
        assert_int_equal(read_built(fixture), 0);
        assert_int_equal(fixture->recording.profile.labels, LABELS_NONE);
        assert_int_equal(fixture->recording.profile.thread_count, 0);
        assert_same_again(fixture);
    }
}

static void the_header_is_that_of_the_recording(void **state)
{
    struct fixture *fixture = *state;
    const struct profile *profile = &fixture->recording.profile;
    build(fixture);
    assert_int_equal(read_built(fixture), 0);
    assert_int_equal(profile->start_utc_ns, UINT64_C(1764000000123456789));
    assert_int_equal(profile->duration_ns, 2000000000);
    assert_int_equal(profile->period_ns, 10000000);
    assert_int_equal(profile->threads_per_tick, 8);
    assert_int_equal(profile->counters.ticks, 200);
    assert_int_equal(profile->counters.late_ticks, 3);
    assert_string_equal(profile->command, "./app --flag");
    assert_string_equal(profile->restraint, "restrained to 1 % of the program's CPU time: as with 50 ticks");
    assert_int_equal(profile->labels, LABELS_ID);
    assert_int_equal(profile->comment_count, 4);
}

static void threads_are_numbered_as_they_stand(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *name;
        int32_t tid;
    } expected[] = {{"app", 7}, {"app", 8}, {"pool", 9}};
    build(fixture);
    assert_int_equal(read_built(fixture), 0);
    assert_int_equal(fixture->recording.profile.thread_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct thread_record *thread = profile_thread(&fixture->recording.profile, i + 1);
        assert_string_equal(thread->name, expected[i].name);
        assert_int_equal(thread->tid, expected[i].tid);
        assert_int_equal(thread->number, i + 1);
        assert_int_equal(tree_node(&fixture->recording.tree, thread->root)->thread, i + 1);
    }
}

static void modules_and_regions_are_told_apart(void **state)
{
    struct fixture *fixture = *state;
    build(fixture);
    assert_int_equal(read_built(fixture), 0);
    const struct recording *recording = &fixture->recording;
    const struct symbols *symbols = recording->profile.symbols;
    assert_int_equal(recording->modules.count, 3);
    assert_int_equal(symbols->region_count, 2);
    assert_string_equal(symbols->regions[0].path, "[JIT]");
    assert_true(symbols->regions[0].has_names);
    assert_string_equal(symbols->regions[1].path, "/opt/mapped");
    const struct module *library = arena_at(&recording->arena, recording->modules.newest);
    assert_string_equal(arena_at(&recording->arena, library->path), "/lib/libfoo.so (deleted)");
    assert_int_equal(library->start_pc, 0x700000);
    assert_int_equal(library->end_pc, 0x701000);
    assert_int_equal(library->load_bias, 0x6fe000);
    assert_false(library->is_main);
    const struct module *second = arena_at(&recording->arena, library->next);
    assert_true(second->is_main);
    assert_int_equal(second->build_id_bytes, 3);
    assert_memory_equal(second->build_id, "\x00\xa1\xff", 3);
}

static void inlined_frames_are_kept(void **state)
{
    struct fixture *fixture = *state;
    uint32_t count;
    build(fixture);
    assert_int_equal(read_built(fixture), 0);
    const struct symbols *symbols = fixture->recording.profile.symbols;
    const struct symbol_frame *frames = symbols_frames(symbols, INLINED - 1, &count);
    assert_int_equal(count, 2);
    assert_string_equal(symbols->functions[frames[0].function].name, "main");
    assert_int_equal(frames[0].line, 3);
    assert_string_equal(symbols->functions[frames[1].function].name, "work(int)");
    assert_string_equal(symbols->functions[frames[1].function].system_name, "_Z4worki");
    assert_int_equal(symbols->functions[frames[1].function].start_line, 20);
    assert_true(symbols->functions[frames[1].function].is_symbol);
    assert_false(symbols->functions[symbols_frames(symbols, WAIT - 1, &count)[0].function].is_symbol);
}

/* Unlike ours: numbers that are not packed, fields and labels that are not known, equal stacks twice, tables
 * in another order, ids that are not 1..N, and no pseudo-frames. */
static void files_of_other_writers_are_read(void **state)
{
    struct fixture *fixture = *state;
    struct pprof_builder *built = &fixture->built;
    built_type(built, 1, "samples", "count"); /* as before there was blame */
    built_type(built, 1, "cpu", "nanoseconds");
    built_type(built, 1, "offcpu", "nanoseconds");
    built_type(built, 1, "wall", "nanoseconds");
    built_type(built, 11, "wall", "nanoseconds");
    protobuf_uint(&built->out, 12, 10000000);
    protobuf_uint(&built->out, 77, 1);
    protobuf_bytes(&built->out, 78, "??", 2);
    for (int twice = 0; twice < 2; twice++) {
        protobuf_uint(&built->message, 1, 1000);
        for (uint32_t value = 1; value <= 4; value++)
            protobuf_uint(&built->message, 2, value);
        built_label(built, "host", "h", 0);
        built_end_message(built, 2);
    }
    built->functions = 49;
    built->locations = 999;
    built_location(built, 0, 0, LINES({50, 1}), 1);
    built_function(built, "f", "", "", 0);
    built_strings(built);
    assert_int_equal(read_built(fixture), 0);
    const struct tree *tree = &fixture->recording.tree;
    const struct tree_node *root = tree_node(tree, tree->spare_root),
                           *label = tree_node(tree, root->first_child),
                           *node = tree_node(tree, label->first_child);
    assert_string_equal(tree_label_key(tree->arena, tree_location_at(tree, label->location)), "host");
    assert_string_equal(tree_label_value(tree->arena, tree_location_at(tree, label->location)), "h");
    assert_int_equal(node->self.samples, 2);
    assert_int_equal(tree_wall_ns(&node->self), 2 * (2 + 3)); /* its parts say so */
    ;
    assert_int_equal(node->next_sibling | label->next_sibling, 0);
    assert_int_equal(tree_location_at(tree, node->location)->index, PSEUDO_COUNT);
    struct fake_bytes again = write_again(fixture);
    assert_int_equal(read_bytes(fixture, again.bytes, again.size), 0);
    struct fake_bytes third = write_again(fixture);
    assert_int_equal(third.size, again.size);
    assert_memory_equal(third.bytes, again.bytes, again.size);
    fake_bytes_free(&again);
    fake_bytes_free(&third);
}

/* A function may have its name only where the linker's belongs. */
static void a_pseudo_frame_is_known_by_either_name(void **state)
{
    struct fixture *fixture = *state;
    built_types(&fixture->built);
    protobuf_uint(&fixture->built.out, 12, 10000000);
    built_sample(&fixture->built, NULL, 0, STACK(1), VALUES(1, 0, 1, 1));
    built_location(&fixture->built, 0, 0, LINES({1, 0}), 1);
    built_function(&fixture->built, "", "[unsampled]", "", 0);
    built_strings(&fixture->built);
    assert_int_equal(read_built(fixture), 0);
    assert_int_equal(fixture->recording.tree.location_count, PSEUDO_COUNT);
}

/* ---- what is refused ---- */

static void assert_refused(struct fixture *fixture, const char *reason)
{
    assert_true(read_built(fixture) < 0);
    if (!strstr(fixture->recording.reason, reason))
        fail_msg("'%s' is not in '%s'", reason, fixture->recording.reason);
    built_deinit(&fixture->built);
    built_init(&fixture->built);
}

static void a_file_without_samples_is_refused_by_what_it_measures(void **state)
{
    struct fixture *fixture = *state;
    built_type(&fixture->built, 1, "samples", "count");
    built_type(&fixture->built, 1, "cpu", "nanoseconds");
    protobuf_uint(&fixture->built.out, 12, 10000000);
    built_strings(&fixture->built);
    assert_refused(fixture, "it measures samples, cpu, and has no samples");
    protobuf_uint(&fixture->built.out, 12, 10000000);
    assert_refused(fixture, "its first string is not the empty one");
    built_strings(&fixture->built);
    assert_refused(fixture, "it measures nothing");
}

/* Of a location and its values. */
static void build_foreign_sample(struct pprof_builder *built, uint64_t location, const uint64_t *values,
                                 size_t count)
{
    protobuf_uint(&built->message, 1, location);
    for (size_t i = 0; i < count; i++)
        protobuf_uint(&built->message, 2, values[i]);
    built_end_message(built, 2);
}

/* Three types, of which the second is what it is about; an address without a name, and no period. */
static void build_foreign(struct pprof_builder *built)
{
    static const uint64_t values[] = {1, 3, 5};
    built_type(built, 1, "samples", "count");
    built_type(built, 1, "delay", "microseconds");
    built_type(built, 1, "space", "bytes");
    build_foreign_sample(built, 1, values, 3);
    build_foreign_sample(built, 2, values, 3);
    built_mapping(built, 0x1000, 0x100, "/bin/app", "", 0);
    built_location(built, 1, 0x1010, LINES({1, 7}), 1);
    built_location(built, 1, 0x1020, NULL, 0);
    built_function(built, "f", "", "", 0);
    protobuf_uint(&built->out, 14, string_table_intern(&built->strings, "delay"));
    built_strings(built);
}

static void assert_foreign(const struct profile *profile, const char *name, const char *unit, uint64_t value,
                           uint64_t samples)
{
    const struct tree *tree = profile->tree;
    assert_string_equal(profile->measure->name, name);
    assert_string_equal(profile->measure->unit, unit);
    for (arena_ref ref = tree_node(tree, tree->spare_root)->first_child; ref;
         ref = tree_node(tree, ref)->next_sibling) {
        const struct tree_node *node = tree_node(tree, ref);
        uint32_t count;
        const struct symbol_frame *frames =
            symbols_frames(profile->symbols, tree_location_at(tree, node->location)->index, &count);
        const char *frame = profile->symbols->functions[frames->function].name;
        assert_true(strcmp(frame, "f") == 0 || strcmp(frame, "[app+0x120]") == 0);
        assert_int_equal(tree_wall_ns(&node->self), value);
        assert_int_equal(node->self.cpu_ns, 0);
        assert_int_equal(node->self.samples, samples);
    }
}

static void another_programs_file_is_read_by_one_of_its_measures(void **state)
{
    struct fixture *fixture = *state;
    build_foreign(&fixture->built);
    assert_int_equal(read_built(fixture), 0);
    assert_foreign(&fixture->recording.profile, "delay", "nanoseconds", 3000, 1);
    assert_string_equal(fixture->recording.profile.command, "app");
    struct fake_bytes again = write_again(fixture);
    assert_int_equal(read_bytes(fixture, again.bytes, again.size), 0);
    assert_foreign(&fixture->recording.profile, "delay", "nanoseconds", 3000, 1);
    fake_bytes_free(&again);
}

static void a_measure_is_chosen_by_its_name(void **state)
{
    struct fixture *fixture = *state;
    build_foreign(&fixture->built);
    fixture->measure = "space";
    assert_int_equal(read_built(fixture), 0);
    assert_foreign(&fixture->recording.profile, "space", "bytes", 5, 1);
    fixture->measure = "samples";
    assert_int_equal(read_built(fixture), 0);
    assert_foreign(&fixture->recording.profile, "samples", "count", 1, 0);
    struct fake_bytes again = write_again(fixture);
    assert_int_equal(read_bytes(fixture, again.bytes, again.size), 0);
    assert_foreign(&fixture->recording.profile, "samples", "count", 1, 0);
    fake_bytes_free(&again);
    fixture->measure = "time";
    assert_int_equal(read_built(fixture), -EINVAL);
    assert_string_equal(fixture->recording.reason, "it does not measure 'time', but samples, delay, space");
}

static void nothing_is_refused(void **state)
{
    struct fixture *fixture = *state;
    assert_refused(fixture, "it is empty");
}

/* A small file with one thing wrong with it. */
enum wrong {
    WRONG_NOTHING,
    WRONG_VALUE,
    WRONG_SUM,
    WRONG_COUNT,
    WRONG_FRAME,
    WRONG_TID,
    WRONG_LABEL,
    WRONG_MAPPING,
    WRONG_FUNCTION,
    WRONG_STRING,
    WRONG_LINE,
    WRONG_SAME_ID,
    WRONG_NO_LINE,
    WRONG_NO_NAME,
    WRONG_TIME,
    WRONG_PERIOD,
    WRONG_TYPE,
    WRONG_END,
    WRONG_BUT_TRUE
};

static void build_wrong_sample(struct pprof_builder *built, enum wrong wrong)
{
    const uint64_t value = wrong == WRONG_VALUE ? (uint64_t)-1 : wrong == WRONG_SUM ? INT64_MAX : 1;
    built_sample(built, "a", wrong == WRONG_TID ? UINT64_C(1) << 31 : 1, STACK(wrong == WRONG_FRAME ? 9 : 1),
                 VALUES(1, value, 0, 1));
    protobuf_clear(&built->part);
    for (int i = 0; i < (wrong == WRONG_COUNT ? 4 : 5); i++)
        protobuf_varint(&built->part, 1);
    protobuf_message(&built->message, 2, &built->part);
    protobuf_clear(&built->part);
    protobuf_uint(&built->part, 1, 99);
    if (wrong == WRONG_LABEL)
        protobuf_message(&built->message, 3, &built->part);
    built_end_message(built, 2);
}

static void build_wrong(struct pprof_builder *built, enum wrong wrong)
{
    built_types(built);
    protobuf_uint(&built->out, 12, wrong == WRONG_PERIOD ? 0 : 1000);
    protobuf_uint(&built->out, 9, wrong == WRONG_TIME ? (uint64_t)-5 : 5);
    build_wrong_sample(built, wrong);
    const struct built_line line = {wrong == WRONG_FUNCTION ? 2 : 1, wrong == WRONG_LINE ? 1U << 31 : 1};
    built_location(built, wrong == WRONG_MAPPING, 0x10, &line, wrong != WRONG_NO_LINE);
    if (wrong == WRONG_SAME_ID)
        built->locations--;
    built_location(built, 0, 0x20, &(struct built_line){1, 1}, 1);
    const char *name = wrong == WRONG_NO_NAME ? "" : "f";
    built_function(built, name, name, "", 0);
    if (wrong == WRONG_TYPE)
        protobuf_uint(&built->out, 4, 5);
    if (wrong == WRONG_STRING)
        protobuf_uint(&built->out, 13, 99);
    built_strings(built);
    if (wrong == WRONG_END)
        protobuf_uint(&built->out, 7, 1);
    if (wrong == WRONG_END)
        built->out.used--;
}

static void what_is_wrong_is_refused_with_a_reason(void **state)
{
    static const char *const reasons[] = {
        [WRONG_VALUE] = "a sample has a negative value",
        [WRONG_SUM] = "its values are too large",
        [WRONG_COUNT] = "a sample has too few values",
        [WRONG_FRAME] = "a sample names a location that does not exist",
        [WRONG_TID] = "a thread id is none",
        [WRONG_LABEL] = "a string that it names does not exist",
        [WRONG_MAPPING] = "a location names a mapping that does not exist",
        [WRONG_FUNCTION] = "a location names a function that does not exist",
        [WRONG_STRING] = "a string that it names does not exist",
        [WRONG_LINE] = "a line number is too large",
        [WRONG_SAME_ID] = "two of its entries have one id",
        [WRONG_NO_LINE] = "it has a location without a name",
        [WRONG_NO_NAME] = "it has a function without a name",
        [WRONG_TIME] = "its time is negative",
        [WRONG_PERIOD] = "it does not say how often was looked",
        [WRONG_TYPE] = "a field has a type that it cannot have",
        [WRONG_END] = "it is no sequence of fields",
    };
    struct fixture *fixture = *state;
    for (enum wrong wrong = WRONG_NOTHING + 1; wrong < WRONG_BUT_TRUE; wrong++) {
        build_wrong(&fixture->built, wrong);
        assert_refused(fixture, reasons[wrong]);
    }
    build_wrong(&fixture->built, WRONG_NOTHING);
    assert_int_equal(read_built(fixture), 0);
}

/* Every length and every byte changed: read or refused, and what is read can be written. */
static void damage_never_does_harm(void **state)
{
    struct fixture *fixture = *state;
    build(fixture);
    for (size_t count = 0; count < fixture->built.out.used; count++) {
        unsigned char *cut = malloc(count + 1);
        memcpy(cut, fixture->built.out.bytes, count);
        read_bytes(fixture, cut, count);
        free(cut);
    }
    for (size_t at = 0; at < fixture->built.out.used; at++) {
        unsigned char *byte = &fixture->built.out.bytes[at];
        for (int bit = 0; bit < 8; bit++) {
            *byte ^= (unsigned char)(1 << bit);
            if (read_built(fixture) == 0 && bit == 0) {
                struct fake_bytes again = write_again(fixture);
                fake_bytes_free(&again);
            }
            *byte ^= (unsigned char)(1 << bit);
        }
    }
    assert_int_equal(read_built(fixture), 0);
    assert_same_again(fixture);
}

/* 100,000 different stacks of 20 frames. */
static void a_large_file_is_read_quickly(void **state)
{
    enum { STACKS = 100000, DEPTH = 20, LOCATIONS = 1000 };
    struct fixture *fixture = *state;
    uint32_t stack[DEPTH + 1] = {0};
    struct timespec start, end;
    built_header(&fixture->built, "command: x");
    for (uint32_t i = 0; i < STACKS; i++) {
        for (uint32_t at = 0; at < DEPTH; at++)
            stack[at] = 1 + (at < 3 ? i /
                                          (at == 0   ? 1
                                           : at == 1 ? 100
                                                     : 10000) %
                                          100 * 7
                                    : i / 10 + at) %
                                LOCATIONS;
        built_sample(&fixture->built, "t", 1 + i % 50, stack, VALUES(1, 2, 3, 4));
    }
    for (uint32_t i = 0; i < LOCATIONS; i++)
        built_location(&fixture->built, 0, 0x1000 + i, LINES({1 + i % 100, i}), 1);
    for (uint32_t i = 0; i < 100; i++)
        built_function(&fixture->built, "f", "f", "", i);
    built_strings(&fixture->built);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    assert_int_equal(read_built(fixture), 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    double took = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    print_message("%u nodes in %.3f s\n", fixture->recording.tree.node_count, took);
    assert_true(took < 5); /* of a sanitizer's build, on a busy machine */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(written_again_it_is_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_by_name_only_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(no_labels_and_no_samples_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(the_header_is_that_of_the_recording, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_are_numbered_as_they_stand, setup, teardown),
        cmocka_unit_test_setup_teardown(modules_and_regions_are_told_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(inlined_frames_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(files_of_other_writers_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pseudo_frame_is_known_by_either_name, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_without_samples_is_refused_by_what_it_measures, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(another_programs_file_is_read_by_one_of_its_measures, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_measure_is_chosen_by_its_name, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_refused_with_a_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_never_does_harm, setup, teardown),
        cmocka_unit_test_setup_teardown(a_large_file_is_read_quickly, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
