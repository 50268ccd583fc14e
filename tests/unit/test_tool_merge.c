/* Recordings made by hand, merged: sums to the nanosecond, modules at other addresses, run-time code, labels.
 */
#include "tool/formats/formats.h"
#include "encode/enc_pprof.h"
#include "encode/enc_store.h"
#include "encode/thread_groups.h"
#include "tool/merge/merge.h"
#include "tool/merge/merge_title.h"
#include "tool/report/report.h"

#include "lib/fake_files.h"
#include "lib/small_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOVED = 0x7000000 };

struct fixture {
    struct fake_directory directory;
    struct small_profile small;
    struct process_record process;
    struct recording recording;
    struct merge *merge;
    struct recording *merged;
    char path[PATH_MAX];
};

typedef int write_fn(const struct profile *profile, struct sink *sink);

static void write_file(struct fixture *fixture, write_fn *write, const struct profile *profile)
{
    int error;
    struct sink *sink = sink_create(fixture->directory.fd, "out", SINK_PLAIN, &error);
    assert_non_null(sink);
    assert_int_equal(write(profile, sink), 0);
    assert_int_equal(sink_commit(sink), 0);
}

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof fixture);
    fake_directory_create(&fixture.directory);
    snprintf(fixture.path, sizeof fixture.path, "%s/out", fixture.directory.path);
    setenv("WALLPROF_CACHE", "off", 1);
    small_profile_create(&fixture.small);
    fixture.process = (struct process_record){"app", 100, PROCESS_NO_RANK, "", NULL};
    fixture.small.profile.processes = &fixture.process;
    fixture.small.profile.process_count = 1;
    fixture.merge = merge_begin(LABELS_ID);
    assert_non_null(fixture.merge);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    merge_release(fixture->merge);
    small_profile_destroy(&fixture->small);
    fake_directory_remove(&fixture->directory);
    return 0;
}

/* ---- recordings ---- */

static void begin_again(struct fixture *fixture, enum label_policy labels)
{
    merge_release(fixture->merge);
    fixture->merge = merge_begin(labels);
    assert_non_null(fixture->merge);
}

/* As if it had come from a file: of this process, and what the small profile is now. */
static void open_as(struct fixture *fixture, write_fn *write, int32_t pid, int32_t rank)
{
    fixture->process.pid = pid;
    fixture->process.rank = rank;
    write_file(fixture, write, &fixture->small.profile);
    assert_int_equal(recording_open(&fixture->recording, fixture->path), 0);
}

static void add(struct fixture *fixture)
{
    assert_int_equal(merge_add(fixture->merge, &fixture->recording), 0);
    recording_close(&fixture->recording);
}

static void add_store(struct fixture *fixture, int32_t pid)
{
    open_as(fixture, enc_store_write, pid, PROCESS_NO_RANK);
    add(fixture);
}

/* All modules of the opened recording, and what is in them, are somewhere else. */
static void move_modules(struct fixture *fixture, uint64_t distance)
{
    struct recording *recording = &fixture->recording;
    for (arena_ref ref = recording->modules.newest; ref;) {
        struct module *module = arena_at(&recording->arena, ref);
        module->start_pc += distance;
        module->end_pc += distance;
        module->load_bias += distance;
        ref = module->next;
    }
    for (arena_ref ref = recording->tree.newest_location; ref;) {
        struct location *location = tree_location_at(&recording->tree, ref);
        location->address += location->module ? distance : 0;
        location->function_start += location->module ? distance : 0;
        ref = location->next;
    }
}

static struct symbol_function *function_named(struct recording *recording, const char *name)
{
    for (uint32_t i = 0; i < recording->symbols->function_count; i++) {
        if (strcmp(recording->symbols->functions[i].name, name) == 0)
            return &recording->symbols->functions[i];
    }
    return NULL;
}

static void finish(struct fixture *fixture)
{
    assert_int_equal(merge_finish(fixture->merge, &fixture->merged), 0);
}

/* ---- sums ---- */

