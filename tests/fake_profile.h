/*
 * A small profile made by hand, with something of everything: three threads (two with equal names), two
 * modules and code outside of them, inlined frames, lines, recursion, pseudo-frames, call counts.
 *
 *     main (11):     main < start          20 samples, cpu 100, offcpu  50, wall 150
 *                    work < main < start    3 samples, cpu  40, offcpu   7, wall  47
 *                    [unsampled]                                             wall   5
 *     worker (12):   fact < fact < fact < run   4 samples, cpu 30, wall 30
 *                    helper (inlined) < fact < run    2 samples, cpu 1, offcpu 9, wall 10
 *     worker (13):   jitted < run           1 sample, offcpu 1000, wall 1000
 *
 * Values are in units of UNIT_NS.
 */
#ifndef WALLPROF_TESTS_FAKE_PROFILE_H
#define WALLPROF_TESTS_FAKE_PROFILE_H

#include "profile.h"

#include "unit.h"

#include <string.h>

enum { FAKE_UNIT_NS = 1000003, FAKE_THREADS = 3, FAKE_LOCATIONS_MAX = 32, FAKE_FUNCTIONS = 16 };

struct fake_profile {
    struct wp_profile profile;
    struct wp_arena arena;
    struct wp_tree tree;
    struct wp_modules modules;
    struct wp_symbols symbols;
    arena_ref thread_of_number[FAKE_THREADS + 1], program, library;
    struct wp_function functions[FAKE_FUNCTIONS];
    struct wp_frame frames[2 * FAKE_LOCATIONS_MAX];
    uint32_t first_frame[FAKE_LOCATIONS_MAX + 1], region_of[FAKE_LOCATIONS_MAX];
    struct outside_region region;
    struct symbols_module known[2];
};

static inline arena_ref fake_module(struct fake_profile *fake, const char *path, uint64_t start, uint8_t id)
{
    arena_ref ref = arena_alloc(&fake->arena, sizeof(struct wp_module));
    struct wp_module *module = arena_at(&fake->arena, ref);
    *module = (struct wp_module){.start_pc = start,
                                 .end_pc = start + 0x5000,
                                 .file_offset = 0x1000,
                                 .load_bias = start - 0x1000,
                                 .is_sampled = true,
                                 .is_main = id == 1,
                                 .build_id_bytes = 20,
                                 .next = fake->modules.newest};
    memset(module->build_id, 0xa0 + id, 20);
    module->path = module->name = arena_strdup(&fake->arena, path);
    fake->modules.newest = ref;
    fake->modules.count++;
    return ref;
}

/* What stands for an address: the functions named here by index, innermost first. */
struct fake_place {
    uint64_t offset; /* in the program; above 0x100000 run-time code */
    struct wp_frame frames[2];
    uint32_t frame_count;
};

enum fake_function { FAKE_START, FAKE_MAIN, FAKE_WORK, FAKE_RUN, FAKE_FACT, FAKE_HELPER, FAKE_JITTED };
enum fake_place_index { AT_START, AT_MAIN, AT_WORK, AT_RUN, AT_FACT, AT_FACT_CALL, AT_HELPER, AT_JITTED };

static const struct wp_function fake_functions[] = {
    [FAKE_START] = {"_start", "_start", NULL, 0, true},
    [FAKE_MAIN] = {"main", "main", "/src/app/main.c", 10, true},
    [FAKE_WORK] = {"work(int, char const*)", "_Z4workiPKc", "/src/app/work.cc", 5, true},
    [FAKE_RUN] = {"run", "run", "/src/app/main.c", 40, true},
    [FAKE_FACT] = {"fact", "fact", "/src/app/fact.c", 3, true},
    [FAKE_HELPER] = {"helper", "helper", "/src/app/fact.h", 20, true},
    [FAKE_JITTED] = {"LazyCompile:~tick /app.js:7", "LazyCompile:~tick /app.js:7", NULL, 0, true},
};

