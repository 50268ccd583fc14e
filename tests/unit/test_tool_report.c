/* Reports of a small profile whose every number is known: rows, tables at given widths,
 * filters, JSON, differences. */
#include "tool/report/diff_forms.h"
#include "tool/read/recording.h"
#include "tool/report/report.h"
#include "tool/report/report_table.h"
#include "base/clock.h"
#include "tool/io/text.h"

#include "lib/fake_files.h"
#include "lib/pprof_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct pprof_builder built;
    struct recording recording, other;
    struct report report, other_report;
    struct report_request request;
    struct fake_directory directory;
    bool has_other;
};

#define STACK(...)  ((const uint32_t[]){__VA_ARGS__, 0})
#define VALUES(...) ((const uint64_t[]){__VA_ARGS__})
#define LINES(...)  ((const struct built_line[]){__VA_ARGS__})
#define MS          UINT64_C(1000000)

enum { UNSAMPLED = 1, MAIN = 6, WORK, WAIT, INLINED };

/* Where work calls itself, and where a helper is inlined into it; `factor` stretches the waiting. */
static void build(struct pprof_builder *built, uint64_t factor)
{
    built_header(built, "command: ./app --flag");
    built_sample(built, NULL, 0, STACK(UNSAMPLED), VALUES(0, 0, 200 * MS, 200 * MS));
    built_sample(built, "app", 7, STACK(WORK, MAIN), VALUES(3, 3000 * MS, 0, 3000 * MS));
    built_sample(built, "app", 7, STACK(WAIT, WORK, MAIN), VALUES(2, 1000, 1500 * MS - 1000, 1500 * MS));
    built_sample(built, "app", 7, STACK(WORK, WORK, MAIN), VALUES(1, 250 * MS, 0, 250 * MS));
    built_sample(built, "app", 7, STACK(INLINED, MAIN), VALUES(1, 50 * MS, 0, 50 * MS));
    built_sample(built, "pool", 8, STACK(WAIT, MAIN), VALUES(4, 0, 4000 * MS * factor, 4000 * MS * factor));
    built_mapping(built, 0x400000, 0, "/bin/app", "00a1ff", 15);
    built_mapping(built, 0x700000, 0, "/lib/libc.so.6", "", 1);
    built_pseudo_locations(built);
    built_location(built, 1, 0x400010, LINES({6, 12}), 1);
    built_location(built, 1, 0x400020, LINES({7, 30}), 1);
    built_location(built, 2, 0x700123, LINES({8, 0}), 1);
    built_location(built, 1, 0x400030, LINES({9, 3}, {7, 31}), 2);
    built_pseudo_functions(built);
    built_function(built, "main", "main", "/src/app.c", 10);
    built_function(built, "work", "work", "/src/app.c", 20);
    built_function(built, "wait", "wait", "", 0);
    built_function(built, "helper", "helper", "/src/helper.h", 1);
    built_strings(built);
}

static void read_built(struct fixture *fixture, struct recording *recording, uint64_t factor)
{
    built_deinit(&fixture->built);
    built_init(&fixture->built);
    build(&fixture->built, factor);
    memset(recording, 0, sizeof *recording);
    assert_int_equal(recording_read_pprof(recording, fixture->built.out.bytes, fixture->built.out.used, NULL),
                     0);
}

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof fixture);
    fixture.request.by = REPORT_BY_LEAF;
    text_init();
    fake_directory_create(&fixture.directory);
    built_init(&fixture.built);
    read_built(&fixture, &fixture.recording, 1);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    report_free(&fixture->report);
    recording_close(&fixture->recording);
    if (fixture->has_other) {
        report_free(&fixture->other_report);
        recording_close(&fixture->other);
    }
    built_deinit(&fixture->built);
    fake_directory_remove(&fixture->directory);
    return 0;
}

static void make_report(struct fixture *fixture)
{
    report_free(&fixture->report);
    assert_int_equal(report_make(&fixture->report, &fixture->recording.profile, &fixture->request), 0);
    report_sort(&fixture->report, METRIC_WALL, false);
}

static void make_other(struct fixture *fixture, uint64_t factor)
{
    read_built(fixture, &fixture->other, factor);
    assert_int_equal(report_make(&fixture->other_report, &fixture->other.profile, &fixture->request), 0);
    fixture->has_other = true;
}

static const struct report_row *row(const struct fixture *fixture, const char *name)
{
    for (size_t i = 0; i < fixture->report.row_count; i++) {
        if (strcmp(fixture->report.rows[i].name, name) == 0)
            return &fixture->report.rows[i];
    }
    return NULL;
}