/* Of nodes in this process (0: all), thread (NULL: all) and function, innermost (NULL: all). */
static struct values sum(const struct profile *profile, int32_t pid, const char *thread, const char *function)
{
    struct values ret = {0};
    const struct tree *tree = profile->tree;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        const struct thread_record *record = profile_thread(profile, tree_node(tree, root)->thread);
        const struct process_record *process = profile_process(profile, record);
        if ((pid && (!process || process->pid != pid)) ||
            (thread && (!record || strncmp(record->name, thread, THREAD_NAME_BYTES) != 0)))
            continue;
        for (arena_ref node = root; node; node = tree_next(tree, root, node)) {
            const struct tree_node *at = tree_node(tree, node);
            uint32_t count;
            if (function &&
                (!at->parent ||
                 strcmp(profile->symbols
                            ->functions[symbols_frames(profile->symbols,
                                                       tree_location_at(tree, at->location)->index, &count)
                                            ->function]
                            .name,
                        function) != 0))
                continue;
            tree_add_values(&ret, &at->self);
        }
    }
    return ret;
}

static void assert_values(struct values values, uint64_t samples, uint64_t cpu, uint64_t offcpu)
{
    assert_int_equal(values.samples, samples);
    assert_int_equal(values.cpu_ns, cpu * SMALL_UNIT_NS);
    assert_int_equal(tree_offcpu_ns(&values), offcpu * SMALL_UNIT_NS);
    assert_int_equal(tree_wall_ns(&values), (cpu + offcpu) * SMALL_UNIT_NS);
}

static uint32_t count_modules(const struct recording *recording)
{
    uint32_t count = 0;
    for (arena_ref ref = recording->modules.newest; ref; count++)
        ref = ((const struct module *)arena_at(&recording->arena, ref))->next;
    assert_int_equal(count, recording->modules.count);
    return count;
}

static size_t count_groups(const struct profile *profile)
{
    struct thread_groups groups;
    size_t count = 0;
    assert_int_equal(thread_groups_init(&groups, profile), 0);
    for (size_t first = 0; first < groups.count; count++)
        first += thread_group_size(&groups, profile, first);
    thread_groups_deinit(&groups);
    return count;
}

/* ---- tests ---- */

static void sums_are_those_of_the_parts(void **state)
{
    struct fixture *fixture = *state;
    add_store(fixture, 100);
    open_as(fixture, enc_store_write, 200, PROCESS_NO_RANK);
    move_modules(fixture, MOVED);
    add(fixture);
    finish(fixture);
    const struct profile *profile = &fixture->merged->profile;
    assert_true(profile->is_merged);
    assert_int_equal(profile->process_count, 2);
    for (int32_t pid = 0; pid <= 200; pid += 100) {
        uint64_t times = pid ? 1 : 2;
        assert_values(sum(profile, pid, NULL, NULL), times * 30, times * 171, times * 1071);
        assert_values(sum(profile, pid, "main", NULL), times * 23, times * 140, times * 62);
        assert_values(sum(profile, pid, "worker", NULL), times * 7, times * 31, times * 1009);
        assert_values(sum(profile, pid, NULL, "work(int, char const*)"), times * 3, times * 40, times * 7);
        assert_values(sum(profile, pid, NULL, "fact"), times * 6, times * 31, times * 9);
        assert_values(sum(profile, pid, NULL, "[unsampled]"), 0, 0, times * 5);
        assert_values(sum(profile, pid, NULL, "LazyCompile:~tick /app.js:7"), times, 0, times * 1000);
    }
    assert_int_equal(profile->thread_count, 6);
}

static void a_file_mapped_elsewhere_is_one_module(void **state)
{
    struct fixture *fixture = *state;
    add_store(fixture, 100);
    open_as(fixture, enc_store_write, 200, PROCESS_NO_RANK);
    move_modules(fixture, MOVED);
    add(fixture);
    finish(fixture);
    assert_int_equal(count_modules(fixture->merged), 1);
    assert_int_equal(fixture->merged->tree.location_count, fixture->small.tree.location_count);
    const struct tree *tree = &fixture->merged->tree;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        const struct location *location = tree_location_at(tree, ref);
        if (location->module)
            assert_int_equal(location->function_start, 0x400000);
    }
}

