#include "small_profile.h"

#include <string.h>

/* What stands for an address: the functions named here by index, innermost first. */
struct small_place {
    uint64_t offset; /* in the program; above 0x100000 run-time code */
    struct symbol_frame frames[2];
    uint32_t frame_count;
};

enum small_place_index { AT_START, AT_MAIN, AT_WORK, AT_RUN, AT_FACT, AT_FACT_CALL, AT_HELPER, AT_JITTED };

static arena_ref small_module(struct small_profile *small, const char *path, uint64_t start, uint8_t id)
{
    arena_ref ref = arena_alloc(&small->arena, sizeof(struct module));
    struct module *module = arena_at(&small->arena, ref);
    *module = (struct module){.start_pc = start,
                              .end_pc = start + 0x5000,
                              .file_offset = 0x1000,
                              .load_bias = start - 0x1000,
                              .is_sampled = true,
                              .is_main = id == 1,
                              .build_id_bytes = 20,
                              .next = small->modules.newest};
    memset(module->build_id, 0xa0 + id, 20);
    module->path = module->name = arena_strdup(&small->arena, path);
    small->modules.newest = ref;
    small->modules.count++;
    return ref;
}

static const struct symbol_function small_functions[] = {
    [SMALL_START] =
        {.name = "_start", .system_name = "_start", .file = NULL, .start_line = 0, .is_symbol = true},
    [SMALL_MAIN] = {.name = "main",
                    .system_name = "main",
                    .file = "/src/app/main.c",
                    .start_line = 10,
                    .is_symbol = true},
    [SMALL_WORK] = {.name = "work(int, char const*)",
                    .system_name = "_Z4workiPKc",
                    .file = "/src/app/work.cc",
                    .start_line = 5,
                    .is_symbol = true},
    [SMALL_RUN] =
        {.name = "run", .system_name = "run", .file = "/src/app/main.c", .start_line = 40, .is_symbol = true},
    [SMALL_FACT] = {.name = "fact",
                    .system_name = "fact",
                    .file = "/src/app/fact.c",
                    .start_line = 3,
                    .is_symbol = true},
    [SMALL_HELPER] = {.name = "helper",
                      .system_name = "helper",
                      .file = "/src/app/fact.h",
                      .start_line = 20,
                      .is_symbol = true},
    [SMALL_JITTED] = {.name = "LazyCompile:~tick /app.js:7",
                      .system_name = "LazyCompile:~tick /app.js:7",
                      .file = NULL,
                      .start_line = 0,
                      .is_symbol = true},
};

static const struct small_place small_places[] = {
    [AT_START] = {0x10, {{SMALL_START, 0}}, 1},
    [AT_MAIN] = {0x100, {{SMALL_MAIN, 12}}, 1},
    [AT_WORK] = {0x200, {{SMALL_WORK, 7}}, 1},
    [AT_RUN] = {0x300, {{SMALL_RUN, 42}}, 1},
    [AT_FACT] = {0x400, {{SMALL_FACT, 4}}, 1},
    [AT_FACT_CALL] = {0x410, {{SMALL_FACT, 6}}, 1},
    [AT_HELPER] = {0x420, {{SMALL_HELPER, 21}, {SMALL_FACT, 5}}, 2},
    [AT_JITTED] = {0x100000, {{SMALL_JITTED, 0}}, 1},
};

static arena_ref small_child(struct small_profile *small, arena_ref parent, enum small_place_index place)
{
    const struct small_place *at = &small_places[place];
    bool is_outside = place == AT_JITTED;
    arena_ref location =
        tree_location(&small->tree, is_outside ? 0 : small->program, 0x400000 + at->offset, 0x400000);
    arena_ref node = tree_child(&small->tree, parent, location);
    assert_int_not_equal(node, 0);
    return node;
}