static void assert_values(const struct values *values, uint64_t samples, uint64_t cpu_ns, uint64_t offcpu_ns,
                          uint64_t wall_ns)
{
    assert_int_equal(values->samples, samples);
    assert_int_equal(values->cpu_ns, cpu_ns);
    assert_int_equal(tree_offcpu_ns(values), offcpu_ns);
    assert_int_equal(tree_wall_ns(values), wall_ns);
}

/* ---- sums ---- */

static void sums_are_exact_and_recursion_counts_once(void **state)
{
    struct fixture *fixture = *state;
    make_report(fixture);
    assert_int_equal(fixture->report.row_count, 5);
    assert_values(&fixture->report.total, 11, 3300 * MS + 1000, 5700 * MS - 1000, 9000 * MS);
    assert_values(&fixture->report.selected, 11, 3300 * MS + 1000, 5700 * MS - 1000, 9000 * MS);
    assert_values(&row(fixture, "work")->flat, 4, 3250 * MS, 0, 3250 * MS);
    assert_values(&row(fixture, "work")->cum, 7, 3300 * MS + 1000, 1500 * MS - 1000, 4800 * MS);
    assert_values(&row(fixture, "wait")->flat, 6, 1000, 5500 * MS - 1000, 5500 * MS);
    assert_values(&row(fixture, "wait")->cum, 6, 1000, 5500 * MS - 1000, 5500 * MS);
    assert_values(&row(fixture, "main")->flat, 0, 0, 0, 0);
    assert_values(&row(fixture, "main")->cum, 11, 3300 * MS + 1000, 5500 * MS - 1000, 8800 * MS);
    assert_values(&row(fixture, "helper")->flat, 1, 50 * MS, 0, 50 * MS);
    assert_values(&fixture->report.pseudo[PSEUDO_UNSAMPLED], 0, 0, 200 * MS, 200 * MS);
}

static void assert_row(const struct fixture *fixture, const char *name, uint64_t flat_ms, uint64_t cum_ms)
{
    assert_non_null(row(fixture, name));
    assert_int_equal(tree_wall_ns(&row(fixture, name)->flat), flat_ms * MS);
    assert_int_equal(tree_wall_ns(&row(fixture, name)->cum), cum_ms * MS);
}

static void rows_may_be_other_things_than_functions(void **state)
{
    struct fixture *fixture = *state;
    fixture->request.by = REPORT_BY_MODULE;
    make_report(fixture);
    assert_int_equal(fixture->report.row_count, 3);
    assert_row(fixture, "/bin/app", 3300, 8800);
    assert_row(fixture, "/lib/libc.so.6", 5500, 5500);
    assert_row(fixture, "[unsampled]", 200, 200);
    fixture->request.by = REPORT_BY_FILE;
    make_report(fixture);
    assert_int_equal(fixture->report.row_count, 4);
    assert_row(fixture, "/src/app.c", 3250, 8800);
    assert_row(fixture, "/src/helper.h", 50, 50);
    assert_row(fixture, "[libc.so.6]", 5500, 5500);
    fixture->request.by = REPORT_BY_LINE;
    make_report(fixture);
    assert_int_equal(fixture->report.row_count, 6);
    assert_row(fixture, "work /src/app.c:30", 3250, 4750);
    assert_row(fixture, "work /src/app.c:31", 0, 50);
    assert_row(fixture, "wait", 5500, 5500);
    fixture->request.by = REPORT_BY_THREAD;
    make_report(fixture);
    assert_int_equal(fixture->report.row_count, 3);
    assert_row(fixture, "app (7)", 4800, 4800);
    assert_row(fixture, "pool (8)", 4000, 4000);
    assert_row(fixture, "[no thread]", 200, 200);
}

static void threads_say_what_they_were_mostly_in(void **state)
{
    struct fixture *fixture = *state;
    make_report(fixture);
    const struct report_thread *threads = fixture->report.threads;
    assert_int_equal(fixture->report.thread_count, 3);
    assert_string_equal(threads[0].name, "app");
    assert_int_equal(threads[0].tid, 7);
    assert_string_equal(threads[0].mostly_in, "work");
    assert_int_equal(threads[0].mostly_ns, 3250 * MS);
    assert_null(threads[0].waits_for);
    assert_string_equal(threads[1].name, "pool");
    assert_string_equal(threads[1].mostly_in, "wait");
    assert_string_equal(threads[1].waits_for, "child");
    assert_string_equal(threads[2].name, "[no thread]");
    assert_false(threads[2].has_name);
    assert_string_equal(threads[2].mostly_in, "[unsampled]");
}

/* ---- filters ---- */

