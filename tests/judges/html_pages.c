/*
 * html_pages DIRECTORY [STACKS]: writes profiles made by hand as pages, for a browser to open, and as pprof
 * files.
 *
 * small: three threads, recursion, inlined calls. hostile: names that would be markup. large: 50,000 nodes.
 * huge: times beyond what a double holds. deep: one stack of 20,000 frames. waits: a lock, a file and an idle
 * pool. waiting: see lib/waiting_profile.h; some of it is blamed on holders. family: two processes, with
 * threads of some kinds. compared: two runs of one program, with a pprof file of each. timed: 2.4 s of three
 * threads with a timeline; timed-family: the same of two processes. timed-compared: timed, and before it the
 * same in twice the time; timed-after: the same two, and the first of them has no timeline. stacks: so many
 * different stacks, 100,000 if nothing is said.
 */
#include "tool/formats/formats.h"
#include "encode/enc_pprof.h"
#include "lib/fake_profile.h"
#include "lib/timed_profile.h"
#include "lib/waiting_profile.h"
#include "base/random.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    LARGE_NODES = 50000,
    LARGE_FUNCTIONS = 4000,
    LARGE_THREADS = 16,
    LARGE_DEPTH = 56,
    DEEP_FRAMES = 20000,
    STACKS = 100000,
    WRITER_2 = 3, /* threads of waiting_profile.h */
    READER = 4
};

static void write_file(const char *name, const struct fake_profile *fake, enum sink_coding coding,
                       int (*encode)(const struct profile *profile, struct sink *sink))
{
    int error;
    struct sink *sink = sink_create(AT_FDCWD, name, coding, &error);
    if (!sink || encode(&fake->profile, sink) < 0 || sink_commit(sink) < 0) {
        fprintf(stderr, "html_pages: %s cannot be written\n", name);
        exit(1);
    }
}

/* Both files of one profile. */
static void finish(const char *name, struct fake_profile *fake)
{
    char file[64];
    snprintf(file, sizeof file, "%s.html", name);
    write_file(file, fake, SINK_PLAIN, enc_html_write);
    snprintf(file, sizeof file, "%s.pb.gz", name);
    write_file(file, fake, SINK_GZIP, enc_pprof_write);
    fake_profile_deinit(fake);
}

/* parse calls itself, through item; copy is inlined into parse. */
static void write_small(void)
{
    struct fake_profile fake;
    fake_profile_init(&fake, 1 << 20);
    arena_ref app = fake_profile_module(&fake, "/opt/bin/app"),
              library = fake_profile_module(&fake, "/usr/lib/libc.so.6");
    uint32_t parse = fake_profile_function(&fake, "parse", "/src/parse.c", 100);
    uint32_t copy = fake_profile_function(&fake, "copy", "/src/copy.h", 7);
    uint32_t item = fake_profile_function(&fake, "item", "/src/parse.c", 50);
    arena_ref in_main = fake_profile_plain(&fake, app, "main"),
              in_wait = fake_profile_plain(&fake, library, "wait");
    arena_ref in_parse = fake_profile_location(&fake, app, &(struct symbol_frame){parse, 104}, 1);
    arena_ref in_parse_2 = fake_profile_location(&fake, app, &(struct symbol_frame){parse, 117}, 1);
    arena_ref in_item = fake_profile_location(&fake, app, &(struct symbol_frame){item, 55}, 1);
    arena_ref in_copy =
        fake_profile_location(&fake, app, (struct symbol_frame[]){{copy, 9}, {parse, 120}}, 2);
    arena_ref first = fake_profile_thread(&fake, 4001, "app");
    arena_ref top = fake_profile_node(&fake, first, in_main);
    arena_ref outer = fake_profile_node(&fake, top, in_parse),
              twin = fake_profile_node(&fake, top, in_parse_2);
    arena_ref within = fake_profile_node(&fake, outer, in_item);
    fake_profile_weigh(&fake, outer, 10, 100000001, 0);
    fake_profile_weigh(&fake, twin, 4, 40000000, 2000000);
    fake_profile_weigh(&fake, within, 5, 50000000, 0);
    fake_profile_weigh(&fake, fake_profile_node(&fake, within, in_parse), 3, 30000000, 0);
    fake_profile_weigh(&fake, fake_profile_node(&fake, within, in_copy), 7, 70000000, 500000);
    fake_profile_weigh(&fake, fake_profile_node(&fake, top, in_wait), 6, 1000, 600000000);
    for (int32_t tid = 4002; tid <= 4003; tid++) {
        arena_ref root = fake_profile_thread(&fake, tid, "worker");
        arena_ref begin = fake_profile_node(&fake, root, in_parse);
        fake_profile_weigh(&fake, begin, 20, 200000000 + (uint64_t)tid, 0);
        fake_profile_weigh(&fake, fake_profile_node(&fake, begin, in_wait), 9, 77, 900000000);
    }
    fake.profile.command = "/opt/bin/app --serve 'a file'";
    fake.profile.restraint = "asked for less than 100 ticks a second";
    finish("small", &fake);
}

