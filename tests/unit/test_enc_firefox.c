/*
 * A Firefox profile made by hand, member by member. tests/e2e/e2e_firefox.sh has real ones read by the
 * released reader.
 */
#include "tool/formats/formats.h"

#include "base/clock.h"
#include "lib/fake_files.h"
#include "lib/fake_stacks.h"
#include "tool/formats/firefox_tables.h"
#include "account/fold.h"

#include <errno.h>
#include <string.h>

enum { THREADS = 2, LOCATIONS_MAX = PSEUDO_COUNT + 8, FUNCTIONS = PSEUDO_COUNT + 5 };

/* Functions, and with what locations they are told from pseudo ones. */
enum { MAIN = PSEUDO_COUNT, WORK, INLINED, POLL, JITTED };

static const uint64_t start_ns = 5000, low = 0x40000000;

struct fixture {
    struct fake_directory directory;
    struct arena arena;
    struct tree tree;
    struct module_list modules;
    struct fold fold;
    struct fold_thread thread;
    struct symbols symbols;
    struct symbol_function functions[FUNCTIONS];
    struct symbol_frame frames[LOCATIONS_MAX];
    uint32_t first_frame[LOCATIONS_MAX + 1], region_of[LOCATIONS_MAX];
    arena_ref library, main_code, work_code, poll_code, jit_code;
    arena_ref thread_of_number[THREADS + 1];
    struct profile profile;
    struct timeline *timeline;
    struct fake_bytes file;
};

static void add_module(struct fixture *fixture)
{
    static const char build_id[] = "\x01\x23\x45\x67\x89\xab\xcd\xef\x10\x32\x54\x76\x98\xba\xdc\xfe\xaa";
    fixture->library = arena_alloc(&fixture->arena, sizeof(struct module));
    struct module *module = arena_at(&fixture->arena, fixture->library);
    module->loaded_low = low;
    module->path = arena_strdup(&fixture->arena, "/opt/lib/libfoo.so.1");
    module->build_id_bytes = sizeof(build_id) - 1;
    memcpy(module->build_id, build_id, sizeof(build_id) - 1);
    module->is_sampled = module->is_main = true;
    fixture->modules = (struct module_list){.arena = &fixture->arena, .newest = fixture->library, .count = 1};
}

