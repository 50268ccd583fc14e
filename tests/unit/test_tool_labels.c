/*
 * Labels from the fold of a thread's stacks to every reader: with exact numbers, through a store and a pprof
 * file and back; and what only claims to be a label.
 */
#include "tool/formats/formats.h"
#include "encode/enc_pprof.h"
#include "encode/enc_store.h"
#include "account/fold.h"
#include "tool/read/recording.h"
#include "tool/report/report.h"
#include "profile/store.h"

#include "lib/fake_files.h"
#include "lib/fake_written.h"
#include "lib/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LOCATIONS_MAX = 32 };

struct fixture {
    struct fake_directory directory;
    struct arena arena;
    struct tree tree;
    struct module_list modules;
    struct symbols symbols;
    struct symbol_function functions[LOCATIONS_MAX];
    struct symbol_frame frames[LOCATIONS_MAX];
    uint32_t first_frame[LOCATIONS_MAX + 1], region_of[LOCATIONS_MAX];
    char names[LOCATIONS_MAX][TREE_LABEL_NAME_BYTES];
    arena_ref thread_of_number[2];
    arena_ref a, b, one, two, other; /* functions a and b; labels n=one, m=two, n=other */
    struct fold_thread thread;
    struct fold fold;
    struct profile profile;
    char path[PATH_MAX];
};

/* ---- what is made ---- */

static void name_all(struct fixture *fixture)
{
    const struct tree *tree = &fixture->tree;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        const struct location *location = tree_location_at(tree, ref);
        char *name = fixture->names[location->index];
        const char *text = location->pseudo    ? tree_frame_name(&fixture->arena, location, name)
                           : ref == fixture->a ? "a"
                                               : "b";
        fixture->functions[location->index] = (struct symbol_function){.name = text, .system_name = text};
        fixture->frames[location->index].function = location->index;
    }
    for (uint32_t i = 0; i <= tree->location_count; i++)
        fixture->first_frame[i] = i;
    fixture->symbols = (struct symbols){.location_count = tree->location_count,
                                        .function_count = tree->location_count,
                                        .functions = fixture->functions,
                                        .frames = fixture->frames,
                                        .first_frame = fixture->first_frame,
                                        .region_of = fixture->region_of};
}

/* A sample `ns` after the last one: the stack and labels, innermost first. */
static void sample(struct fixture *fixture, uint64_t ns, const arena_ref *path, size_t depth,
                   uint32_t label_count)
{
    const struct fold_observation seen = {
        .time_ns = fixture->thread.time_ns + ns, .path = path, .depth = depth, .label_count = label_count};
    fold_observe(&fixture->fold, &fixture->thread, &seen);
}

static void make_thread(struct fixture *fixture)
{
    arena_ref ref = arena_alloc(&fixture->arena, sizeof(struct thread_record));
    struct thread_record *record = arena_at(&fixture->arena, ref);
    *record = (struct thread_record){
        .root = tree_root(&fixture->tree, 1), .number = 1, .tid = 7, .start_ns = 1000, .name = "t"};
    fixture->thread_of_number[1] = ref;
    fold_thread_begin(&fixture->thread, record->root, &(struct fold_clocks){1000, 0, FOLD_NO_DELAY});
}

static void take_all_samples(struct fixture *fixture)
{
    const arena_ref a = fixture->a, b = fixture->b, one = fixture->one, two = fixture->two,
                    other = fixture->other;
    sample(fixture, 10, (arena_ref[]){b, a, one}, 3, 1);
    sample(fixture, 20, (arena_ref[]){b, a, one, two}, 4, 2);
    sample(fixture, 30, (arena_ref[]){b, a}, 2, 0);
    sample(fixture, 40, (arena_ref[]){one}, 1, 1); /* nothing of the program on the stack */
    sample(fixture, 50, (arena_ref[]){a, other}, 2, 1);
    const struct fold_observation left_out = {.time_ns = fixture->thread.time_ns + 60, .is_left_out = true};
    fold_observe(&fixture->fold, &fixture->thread, &left_out);
    fold_thread_end(&fixture->fold, &fixture->thread,
                    &(struct fold_clocks){fixture->thread.time_ns, 0, FOLD_NO_DELAY}, FOLD_REST_UNSAMPLED);
}

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof fixture);
    fake_directory_create(&fixture.directory);
    snprintf(fixture.path, sizeof fixture.path, "%s/out", fixture.directory.path);
    assert_int_equal(arena_init(&fixture.arena, 1 << 16), 0);
    assert_int_equal(tree_init(&fixture.tree, &fixture.arena), 0);
    fixture.modules.arena = &fixture.arena;
    fixture.fold = (struct fold){.tree = &fixture.tree, .period_ns = 10};
    fixture.a = tree_location(&fixture.tree, 0, 0x1000, 0);
    fixture.b = tree_location(&fixture.tree, 0, 0x2000, 0);
    fixture.one = tree_label(&fixture.tree, "n", "one");
    fixture.two = tree_label(&fixture.tree, "m", "two");
    fixture.other = tree_label(&fixture.tree, "n", "other");
    make_thread(&fixture);
    take_all_samples(&fixture);
    name_all(&fixture);
    fixture.profile = (struct profile){.arena = &fixture.arena,
                                       .tree = &fixture.tree,
                                       .modules = &fixture.modules,
                                       .symbols = &fixture.symbols,
                                       .thread_of_number = fixture.thread_of_number,
                                       .thread_count = 1,
                                       .labels = LABELS_ID,
                                       .duration_ns = 210,
                                       .period_ns = 10,
                                       .restraint = "",
                                       .command = "app"};
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    tree_deinit(&fixture->tree);
    arena_deinit(&fixture->arena);
    fake_directory_remove(&fixture->directory);
    return 0;
}