static void small_weigh(struct small_profile *small, arena_ref node, uint64_t calls, uint64_t samples,
                        uint64_t cpu, uint64_t blocked)
{
    struct tree_node *at = tree_node(&small->tree, node);
    at->calls = calls;
    at->self = (struct values){
        .samples = samples, .cpu_ns = cpu * SMALL_UNIT_NS, .blocked_ns = blocked * SMALL_UNIT_NS};
}

static arena_ref small_thread(struct small_profile *small, int32_t tid, const char *name)
{
    uint32_t number = ++small->profile.thread_count;
    arena_ref root = tree_root(&small->tree, number);
    arena_ref ref = arena_alloc(&small->arena, sizeof(struct thread_record));
    struct thread_record *record = arena_at(&small->arena, ref);
    *record = (struct thread_record){.root = root,
                                     .number = number,
                                     .tid = tid,
                                     .start_ns = UINT64_C(5000000000) + number,
                                     .end_ns = UINT64_C(9000000000) + number,
                                     .next = small->thread_of_number[number - 1]};
    memcpy(record->name, name, strlen(name)); /* fewer than THREAD_NAME_BYTES */
    small->thread_of_number[number] = ref;
    return root;
}

/* Two observations of the first thread, where it was seen to be in work; a library came,
 * and ticks were late. */
static void small_timeline(struct small_profile *small, arena_ref node)
{
    small->records[0] = (struct timeline_record){.first_ns = 5000000000,
                                                 .last_ns = 5000000000,
                                                 .cpu_ns = 40 * SMALL_UNIT_NS,
                                                 .wall_ns = 40 * SMALL_UNIT_NS,
                                                 .thread = 1,
                                                 .node = node,
                                                 .observations = 1,
                                                 .ticks = 1,
                                                 .id = 1};
    small->records[1] = small->records[0];
    small->records[1].first_ns = 5010000000;
    small->records[1].last_ns = 5070000000;
    small->records[1].cpu_ns = 0;
    small->records[1].wall_ns = 7 * SMALL_UNIT_NS;
    small->records[1].observations = small->records[1].ticks = 7;
    small->records[1].state = TIMELINE_WAITING;
    small->records[1].id = 2;
    const struct module *library = arena_at(&small->arena, small->library);
    small->events[0] = (struct timeline_event){
        .begin_ns = 5000000001, .end_ns = 5000000001, .name = library->path, .kind = EVENT_LOADED};
    small->events[1] = (struct timeline_event){
        .begin_ns = 5030000000, .end_ns = 5060000000, .number = 3, .kind = EVENT_LATE};
    small->timeline = (struct timeline){.start_ns = 4990000000,
                                        .records = small->records,
                                        .count = 2,
                                        .capacity = 4,
                                        .events = small->events,
                                        .event_count = 2,
                                        .event_capacity = 2,
                                        .thinned = 5};
}

static void small_stacks(struct small_profile *small)
{
    arena_ref main_root = small_thread(small, 11, "main");
    arena_ref start = small_child(small, main_root, AT_START), in_main = small_child(small, start, AT_MAIN);
    small_weigh(small, start, 1, 0, 0, 0);
    small_weigh(small, in_main, 1, 20, 100, 50);
    arena_ref work = small_child(small, in_main, AT_WORK);
    small_weigh(small, work, 2, 3, 40, 7);
    small_timeline(small, work);
    small_weigh(small, tree_pseudo_child(&small->tree, main_root, PSEUDO_UNSAMPLED), 0, 0, 0, 5);
    arena_ref run = small_child(small, small_thread(small, 12, "worker"), AT_RUN);
    arena_ref once = small_child(small, run, AT_FACT_CALL), twice = small_child(small, once, AT_FACT_CALL);
    small_weigh(small, run, 1, 0, 0, 0);
    small_weigh(small, once, 2, 0, 0, 0);
    small_weigh(small, twice, 1, 0, 0, 0);
    small_weigh(small, small_child(small, twice, AT_FACT), 1, 4, 30, 0);
    small_weigh(small, small_child(small, run, AT_HELPER), 1, 2, 1, 9);
    arena_ref other = small_child(small, small_thread(small, 13, "worker"), AT_RUN);
    small_weigh(small, other, 1, 0, 0, 0);
    small_weigh(small, small_child(small, other, AT_JITTED), 1, 1, 0, 1000);
}