/* The work is inlined into main's callee: its location has two frames, the inlined one first. */
static void add_code(struct fixture *fixture)
{
    static const struct symbol_frame frames[] = {
        {0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {MAIN, 12}, {INLINED, 7}, {WORK, 30}, {POLL, 0}, {JITTED, 0},
    };
    struct tree *tree = &fixture->tree;
    fixture->main_code = tree_location(tree, fixture->library, low + 0x1010, low + 0x1000);
    fixture->work_code = tree_location(tree, fixture->library, low + 0x2020, low + 0x2000);
    fixture->poll_code = tree_location(tree, fixture->library, low + 0x3004, low + 0x3000);
    fixture->jit_code = tree_location(tree, 0, 0x7000, 0);
    memcpy(fixture->frames, frames, sizeof(frames));
    for (uint32_t i = 0; i < tree->location_count + 1; i++)
        fixture->first_frame[i] = i + (i > PSEUDO_COUNT + 1);
    for (int i = 0; i < PSEUDO_COUNT; i++)
        fixture->functions[i] = (struct symbol_function){.name = tree_pseudo_name(i)};
    fixture->functions[MAIN] = (struct symbol_function){.name = "main", .file = "/src/m.c", .start_line = 10};
    fixture->functions[WORK] = (struct symbol_function){.name = "work", .file = "/src/w.c", .start_line = 20};
    fixture->functions[INLINED] = (struct symbol_function){.name = "inlined<T>", .file = "/src/w.c"};
    fixture->functions[POLL] = (struct symbol_function){.name = "__poll"};
    fixture->functions[JITTED] = (struct symbol_function){.name = "[anonymous code]"};
    fixture->symbols = (struct symbols){.location_count = tree->location_count,
                                        .function_count = FUNCTIONS,
                                        .functions = fixture->functions,
                                        .frames = fixture->frames,
                                        .first_frame = fixture->first_frame,
                                        .region_of = fixture->region_of};
}

static void add_thread(struct fixture *fixture, uint32_t number, const char *name, uint64_t end_ns)
{
    arena_ref ref = arena_alloc(&fixture->arena, sizeof(struct thread_record));
    struct thread_record *thread = arena_at(&fixture->arena, ref);
    thread->number = number;
    thread->tid = 4000 + (int32_t)number;
    thread->start_ns = start_ns + (number - 1) * NS_PER_MS;
    thread->end_ns = end_ns;
    strcpy(thread->name, name);
    thread->root = tree_root(&fixture->tree, number);
    fixture->thread_of_number[number] = ref;
}

static int setup(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof(fixture));
    *state = &fixture;
    fake_directory_create(&fixture.directory);
    assert_int_equal(arena_init(&fixture.arena, 1 << 22), 0);
    assert_int_equal(tree_init(&fixture.tree, &fixture.arena), 0);
    add_module(&fixture);
    add_code(&fixture);
    add_thread(&fixture, 1, "main", 0);
    add_thread(&fixture, 2, "\"2nd\"", start_ns + 3500 * NS_PER_US);
    fixture.timeline = timeline_create(1 << 16, start_ns, 1);
    fixture.fold = (struct fold){.tree = &fixture.tree, .timeline = fixture.timeline};
    const struct thread_record *first = arena_at(&fixture.arena, fixture.thread_of_number[1]);
    fold_thread_begin(&fixture.thread, first->root, &(struct fold_clocks){start_ns, 0, FOLD_NO_DELAY});
    timeline_begin(&fixture.thread.timeline, 1, 0);
    fixture.profile = (struct profile){.arena = &fixture.arena,
                                       .tree = &fixture.tree,
                                       .modules = &fixture.modules,
                                       .symbols = &fixture.symbols,
                                       .timeline = fixture.timeline,
                                       .thread_of_number = fixture.thread_of_number,
                                       .thread_count = THREADS,
                                       .start_utc_ns = UINT64_C(1764000000123456789),
                                       .duration_ns = 120 * NS_PER_MS,
                                       .period_ns = NS_PER_MS,
                                       .restraint = "",
                                       .command = "./app --flag"};
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    fake_bytes_free(&fixture->file);
    fake_directory_remove(&fixture->directory);
    timeline_destroy(fixture->timeline);
    tree_deinit(&fixture->tree);
    arena_deinit(&fixture->arena);
    return 0;
}

/* ---- feeding, writing, comparing ---- */

enum seen { RUNNING, WAITING, UNCHANGED };

/* At the next tick; `inner` is what main calls, 0 for nothing. */
static void see(struct fixture *fixture, uint64_t time_us, arena_ref inner, uint64_t cpu_us, enum seen seen)
{
    const arena_ref path[2] = {inner, fixture->main_code};
    const struct fold_observation observation = {
        .time_ns = start_ns + time_us * NS_PER_US,
        .until_tick = ++fixture->timeline->tick,
        .cpu_clock_ns = fixture->thread.cpu_clock_ns + cpu_us * NS_PER_US,
        .is_running = seen == RUNNING,
        .is_unchanged = seen == UNCHANGED,
        .path = inner ? path : path + 1,
        .depth = inner ? 2 : 1,
    };
    fold_observe(&fixture->fold, &fixture->thread, &observation);
}

static const char *written(struct fixture *fixture)
{
    int error;
    struct sink *sink = sink_create(fixture->directory.fd, "out.json", SINK_PLAIN, &error);
    assert_non_null(sink);
    assert_int_equal(enc_firefox_write(&fixture->profile, sink), 0);
    assert_int_equal(sink_commit(sink), 0);
    fake_bytes_free(&fixture->file);
    fixture->file = fake_read(&fixture->directory, "out.json");
    return (const char *)fixture->file.bytes;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("%s\nis not in\n%s", part, text);
}