static uint64_t selected_ms(struct fixture *fixture, const char *thread, const char *focus,
                            const char *ignore)
{
    regex_t regexes[2];
    fixture->request.thread = thread;
    assert_int_equal(regcomp(&regexes[0], focus ? focus : "x", REG_EXTENDED | REG_NOSUB), 0);
    assert_int_equal(regcomp(&regexes[1], ignore ? ignore : "x", REG_EXTENDED | REG_NOSUB), 0);
    fixture->request.focus = focus ? &regexes[0] : NULL;
    fixture->request.ignore = ignore ? &regexes[1] : NULL;
    make_report(fixture);
    regfree(&regexes[0]);
    regfree(&regexes[1]);
    assert_int_equal(tree_wall_ns(&fixture->report.total), 9000 * MS);
    assert_int_equal(tree_wall_ns(&fixture->report.selected) % MS, 0);
    return tree_wall_ns(&fixture->report.selected) / MS;
}

static void filters_leave_what_was_selected(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(selected_ms(fixture, NULL, NULL, NULL), 9000);
    assert_int_equal(selected_ms(fixture, "app", NULL, NULL), 4800);
    assert_int_equal(selected_ms(fixture, "p*", NULL, NULL), 4000);
    assert_int_equal(selected_ms(fixture, "8", NULL, NULL), 4000);
    assert_int_equal(selected_ms(fixture, "none", NULL, NULL), 0);
    assert_int_equal(selected_ms(fixture, NULL, "^work$", NULL), 4800);
    assert_int_equal(fixture->report.thread_count, 1);
    assert_row(fixture, "main", 0, 4800);
    assert_int_equal(selected_ms(fixture, NULL, NULL, "^work$"), 4200);
    assert_null(row(fixture, "work"));
    assert_int_equal(selected_ms(fixture, NULL, "libc", NULL), 5500);
    assert_int_equal(selected_ms(fixture, NULL, "helper[.]h", NULL), 50);
    assert_int_equal(selected_ms(fixture, NULL, "main", "wait|helper"), 3250);
    assert_int_equal(selected_ms(fixture, "pool", "main", "work"), 4000);
}

/* ---- tables ---- */

static void assert_table(const struct fixture *fixture, const struct report_table *table,
                         const char *expected)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    struct report_table whole = *table;
    whole.report = &fixture->report;
    whole.by = fixture->request.by;
    whole.profile = &fixture->recording.profile;
    report_table_write(&whole, stream);
    fclose(stream);
    if (strcmp(text, expected) != 0)
        print_error("%s", text);
    assert_string_equal(text, expected);
    free(text);
}

#define TABLE(...)                                                                                           \
    &(const struct report_table)                                                                             \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

static void a_table_of_80_columns(void **state)
{
    struct fixture *fixture = *state;
    make_report(fixture);
    assert_table(fixture, TABLE(.lines = 20, .columns = 80),
                 "./app --flag\n"
                 "2025-11-24 16:00:00 UTC, 100 ticks a second, 11 samples\n"
                 "9.00 s of thread time in 2.00 s, 2 threads\n"
                 "running 3.30 s | child 5.50 s | not seen 200 ms\n"
                 "\n"
                 "    WALL     %     CUM     %     CPU  WAITS FOR        FUNCTION\n"
                 "  5.50 s 61.1%  5.50 s 61.1% 1.00 µs  child            wait\n"
                 "  3.25 s 36.1%  4.80 s 53.3%  3.25 s                   work\n"
                 "  200 ms  2.2%  200 ms  2.2%       0                   [unsampled]\n"
                 " 50.0 ms  0.6% 50.0 ms  0.6% 50.0 ms                   helper\n"
                 "\n"
                 "    WALL     CPU OFF-CPU  THREAD           % MOSTLY IN\n"
                 "  4.80 s  3.30 s  1.50 s  app (7)      67.7% work\n"
                 "  4.00 s       0  4.00 s  pool (8)      100% wait (child)\n"
                 "  200 ms       0  200 ms  [no thread]   100% [unsampled]\n"
                 "\n"
                 "[unsampled] 200 ms (2.2% of wall): no sample saw what was done then\n");
}