/* ---- the tree ---- */

static void a_label_is_one_location(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    uint32_t count = tree->location_count;
    assert_int_equal(tree_label(tree, "n", "one"), fixture->one);
    assert_int_equal(tree->location_count, count);
    assert_int_not_equal(tree_label(tree, "no", "ne"), fixture->one);
    const struct location *location = tree_location_at(tree, fixture->one);
    assert_true(tree_is_label(location));
    assert_string_equal(tree_label_key(&fixture->arena, location), "n");
    assert_string_equal(tree_label_value(&fixture->arena, location), "one");
    for (int i = 0; i < 3000; i++) { /* through growths of the index */
        char value[16];
        snprintf(value, sizeof value, "%d", i);
        if (!tree_label(tree, "many", value))
            break; /* the arena is full */
    }
    assert_int_equal(tree_label(tree, "n", "one"), fixture->one);
    assert_int_equal(tree_location(tree, 0, 0x1000, 0), fixture->a);
}

static struct tree_node *node_at(struct fixture *fixture, const arena_ref *path, size_t depth)
{
    arena_ref ref = fixture->thread.root;
    uint32_t count = fixture->tree.node_count;
    for (size_t i = depth; i-- > 0;)
        ref = tree_child(&fixture->tree, ref, path[i]);
    assert_int_equal(fixture->tree.node_count, count); /* it is there */
    return tree_node(&fixture->tree, ref);
}

static void other_labels_are_another_path_and_no_calls(void **state)
{
    struct fixture *fixture = *state;
    const arena_ref a = fixture->a, b = fixture->b, one = fixture->one, two = fixture->two;
    const struct {
        arena_ref path[4];
        size_t depth;
        uint64_t wall_ns, calls;
    } nodes[] = {{{b, a, one}, 3, 10, 1},
                 {{a, one}, 2, 0, 1},
                 {{b, a, one, two}, 4, 20, 0},
                 {{a, one, two}, 3, 0, 0},
                 {{b, a}, 2, 30, 0},
                 {{a}, 1, 0, 0},
                 {{one}, 1, 0, 0},
                 {{fixture->tree.pseudo[PSEUDO_UNSAMPLED], one}, 2, 40, 0},
                 {{a, fixture->other}, 2, 50, 1}};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        const struct tree_node *node = node_at(fixture, nodes[i].path, nodes[i].depth);
        assert_int_equal(tree_wall_ns(&node->self), nodes[i].wall_ns);
        assert_int_equal(node->calls, nodes[i].calls);
    }
    arena_ref uninteresting = tree_pseudo_location(&fixture->tree, PSEUDO_UNINTERESTING);
    assert_int_equal(tree_wall_ns(&node_at(fixture, &uninteresting, 1)->self), 60);
}

/* ---- the report ---- */

static const struct report_row *row(const struct report *report, const char *name)
{
    for (size_t i = 0; i < report->row_count; i++) {
        if (strcmp(report->rows[i].name, name) == 0)
            return &report->rows[i];
    }
    return NULL;
}

static void assert_rows(const struct profile *profile, const struct report_request *request,
                        const char *const *names, const uint64_t *wall_ns, size_t count)
{
    struct report report;
    assert_int_equal(report_make(&report, profile, request), 0);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(row(&report, names[i]));
        assert_int_equal(tree_wall_ns(&row(&report, names[i])->cum), wall_ns[i]);
    }
    assert_int_equal(report.row_count, count);
    report_free(&report);
}

static uint64_t selected(const struct profile *profile, const char *label)
{
    struct report report;
    assert_int_equal(report_make(&report, profile, &(struct report_request){.label = label}), 0);
    uint64_t ns = tree_wall_ns(&report.selected);
    report_free(&report);
    return ns;
}

