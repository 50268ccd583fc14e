/*
 * stacks FILE [STACKS]: writes a recording as a store, made up: so many distinct stacks (100,000), 10 to 60
 * frames deep, of 20,000 functions in eight modules and eight threads, with a timeline. A stack shares its
 * outer frames with the one before, and a call site calls one of two functions, as in real programs. The same
 * file every time.
 */
#include "encode/format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STACKS = 100000,
    FUNCTIONS = 20000,
    SITES = 3, /* in a function: locations */
    FILES = 2000,
    MODULES = 8,
    THREADS = 8,
    DEPTH_MIN = 10,
    DEPTH_MAX = 60,
    NAME_BYTES = 96,
    FUNCTION_BYTES = 256,
    PERIOD_NS = 10000000
};

static struct arena arena;
static struct tree tree;
static struct module_list modules = {.arena = &arena};
static arena_ref module_refs[MODULES], locations[FUNCTIONS * SITES], thread_of_number[THREADS + 1],
    roots[THREADS];
static uint64_t random_state = 1;

static uint32_t draw(uint32_t below)
{
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)((random_state >> 32) % below);
}

static void *take(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (!memory)
        abort();
    return memory;
}

static void make_modules(void)
{
    char path[NAME_BYTES];
    for (unsigned i = 0; i < MODULES; i++) {
        module_refs[i] = arena_alloc(&arena, sizeof(struct module));
        struct module *module = arena_at(&arena, module_refs[i]);
        snprintf(path, sizeof path, "/nonexistent/lib/libpart%u.so.1", i);
        module->start_pc = ((uint64_t)i + 1) << 32;
        module->end_pc = module->start_pc + FUNCTIONS * FUNCTION_BYTES;
        module->load_bias = module->loaded_low = module->start_pc;
        module->loaded_high = module->end_pc;
        module->is_main = i == 0;
        module->is_sampled = true;
        module->next = modules.newest;
        module->path = module->name = arena_strdup(&arena, path);
        modules.newest = module_refs[i];
        modules.count++;
    }
}

static void make_locations(void)
{
    for (uint32_t i = 0; i < FUNCTIONS * SITES; i++) {
        uint32_t function = i / SITES;
        arena_ref module = module_refs[function % MODULES];
        uint64_t start =
            ((const struct module *)arena_at(&arena, module))->start_pc + function * FUNCTION_BYTES;
        locations[i] = tree_location(&tree, module, start + 16 + 32 * (i % SITES), start);
    }
}

static void make_threads(void)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        roots[i] = tree_root(&tree, i + 1);
        thread_of_number[i + 1] = arena_alloc(&arena, sizeof(struct thread_record));
        struct thread_record *record = arena_at(&arena, thread_of_number[i + 1]);
        record->next = thread_of_number[i];
        record->root = roots[i];
        record->number = i + 1;
        record->tid = 1000 + (int32_t)i;
        record->end_ns = (uint64_t)STACKS * PERIOD_NS;
        snprintf(record->name, sizeof record->name, "worker-%u", i);
    }
}

/* The site that the call from a site leads to: in one of two functions. */
static uint32_t callee_of(uint32_t site)
{
    uint32_t mixed = (site * 2 + draw(2)) * 2654435761U;
    return (mixed >> 7) % FUNCTIONS * SITES + draw(SITES);
}

/* Goes on from a frame of the stack before, rather near its leaf. */
static arena_ref next_stack(arena_ref path[DEPTH_MAX + 1], uint32_t sites[DEPTH_MAX + 1], uint32_t *depth)
{
    uint32_t wanted = DEPTH_MIN + draw(DEPTH_MAX - DEPTH_MIN + 1),
             kept = *depth ? *depth - draw(*depth) % 8 : 0;
    if (kept >= wanted)
        kept = wanted - 1;
    if (wanted > kept + 12)
        wanted = kept + 12 > DEPTH_MIN ? kept + 12 : DEPTH_MIN;
    for (uint32_t at = kept + 1; at <= wanted; at++) {
        sites[at] = callee_of(sites[at - 1]);
        path[at] = tree_child(&tree, path[at - 1], locations[sites[at]]);
        tree_node(&tree, path[at])->calls++;
    }
    *depth = wanted;
    return path[wanted];
}