/* Bars, and a row with too few samples. */
static void a_table_with_error_bars(void **state)
{
    struct fixture *fixture = *state;
    make_report(fixture);
    for (size_t i = 0; i < fixture->report.row_count; i++) {
        struct report_row *at = &fixture->report.rows[i];
        const struct report_error wide = {tree_wall_ns(&at->flat) / 20, at->flat.cpu_ns / 10};
        at->flat_error = at->cum_error =
            at->flat.samples > 2 ? wide : (struct report_error){REPORT_ERROR_UNKNOWN, REPORT_ERROR_UNKNOWN};
    }
    assert_table(fixture, TABLE(.lines = 4, .columns = 80, .has_errors = true),
                 "./app --flag\n"
                 "2025-11-24 16:00:00 UTC, 100 ticks a second, 11 samples\n"
                 "9.00 s of thread time in 2.00 s, 2 threads\n"
                 "running 3.30 s | child 5.50 s | not seen 200 ms\n"
                 "\n"
                 "    WALL     ±     %     CUM     %  WAITS FOR        FUNCTION\n"
                 "   5.5 s   ±5%   61%   5.5 s   61%  child            wait\n"
                 "   3.3 s   ±5%   36%   4.8 s   53%                   work\n"
                 "  200 ms   few    2%  200 ms    2%                   [unsampled]\n"
                 "   50 ms   few  0.6%   50 ms  0.6%                   helper\n"
                 "±: 95 of 100 recordings are off by less; few: below 5 samples, too few to tell\n"
                 "\n"
                 "    WALL     CPU OFF-CPU  THREAD           % MOSTLY IN\n"
                 "  4.80 s  3.30 s  1.50 s  app (7)      67.7% work\n"
                 "  4.00 s       0  4.00 s  pool (8)      100% wait (child)\n"
                 "  200 ms       0  200 ms  [no thread]   100% [unsampled]\n"
                 "\n"
                 "[unsampled] 200 ms (2.2% of wall): no sample saw what was done then\n");
}

static void a_table_of_50_columns_has_fewer(void **state)
{
    struct fixture *fixture = *state;
    make_report(fixture);
    report_sort(&fixture->report, METRIC_CPU, true);
    assert_table(fixture, TABLE(.lines = 2, .columns = 50, .metric = METRIC_CPU, .by_cum = true),
                 "./app --flag\n"
                 "2025-11-24 16:00:00 UTC, 100 ticks a second, 11\n"
                 "  samples\n"
                 "9.00 s of thread time in 2.00 s, 2 threads\n"
                 "running 3.30 s | child 5.50 s | not seen 200 ms\n"
                 "\n"
                 "     CPU     %     CUM     %  FUNCTION\n"
                 "  3.25 s 98.5%  3.30 s  100%  work\n"
                 "       0  0.0%  3.30 s  100%  main\n"
                 " 50.0 ms  1.5%  in 3 more functions\n"
                 "\n"
                 "    WALL  THREAD           % MOSTLY IN\n"
                 "  4.80 s  app (7)      67.7% work\n"
                 "  4.00 s  pool (8)      100% wait (child)\n"
                 "  200 ms  [no thread]   100% [unsampled]\n"
                 "\n"
                 "[unsampled] 200 ms (2.2% of wall): no sample saw\n"
                 "  what was done then\n");
}

static void threads_of_one_name_are_not_counted(void **state)
{
    struct fixture *fixture = *state;
    fixture->recording.profile.labels = LABELS_NAME;
    make_report(fixture);
    assert_table(fixture, TABLE(.lines = 1, .columns = 80),
                 "./app --flag\n"
                 "2025-11-24 16:00:00 UTC, 100 ticks a second, 11 samples\n"
                 "9.00 s of thread time in 2.00 s\n"
                 "running 3.30 s | child 5.50 s | not seen 200 ms\n"
                 "\n"
                 "    WALL     %     CUM     %     CPU  WAITS FOR        FUNCTION\n"
                 "  5.50 s 61.1%  5.50 s 61.1% 1.00 µs  child            wait\n"
                 "  3.50 s 38.9%  in 4 more functions\n"
                 "\n"
                 "    WALL     CPU OFF-CPU  THREAD           % MOSTLY IN\n"
                 "  4.80 s  3.30 s  1.50 s  app          67.7% work\n"
                 "  4.00 s       0  4.00 s  pool          100% wait (child)\n"
                 "  200 ms       0  200 ms  [no thread]   100% [unsampled]\n"
                 "\n"
                 "[unsampled] 200 ms (2.2% of wall): no sample saw what was done then\n");
}

/* ---- JSON ---- */

#define NOTHING_KNOWN "\"on\":null,\"holder\":null,"
#define JSON_VALUES(samples, cpu, offcpu, wall)                                                              \
    "{\"samples\":" #samples ",\"cpu_ns\":" #cpu ",\"offcpu_ns\":" #offcpu                                   \
    ",\"rundelay_ns\":0,\"wall_ns\":" #wall "}"
#define JSON_CHANGE(samples, cpu, offcpu, wall)                                                              \
    "{\"wall_ns\":" #wall ",\"cpu_ns\":" #cpu ",\"offcpu_ns\":" #offcpu                                      \
    ",\"rundelay_ns\":0,\"samples\":" #samples "}"