static void another_file_at_the_same_place_gets_another(void **state)
{
    struct fixture *fixture = *state;
    add_store(fixture, 100);
    open_as(fixture, enc_store_write, 200, PROCESS_NO_RANK);
    for (arena_ref ref = fixture->recording.modules.newest; ref;) {
        struct module *module = arena_at(&fixture->recording.arena, ref);
        module->build_id[0] ^= 1;
        ref = module->next;
    }
    function_named(&fixture->recording, "fact")->name = "other fact";
    add(fixture);
    finish(fixture);
    assert_int_equal(count_modules(fixture->merged), 2);
    const struct module *newer = arena_at(&fixture->merged->arena, fixture->merged->modules.newest);
    const struct module *older = arena_at(&fixture->merged->arena, newer->next);
    assert_true(newer->start_pc >= older->end_pc);
    assert_int_equal(newer->end_pc - newer->start_pc, older->end_pc - older->start_pc);
    assert_int_equal(newer->start_pc - newer->load_bias, older->start_pc - older->load_bias);
    assert_values(sum(&fixture->merged->profile, 0, NULL, "other fact"), 6, 31, 9);
    assert_values(sum(&fixture->merged->profile, 100, NULL, "fact"), 6, 31, 9);
    assert_values(sum(&fixture->merged->profile, 200, NULL, "fact"), 0, 0, 0);
}

static void run_time_code_is_what_it_is_called(void **state)
{
    struct fixture *fixture = *state;
    add_store(fixture, 100);
    open_as(fixture, enc_store_write, 200, PROCESS_NO_RANK);
    struct symbol_function *jitted = function_named(&fixture->recording, "LazyCompile:~tick /app.js:7");
    jitted->name = jitted->system_name = "LazyCompile:~other /app.js:9";
    add(fixture);
    open_as(fixture, enc_store_write, 300, PROCESS_NO_RANK);
    for (arena_ref ref = fixture->recording.tree.newest_location; ref;) {
        struct location *location = tree_location_at(&fixture->recording.tree, ref);
        if (!location->module && !location->pseudo)
            location->address += 0x1000000;
        ref = location->next;
    }
    add(fixture);
    finish(fixture);
    const struct profile *profile = &fixture->merged->profile;
    assert_int_equal(fixture->merged->tree.location_count, fixture->small.tree.location_count + 1);
    assert_values(sum(profile, 0, NULL, "LazyCompile:~tick /app.js:7"), 2, 0, 2000);
    assert_values(sum(profile, 200, NULL, "LazyCompile:~other /app.js:9"), 1, 0, 1000);
    assert_int_equal(profile->symbols->region_count, 1);
    assert_string_equal(profile->symbols->regions[0].path, "[JIT]");
}

static void labels_decide_what_is_one(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        enum label_policy labels;
        uint32_t processes, threads, groups;
    } cases[] = {{LABELS_ID, 3, 9, 10}, {LABELS_NAME, 1, 2, 3}, {LABELS_NONE, 1, 1, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_again(fixture, cases[i].labels);
        for (int32_t pid = 1; pid <= 3; pid++)
            add_store(fixture, pid);
        finish(fixture);
        const struct profile *profile = &fixture->merged->profile;
        assert_int_equal(profile->process_count, cases[i].processes);
        assert_int_equal(profile->thread_count, cases[i].threads);
        assert_int_equal(count_groups(profile), cases[i].groups); /* with the spare root's */
        assert_values(sum(profile, 0, NULL, NULL), 90, 513, 3213);
    }
}

/* Threads are not told apart by their recordings; processes are all the same. */
static void processes_of_recordings_without_labels_are_told_apart(void **state)
{
    struct fixture *fixture = *state;
    fixture->small.profile.labels = LABELS_NONE;
    add_store(fixture, 1);
    add_store(fixture, 2);
    finish(fixture);
    const struct profile *profile = &fixture->merged->profile;
    assert_int_equal(profile->labels, LABELS_NONE);
    assert_int_equal(profile->thread_count, 2);
    assert_int_equal(count_groups(profile), 3);
    assert_values(sum(profile, 1, NULL, NULL), 30, 171, 1071);
    assert_values(sum(profile, 2, NULL, NULL), 30, 171, 1071);
}