static void assert_reports(const struct profile *profile)
{
    static const char *const labels[] = {"n=one", "m=two", "n=other", "[no label]"};
    static const char *const functions[] = {"a", "b", "[unsampled]", "[uninteresting]"};
    assert_rows(profile, &(struct report_request){.by = REPORT_BY_LABEL}, labels,
                (uint64_t[]){70, 20, 50, 90}, 4);
    assert_rows(profile, &(struct report_request){0}, functions, (uint64_t[]){110, 60, 40, 60}, 4);
    assert_int_equal(selected(profile, "n"), 120);
    assert_int_equal(selected(profile, "n=o*"), 120);
    assert_int_equal(selected(profile, "n=one"), 70);
    assert_int_equal(selected(profile, "m=two"), 20);
    assert_int_equal(selected(profile, "m=one"), 0);
}

static void reports_are_by_label_and_of_one(void **state)
{
    struct fixture *fixture = *state;
    assert_reports(&fixture->profile);
}

/* ---- files ---- */

/* Reads bytes by what they begin with; they are copied, so that what lies after them is nobody's. */
static int read_again(struct fixture *fixture, struct recording *recording, const struct fake_bytes *bytes)
{
    FILE *file = fopen(fixture->path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->bytes, 1, bytes->size, file), bytes->size);
    fclose(file);
    return recording_open(recording, fixture->path);
}

static void files_say_the_same(void **state)
{
    struct fixture *fixture = *state;
    fake_write_fn *const writers[] = {enc_pprof_write, enc_store_write};
    struct fake_bytes pprof = fake_written(&fixture->directory, enc_pprof_write, &fixture->profile);
    struct fake_bytes folded = fake_written(&fixture->directory, enc_folded_write, &fixture->profile);
    for (int i = 0; i < 2; i++) {
        struct recording recording;
        struct fake_bytes file = fake_written(&fixture->directory, writers[i], &fixture->profile);
        assert_int_equal(read_again(fixture, &recording, &file), 0);
        assert_reports(&recording.profile);
        struct fake_bytes again = fake_written(&fixture->directory, enc_pprof_write, &recording.profile);
        struct fake_bytes folded_again =
            fake_written(&fixture->directory, enc_folded_write, &recording.profile);
        assert_int_equal(again.size, pprof.size);
        assert_memory_equal(again.bytes, pprof.bytes, pprof.size);
        assert_int_equal(folded_again.size, folded.size);
        fake_bytes_free(&folded_again);
        fake_bytes_free(&again);
        fake_bytes_free(&file);
        recording_close(&recording);
    }
    assert_null(memmem(pprof.bytes, pprof.size, "{n=one}", 7)); /* a label, and no function */
    fake_bytes_free(&pprof);
    fake_bytes_free(&folded);
}

/* ---- what only claims to be one ---- */

static void claim(struct fixture *fixture, uint64_t address)
{
    tree_location_at(&fixture->tree, fixture->one)->address = address;
}

static void assert_refused(struct fixture *fixture)
{
    struct recording recording;
    struct fake_bytes store = fake_written(&fixture->directory, enc_store_write, &fixture->profile);
    assert_int_equal(read_again(fixture, &recording, &store), -EBADMSG);
    assert_non_null(strstr(recording.reason, "a location makes no sense"));
    fake_bytes_free(&store);
}

static void what_is_no_label_is_refused(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t text = tree_location_at(&fixture->tree, fixture->one)->address;
    const uint64_t end = fixture->arena.used_bytes / ARENA_UNIT_BYTES;
    const uint64_t last = *(uint64_t *)arena_at(&fixture->arena, (arena_ref)(end - 1));
    claim(fixture, text & ~TREE_LABEL_ADDRESS);
    assert_refused(fixture);
    const uint64_t places[] = {
        0, end, end - 1, UINT32_MAX, (UINT64_C(1) << 32) + (uint32_t)text, UINT64_MAX >> 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i] == end - 1) /* the last bytes: a key that ends where the arena does */
            memcpy(arena_at(&fixture->arena, (arena_ref)(end - 1)), "1234567", 8);
        claim(fixture, TREE_LABEL_ADDRESS | places[i]);
        assert_refused(fixture);
    }
    memcpy(arena_at(&fixture->arena, (arena_ref)(end - 1)),
           "123\0"
           "5678",
           8); /* no end */
    claim(fixture, TREE_LABEL_ADDRESS | (end - 1));
    assert_refused(fixture);
    *(uint64_t *)arena_at(&fixture->arena, (arena_ref)(end - 1)) = last;
    claim(fixture, text);
    char *key = arena_at(&fixture->arena, (arena_ref)text);
    memcpy(key, "\0one", 4);
    assert_refused(fixture);
    memcpy(key, "n\0\0", 3);
    assert_refused(fixture);
    memcpy(key, "pid\0x", 6);
    assert_refused(fixture);
    memcpy(key, "n\0one", 6);
    struct recording recording;
    struct fake_bytes store = fake_written(&fixture->directory, enc_store_write, &fixture->profile);
    assert_int_equal(read_again(fixture, &recording, &store), 0);
    recording_close(&recording);
    fake_bytes_free(&store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_label_is_one_location),         TEST(other_labels_are_another_path_and_no_calls),
        TEST(reports_are_by_label_and_of_one), TEST(files_say_the_same),
        TEST(what_is_no_label_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