static struct fake_bytes json_of(struct fixture *fixture, const struct diff *diff)
{
    int error;
    struct json json;
    struct sink *sink = sink_create(fixture->directory.fd, "out.json", SINK_PLAIN, &error);
    assert_non_null(sink);
    json_init(&json, sink);
    const struct report_table table = {
        .report = &fixture->report, .profile = &fixture->recording.profile, .lines = 2};
    if (diff)
        diff_json_write(diff, 1, NULL, &json);
    else
        assert_true(report_json_write(&table, &json));
    assert_int_equal(sink_commit(sink), 0);
    return fake_read(&fixture->directory, "out.json");
}

static void json_has_everything_in_ns(void **state)
{
    struct fixture *fixture = *state;
    make_report(fixture);
    struct fake_bytes text = json_of(fixture, NULL);
    assert_string_equal(
        (const char *)text.bytes,
        "{\"version\":2,\"command\":\"./app --flag\",\"start_utc_ns\":1764000000123456789,"
        "\"duration_ns\":2000000000,\"period_ns\":10000000,\"restraint\":null,\"total\":{\"samples\":11,"
        "\"cpu_ns\":3300001000,\"offcpu_ns\":5699999000,\"rundelay_ns\":0,\"wall_ns\":9000000000},"
        "\"selected\":{\"samples\":11,\"cpu_ns\":3300001000,\"offcpu_ns\":5699999000,\"rundelay_ns\":0,"
        "\"wall_ns\":9000000000},\"waits_ns\":{\"child\":5499999000,\"not seen\":200000000},\"waits\":["
        "{\"kind\":\"child\",\"on\":null,\"holder\":null,\"wall_ns\":5499999000},"
        "{\"kind\":\"not seen\",\"on\":null,\"holder\":null,\"wall_ns\":200000000}],"
        "\"pseudo\":{\"[unsampled]\":{\"samples\":0,\"cpu_ns\":0,\"offcpu_ns\":200000000,\"rundelay_ns\":0,"
        "\"wall_ns\":200000000},\"[not responding]\":{\"samples\":0,\"cpu_ns\":0,\"offcpu_ns\":0,"
        "\"rundelay_ns\":0,\"wall_ns\":0},\"[truncated]\":{\"samples\":0,\"cpu_ns\":0,\"offcpu_ns\":0,"
        "\"rundelay_ns\":0,\"wall_ns\":0},\"[overflow]\":{\"samples\":0,\"cpu_ns\":0,\"offcpu_ns\":0,"
        "\"rundelay_ns\":0,\"wall_ns\":0},\"[unloaded]\":{\"samples\":0,\"cpu_ns\":0,\"offcpu_ns\":0,"
        "\"rundelay_ns\":0,\"wall_ns\":0}},\"processes\":[\n"
        "{\"name\":\"app\",\"pid\":null,\"rank\":null,\"ending\":null}],\"idle_threads\":0,\"threads\":[\n"
        "{\"name\":\"app\",\"tid\":7,\"merged_threads\":0,\"total\":{\"samples\":7,\"cpu_ns\":3300001000,"
        "\"offcpu_ns\":1499999000,\"rundelay_ns\":0,\"wall_ns\":4800000000},\"mostly_in\":\"work\","
        "\"waits_for\":null,\"mostly_ns\":3250000000}\n"
        ",{\"name\":\"pool\",\"tid\":8,\"merged_threads\":0,\"total\":{\"samples\":4,\"cpu_ns\":0,"
        "\"offcpu_ns\":4000000000,\"rundelay_ns\":0,\"wall_ns\":4000000000},\"mostly_in\":\"wait\","
        "\"waits_for\":\"child\",\"mostly_ns\":4000000000}\n"
        ",{\"name\":null,\"tid\":null,\"merged_threads\":0,\"total\":{\"samples\":0,\"cpu_ns\":0,"
        "\"offcpu_ns\":200000000,\"rundelay_ns\":0,\"wall_ns\":200000000},\"mostly_in\":\"[unsampled]\","
        "\"waits_for\":null,\"mostly_ns\":200000000}],\"by\":\"function\",\"sort\":\"wall\",\"cum\":false,"
        "\"row_count\":5,\"rows\":[\n"
        "{\"name\":\"wait\",\"flat\":{\"samples\":6,\"cpu_ns\":1000,\"offcpu_ns\":5499999000,\"rundelay_ns\":"
        "0,"
        "\"wall_ns\":5500000000},\"cum\":{\"samples\":6,\"cpu_ns\":1000,\"offcpu_ns\":5499999000,"
        "\"rundelay_ns\":0,\"wall_ns\":5500000000},\"waits_ns\":{\"child\":5499999000}}\n"
        ",{\"name\":\"work\",\"flat\":{\"samples\":4,\"cpu_ns\":3250000000,\"offcpu_ns\":0,\"rundelay_ns\":0,"
        "\"wall_ns\":3250000000},\"cum\":{\"samples\":7,\"cpu_ns\":3300001000,\"offcpu_ns\":1499999000,"
        "\"rundelay_ns\":0,\"wall_ns\":4800000000},\"waits_ns\":{}}]}\n");
    fake_bytes_free(&text);
}