static void time_without_a_thread_is_its_process_s(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->small.tree;
    add_store(fixture, 1);
    tree_node(tree, tree->spare_root)->self = (struct values){1, 0, 0, SMALL_UNIT_NS};
    add_store(fixture, 2);
    finish(fixture);
    const struct profile *profile = &fixture->merged->profile;
    assert_values(sum(profile, 2, NULL, "[overflow]"), 1, 0, 1);
    assert_values(sum(profile, 2, NULL, NULL), 31, 171, 1072);
    assert_int_equal(profile->thread_count, 7);
}

/* The result is all that takes memory. */
static void more_of_the_same_takes_no_more_memory(void **state)
{
    struct fixture *fixture = *state;
    size_t used = 0;
    begin_again(fixture, LABELS_NAME);
    for (int32_t pid = 1; pid <= 100; pid++) {
        open_as(fixture, enc_store_write, pid, pid);
        move_modules(fixture, (uint64_t)pid * MOVED);
        add(fixture);
    }
    finish(fixture);
    used = fixture->merged->arena.used_bytes;
    assert_values(sum(&fixture->merged->profile, 0, NULL, NULL), 3000, 17100, 107100);
    begin_again(fixture, LABELS_NAME);
    add_store(fixture, 1);
    finish(fixture);
    assert_int_equal(fixture->merged->arena.used_bytes, used);
}

static struct fake_bytes pprof_of(struct fixture *fixture, const struct profile *profile)
{
    write_file(fixture, enc_pprof_write, profile);
    return fake_read(&fixture->directory, "out");
}

static void what_is_written_can_be_read_and_merged_again(void **state)
{
    struct fixture *fixture = *state;
    static struct recording again;
    struct merge *second = merge_begin(LABELS_ID);
    struct recording *merged;
    assert_non_null(second);
    fixture->process.name = "app, pid 7";
    for (int32_t rank = 0; rank < 3; rank++) {
        open_as(fixture, enc_store_write, 100 + rank, rank);
        add(fixture);
    }
    finish(fixture);
    struct fake_bytes first = pprof_of(fixture, &fixture->merged->profile);
    assert_int_equal(recording_open(&again, fixture->path), 0);
    assert_true(again.profile.is_merged);
    assert_int_equal(again.profile.process_count, 3);
    for (int32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(again.profile.processes[rank].rank, rank);
        assert_int_equal(again.profile.processes[rank].pid, 100 + rank);
        assert_string_equal(again.profile.processes[rank].name, "app, pid 7");
        assert_values(sum(&again.profile, 100 + rank, "worker", NULL), 7, 31, 1009);
    }
    struct fake_bytes written = pprof_of(fixture, &again.profile);
    assert_int_equal(written.size, first.size);
    assert_memory_equal(written.bytes, first.bytes, first.size);
    assert_int_equal(merge_add(second, &again), 0);
    recording_close(&again);
    assert_int_equal(merge_finish(second, &merged), 0);
    assert_int_equal(merged->profile.process_count, 3);
    assert_int_equal(merged->merged_count, 3);
    assert_values(sum(&merged->profile, 102, "main", "main"), 20, 100, 50);
    fake_bytes_free(&first);
    fake_bytes_free(&written);
    merge_release(second);
}

/* A pprof file says by its comments which process it is, and its frames have lines. */
static void pprof_files_and_stores_mix(void **state)
{
    struct fixture *fixture = *state;
    open_as(fixture, enc_pprof_write, 100, PROCESS_NO_RANK);
    add(fixture);
    open_as(fixture, enc_pprof_write, 200, 5);
    add(fixture);
    finish(fixture);
    const struct profile *profile = &fixture->merged->profile;
    assert_int_equal(profile->process_count, 2);
    assert_string_equal(profile->processes[0].name, "app");
    assert_int_equal(profile->processes[0].rank, PROCESS_NO_RANK);
    assert_int_equal(profile->processes[1].pid, 200);
    assert_int_equal(profile->processes[1].rank, 5);
    assert_values(sum(profile, 0, NULL, "helper"), 4, 2, 18);
    const struct symbol_function *work = function_named(fixture->merged, "work(int, char const*)");
    assert_non_null(work);
    assert_string_equal(work->file, "/src/app/work.cc");
    begin_again(fixture, LABELS_ID);
    open_as(fixture, enc_pprof_write, 100, PROCESS_NO_RANK);
    add(fixture);
    add_store(fixture, 200);
    finish(fixture);
    profile = &fixture->merged->profile;
    assert_int_equal(count_modules(fixture->merged), 1);
    assert_values(sum(profile, 0, NULL, "work(int, char const*)"), 6, 80, 14);
    assert_values(sum(profile, 200, NULL, NULL), 30, 171, 1071);
}