static void add_stacks(struct timeline *timeline, uint32_t stacks, uint32_t thread)
{
    arena_ref path[DEPTH_MAX + 1] = {roots[thread]};
    uint32_t sites[DEPTH_MAX + 1] = {thread * SITES}, depth = 0;
    for (uint32_t made = 0; made < stacks;) {
        arena_ref ref = next_stack(path, sites, &depth);
        struct tree_node *node = tree_node(&tree, ref);
        uint64_t cpu_ns = draw(PERIOD_NS), time_ns = (uint64_t)made * PERIOD_NS;
        made += node->self.samples == 0;
        node->self.samples++;
        node->self.cpu_ns += cpu_ns;
        node->self.blocked_ns += PERIOD_NS - cpu_ns;
        if (timeline->count < timeline->capacity)
            timeline->records[timeline->count++] = (struct timeline_record){.first_ns = time_ns,
                                                                            .last_ns = time_ns,
                                                                            .cpu_ns = cpu_ns,
                                                                            .wall_ns = PERIOD_NS,
                                                                            .thread = thread + 1,
                                                                            .node = ref,
                                                                            .observations = 1,
                                                                            .ticks = 1};
    }
}

static void make_names(struct symbols *symbols)
{
    const uint32_t pseudos = PSEUDO_COUNT, count = pseudos + FUNCTIONS * SITES;
    *symbols = (struct symbols){.location_count = count, .function_count = pseudos + FUNCTIONS};
    symbols->functions = take(symbols->function_count, sizeof *symbols->functions);
    symbols->frames = take(count, sizeof *symbols->frames);
    symbols->first_frame = take(count + 1, sizeof *symbols->first_frame);
    symbols->region_of = take(count, sizeof *symbols->region_of);
    for (uint32_t i = 0; i < symbols->function_count; i++) {
        char *name = take(2, NAME_BYTES), *file = name + NAME_BYTES;
        snprintf(name, NAME_BYTES, "space_%u::klass_%u::method_%u(int, char const*)", i % 40, i % 1000, i);
        snprintf(file, NAME_BYTES, "/usr/src/app/space_%u/klass_%u.cc", i % 40, i % FILES);
        symbols->functions[i] = (struct symbol_function){
            .name = name, .system_name = name, .file = file, .start_line = 1 + i % 900, .is_symbol = true};
        if (i < pseudos)
            symbols->functions[i] =
                (struct symbol_function){.name = tree_pseudo_name(i), .system_name = tree_pseudo_name(i)};
    }
    for (uint32_t i = 0; i < count; i++) {
        symbols->first_frame[i + 1] = i + 1;
        symbols->frames[i].function = i < pseudos ? i : pseudos + (i - pseudos) / SITES;
        symbols->frames[i].line = i < pseudos ? 0 : 10 + i % 900;
    }
}

static int write_store(const struct profile *profile, const char *path)
{
    int error, fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct sink *sink = sink_create(fd, path, SINK_PLAIN, &error);
    if (!sink || format_write(FORMAT_STORE, profile, sink) < 0)
        return 1;
    return sink_commit(sink) < 0;
}

int main(int argc, char **argv)
{
    static struct symbols symbols;
    static struct timeline timeline;
    const uint32_t stacks = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : STACKS;
    if (argc < 2 || arena_init(&arena, (size_t)1 << 30) < 0 || tree_init(&tree, &arena) < 0)
        return 2;
    make_modules();
    make_locations();
    make_threads();
    timeline.capacity = stacks;
    timeline.records = take(stacks, sizeof *timeline.records);
    for (uint32_t thread = 0; thread < THREADS; thread++)
        add_stacks(&timeline, stacks / THREADS, thread);
    make_names(&symbols);
    const struct profile profile = {.arena = &arena,
                                    .tree = &tree,
                                    .modules = &modules,
                                    .symbols = &symbols,
                                    .timeline = &timeline,
                                    .thread_of_number = thread_of_number,
                                    .thread_count = THREADS,
                                    .labels = LABELS_ID,
                                    .duration_ns = (uint64_t)stacks * PERIOD_NS,
                                    .period_ns = PERIOD_NS,
                                    .threads_per_tick = 8,
                                    .restraint = "",
                                    .command = "made up"};
    fprintf(stdout, "stacks %u\nnodes %u\nlocations %u\n", stacks, tree.node_count, tree.location_count);
    return write_store(&profile, argv[1]);
}