static const struct fake_place fake_places[] = {
    [AT_START] = {0x10, {{FAKE_START, 0}}, 1},
    [AT_MAIN] = {0x100, {{FAKE_MAIN, 12}}, 1},
    [AT_WORK] = {0x200, {{FAKE_WORK, 7}}, 1},
    [AT_RUN] = {0x300, {{FAKE_RUN, 42}}, 1},
    [AT_FACT] = {0x400, {{FAKE_FACT, 4}}, 1},
    [AT_FACT_CALL] = {0x410, {{FAKE_FACT, 6}}, 1},
    [AT_HELPER] = {0x420, {{FAKE_HELPER, 21}, {FAKE_FACT, 5}}, 2},
    [AT_JITTED] = {0x100000, {{FAKE_JITTED, 0}}, 1},
};

static inline arena_ref fake_child(struct fake_profile *fake, arena_ref parent, enum fake_place_index place)
{
    const struct fake_place *at = &fake_places[place];
    bool is_outside = place == AT_JITTED;
    arena_ref location =
        tree_location(&fake->tree, is_outside ? 0 : fake->program, 0x400000 + at->offset, 0x400000);
    arena_ref node = tree_child(&fake->tree, parent, location);
    assert_int_not_equal(node, 0);
    return node;
}

static inline void fake_weigh(struct fake_profile *fake, arena_ref node, uint64_t calls, uint64_t samples,
                              uint64_t cpu, uint64_t offcpu)
{
    struct wp_node *at = tree_node(&fake->tree, node);
    at->calls = calls;
    at->self =
        (struct wp_values){samples, cpu * FAKE_UNIT_NS, offcpu * FAKE_UNIT_NS, (cpu + offcpu) * FAKE_UNIT_NS};
}

static inline arena_ref fake_thread(struct fake_profile *fake, int32_t tid, const char *name)
{
    uint32_t number = ++fake->profile.thread_count;
    arena_ref root = tree_root(&fake->tree, number);
    arena_ref ref = arena_alloc(&fake->arena, sizeof(struct wp_thread_record));
    struct wp_thread_record *record = arena_at(&fake->arena, ref);
    *record = (struct wp_thread_record){.root = root,
                                        .number = number,
                                        .tid = tid,
                                        .start_ns = UINT64_C(5000000000) + number,
                                        .end_ns = UINT64_C(9000000000) + number,
                                        .next = fake->thread_of_number[number - 1]};
    memcpy(record->name, name, strlen(name)); /* fewer than THREAD_NAME_BYTES */
    fake->thread_of_number[number] = ref;
    return root;
}

static inline void fake_stacks(struct fake_profile *fake)
{
    arena_ref main_root = fake_thread(fake, 11, "main");
    arena_ref start = fake_child(fake, main_root, AT_START), in_main = fake_child(fake, start, AT_MAIN);
    fake_weigh(fake, start, 1, 0, 0, 0);
    fake_weigh(fake, in_main, 1, 20, 100, 50);
    fake_weigh(fake, fake_child(fake, in_main, AT_WORK), 2, 3, 40, 7);
    fake_weigh(fake, tree_pseudo_child(&fake->tree, main_root, PSEUDO_UNSAMPLED), 0, 0, 0, 5);
    arena_ref run = fake_child(fake, fake_thread(fake, 12, "worker"), AT_RUN);
    arena_ref once = fake_child(fake, run, AT_FACT_CALL), twice = fake_child(fake, once, AT_FACT_CALL);
    fake_weigh(fake, run, 1, 0, 0, 0);
    fake_weigh(fake, once, 2, 0, 0, 0);
    fake_weigh(fake, twice, 1, 0, 0, 0);
    fake_weigh(fake, fake_child(fake, twice, AT_FACT), 1, 4, 30, 0);
    fake_weigh(fake, fake_child(fake, run, AT_HELPER), 1, 2, 1, 9);
    arena_ref other = fake_child(fake, fake_thread(fake, 13, "worker"), AT_RUN);
    fake_weigh(fake, other, 1, 0, 0, 0);
    fake_weigh(fake, fake_child(fake, other, AT_JITTED), 1, 1, 0, 1000);
}