/* Names for every location, pseudo-frames after the program's functions. */
static void small_names(struct small_profile *small)
{
    struct symbols *symbols = &small->symbols;
    const uint32_t count = sizeof small_functions / sizeof *small_functions;
    memcpy(small->functions, small_functions, sizeof small_functions);
    for (int i = 0; i < PSEUDO_COUNT; i++)
        small->functions[count + (uint32_t)i] =
            (struct symbol_function){.name = tree_pseudo_name(i), .system_name = tree_pseudo_name(i)};
    const struct location *of_index[SMALL_LOCATIONS_MAX];
    for (arena_ref ref = small->tree.newest_location; ref; ref = tree_location_at(&small->tree, ref)->next)
        of_index[tree_location_at(&small->tree, ref)->index] = tree_location_at(&small->tree, ref);
    uint32_t frames = 0;
    for (uint32_t i = 0; i < small->tree.location_count; i++) {
        const struct location *location = of_index[i];
        small->first_frame[i] = frames;
        if (location->pseudo)
            small->frames[frames++] = (struct symbol_frame){count + location->pseudo - 1, 0};
        for (uint32_t p = 0; !location->pseudo && p < sizeof small_places / sizeof *small_places; p++) {
            if (location->address != 0x400000 + small_places[p].offset)
                continue;
            memcpy(&small->frames[frames], small_places[p].frames, sizeof small_places[p].frames);
            frames += small_places[p].frame_count;
            small->region_of[i] = p == AT_JITTED;
        }
    }
    small->first_frame[small->tree.location_count] = frames;
    small->region =
        (struct code_region){.start = 0x500000, .end = 0x501000, .path = "[JIT]", .has_names = true};
    small->known[0] = (struct symbols_module){small->program, true, true, true, true};
    *symbols = (struct symbols){.location_count = small->tree.location_count,
                                .function_count = count + PSEUDO_COUNT,
                                .module_count = 1,
                                .region_count = 1,
                                .functions = small->functions,
                                .frames = small->frames,
                                .first_frame = small->first_frame,
                                .region_of = small->region_of,
                                .regions = &small->region,
                                .modules = small->known};
}

void small_profile_create(struct small_profile *small)
{
    memset(small, 0, sizeof *small);
    assert_int_equal(arena_init(&small->arena, 1 << 16), 0);
    assert_int_equal(tree_init(&small->tree, &small->arena), 0);
    small->modules.arena = &small->arena;
    small->library = small_module(small, "/usr/lib/libfoo.so.1", 0x7f0000000000, 2);
    small->program = small_module(small, "/opt/app/bin/app", 0x400000, 1);
    small_stacks(small);
    small_names(small);
    uint32_t thread_count = small->profile.thread_count;
    small->profile =
        (struct profile){.arena = &small->arena,
                         .tree = &small->tree,
                         .modules = &small->modules,
                         .symbols = &small->symbols,
                         .thread_of_number = small->thread_of_number,
                         .thread_count = thread_count,
                         .labels = LABELS_ID,
                         .start_utc_ns = UINT64_C(1764000000123456789),
                         .duration_ns = UINT64_C(1252003756),
                         .period_ns = 10000000,
                         .threads_per_tick = 8,
                         .counters = {.ticks = 125, .samples = 30, .unchanged = 10, .replies = 20},
                         .restraint = "",
                         .command = "/opt/app/bin/app --fast"};
}

void small_profile_destroy(struct small_profile *small)
{
    tree_deinit(&small->tree);
    arena_deinit(&small->arena);
}