static bool has_comment(const struct profile *profile, const char *text)
{
    for (uint32_t i = 0; i < profile->comment_count; i++) {
        if (strstr(profile->comments[i], text))
            return true;
    }
    return false;
}

/* The system's clock is set while a run is recorded: eleven years on, and back again. */
static void a_clock_that_is_set_makes_no_run_longer(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t years_ns = UINT64_C(352008000000000000);
    struct profile *small = &fixture->small.profile;
    add_store(fixture, 1);
    small->start_utc_ns += years_ns;
    add_store(fixture, 2);
    small->start_utc_ns -= years_ns;
    add_store(fixture, 3);
    finish(fixture);
    assert_int_equal(fixture->merged->profile.start_utc_ns, small->start_utc_ns);
    assert_int_equal(fixture->merged->profile.duration_ns, 2 * small->duration_ns);
}

static void comments_say_what_was_merged(void **state)
{
    struct fixture *fixture = *state;
    struct profile *small = &fixture->small.profile;
    add_store(fixture, 1);
    fixture->process.ending = "it was killed";
    small->command = "app --second";
    small->start_utc_ns += 5000;
    small->period_ns *= 2;
    small->restraint = "restrained to a crawl";
    add_store(fixture, 2);
    merge_leave_out(fixture->merge, "/a/file", "it is empty");
    finish(fixture);
    const struct profile *profile = &fixture->merged->profile;
    assert_int_equal(profile->start_utc_ns, small->start_utc_ns - 5000);
    assert_int_equal(profile->duration_ns, small->duration_ns + 5000);
    assert_int_equal(profile->period_ns, small->period_ns);
    assert_int_equal(profile->counters.ticks, 2 * small->counters.ticks);
    assert_true(has_comment(profile, "merged: 2 recordings, 2 processes told apart"));
    assert_true(has_comment(profile, "of 1: app --second"));
    assert_true(has_comment(profile, "app (2): it was killed"));
    assert_true(has_comment(profile, "left out: /a/file: it is empty"));
    assert_true(has_comment(profile, "rates differ: from"));
    assert_true(has_comment(profile, "restrained to a crawl (so it was in 1 of 2)"));
    assert_non_null(strstr(profile->command, "(and 1 other command line)"));
}

static bool contains(const struct fake_bytes *file, const char *text)
{
    return memmem(file->bytes, file->size, text, strlen(text)) != NULL;
}

/* Each format shows whose a thread is, in its way. */
static void every_format_tells_the_processes(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        write_fn *write;
        const char *texts[2];
    } cases[] = {
        {enc_folded_write, {"[app (100), rank 0];[main tid=11];", "[app (200), rank 7];[worker tid=13];"}},
        {enc_callgrind_write, {") [process app (100), rank 0]", ") [process app (200), rank 7]"}},
        {enc_html_write, {"\"app (100), rank 0: main\"", "\"app (200), rank 7: worker\""}},
    };
    open_as(fixture, enc_store_write, 100, 0);
    add(fixture);
    open_as(fixture, enc_store_write, 200, 7);
    add(fixture);
    finish(fixture);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(fixture, cases[i].write, &fixture->merged->profile);
        struct fake_bytes file = fake_read(&fixture->directory, "out");
        for (int text = 0; text < 2; text++) {
            if (!contains(&file, cases[i].texts[text]))
                fail_msg("format %zu does not say %s", i, cases[i].texts[text]);
        }
        fake_bytes_free(&file);
    }
}