/* A stack has the numbers of its frames, innermost first, and each frame is there once. */
static void json_has_stacks_on_request(void **state)
{
    struct fixture *fixture = *state;
    fixture->request.keeps_stacks = true;
    fixture->request.thread = "app";
    make_report(fixture);
    struct fake_bytes text = json_of(fixture, NULL);
    const char *stacks = strstr((const char *)text.bytes, ",\"stacks\":");
    assert_non_null(stacks);
    assert_string_equal(
        stacks,
        ",\"stacks\":[\n"
        "{\"frames\":[0,1],\"thread\":0,\"labels\":{},\"waits_for\":null," NOTHING_KNOWN
        "\"values\":" JSON_VALUES(
            3, 3000000000, 0,
            3000000000) "}\n"
                        ",{\"frames\":[2,0,1],\"thread\":0,\"labels\":{},\"waits_for\":"
                        "\"child\"," NOTHING_KNOWN ""
                        "\"values\":" JSON_VALUES(
                            2, 1000, 1499999000,
                            1500000000) "}\n"
                                        ",{\"frames\":[0,0,1],\"thread\":0,\"labels\":{},\"waits_for\":"
                                        "null," NOTHING_KNOWN ""
                                        "\"values\":" JSON_VALUES(
                                            1, 250000000, 0,
                                            250000000) "}\n"
                                                       ",{\"frames\":[3,4,1],\"thread\":0,\"labels\":{},"
                                                       "\"waits_for\":null," NOTHING_KNOWN
                                                       "\"values\":" JSON_VALUES(
                                                           1, 50000000, 0,
                                                           50000000) "}],\"frames\":[\n"
                                                                     "{\"function\":\"work\",\"file\":\"/src/"
                                                                     "app.c\",\"line\":30,\"module\":\"/bin/"
                                                                     "app\"}\n"
                                                                     ",{\"function\":\"main\",\"file\":\"/"
                                                                     "src/app.c\",\"line\":12,\"module\":\"/"
                                                                     "bin/app\"}\n"
                                                                     ",{\"function\":\"wait\",\"file\":null,"
                                                                     "\"line\":null,\"module\":\"/lib/"
                                                                     "libc.so.6\"}\n"
                                                                     ",{\"function\":\"helper\",\"file\":\"/"
                                                                     "src/"
                                                                     "helper.h\",\"line\":3,\"module\":\"/"
                                                                     "bin/app\"}\n"
                                                                     ",{\"function\":\"work\",\"file\":\"/"
                                                                     "src/app.c\",\"line\":31,\"module\":\"/"
                                                                     "bin/app\"}]}\n");
    fake_bytes_free(&text);
}

static void without_a_stack_the_list_is_empty(void **state)
{
    struct fixture *fixture = *state;
    fixture->request.keeps_stacks = true;
    fixture->request.thread = "nobody";
    make_report(fixture);
    struct fake_bytes text = json_of(fixture, NULL);
    assert_non_null(strstr((const char *)text.bytes, ",\"rows\":[],\"stacks\":[],\"frames\":[]}\n"));
    fake_bytes_free(&text);
}

/* ---- differences ---- */

static void assert_diff_table(const struct diff *diff, const char *expected)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    diff_table_write(&(struct diff_table){diff, NULL, 3, 80, false}, stream);
    fclose(stream);
    if (strcmp(text, expected) != 0)
        print_error("%s", text);
    assert_string_equal(text, expected);
    free(text);
}

/* One run of each side. */
static void compare(struct diff *diff, const struct report *before, const struct report *after,
                    enum diff_scale scale)
{
    const struct diff_side sides[] = {{before, 1, NULL}, {after, 1, NULL}};
    const struct diff_request request = {
        .by = REPORT_BY_FUNCTION, .metric = METRIC_WALL, .scale = scale, .units = {1, 2}};
    assert_int_equal(diff_make(diff, sides, &request), 0);
}