/* ---- samples ---- */

/* The document's example: its second table, row by row, after the thread's beginning. */
static void the_idle_example(void **state)
{
    struct fixture *fixture = *state;
    see(fixture, 100000, fixture->work_code, 500, RUNNING);
    see(fixture, 101400, fixture->poll_code, 100, WAITING);
    see(fixture, 102800, fixture->poll_code, 0, WAITING);
    see(fixture, 104200, fixture->poll_code, 0, UNCHANGED);
    see(fixture, 105600, fixture->poll_code, 0, UNCHANGED);
    see(fixture, 107000, 0, 700, RUNNING);
    see(fixture, 108400, fixture->poll_code, 600, WAITING);
    see(fixture, 109800, fixture->poll_code, 0, UNCHANGED);
    see(fixture, 111200, fixture->poll_code, 0, UNCHANGED);
    see(fixture, 112600, fixture->poll_code, 100, WAITING);
    see(fixture, 114000, fixture->poll_code, 0, UNCHANGED);
    const char *text = written(fixture);
    assert_has(text, "\"time\":[0,100,101.4,105.6,107,108.4,111.2,112.6,114],"
                     "\"weight\":[0,100,1.4,4.2,1.4,1.4,2.8,1.4,1.4],\"weightType\":\"tracing-ms\","
                     "\"threadCPUDelta\":[0,500000,100000,0,700000,600000,0,100000,0],\"length\":9}");
}

/* Frames have the category of what most time of their path is spent on. A sample of another one has a frame
 * more. */
static void stacks_and_frames(void **state)
{
    struct fixture *fixture = *state;
    see(fixture, 1000, fixture->work_code, 1, RUNNING);
    see(fixture, 2000, fixture->poll_code, 1, WAITING);
    see(fixture, 3000, fixture->poll_code, 1, RUNNING);
    see(fixture, 4000, fixture->work_code, 1, WAITING); /* for something else */
    see(fixture, 5000, fixture->jit_code, 1, RUNNING);
    const char *text = written(fixture);
    assert_has(text, "{\"stack\":[null,4,5,2,6,1],");
    /* main; in it, the newest first: code in no file, poll, work with what is inlined. Then the waits. */
    assert_has(text,
               "\"stackTable\":{\"frame\":[0,1,2,3,4,5,6],\"prefixOffset\":[0,1,2,3,1,3,2],\"length\":7}");
    assert_has(text, "\"frameTable\":{\"address\":[4112,-1,12292,8224,8224,-1,-1],"
                     "\"inlineDepth\":[0,0,0,0,1,0,0],\"category\":[0,0,0,0,0,13,2],");
    assert_has(text, "\"func\":[5,9,8,6,7,23,12],\"nativeSymbol\":[0,null,2,1,1,null,null],");
    assert_has(text, "\"line\":[12,null,null,30,7,null,null],");
    assert_has(text, "\"(other)\",\"(other wait)\",\"(lock)\",");
}

/* poll has waited for most of its time, and main too. No path has two categories, as readers would draw it
 * grey. */
static void frames_are_coloured_by_what_they_spend(void **state)
{
    struct fixture *fixture = *state;
    see(fixture, 1000, fixture->work_code, 1, RUNNING);
    see(fixture, 2000, fixture->poll_code, 1, RUNNING);
    see(fixture, 5000, fixture->poll_code, 0, WAITING);
    const char *text = written(fixture);
    assert_has(text, "{\"stack\":[null,3,4,1],");
    assert_has(text, "\"stackTable\":{\"frame\":[0,1,2,3,4],\"prefixOffset\":[0,1,2,1,3],\"length\":5}");
    assert_has(text, "\"category\":[13,13,0,0,0],\"subcategory\":[0,0,0,0,0],\"func\":[5,8,6,7,10],");
}