/* A report of one process of several, and sums by process. */
static void reports_tell_the_processes(void **state)
{
    struct fixture *fixture = *state;
    struct report report;
    struct report_request request = {.by = REPORT_BY_PROCESS};
    add_store(fixture, 100);
    add_store(fixture, 200);
    finish(fixture);
    assert_int_equal(report_make(&report, &fixture->merged->profile, &request), 0);
    assert_int_equal(report.row_count, 2);
    report_sort(&report, METRIC_WALL, false);
    for (size_t i = 0; i < 2; i++) {
        assert_true(strcmp(report.rows[i].name, i ? "app (200)" : "app (100)") == 0);
        assert_values(report.rows[i].flat, 30, 171, 1071);
    }
    report_free(&report);
    static const char *const wanted[] = {"200", "app (200)", "* (200)", "app", "300"};
    static const unsigned times[] = {1, 1, 1, 2, 0};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        request = (struct report_request){.process = wanted[i], .thread = "worker"};
        assert_int_equal(report_make(&report, &fixture->merged->profile, &request), 0);
        assert_values(report.selected, times[i] * 7, times[i] * 31, times[i] * 1009);
        report_free(&report);
    }
}

static void what_would_overflow_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->small.tree;
    struct values *self = &tree_node(tree, tree->spare_root)->self;
    self->samples = 1;
    self->blocked_ns = UINT64_C(1) << 60;
    add_store(fixture, 1);
    open_as(fixture, enc_store_write, 2, PROCESS_NO_RANK);
    assert_int_equal(merge_add(fixture->merge, &fixture->recording), -ERANGE);
    assert_non_null(strstr(fixture->recording.reason, "longer than anything can last"));
    recording_close(&fixture->recording);
    finish(fixture);
    assert_int_equal(fixture->merged->profile.process_count, 1);
}

static void nothing_makes_nothing(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(merge_finish(fixture->merge, &fixture->merged), -ENODATA);
    merge_release(NULL);
}

static void assert_title(const char *name, const char *title, const char *command, const char *expected)
{
    const struct process_record process = {name, 100, PROCESS_NO_RANK, "", title};
    char text[PROCESS_TITLE_TEXT_BYTES];
    assert_string_equal(merge_title(&process, command, text), expected);
}

static void a_process_is_named_by_its_title_or_its_source(void **state)
{
    (void)state;
    assert_title("postgres", "postgres: walwriter", "postgres -D data", "postgres: walwriter");
    assert_title("cc1", "", "/usr/lib/gcc/cc1 -quiet -imultiarch x86_64-linux-gnu -I src src/arena.c -o x.s",
                 "cc1 src/arena.c");
    assert_title("python3.11", NULL, "python3 -u server.py --port 80", "python3.11 server.py");
    assert_title("cc1plus", "", "cc1plus /home/someone/projects/large/src/components/table/row.cpp",
                 "cc1plus row.cpp");
    assert_title("app", "", "./app --file x.txt -x.c", "");
    assert_title("app", "", "", "");
}

/* ---- timelines ---- */

/* Of a recording that began so much later than the small one. */
static void add_timed(struct fixture *fixture, int32_t pid, uint64_t later_ns)
{
    const uint64_t start_utc_ns = fixture->small.profile.start_utc_ns;
    fixture->small.profile.timeline = &fixture->small.timeline;
    fixture->small.profile.start_utc_ns = start_utc_ns + later_ns;
    add_store(fixture, pid);
    fixture->small.profile.start_utc_ns = start_utc_ns;
}

/* Two processes: their records lie on the system's clock, in the order of time, at their own threads' nodes.
 */