static const char hostile_name[] =
    "</script><script>window.broken=1</script><img src=x onerror=window.broken=2>\"'&"
    "\xe2\x80\xa8\xff";

static void write_hostile(void)
{
    const char *name = hostile_name;
    struct fake_profile fake;
    fake_profile_init(&fake, 1 << 20);
    arena_ref module = fake_profile_module(&fake, name);
    struct symbol_frame frame = {fake_profile_function(&fake, name, name, 1), 1};
    arena_ref location = fake_profile_location(&fake, module, &frame, 1);
    arena_ref root = fake_profile_thread(&fake, 1, "<b onclick=x>&");
    fake_profile_weigh(&fake, fake_profile_node(&fake, root, location), 1, 1, 1);
    fake.profile.command = fake.profile.restraint = name;
    finish("hostile", &fake);
}

/* A profile as of a program of classes. */
struct large {
    struct fake_profile fake;
    struct random_state random;
    arena_ref locations[LARGE_FUNCTIONS], roots[LARGE_THREADS];
    uint32_t stacks; /* different ones */
};

static void init_large(struct large *large, size_t arena_bytes)
{
    struct fake_profile *fake = &large->fake;
    char name[96];
    arena_ref modules[14];
    fake_profile_init(fake, arena_bytes);
    random_init(&large->random, 1);
    for (int i = 0; i < 14; i++) {
        snprintf(name, sizeof name, "/usr/lib/x86_64-linux-gnu/libpart%d.so.%d", i, i % 3);
        modules[i] = fake_profile_module(fake, name);
    }
    for (int i = 0; i < LARGE_FUNCTIONS; i++) {
        snprintf(name, sizeof name, "service::Component%d::handle_%d(std::string const&, int)", i % 211, i);
        large->locations[i] = fake_profile_plain(fake, modules[(i * i / 7) % 14], name);
    }
    for (int i = 0; i < LARGE_THREADS; i++) {
        snprintf(name, sizeof name, "worker-%d", i);
        large->roots[i] = fake_profile_thread(fake, 7000 + i, name);
    }
    fake->profile.command = "/usr/sbin/service --workers 16";
}

/* Often the same callees, now and then others, down to LARGE_DEPTH. */
static arena_ref add_path(struct large *large)
{
    struct random_state *random = &large->random;
    arena_ref node = large->roots[random_below(random, LARGE_THREADS)];
    uint32_t place = random_below(random, 8);
    for (int depth = 0; depth < LARGE_DEPTH && random_below(random, 1000) >= 30; depth++) {
        place = place * 31 + random_below(random, random_below(random, 8) ? 2 : 16);
        node = fake_profile_node(&large->fake, node, large->locations[place % LARGE_FUNCTIONS]);
    }
    return node;
}

static void add_stack(struct large *large)
{
    struct random_state *random = &large->random;
    arena_ref ref = add_path(large);
    struct tree_node *node = tree_node(&large->fake.tree, ref);
    if (node->depth == 0)
        return;
    large->stacks += node->self.samples == 0;
    uint64_t weight = random_below(random, 1000);
    fake_profile_weigh(&large->fake, ref, 1, weight * weight * weight + 1,
                       random_below(random, 3) * weight * 100000);
    node->changes = (struct changes){(float)weight * 1e12F, 9e13F, (float)weight * 1e11F, 8e13F};
}

static void write_large(void)
{
    struct large large = {0};
    init_large(&large, 1 << 26);
    while (large.fake.tree.node_count < LARGE_NODES)
        add_stack(&large);
    finish("large", &large.fake);
}

static void write_stacks(uint32_t stacks)
{
    struct large large = {0};
    init_large(&large, (size_t)1 << 30);
    while (large.stacks < stacks)
        add_stack(&large);
    finish("stacks", &large.fake);
}

/* More than a double holds exactly. */
static void write_huge(void)
{
    struct fake_profile fake;
    fake_profile_init(&fake, 1 << 20);
    arena_ref location = fake_profile_plain(&fake, fake_profile_module(&fake, "/opt/bin/app"), "main");
    for (int32_t tid = 1; tid <= 2; tid++) {
        arena_ref node = fake_profile_node(&fake, fake_profile_thread(&fake, tid, "t"), location);
        fake_profile_weigh(&fake, node, 1, UINT64_C(9007199254740993), 0);
    }
    finish("huge", &fake);
}