static void functions_files_and_libraries(void **state)
{
    const char *text = written(*state);
    assert_has(text, "\"libs\":[{\"arch\":\"" FIREFOX_ARCH
                     "\",\"name\":\"libfoo.so.1\",\"path\":\"/opt/lib/libfoo.so.1\","
                     "\"debugName\":\"libfoo.so.1\",\"debugPath\":\"/opt/lib/libfoo.so.1\","
                     "\"breakpadId\":\"67452301AB89EFCD1032547698BADCFE0\","
                     "\"codeId\":\"0123456789abcdef1032547698badcfeaa\"}]");
    assert_has(text, "\"funcTable\":{\"name\":[1,2,3,4,5,6,7,8,9,10,11,12,");
    assert_has(text, "\"resource\":[-1,-1,-1,-1,-1,0,0,0,0,-1,-1,");
    assert_has(text, "\"source\":[null,null,null,null,null,0,1,1,null,null,null,");
    assert_has(text, "\"lineNumber\":[null,null,null,null,null,10,20,null,null,null,null,");
    assert_has(text, "\"sources\":{\"id\":[null,null],\"filename\":[27,28],");
    assert_has(text,
               "\"resourceTable\":{\"lib\":[0],\"name\":[29],\"host\":[null],\"type\":[1],\"length\":1}");
    assert_has(text, "\"nativeSymbols\":{\"libIndex\":[0,0,0],\"address\":[4096,8192,12288],\"name\":[6,7,9],"
                     "\"functionSize\":[null,null,null],\"length\":3}");
    assert_has(text,
               "\"stringArray\":[\"\",\"[unsampled]\",\"[not responding]\",\"[truncated]\",\"[overflow]\","
               "\"[unloaded]\",\"main\",\"work\",\"inlined\\u003cT\\u003e\",\"__poll\",\"[anonymous code]\","
               "\"(running)\",");
    assert_has(text, "\"(not seen)\",\"/src/m.c\",\"/src/w.c\",\"libfoo.so.1\"]");
}

/* ---- waits ---- */

/* Samples of one wait are one marker, also where the thread has run in between. */
static void waits_are_markers_of_their_thread(void **state)
{
    struct fixture *fixture = *state;
    see(fixture, 1000, fixture->work_code, 1, RUNNING);
    see(fixture, 2000, fixture->poll_code, 1, WAITING);
    see(fixture, 2500, fixture->poll_code, 0, UNCHANGED);
    see(fixture, 4000, fixture->poll_code, 1, WAITING);
    see(fixture, 5000, fixture->work_code, 1, WAITING);
    const char *text = written(fixture);
    assert_has(
        text,
        "\"markers\":{\"data\":[{\"type\":\"Wait\",\"summary\":1,\"kind\":2,\"function\":1,\"cause\":{"
        "\"stack\":1}},"
        "{\"type\":\"Wait\",\"summary\":3,\"kind\":4,\"function\":3,\"cause\":{\"stack\":3}}],\"name\":[5,6],"
        "\"startTime\":[1,4],\"endTime\":[4,5],\"phase\":[1,1],\"category\":[13,2],\"length\":2}");
    assert_has(text, "\"stringArray\":[\"\",\"main\",\"idle\",\"inlined\\u003cT\\u003e\",\"other\",\"Idle\","
                     "\"Waiting: other\",");
    assert_has(text, "{\"name\":\"Wait\",\"tooltipLabel\":\"{marker.name}: {marker.data.summary}\","
                     "\"tableLabel\":\"{marker.data.summary}\",\"chartLabel\":\"{marker.data.summary}\",");
    assert_has(text, "{\"key\":\"kind\",\"label\":\"Waits for\",\"format\":\"unique-string\"},");
}

/* ---- threads, events, and what the header says ---- */