static void times_are_of_one_clock(void **state)
{
    struct fixture *fixture = *state;
    const struct small_profile *small = &fixture->small;
    merge_keep_timeline(fixture->merge, FORMAT_PERFETTO);
    add_timed(fixture, 100, 5000);
    add_timed(fixture, 200, 0);
    finish(fixture);
    const struct profile *merged = &fixture->merged->profile;
    const struct timeline *timeline = merged->timeline;
    assert_non_null(timeline);
    assert_int_equal(timeline->start_ns, merged->start_utc_ns);
    assert_int_equal(timeline->start_ns, small->profile.start_utc_ns);
    assert_int_equal(timeline->count, 2 * small->timeline.count);
    for (uint32_t i = 0; i < timeline->count; i++) {
        const struct timeline_record *record = &timeline->records[i], *from = &small->records[i / 2];
        const struct thread_record *thread = profile_thread(merged, record->thread);
        const struct process_record *process = profile_process(merged, thread);
        const uint64_t later_ns = process->pid == 100 ? 5000 : 0;
        assert_int_equal(process->pid, i % 2 ? 100 : 200);
        assert_int_equal(thread->tid, profile_thread(&small->profile, from->thread)->tid);
        assert_int_equal(record->first_ns - timeline->start_ns,
                         from->first_ns - small->timeline.start_ns + later_ns);
        assert_int_equal(record->wall_ns, from->wall_ns);
        assert_int_equal(tree_wall_ns(&tree_node(merged->tree, record->node)->self),
                         tree_wall_ns(&tree_node(&small->tree, from->node)->self));
        assert_int_equal(thread->start_ns - timeline->start_ns,
                         profile_thread(&small->profile, from->thread)->start_ns - small->timeline.start_ns +
                             later_ns);
    }
}

/* Nobody could tell threads from each other that are one by their labels; and what is not wanted costs
 * memory.
 */
static void a_timeline_is_kept_where_it_makes_sense(void **state)
{
    struct fixture *fixture = *state;
    add_timed(fixture, 100, 0);
    finish(fixture);
    assert_null(fixture->merged->profile.timeline);
    begin_again(fixture, LABELS_NAME);
    merge_keep_timeline(fixture->merge, FORMAT_FIREFOX);
    add_timed(fixture, 100, 0);
    finish(fixture);
    assert_null(fixture->merged->profile.timeline);
    begin_again(fixture, LABELS_ID);
    merge_keep_timeline(fixture->merge, FORMAT_PPROF);
    add_timed(fixture, 100, 0);
    finish(fixture);
    assert_null(fixture->merged->profile.timeline);
    begin_again(fixture, LABELS_ID);
    merge_keep_timeline(fixture->merge, FORMAT_HTML);
    add_timed(fixture, 100, 0);
    finish(fixture);
    assert_non_null(fixture->merged->profile.timeline);
    begin_again(fixture, LABELS_ID);
    merge_keep_timeline(fixture->merge, FORMAT_FIREFOX);
    add_timed(fixture, 100, 0);
    fixture->small.profile.timeline = NULL;
    add_store(fixture, 200);
    finish(fixture);
    assert_null(fixture->merged->profile.timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sums_are_those_of_the_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_mapped_elsewhere_is_one_module, setup, teardown),
        cmocka_unit_test_setup_teardown(another_file_at_the_same_place_gets_another, setup, teardown),
        cmocka_unit_test_setup_teardown(run_time_code_is_what_it_is_called, setup, teardown),
        cmocka_unit_test_setup_teardown(labels_decide_what_is_one, setup, teardown),
        cmocka_unit_test_setup_teardown(processes_of_recordings_without_labels_are_told_apart, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(time_without_a_thread_is_its_process_s, setup, teardown),
        cmocka_unit_test_setup_teardown(more_of_the_same_takes_no_more_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_written_can_be_read_and_merged_again, setup, teardown),
        cmocka_unit_test_setup_teardown(pprof_files_and_stores_mix, setup, teardown),
        cmocka_unit_test_setup_teardown(a_clock_that_is_set_makes_no_run_longer, setup, teardown),
        cmocka_unit_test_setup_teardown(comments_say_what_was_merged, setup, teardown),
        cmocka_unit_test_setup_teardown(every_format_tells_the_processes, setup, teardown),
        cmocka_unit_test_setup_teardown(reports_tell_the_processes, setup, teardown),
        cmocka_unit_test_setup_teardown(what_would_overflow_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_makes_nothing, setup, teardown),
        cmocka_unit_test(a_process_is_named_by_its_title_or_its_source),
        cmocka_unit_test_setup_teardown(times_are_of_one_clock, setup, teardown),
        cmocka_unit_test_setup_teardown(a_timeline_is_kept_where_it_makes_sense, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