static void a_profile_does_not_differ_from_itself(void **state)
{
    struct fixture *fixture = *state;
    struct diff diff;
    make_report(fixture);
    for (int normalized = 0; normalized < 2; normalized++) {
        compare(&diff, &fixture->report, &fixture->report, normalized ? DIFF_SHARES : DIFF_AS_MEASURED);
        assert_int_equal(diff.row_count, 5);
        for (size_t i = 0; i < diff.row_count; i++) {
            assert_int_equal(diff.rows[i].presence, DIFF_BOTH);
            for (int metric = 0; metric < METRIC_COUNT; metric++) {
                assert_int_equal(diff_change(diff.rows[i].flat, (enum report_metric)metric), 0);
                assert_int_equal(diff_change(diff.rows[i].cum, (enum report_metric)metric), 0);
            }
        }
        diff_free(&diff);
    }
}

static void differences_are_after_less_before(void **state)
{
    struct fixture *fixture = *state;
    struct diff diff;
    make_report(fixture);
    fixture->request.thread = "pool";
    make_other(fixture, 3);
    compare(&diff, &fixture->report, &fixture->other_report, DIFF_AS_MEASURED);
    assert_diff_table(&diff, "wall    9.00 s to 12.0 s: +3.00 s (+33.3%)\n"
                             "cpu     3.30 s to 0: -3.30 s (-100.0%)\n"
                             "off-cpu 5.70 s to 12.0 s: +6.30 s (+110.5%)\n"
                             "\n"
                             "     WALL      CUM       %      CPU      CUM  THREADS NAMED\n"
                             "  +8.00 s  +8.00 s +200.0%        0        0  pool\n"
                             "  -4.80 s  -4.80 s    gone  -3.30 s  -3.30 s  app\n"
                             "  -200 ms  -200 ms    gone        0        0  [no thread]\n"
                             "\n"
                             "     WALL      CUM       %      CPU      CUM  FUNCTION\n"
                             "  +6.50 s  +6.50 s +118.2% -1.00 µs -1.00 µs  wait\n"
                             "  -3.25 s  -4.80 s    gone  -3.25 s  -3.30 s  work\n"
                             "  -200 ms  -200 ms    gone        0        0  [unsampled]\n"
                             "and 2 more\n");
    struct fake_bytes text = json_of(fixture, &diff);
    const char *rows = strstr((const char *)text.bytes, "\"by\"");
    assert_non_null(rows);
    assert_string_equal(
        rows,
        "\"by\":\"function\",\"sort\":\"wall\",\"row_count\":5,\"rows\":["
        "\n{\"name\":\"wait\",\"presence\":\"both\",\"flat\":{\"before\":" JSON_VALUES(6, 1000, 5499999000, 5500000000) ",\"after\":" JSON_VALUES(4, 0, 12000000000, 12000000000) ",\"change\":" JSON_CHANGE(
            -2, -1000, 6500001000,
            6500000000) "},\"cum\":{\"before\":" JSON_VALUES(6, 1000, 5499999000,
                                                             5500000000) ",\"after\":" JSON_VALUES(4, 0,
                                                                                                   12000000000,
                                                                                                   12000000000) ",\"change\":" JSON_CHANGE(-2,
                                                                                                                                           -1000,
                                                                                                                                           6500001000,
                                                                                                                                           6500000000) "}}]}\n");
    fake_bytes_free(&text);
    diff_free(&diff);
}

static void normalized_only_shares_differ(void **state)
{
    struct fixture *fixture = *state;
    struct diff diff;
    make_report(fixture);
    make_other(fixture, 3); /* 17 s: wait 13.5 s of them, 7.147 s of 9 s; parts are rounded to 1 ns each */
    compare(&diff, &fixture->report, &fixture->other_report, DIFF_SHARES);
    assert_string_equal(diff.rows[0].name, "wait");
    assert_int_equal(diff_change(diff.rows[0].flat, METRIC_WALL), INT64_C(7147058823) - 5500 * (int64_t)MS);
    assert_string_equal(diff.rows[1].name, "work");
    assert_int_equal(diff_change(diff.rows[1].flat, METRIC_WALL), INT64_C(1720588235) - 3250 * (int64_t)MS);
    diff_free(&diff);
}

/* ---- text ---- */

static void assert_put(const char *text, int columns, enum text_cut cut, const char *expected)
{
    char buffer[256] = "";
    FILE *stream = fmemopen(buffer, sizeof buffer, "w");
    int used = text_put(stream, text, columns, cut);
    fclose(stream);
    assert_string_equal(buffer, expected);
    assert_int_equal(used, text_width(expected));
}