static void threads_have_names_and_lives(void **state)
{
    const char *text = written(*state);
    assert_has(
        text,
        "\"threads\":[{\"name\":\"main\",\"processType\":\"default\",\"processStartupTime\":0,"
        "\"processShutdownTime\":null,\"processName\":\"main\",\"pid\":\"4001\",\"tid\":4001,"
        "\"isMainThread\":true,\"showMarkersInTimeline\":true,\"registerTime\":0,\"unregisterTime\":null,");
    assert_has(text, "{\"name\":\"\\\"2nd\\\"\",");
    assert_has(text, "\"tid\":4002,\"isMainThread\":false,\"showMarkersInTimeline\":false,\"registerTime\":1,"
                     "\"unregisterTime\":3.5,");
    assert_has(text, "\"initialVisibleThreads\":[0,1]");
}

/* Late ticks are the sampler's, and shown where a reader would miss the samples. */
static void events_are_the_main_threads_markers(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t ms = NS_PER_MS;
    const struct module *module = arena_at(&fixture->arena, fixture->library);
    timeline_event(fixture->timeline,
                   &(struct timeline_event){start_ns + ms, start_ns + ms, 0, module->path, EVENT_LOADED});
    timeline_event(fixture->timeline,
                   &(struct timeline_event){start_ns + 2 * ms, start_ns + 5 * ms, 3, 0, EVENT_LATE});
    timeline_event(fixture->timeline,
                   &(struct timeline_event){start_ns + 6 * ms, start_ns + 6 * ms, 0, 0, EVENT_EXEC});
    timeline_event(fixture->timeline,
                   &(struct timeline_event){start_ns + 200 * ms, start_ns + 300 * ms, 100, 0, EVENT_LATE});
    const char *text = written(fixture);
    assert_has(text,
               "\"markers\":{\"data\":[{\"type\":\"Library loaded\",\"library\":\"/opt/lib/libfoo.so.1\"},"
               "{\"type\":\"Exec\"},{\"type\":\"Late ticks\",\"missed\":100}],\"name\":[1,2,3],"
               "\"startTime\":[1,6,200],\"endTime\":[null,null,300],\"phase\":[0,0,1],\"category\":[1,1,1],"
               "\"length\":3}");
    assert_has(text, "\"markers\":{\"data\":[],");
}

static void the_header_says_what_the_numbers_are(void **state)
{
    struct fixture *fixture = *state;
    const char *text = written(fixture);
    assert_has(text, "{\"meta\":{\"version\":27,\"preprocessedProfileVersion\":66,\"product\":\"wallprof\",");
    assert_has(text, "\"arguments\":\"./app --flag\",\"interval\":1,\"startTime\":1764000000123.456789,");
    assert_has(text, "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}");
    assert_has(text, "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}");
    assert_null(strstr(text, "timeline: full"));
    fixture->profile.processes = &(const struct process_record){.name = "app", .pid = 4001, .ending = ""};
    fixture->profile.process_count = 1;
    assert_has(written(fixture), "\"product\":\"app\",");
    fixture->timeline->thinned = 17;
    assert_has(written(fixture),
               "timeline: full, so the oldest of it was thinned: 17 records merged, 0 dropped,");
}

static void without_a_timeline_there_is_nothing_to_write(void **state)
{
    struct fixture *fixture = *state;
    int error;
    struct sink *sink = sink_create(fixture->directory.fd, "none.json", SINK_PLAIN, &error);
    fixture->profile.timeline = NULL;
    assert_int_equal(enc_firefox_write(&fixture->profile, sink), -ENODATA);
    sink_commit(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_idle_example, setup, teardown),
        cmocka_unit_test_setup_teardown(stacks_and_frames, setup, teardown),
        cmocka_unit_test_setup_teardown(functions_files_and_libraries, setup, teardown),
        cmocka_unit_test_setup_teardown(frames_are_coloured_by_what_they_spend, setup, teardown),
        cmocka_unit_test_setup_teardown(waits_are_markers_of_their_thread, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_have_names_and_lives, setup, teardown),
        cmocka_unit_test_setup_teardown(events_are_the_main_threads_markers, setup, teardown),
        cmocka_unit_test_setup_teardown(the_header_says_what_the_numbers_are, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_timeline_there_is_nothing_to_write, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