/* Names for every location, pseudo-frames behind the program's functions. */
static inline void fake_names(struct fake_profile *fake)
{
    struct wp_symbols *symbols = &fake->symbols;
    const uint32_t count = sizeof fake_functions / sizeof *fake_functions;
    memcpy(fake->functions, fake_functions, sizeof fake_functions);
    for (int i = 0; i < PSEUDO_COUNT; i++)
        fake->functions[count + (uint32_t)i] =
            (struct wp_function){.name = tree_pseudo_name(i), .system_name = tree_pseudo_name(i)};
    const struct wp_location *of_index[FAKE_LOCATIONS_MAX];
    for (arena_ref ref = fake->tree.newest_location; ref; ref = tree_location_at(&fake->tree, ref)->next)
        of_index[tree_location_at(&fake->tree, ref)->index] = tree_location_at(&fake->tree, ref);
    uint32_t frames = 0;
    for (uint32_t i = 0; i < fake->tree.location_count; i++) {
        const struct wp_location *location = of_index[i];
        fake->first_frame[i] = frames;
        if (location->pseudo)
            fake->frames[frames++] = (struct wp_frame){count + location->pseudo - 1, 0};
        for (uint32_t p = 0; !location->pseudo && p < sizeof fake_places / sizeof *fake_places; p++) {
            if (location->address != 0x400000 + fake_places[p].offset)
                continue;
            memcpy(&fake->frames[frames], fake_places[p].frames, sizeof fake_places[p].frames);
            frames += fake_places[p].frame_count;
            fake->region_of[i] = p == AT_JITTED;
        }
    }
    fake->first_frame[fake->tree.location_count] = frames;
    fake->region =
        (struct outside_region){.start = 0x500000, .end = 0x501000, .path = "[JIT]", .has_names = true};
    fake->known[0] = (struct symbols_module){fake->program, true, true, true, true};
    *symbols = (struct wp_symbols){.location_count = fake->tree.location_count,
                                   .function_count = count + PSEUDO_COUNT,
                                   .module_count = 1,
                                   .region_count = 1,
                                   .functions = fake->functions,
                                   .frames = fake->frames,
                                   .first_frame = fake->first_frame,
                                   .region_of = fake->region_of,
                                   .regions = &fake->region,
                                   .modules = fake->known};
}

static inline void fake_profile_create(struct fake_profile *fake)
{
    memset(fake, 0, sizeof *fake);
    assert_int_equal(arena_init(&fake->arena, 1 << 16), 0);
    assert_int_equal(tree_init(&fake->tree, &fake->arena), 0);
    fake->modules.arena = &fake->arena;
    fake->library = fake_module(fake, "/usr/lib/libfoo.so.1", 0x7f0000000000, 2);
    fake->program = fake_module(fake, "/opt/app/bin/app", 0x400000, 1);
    fake_stacks(fake);
    fake_names(fake);
    uint32_t thread_count = fake->profile.thread_count;
    fake->profile =
        (struct wp_profile){.arena = &fake->arena,
                            .tree = &fake->tree,
                            .modules = &fake->modules,
                            .symbols = &fake->symbols,
                            .thread_of_number = fake->thread_of_number,
                            .thread_count = thread_count,
                            .labels = LABELS_ID,
                            .start_utc_ns = UINT64_C(1764000000123456789),
                            .duration_ns = UINT64_C(1252003756),
                            .period_ns = 10000000,
                            .threads_per_tick = 8,
                            .counters = {.ticks = 125, .samples = 30, .unchanged = 10, .answered = 20},
                            .restraint = "",
                            .command = "/opt/app/bin/app --fast"};
}

static inline void fake_profile_destroy(struct fake_profile *fake)
{
    tree_deinit(&fake->tree);
    arena_deinit(&fake->arena);
}

#endif