static void write_deep(void)
{
    struct fake_profile fake;
    fake_profile_init(&fake, 1 << 24);
    arena_ref app = fake_profile_module(&fake, "/opt/bin/app");
    arena_ref odd = fake_profile_plain(&fake, app, "odd"), even = fake_profile_plain(&fake, app, "even");
    arena_ref node = fake_profile_thread(&fake, 1, "deep");
    for (int i = 0; i < DEEP_FRAMES; i++)
        node = fake_profile_node(&fake, node, i % 2 ? odd : even);
    fake_profile_weigh(&fake, node, 1, 1000000, 0);
    finish("deep", &fake);
}

/* Times in ms. */
static void weigh_wait(struct fake_profile *fake, arena_ref caller, arena_ref location, uint64_t samples,
                       uint64_t cpu_ms, uint64_t waited_ms)
{
    fake_profile_weigh(fake, fake_profile_node(fake, caller, location), samples, cpu_ms * 1000000,
                       waited_ms * 1000000);
}

static void write_waits(void)
{
    struct fake_profile fake;
    fake_profile_init(&fake, 1 << 20);
    arena_ref app = fake_profile_module(&fake, "/opt/bin/app"),
              library = fake_profile_module(&fake, "/usr/lib/libc.so.6");
    arena_ref in_serve = fake_profile_plain(&fake, app, "serve"),
              in_append = fake_profile_plain(&fake, app, "append"),
              in_lock = fake_profile_plain(&fake, library, "pthread_mutex_lock"),
              in_sync = fake_profile_plain(&fake, library, "fsync"),
              in_pop = fake_profile_plain(&fake, app, "pop"),
              in_wait = fake_profile_plain(&fake, library, "pthread_cond_wait");
    arena_ref serve = fake_profile_node(&fake, fake_profile_thread(&fake, 5001, "app"), in_serve);
    arena_ref append = fake_profile_node(&fake, serve, in_append);
    weigh_wait(&fake, serve, in_append, 10, 100, 0);
    weigh_wait(&fake, append, in_lock, 40, 0, 400);
    weigh_wait(&fake, append, in_sync, 50, 200, 300);
    for (int32_t tid = 5002; tid <= 5003; tid++) {
        arena_ref root = fake_profile_thread(&fake, tid, "pool");
        weigh_wait(&fake, fake_profile_node(&fake, root, in_pop), in_wait, 2, 0, 1500);
    }
    finish("waits", &fake);
}

static void write_waiting(void)
{
    struct waiting_profile waiting;
    waiting_profile_init(&waiting);
    waiting_profile_blame(&waiting, WRITER_2, WAITING_STACK("/run", "/append", "fsync"),
                          "mutex journal_mutex", "writer-2", 400);
    waiting_profile_blame(&waiting, WRITER_2, WAITING_STACK("/run", "/compute"), "mutex journal_mutex",
                          "writer-2", 150);
    waiting_profile_blame(&waiting, READER, WAITING_STACK("/run", "/serve", "/parse"), "mutex table_lock",
                          "reader", 200);
    finish("waiting", &waiting.fake);
}

static void write_family(void)
{
    static const struct process_record processes[] = {{"app", 100, PROCESS_NO_RANK, "", NULL},
                                                      {"db", 200, PROCESS_NO_RANK, "", NULL}};
    static const char *const names[2][4] = {{"app", "pool-1", "pool-2", "pool-13"}, {"db", "io-1", "io-2"}};
    struct fake_profile fake;
    fake_profile_init(&fake, 1 << 20);
    arena_ref work = fake_profile_plain(&fake, fake_profile_module(&fake, "/opt/bin/app"), "work");
    for (uint32_t process = 0; process < 2; process++) {
        for (int32_t i = 0; i < 4 && names[process][i]; i++) {
            arena_ref root = fake_profile_thread(&fake, processes[process].pid + i, names[process][i]);
            struct thread_record *thread =
                arena_at(&fake.arena, fake.thread_of_number[fake.profile.thread_count]);
            thread->process = process;
            weigh_wait(&fake, root, work, 1, 10 * (process + 1), 0);
        }
    }
    fake.profile.processes = processes;
    fake.profile.process_count = 2;
    fake.profile.is_merged = true;
    finish("family", &fake);
}

/* Two builds of a program, in other directories and with other names of its file. Times in ms. */
static const struct compared_function {
    const char *name, *files[2];
    uint64_t ms[2];
} compared_functions[] = {{"parse", {"/build/1/parse.c", "/build/2/parse.c"}, {100, 200}},
                          {"copy", {"/build/1/copy.c", "/build/2/copy.c"}, {160, 160}},
                          {"init", {"/build/1/a.c", "/build/2/a.c"}, {30, 30}},
                          {"init", {"/build/1/b.c", "/build/2/b.c"}, {10, 20}},
                          {"new_way", {NULL, "/build/2/new.c"}, {0, 90}},
                          {hostile_name, {"/build/1/old.c", NULL}, {100, 0}}};