static void names_are_cut_by_columns(void **state)
{
    assert_put("function", 8, TEXT_CUT_MIDDLE, "function");
    assert_put("function", -1, TEXT_CUT_MIDDLE, "function");
    assert_put("function", 7, TEXT_CUT_MIDDLE, "fun…ion");
    assert_put("function", 6, TEXT_CUT_END, "funct…");
    assert_put("/lib/libc.so.6", 10, TEXT_CUT_BEGIN, "…libc.so.6");
    assert_put("function", 1, TEXT_CUT_MIDDLE, "…");
    assert_put("function", 0, TEXT_CUT_MIDDLE, "");
    assert_put("日本語", 6, TEXT_CUT_END, "日本語");
    assert_put("日本語", 5, TEXT_CUT_END, "日本…");
    assert_put("日本語", 4, TEXT_CUT_END, "日…");
    assert_put("a\033[31mb\n\x7f", 20, TEXT_CUT_END, "a?[31mb??");
    assert_int_equal(text_width("日本語e\xcc\x81"), 7);
}

static void assert_time(uint64_t ns, const char *expected)
{
    char text[TEXT_NUMBER_BYTES];
    text_time(text, ns);
    assert_string_equal(text, expected);
}

/* Of independent recordings: 3 and 4 make 5. */
static void a_difference_has_the_error_of_both(void **state)
{
    (void)state;
    const struct report_error errors[2] = {{300, 30}, {400, 40}},
                              few[2] = {{300, REPORT_ERROR_UNKNOWN}, {0, 0}};
    assert_int_equal(diff_error(errors).wall_ns, 500);
    assert_int_equal(diff_error(errors).cpu_ns, 50);
    assert_int_equal(diff_error(few).wall_ns, 300);
    assert_int_equal(diff_error(few).cpu_ns, REPORT_ERROR_UNKNOWN);
}

static void assert_within(uint64_t ns, uint64_t error_ns, const char *time, const char *share)
{
    char text[TEXT_NUMBER_BYTES];
    text_time_within(text, ns, error_ns);
    assert_string_equal(text, time);
    text_share_within(text, ns, UINT64_C(10000000000), error_ns);
    assert_string_equal(text, share);
}

/* A single sample of 360 ms is "400 ms". */
static void numbers_have_no_digit_that_is_chance(void **state)
{
    (void)state;
    assert_within(1234567890, 1000, "1.23 s", "12.3%");
    assert_within(1234567890, 45 * NS_PER_MS, "1.23 s", "12.3%");
    assert_within(1234567890, 99 * NS_PER_MS, "1.23 s", "12.3%");
    assert_within(1234567890, 100 * NS_PER_MS, "1.2 s", "12%");
    assert_within(1264567890, 999 * NS_PER_MS, "1.3 s", "13%");
    assert_within(1264567890, UINT64_C(5000000000), "1 s", "10%");
    assert_within(360 * NS_PER_MS, UINT64_MAX, "400 ms", "4%");
    assert_within(96 * NS_PER_MS, 30 * NS_PER_MS, "100 ms", "1.0%");
    assert_within(45600 * NS_PER_US, 2 * NS_PER_MS, "46 ms", "0.5%");
    assert_within(0, UINT64_MAX, "0", "0%");
}

static void times_have_three_digits_and_a_unit(void **state)
{
    char text[TEXT_NUMBER_BYTES];
    assert_time(0, "0");
    assert_time(1, "1 ns");
    assert_time(999, "999 ns");
    assert_time(1000, "1.00 µs");
    assert_time(999499, "999 µs");
    assert_time(999500, "1.00 ms");
    assert_time(12345678, "12.3 ms");
    assert_time(9994000000, "9.99 s");
    assert_time(9995000000, "10.0 s");
    assert_time(UINT64_C(123456000000000), "123456 s");
    text_time_change(text, -1500000);
    assert_string_equal(text, "-1.50 ms");
    text_time_change(text, 7);
    assert_string_equal(text, "+7 ns");
    text_share(text, 1, 3);
    assert_string_equal(text, "33.3%");
    text_share(text, 9999, 10000);
    assert_string_equal(text, "100%");
    text_share(text, 1, 0);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sums_are_exact_and_recursion_counts_once, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_may_be_other_things_than_functions, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_say_what_they_were_mostly_in, setup, teardown),
        cmocka_unit_test_setup_teardown(filters_leave_what_was_selected, setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_of_80_columns, setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_with_error_bars, setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_of_50_columns_has_fewer, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_of_one_name_are_not_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(json_has_everything_in_ns, setup, teardown),
        cmocka_unit_test_setup_teardown(json_has_stacks_on_request, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_stack_the_list_is_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(a_profile_does_not_differ_from_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(differences_are_after_less_before, setup, teardown),
        cmocka_unit_test_setup_teardown(normalized_only_shares_differ, setup, teardown),
        cmocka_unit_test(names_are_cut_by_columns),
        cmocka_unit_test(a_difference_has_the_error_of_both),
        cmocka_unit_test(numbers_have_no_digit_that_is_chance),
        cmocka_unit_test(times_have_three_digits_and_a_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