/* Bars of 19.6 ms, for functions that only run. */
static void add_changes(struct fake_profile *fake, arena_ref caller)
{
    struct tree *tree = &fake->tree;
    for (arena_ref ref = tree_next(tree, caller, caller); ref; ref = tree_next(tree, caller, ref))
        tree_node(tree, ref)->changes = (struct changes){5e14F, 1e15F, 5e14F, 1e15F};
}

static void make_compared(struct fake_profile *fake, int side)
{
    static const struct process_record processes[2] = {{"app-1", 6001, PROCESS_NO_RANK, "", NULL},
                                                       {"app-2", 7001, PROCESS_NO_RANK, "", NULL}};
    static const char *const programs[2] = {"/build/1/app-1", "/build/2/app-2"};
    const int32_t pid = processes[side].pid;
    fake_profile_init(fake, 1 << 20);
    arena_ref app = fake_profile_module(fake, programs[side]);
    arena_ref library = fake_profile_module(fake, side ? "/lib64/libc.so.6" : "/usr/lib/libc.so.6");
    arena_ref in_work = fake_profile_plain(fake, app, "work");
    arena_ref in_sync = fake_profile_plain(fake, library, "fsync");
    arena_ref root = fake_profile_thread(fake, pid, processes[side].name);
    arena_ref top = fake_profile_node(fake, root, fake_profile_plain(fake, app, "main"));
    for (size_t i = 0; i < sizeof compared_functions / sizeof *compared_functions; i++) {
        const struct compared_function *function = &compared_functions[i];
        uint32_t number = fake_profile_function(fake, function->name, function->files[side], 10);
        struct symbol_frame frame = {number, 12 + (uint32_t)side};
        if (function->ms[side])
            weigh_wait(fake, top, fake_profile_location(fake, app, &frame, 1), function->ms[side] / 10,
                       function->ms[side], 0);
    }
    add_changes(fake, top);
    for (int32_t i = 1; i <= 1 + side; i++) {
        char name[16];
        snprintf(name, sizeof name, "worker-%d", i);
        arena_ref worker = fake_profile_node(fake, fake_profile_thread(fake, pid + i, name), in_work);
        weigh_wait(fake, worker, in_sync, 20, 0, side ? 250 : 400);
    }
    fake->profile.processes = &processes[side];
    fake->profile.process_count = 1;
    fake->profile.command = programs[side];
}

static void write_timed(void)
{
    static const char *const files[] = {"timed", "timed-family"};
    for (uint32_t i = 0; i < 2; i++) {
        struct timed_profile timed;
        timed_profile_init(&timed, 1 + i, 1);
        finish(files[i], &timed.fake);
    }
}

static void write_comparison(const char *file, const struct profile *before, const struct profile *after)
{
    int error;
    struct sink *sink = sink_create(AT_FDCWD, file, SINK_PLAIN, &error);
    if (!sink || enc_html_write_comparison(before, after, sink) < 0 || sink_commit(sink) < 0) {
        fprintf(stderr, "html_pages: %s cannot be written\n", file);
        exit(1);
    }
}

static void write_timed_comparisons(void)
{
    struct timed_profile before, after;
    timed_profile_init(&before, 1, 2);
    timed_profile_init(&after, 1, 1);
    write_comparison("timed-compared.html", &before.fake.profile, &after.fake.profile);
    before.fake.profile.timeline = NULL;
    write_comparison("timed-after.html", &before.fake.profile, &after.fake.profile);
    fake_profile_deinit(&before.fake);
    fake_profile_deinit(&after.fake);
}

static void write_compared(void)
{
    static struct fake_profile sides[2];
    for (int side = 0; side < 2; side++)
        make_compared(&sides[side], side);
    write_comparison("compared.html", &sides[0].profile, &sides[1].profile);
    finish("compared-before", &sides[0]);
    finish("compared-after", &sides[1]);
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3 || chdir(argv[1]) < 0) {
        fprintf(stderr, "usage: html_pages DIRECTORY [STACKS]\n");
        return 2;
    }
    write_small();
    write_hostile();
    write_large();
    write_huge();
    write_deep();
    write_waits();
    write_waiting();
    write_family();
    write_compared();
    write_timed();
    write_timed_comparisons();
    write_stacks(argc > 2 ? (uint32_t)atol(argv[2]) : STACKS);
    return 0;
}
