/* A small profile made by hand, written to a file, read back,
 * and held to every rule that readers of pprof have. */
#include "encode/enc_pprof.h"
#include "encode/version.h"
#include "names/symbolize.h"

#include "lib/fake_module.h"
#include "lib/fake_pprof.h"
#include "lib/fake_stacks.h"
#include "base/random.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 8, TYPES = 6, SAMPLES = 0, CPU = 1, OFFCPU = 2, RUNDELAY = 3, BLAME = 4, WALL = 5 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct fixture {
    struct arena arena;
    struct tree tree;
    struct modules modules;
    struct symbolize_process process;
    struct profile profile;
    arena_ref thread_of_number[THREADS_MAX + 1], root_of_number[THREADS_MAX + 1];
    arena_ref main_module, library, own;
    struct fake_directory directory;
    struct fake_pprof read;
};

/* A C++ name, for the demangler below. */
__attribute__((noinline, used)) static int function_with_a_mangled_name(int x) __asm__("_Z8functioni");
static int function_with_a_mangled_name(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

__attribute__((noinline, used)) static int plain_function(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 2;
}

static char *fake_demangle(const char *mangled, char *buffer, size_t *length, int *status)
{
    (void)buffer;
    (void)length;
    *status = strcmp(mangled, "_Z8functioni") ? -2 : 0;
    return *status ? NULL : strdup("function(int)");
}

/* ---- making ---- */

static arena_ref add_module(struct fixture *fixture, const char *path, uint64_t start_pc, uint64_t bytes)
{
    arena_ref ref = fake_module(&fixture->modules.list, path, start_pc);
    struct module *module = arena_at(&fixture->arena, ref);
    module->start_pc = start_pc;
    module->end_pc = start_pc + bytes;
    module->is_sampled = true;
    return ref;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct module *module = data;
    (void)size;
    module->load_bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        module->start_pc = (info->dlpi_addr + header->p_vaddr) & ~UINT64_C(4095);
        module->end_pc = (info->dlpi_addr + header->p_vaddr + header->p_memsz + 4095) & ~UINT64_C(4095);
        module->file_offset = header->p_offset & ~UINT64_C(4095);
    }
    return 1;
}

/* This test itself, registered last although it is the main binary. */
static void add_modules(struct fixture *fixture)
{
    char path[PATH_MAX] = "";
    fixture->modules.list.arena = &fixture->arena;
    fixture->own = add_module(fixture, "/opt/lib/libwallprof.so", 0x10000, 0x1000);
    fixture->library = add_module(fixture, "/opt/lib/libfoo.so.1", 0x40000000, 0x3000);
    assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
    fixture->main_module = add_module(fixture, path, 0, 0);
    struct module *library = arena_at(&fixture->arena, fixture->library);
    struct module *own = arena_at(&fixture->arena, fixture->own);
    struct module *program = arena_at(&fixture->arena, fixture->main_module);
    library->file_offset = 0x7000;
    library->build_id_bytes = 5;
    memcpy(library->build_id, "\x00\x0f\xa0\xff\x7e\x99", 6);
    own->is_own = 1;
    program->is_main = 1;
    dl_iterate_phdr(first_object, program);
}

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof(fixture));
    fake_directory_create(&fixture.directory);
    assert_int_equal(arena_init(&fixture.arena, 1 << 24), 0);
    assert_int_equal(tree_init(&fixture.tree, &fixture.arena), 0);
    add_modules(&fixture);
    fixture.profile = (struct profile){.arena = &fixture.arena,
                                       .tree = &fixture.tree,
                                       .modules = &fixture.modules.list,
                                       .thread_of_number = fixture.thread_of_number,
                                       .has_rundelay = true,
                                       .labels = LABELS_ID,
                                       .start_utc_ns = UINT64_C(1764000000123456789),
                                       .duration_ns = UINT64_C(12345678901),
                                       .period_ns = 10000000,
                                       .threads_per_tick = 8,
                                       .restraint = "",
                                       .command = "./app --flag"};
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    fake_pprof_free(&fixture->read);
    fake_directory_remove(&fixture->directory);
    tree_deinit(&fixture->tree);
    arena_deinit(&fixture->arena);
    return 0;
}

/* Returns the thread's root. A name of up to 16 bytes; NULL for a thread that found no room for a record. */
static arena_ref add_thread(struct fixture *fixture, int32_t tid, const char *name)
{
    uint32_t number = ++fixture->profile.thread_count;
    assert_true(number <= THREADS_MAX);
    arena_ref root = tree_root(&fixture->tree, number);
    fixture->root_of_number[number] = root;
    if (!name)
        return root;
    arena_ref ref = arena_alloc(&fixture->arena, sizeof(struct thread_record));
    struct thread_record *record = arena_at(&fixture->arena, ref);
    *record = (struct thread_record){.root = root, .number = number, .tid = tid};
    memcpy(record->name, name, strnlen(name, sizeof(record->name)));
    fixture->thread_of_number[number] = ref;
    return root;
}

static arena_ref child(struct fixture *fixture, arena_ref parent, arena_ref module, uint64_t address)
{
    arena_ref location = tree_location(&fixture->tree, module, address, 0);
    arena_ref node = tree_child(&fixture->tree, parent, location);
    assert_int_not_equal(node, 0);
    return node;
}

static arena_ref in_library(struct fixture *fixture, arena_ref parent, uint64_t offset)
{
    return child(fixture, parent, fixture->library, 0x40000000 + offset);
}

static void weigh(struct fixture *fixture, arena_ref node, uint64_t samples, uint64_t cpu, uint64_t rundelay,
                  uint64_t blocked)
{
    tree_node(&fixture->tree, node)->self = (struct values){samples, cpu, rundelay, blocked};
}

/* ---- writing and reading ---- */

/* The second, independent reader, when it can be had. */
static void check_with_python(const struct fixture *fixture, const char *name)
{
    static const char *const labels[] = {"none", "name", "both"};
    char script[PATH_MAX] = __FILE__, program[PATH_MAX] = "", command[4 * PATH_MAX];
    char *slash = strrchr(script, '/');
    strcpy(slash ? slash + 1 : script, "pprof_read.py");
    if (access(script, R_OK) < 0 || system("python3 -c '' 2>/dev/null") != 0)
        return;
    assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
    snprintf(command, sizeof(command), "python3 '%s' check '%s/%s' --labels=%s --main='%s'", script,
             fixture->directory.path, name, labels[fixture->profile.labels], program);
    assert_int_equal(system(command), 0);
}

static void write_profile(struct fixture *fixture, const char *name)
{
    int error;
    fixture->process.modules = &fixture->modules;
    struct symbols *symbols =
        symbolize_create(&fixture->tree, &fixture->modules.list, fake_demangle, &fixture->process);
    assert_non_null(symbols);
    fixture->profile.symbols = symbols;
    struct sink *sink = sink_create(fixture->directory.fd, name, SINK_GZIP, &error);
    assert_non_null(sink);
    assert_int_equal(enc_pprof_write(&fixture->profile, sink), 0);
    assert_int_equal(sink_commit(sink), 0);
    symbolize_destroy(symbols);
}

static void export(struct fixture *fixture)
{
    write_profile(fixture, "out.pb.gz");
    struct fake_bytes plain = fake_gunzip(fake_read(&fixture->directory, "out.pb.gz"));
    fake_pprof_free(&fixture->read);
    fake_pprof_read(&plain, &fixture->read);
    fake_bytes_free(&plain);
}

static const char *text(const struct fixture *fixture, uint64_t index)
{
    return fake_string(&fixture->read, index);
}

/* ---- rules every file keeps ---- */

static void assert_strings(const struct fake_pprof *read)
{
    assert_true(read->string_count > 0);
    assert_string_equal(read->strings[0], "");
    for (size_t i = 0; i < read->string_count; i++) {
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(read->strings[i], read->strings[j]);
    }
}

static void assert_value_type(const struct fake_pprof *read, struct fake_value_type type, const char *name,
                              const char *unit)
{
    assert_string_equal(fake_string(read, type.type), name);
    assert_string_equal(fake_string(read, type.unit), unit);
}

static void assert_types(const struct fake_pprof *read)
{
    assert_int_equal(read->sample_type_count, TYPES);
    assert_value_type(read, read->sample_types[SAMPLES], "samples", "count");
    assert_value_type(read, read->sample_types[CPU], "cpu", "nanoseconds");
    assert_value_type(read, read->sample_types[OFFCPU], "offcpu", "nanoseconds");
    assert_value_type(read, read->sample_types[RUNDELAY], "rundelay", "nanoseconds");
    assert_value_type(read, read->sample_types[BLAME], "blame", "nanoseconds");
    assert_value_type(read, read->sample_types[WALL], "wall", "nanoseconds");
    assert_value_type(read, read->period_type, "wall", "nanoseconds");
    assert_string_equal(fake_string(read, read->field[14]), "wall");
    assert_int_equal(read->field[7], 0); /* drop_frames */
    assert_int_equal(read->field[8], 0); /* keep_frames */
}

static void assert_tables(const struct fake_pprof *read)
{
    for (size_t i = 0; i < read->mapping_count; i++)
        assert_int_equal(read->mappings[i].field[1], i + 1);
    for (size_t i = 0; i < read->function_count; i++) {
        assert_int_equal(read->functions[i].field[1], i + 1);
        assert_true(*fake_string(read, read->functions[i].field[2]) != '\0');
        assert_true(*fake_string(read, read->functions[i].field[3]) != '\0');
    }
    for (size_t i = 0; i < read->location_count; i++) {
        const struct fake_location *location = &read->locations[i];
        assert_int_equal(location->field[1], i + 1);
        assert_int_equal(location->line_count, 1);
        assert_in_range(location->function_ids[0], 1, read->function_count);
        assert_true(location->field[2] <= read->mapping_count);
        if (location->field[2]) {
            const uint64_t *mapping = read->mappings[location->field[2] - 1].field;
            assert_in_range(location->field[3], mapping[2], mapping[3] - 1);
        }
    }
}

static bool is_same_key(const struct fake_sample *a, const struct fake_sample *b)
{
    return a->locations.count == b->locations.count && a->label_count == b->label_count &&
           !memcmp(a->locations.at, b->locations.at, sizeof(uint64_t) * a->locations.count) &&
           !memcmp(a->labels, b->labels, sizeof(*a->labels) * a->label_count);
}

static void assert_samples(const struct fake_pprof *read)
{
    for (size_t i = 0; i < read->sample_count; i++) {
        const struct fake_sample *sample = &read->samples[i];
        assert_int_equal(sample->values.count, TYPES);
        assert_true(sample->values.at[0] | sample->values.at[1] | sample->values.at[2] |
                    sample->values.at[3]);
        for (size_t j = 0; j < sample->locations.count; j++)
            assert_in_range(sample->locations.at[j], 1, read->location_count);
        for (size_t j = 0; j < i && read->sample_count < 5000; j++)
            assert_false(is_same_key(sample, &read->samples[j]));
    }
}

static void export_and_check(struct fixture *fixture)
{
    export(fixture);
    assert_strings(&fixture->read);
    assert_types(&fixture->read);
    assert_tables(&fixture->read);
    assert_samples(&fixture->read);
    check_with_python(fixture, "out.pb.gz");
}

/* ---- finding and comparing ---- */

static uint64_t label_of(const struct fixture *fixture, const struct fake_sample *sample, const char *key,
                         bool is_string, bool *ret_found)
{
    *ret_found = false;
    for (size_t i = 0; i < sample->label_count; i++) {
        const struct fake_label *label = &sample->labels[i];
        assert_int_equal(label->unit, 0);
        if (strcmp(text(fixture, label->key), key) != 0)
            continue;
        assert_false(*ret_found); /* one value per key */
        assert_int_equal(is_string ? label->num : label->str, 0);
        *ret_found = true;
        return is_string ? label->str : label->num;
    }
    return 0;
}

/* The sample of a stack of offsets in the library, innermost first, ended by 0, with labels;
 * -1 and NULL for none. */
static const struct fake_sample *find(const struct fixture *fixture, const uint64_t *offsets, int64_t tid,
                                      const char *thread)
{
    const struct fake_pprof *read = &fixture->read;
    for (size_t i = 0; i < read->sample_count; i++) {
        const struct fake_sample *sample = &read->samples[i];
        bool has_name, has_id;
        uint64_t name = label_of(fixture, sample, "thread", true, &has_name);
        uint64_t id = label_of(fixture, sample, "thread_id", false, &has_id);
        bool is_it =
            has_name == !!thread && has_id == (tid >= 0) && sample->label_count == (size_t)has_name + has_id;
        is_it = is_it && (!thread || !strcmp(text(fixture, name), thread)) && (tid < 0 || (int64_t)id == tid);
        for (size_t j = 0; is_it && (j < sample->locations.count || offsets[j]); j++)
            is_it = j < sample->locations.count && offsets[j] &&
                    read->locations[sample->locations.at[j] - 1].field[3] == 0x40000000 + offsets[j];
        if (is_it)
            return sample;
    }
    return NULL;
}

static void assert_weighs(const struct fake_sample *sample, uint64_t samples, uint64_t cpu, uint64_t rundelay,
                          uint64_t blocked)
{
    assert_non_null(sample);
    assert_int_equal(sample->values.at[SAMPLES], samples);
    assert_int_equal(sample->values.at[CPU], cpu);
    assert_int_equal(sample->values.at[OFFCPU], rundelay + blocked);
    assert_int_equal(sample->values.at[RUNDELAY], rundelay);
    assert_int_equal(sample->values.at[WALL], cpu + rundelay + blocked);
}

#define STACK(...) ((const uint64_t[]){__VA_ARGS__, 0})

/* ---- header ---- */

static void an_empty_profile_is_a_profile(void **state)
{
    struct fixture *fixture = *state;
    export(fixture);
    assert_strings(&fixture->read);
    assert_types(&fixture->read);
    assert_tables(&fixture->read);
    assert_int_equal(fixture->read.sample_count, 0);
    assert_int_equal(fixture->read.location_count, PSEUDO_COUNT);
}

static void times_are_those_of_the_recording(void **state)
{
    struct fixture *fixture = *state;
    export(fixture);
    assert_int_equal(fixture->read.field[9], fixture->profile.start_utc_ns);
    assert_int_equal(fixture->read.field[10], fixture->profile.duration_ns);
    assert_int_equal(fixture->read.field[12], 10000000);
}

static void comments_tell_people_what_happened(void **state)
{
    static const char *const expected[] = {
        ("wallprof " WALLPROF_VERSION),
        "command: ./app --flag",
        "100 ticks a second requested, 1234 made, 5 missed; up to 8 threads a tick",
        "4321 samples: 12 not whole, 7 without a reply; 3 late signals dropped",
        "samples taken: 4000 unchanged, 300 walked from outside, 13 by signal, 7 without a reply: 99.54 % "
        "without "
        "a "
        "signal",
        "unwind: 99 of 4321 stacks by the full-register walk",
        "the sampler itself used 0.250 s of CPU, which is not in this profile; signals took about 0.035 s in "
        "the "
        "program's threads, which is in it",
    };
    struct fixture *fixture = *state;
    fixture->profile.counters = (struct counters){.ticks = 1234,
                                                  .late_ticks = 5,
                                                  .samples = 4321,
                                                  .unchanged = 4000,
                                                  .walked = 300,
                                                  .replies = 13,
                                                  .missing_replies = 7,
                                                  .truncated = 12,
                                                  .full_walks = 99,
                                                  .stray = 3,
                                                  .sampler_cpu_ns = 250000000,
                                                  .handler_cpu_ns = 35000000};
    export(fixture);
    assert_int_equal(fixture->read.comments.count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_string_equal(text(fixture, fixture->read.comments.at[i]), expected[i]);
    fixture->profile.counters.full_walks = 0; /* as nearly always: not worth a line */
    export(fixture);
    assert_int_equal(fixture->read.comments.count, COUNT(expected) - 1);
    fixture->profile.restraint = "restrained: 43 ticks a second";
    export(fixture);
    assert_int_equal(fixture->read.comments.count, COUNT(expected));
    assert_string_equal(text(fixture, fixture->read.comments.at[3]), fixture->profile.restraint);
}

static void a_long_odd_command_line_is_no_trouble(void **state)
{
    char command[5000];
    struct fixture *fixture = *state;
    memset(command, 'x', sizeof(command));
    memcpy(command, "a\xff b", 4);
    command[sizeof(command) - 1] = '\0';
    fixture->profile.command = command;
    export(fixture);
    assert_memory_equal(text(fixture, fixture->read.comments.at[1]), "command: a? bxxx", 16);
}

/* ---- samples ---- */

static void values_and_stacks_are_those_of_the_tree(void **state)
{
    struct fixture *fixture = *state;
    arena_ref root = add_thread(fixture, 100, "main");
    arena_ref a = in_library(fixture, root, 0x10), b = in_library(fixture, a, 0x20),
              c = in_library(fixture, b, 0x30);
    arena_ref d = in_library(fixture, b, 0x40), e = in_library(fixture, root, 0x50);
    weigh(fixture, a, 1, 2, 3, 4);
    weigh(fixture, c, UINT64_C(1) << 40, UINT64_C(1) << 62, 7, 300);
    weigh(fixture, d, 9, 10, 11, 12);
    weigh(fixture, e, 13, 14, 15, 16);
    export_and_check(fixture);
    assert_int_equal(fixture->read.sample_count, 4); /* b itself was never seen */
    assert_weighs(find(fixture, STACK(0x10), 100, "main"), 1, 2, 3, 4);
    assert_weighs(find(fixture, STACK(0x30, 0x20, 0x10), 100, "main"), UINT64_C(1) << 40, UINT64_C(1) << 62,
                  7, 300);
    assert_weighs(find(fixture, STACK(0x40, 0x20, 0x10), 100, "main"), 9, 10, 11, 12);
    assert_weighs(find(fixture, STACK(0x50), 100, "main"), 13, 14, 15, 16);
}

static void any_weight_makes_a_sample_and_none_does_not(void **state)
{
    struct fixture *fixture = *state;
    arena_ref root = add_thread(fixture, 1, "t");
    for (uint64_t kind = 0; kind < 4; kind++)
        weigh(fixture, in_library(fixture, root, 0x10 + kind), kind == 0, kind == 1, kind == 2, kind == 3);
    in_library(fixture, root, 0x20);
    export_and_check(fixture);
    assert_int_equal(fixture->read.sample_count, 4);
    for (uint64_t kind = 0; kind < 4; kind++)
        assert_weighs(find(fixture, STACK(0x10 + kind), 1, "t"), kind == 0, kind == 1, kind == 2, kind == 3);
}

static void recursion_repeats_a_location(void **state)
{
    struct fixture *fixture = *state;
    arena_ref node = add_thread(fixture, 1, "t");
    uint64_t stack[101] = {0};
    for (int i = 0; i < 100; i++) {
        node = in_library(fixture, node, 0x10);
        stack[i] = 0x10;
    }
    weigh(fixture, node, 1, 0, 0, 5);
    export_and_check(fixture);
    assert_weighs(find(fixture, stack, 1, "t"), 1, 0, 0, 5);
    assert_int_equal(fixture->read.sample_count, 1);
}

/* ---- labels ---- */

/* Two workers of one name, one of another; two stacks, of which one is common to all. */
static void add_workers(struct fixture *fixture)
{
    static const struct {
        int32_t tid;
        const char *name;
    } threads[] = {{101, "worker"}, {102, "worker"}, {103, "other"}};
    for (uint64_t i = 0; i < COUNT(threads); i++) {
        arena_ref root = add_thread(fixture, threads[i].tid, threads[i].name),
                  a = in_library(fixture, root, 0x10);
        weigh(fixture, a, 1 + i, 10 + i, 100 + i, 1000 + i);
        weigh(fixture, in_library(fixture, a, 0x20 + 0x10 * (i / 2)), 1, 2, 3, 4);
    }
}

static void without_labels_all_threads_are_one(void **state)
{
    struct fixture *fixture = *state;
    add_workers(fixture);
    fixture->profile.labels = LABELS_NONE;
    export_and_check(fixture);
    assert_int_equal(fixture->read.sample_count, 3);
    assert_weighs(find(fixture, STACK(0x10), -1, NULL), 6, 33, 303, 3003);
    assert_weighs(find(fixture, STACK(0x20, 0x10), -1, NULL), 2, 4, 6, 8);
    assert_weighs(find(fixture, STACK(0x30, 0x10), -1, NULL), 1, 2, 3, 4);
}

static void threads_of_one_name_are_one(void **state)
{
    struct fixture *fixture = *state;
    add_workers(fixture);
    fixture->profile.labels = LABELS_NAME;
    export_and_check(fixture);
    assert_int_equal(fixture->read.sample_count, 4);
    assert_weighs(find(fixture, STACK(0x10), -1, "worker"), 3, 21, 201, 2001);
    assert_weighs(find(fixture, STACK(0x20, 0x10), -1, "worker"), 2, 4, 6, 8);
    assert_weighs(find(fixture, STACK(0x10), -1, "other"), 3, 12, 102, 1002);
    assert_weighs(find(fixture, STACK(0x30, 0x10), -1, "other"), 1, 2, 3, 4);
}

static void with_ids_every_thread_is_its_own(void **state)
{
    struct fixture *fixture = *state;
    add_workers(fixture);
    export_and_check(fixture);
    assert_int_equal(fixture->read.sample_count, 6);
    assert_weighs(find(fixture, STACK(0x10), 101, "worker"), 1, 10, 100, 1000);
    assert_weighs(find(fixture, STACK(0x10), 102, "worker"), 2, 11, 101, 1001);
    assert_weighs(find(fixture, STACK(0x10), 103, "other"), 3, 12, 102, 1002);
    assert_weighs(find(fixture, STACK(0x20, 0x10), 102, "worker"), 1, 2, 3, 4);
}

static void a_tid_used_again_under_the_same_name_is_one(void **state)
{
    struct fixture *fixture = *state;
    weigh(fixture, in_library(fixture, add_thread(fixture, 7, "a"), 0x10), 1, 1, 1, 1);
    weigh(fixture, in_library(fixture, add_thread(fixture, 7, "b"), 0x10), 2, 2, 2, 2);
    weigh(fixture, in_library(fixture, add_thread(fixture, 7, "a"), 0x10), 4, 4, 4, 4);
    export_and_check(fixture);
    assert_int_equal(fixture->read.sample_count, 2);
    assert_weighs(find(fixture, STACK(0x10), 7, "a"), 5, 5, 5, 5);
    assert_weighs(find(fixture, STACK(0x10), 7, "b"), 2, 2, 2, 2);
}

static void odd_names_are_still_names(void **state)
{
    struct fixture *fixture = *state;
    weigh(fixture, in_library(fixture, add_thread(fixture, 1, ""), 0x10), 1, 0, 0, 0);
    weigh(fixture, in_library(fixture, add_thread(fixture, 2, "sixteen bytes..."), 0x10), 1, 0, 0, 0);
    weigh(fixture, in_library(fixture, add_thread(fixture, 3, "cut \xd0"), 0x10), 1, 0, 0, 0);
    weigh(fixture, in_library(fixture, add_thread(fixture, 4, "12345"), 0x10), 1, 0, 0, 0);
    export(fixture);
    assert_samples(&fixture->read);
    assert_non_null(find(fixture, STACK(0x10), 1, "[nameless]"));
    assert_non_null(find(fixture, STACK(0x10), 2, "sixteen bytes..."));
    assert_non_null(find(fixture, STACK(0x10), 3, "cut ?"));
    assert_non_null(find(fixture, STACK(0x10), 4, "12345"));
}

/* The kernel cuts a name after 15 bytes, in the midst of a character if need be. */
static void names_that_are_written_alike_are_one(void **state)
{
    struct fixture *fixture = *state;
    weigh(fixture, in_library(fixture, add_thread(fixture, 1, "a worker of me\xd0"), 0x10), 1, 0, 0, 0);
    weigh(fixture, in_library(fixture, add_thread(fixture, 2, "a worker of me\xd1"), 0x10), 2, 0, 0, 0);
    fixture->profile.labels = LABELS_NAME;
    export(fixture);
    assert_samples(&fixture->read);
    assert_weighs(find(fixture, STACK(0x10), -1, "a worker of me?"), 3, 0, 0, 0);
}

static void a_thread_called_nameless_is_one_with_the_nameless(void **state)
{
    struct fixture *fixture = *state;
    weigh(fixture, in_library(fixture, add_thread(fixture, 1, ""), 0x10), 1, 0, 0, 0);
    weigh(fixture, in_library(fixture, add_thread(fixture, 2, "[nameless]"), 0x10), 2, 0, 0, 0);
    fixture->profile.labels = LABELS_NAME;
    export(fixture);
    assert_samples(&fixture->read);
    assert_weighs(find(fixture, STACK(0x10), -1, "[nameless]"), 3, 0, 0, 0);
}

static void threads_without_a_record_have_no_labels(void **state)
{
    static const enum label_policy modes[] = {LABELS_NONE, LABELS_NAME, LABELS_ID};
    struct fixture *fixture = *state;
    weigh(fixture, in_library(fixture, fixture->tree.spare_root, 0x10), 1, 0, 0, 0);
    weigh(fixture, in_library(fixture, add_thread(fixture, 0, NULL), 0x10), 2, 0, 0, 0);
    weigh(fixture, in_library(fixture, add_thread(fixture, 5, "t"), 0x20), 4, 0, 0, 0);
    for (size_t i = 0; i < COUNT(modes); i++) {
        fixture->profile.labels = modes[i];
        export(fixture);
        assert_samples(&fixture->read);
        assert_int_equal(fixture->read.sample_count, 2);
        assert_weighs(find(fixture, STACK(0x10), -1, NULL), 3, 0, 0, 0);
        assert_weighs(find(fixture, STACK(0x20), modes[i] == LABELS_ID ? 5 : -1, modes[i] ? "t" : NULL), 4, 0,
                      0, 0);
    }
}

/* ---- tables ---- */

static void assert_mapping(const struct fixture *fixture, size_t at, arena_ref ref, const char *build_id)
{
    const struct module *module = arena_at(&fixture->arena, ref);
    const uint64_t *field = fixture->read.mappings[at].field;
    assert_int_equal(field[2], module->start_pc);
    assert_int_equal(field[3], module->end_pc);
    assert_int_equal(field[4], module->file_offset);
    assert_string_equal(text(fixture, field[5]), (const char *)arena_at(&fixture->arena, module->path));
    assert_string_equal(text(fixture, field[6]), build_id);
}

static void mappings_begin_with_the_main_binary(void **state)
{
    struct fixture *fixture = *state;
    arena_ref vdso = add_module(fixture, "[vdso]", 0x50000000, 0x1000);
    arena_ref second = add_module(fixture, "/opt/app", 0x60000000, 0x1000);
    arena_ref last = add_module(fixture, "/opt/lib/libbar.so", 0x70000000, 0x1000);
    struct module *bar = arena_at(&fixture->arena, last);
    arena_ref unused = add_module(fixture, "/opt/lib/libunused.so", 0x80000000, 0x1000);
    ((struct module *)arena_at(&fixture->arena, second))->is_main = 1;
    ((struct module *)arena_at(&fixture->arena, second))->is_sampled = false;
    ((struct module *)arena_at(&fixture->arena, unused))->is_sampled = false;
    bar->build_id_bytes = MODULE_BUILD_ID_MAX_BYTES;
    memset(bar->build_id, 0xc3, sizeof(bar->build_id));
    export(fixture);
    assert_tables(&fixture->read);
    assert_int_equal(fixture->read.mapping_count,
                     5); /* neither the profiler's own, nor what no sample is in */
    assert_mapping(fixture, 0, fixture->main_module, "");
    assert_mapping(fixture, 1, second, "");
    assert_mapping(fixture, 2, fixture->library, "000fa0ff7e");
    assert_mapping(fixture, 3, vdso, "");
    assert_mapping(fixture, 4, last, "c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3");
}

static const struct fake_location *location_at(const struct fixture *fixture, uint64_t address)
{
    for (size_t i = 0; i < fixture->read.location_count; i++) {
        if (fixture->read.locations[i].field[3] == address)
            return &fixture->read.locations[i];
    }
    return NULL;
}

static void assert_named(const struct fixture *fixture, const struct fake_location *location,
                         uint64_t mapping, const char *name, const char *system_name)
{
    assert_non_null(location);
    const uint64_t *function = fixture->read.functions[location->function_ids[0] - 1].field;
    assert_int_equal(location->field[2], mapping);
    assert_string_equal(text(fixture, function[2]), name);
    assert_string_equal(text(fixture, function[3]), system_name);
    assert_int_equal(function[4] | function[5] | location->lines[0], 0);
}

static void names_are_for_people_and_for_linkers(void **state)
{
    struct fixture *fixture = *state;
    uint64_t mangled = (uintptr_t)function_with_a_mangled_name, plain = (uintptr_t)plain_function;
    arena_ref a = child(fixture, add_thread(fixture, 1, "t"), fixture->main_module, plain);
    weigh(fixture, child(fixture, a, fixture->main_module, mangled), 1, 1, 1, 1);
    weigh(fixture, in_library(fixture, a, 0x1234), 1, 1, 1, 1);
    weigh(fixture, child(fixture, a, 0, 0x7000), 1, 1, 1, 1); /* code of no module: made at run time */
    export_and_check(fixture);
    assert_named(fixture, location_at(fixture, plain), 1, "plain_function", "plain_function");
    assert_named(fixture, location_at(fixture, mangled), 1, "function(int)", "_Z8functioni");
    assert_named(fixture, location_at(fixture, 0x40001234), 2, "[libfoo.so.1+0x1234]",
                 "[libfoo.so.1+0x1234]");
    assert_named(fixture, location_at(fixture, 0x7000), 3, "[anonymous code]", "[anonymous code]");
    assert_int_equal(fixture->read.mappings[0].field[7], 1); /* has_functions: only where there are any */
    assert_int_equal(fixture->read.mappings[1].field[7], 0);
    for (size_t i = 0; i < fixture->read.mapping_count; i++) {
        for (int flag = 8; flag <= 10; flag++)
            assert_int_equal(fixture->read.mappings[i].field[flag], 0);
    }
}

static void assert_region(const struct fixture *fixture, size_t at, uint64_t start, uint64_t end,
                          const char *path, uint64_t has_functions)
{
    const uint64_t *field = fixture->read.mappings[at].field;
    assert_int_equal(field[2], start);
    assert_int_equal(field[3], end);
    assert_int_equal(field[4], 0);
    assert_string_equal(text(fixture, field[5]), path);
    assert_string_equal(text(fixture, field[6]), "");
    assert_int_equal(field[7], has_functions);
}

/* Two pieces of memory, far from each other; the list names code in the second. */
static void code_outside_modules_has_mappings_of_its_own(void **state)
{
    struct fixture *fixture = *state;
    struct perf_maps maps;
    char path[PERF_MAP_PATH_BYTES];
    perf_maps_init(&maps, 1000000000 + getpid(), 0, NULL); /* above all pids that Linux gives */
    perf_map_path(maps.sources[0].pid, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "20000000 10 compiled\n", 21), 21);
    close(fd);
    arena_ref root = add_thread(fixture, 1, "t");
    weigh(fixture, child(fixture, root, 0, 0x20000004), 1, 1, 1, 1);
    weigh(fixture, child(fixture, root, 0, 0x20001000), 1, 1, 1, 1);
    weigh(fixture, child(fixture, root, 0, 0x7008), 1, 1, 1, 1);
    fixture->process.perf_maps = &maps;
    export_and_check(fixture);
    unlink(path);
    assert_int_equal(fixture->read.mapping_count, 4);
    assert_region(fixture, 2, 0x7000, 0x8000, "[anonymous executable]", 0);
    assert_region(fixture, 3, 0x20000000, 0x20002000, "[JIT]", 1);
    assert_named(fixture, location_at(fixture, 0x7008), 3, "[anonymous code]", "[anonymous code]");
    assert_named(fixture, location_at(fixture, 0x20000004), 4, "compiled", "compiled");
    assert_named(fixture, location_at(fixture, 0x20001000), 4, "[anonymous code]", "[anonymous code]");
}

/* All but the last two lines are those of every profile. */
static void comments_tell_which_files_are_gone(void **state)
{
    enum { USUAL = 6, SHOWN = 4, GONE = 7 };
    struct fixture *fixture = *state;
    arena_ref root = add_thread(fixture, 1, "t");
    weigh(fixture, in_library(fixture, root, 0x1234), 1, 1, 1, 1);
    export(fixture);
    assert_int_equal(fixture->read.comments.count, USUAL + 1);
    assert_string_equal(text(fixture, fixture->read.comments.at[USUAL]),
                        "/opt/lib/libfoo.so.1 was deleted while the program ran: names from memory and debug "
                        "files only");
    for (uint64_t i = 1; i < GONE; i++)
        weigh(fixture,
              child(fixture, root, add_module(fixture, i % 2 ? "/proc/self/exe/" : "/no/such", 0, 0), i), 1,
              1, 1, 1);
    add_module(fixture, "/not/in/the/profile", 0, 0);
    export(fixture); /* two segments of one file are one file */
    assert_int_equal(fixture->read.comments.count, USUAL + 3);
    /* pprof must not look there; libfoo.so.1 it knows by its build-id */
    assert_string_equal(text(fixture, fixture->read.mappings[1].field[5]), "/opt/lib/libfoo.so.1");
    assert_string_equal(text(fixture, fixture->read.mappings[3].field[5]), "/no/such (deleted)");
    assert_non_null(strstr(text(fixture, fixture->read.comments.at[USUAL + 1]),
                           "/proc/self/exe/ cannot be read: Not a directory: names"));
    for (uint64_t i = 0; i < GONE; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/no/such/%d", (int)i);
        weigh(fixture, child(fixture, root, add_module(fixture, path, 0, 0), i), 1, 1, 1, 1);
    }
    export(fixture);
    assert_int_equal(fixture->read.comments.count, USUAL + SHOWN + 1);
    assert_string_equal(text(fixture, fixture->read.comments.at[USUAL + SHOWN]), "and 6 more files");
}

static void pseudo_frames_have_a_name_and_nothing_else(void **state)
{
    struct fixture *fixture = *state;
    arena_ref root = add_thread(fixture, 1, "t");
    for (int i = 0; i < PSEUDO_COUNT; i++)
        weigh(fixture, tree_pseudo_child(&fixture->tree, root, (enum pseudo_frame)i), 0, 0, 0,
              1 + (uint64_t)i);
    export_and_check(fixture);
    assert_int_equal(fixture->read.sample_count, PSEUDO_COUNT);
    for (size_t i = 0; i < PSEUDO_COUNT; i++) {
        const struct fake_sample *sample = &fixture->read.samples[i];
        const struct fake_location *location = &fixture->read.locations[sample->locations.at[0] - 1];
        const char *name = tree_pseudo_name((enum pseudo_frame)(sample->values.at[WALL] - 1));
        assert_int_equal(sample->locations.count, 1);
        assert_int_equal(location->field[3], 0);
        assert_named(fixture, location, 0, name, name);
    }
}

/* ---- size ---- */

static struct values sum_of_read(const struct fake_pprof *read)
{
    struct values sum = {0};
    for (size_t i = 0; i < read->sample_count; i++) {
        const uint64_t *at = read->samples[i].values.at;
        fake_add_values(&sum,
                        &(struct values){at[SAMPLES], at[CPU], at[RUNDELAY], at[OFFCPU] - at[RUNDELAY]});
    }
    return sum;
}

static uint64_t wall_of(struct values values)
{
    return tree_wall_ns(&values);
}

/* Random trees of 1,000 nodes over 200 locations, in threads of two names. */
static void grow_random(struct fixture *fixture, struct values *sum)
{
    struct random_state random;
    random_init(&random, 1);
    for (int thread = 0; thread < 4; thread++) {
        arena_ref root = add_thread(fixture, 100 + thread, thread % 2 ? "odd" : "even"), node = root;
        for (int i = 0; i < 1000; i++) {
            bool is_deep = tree_node(&fixture->tree, node)->depth > 50;
            node = in_library(fixture, is_deep || random_below(&random, 3) == 0 ? root : node,
                              0x10 * (1 + random_below(&random, 200)));
            struct values more = {random_below(&random, 2), 0, random_below(&random, 100),
                                  random_below(&random, 9)};
            fake_add_values(&tree_node(&fixture->tree, node)->self, &more);
            fake_add_values(sum, &more);
        }
    }
}

static void nothing_is_lost_in_large_or_merged_profiles(void **state)
{
    static const enum label_policy modes[] = {LABELS_NONE, LABELS_NAME, LABELS_ID};
    struct fixture *fixture = *state;
    struct values sum = {0};
    size_t counts[COUNT(modes)];
    grow_random(fixture, &sum);
    for (size_t i = 0; i < COUNT(modes); i++) {
        fixture->profile.labels = modes[i];
        export_and_check(fixture);
        struct values found = sum_of_read(&fixture->read);
        assert_memory_equal(&found, &sum, sizeof(sum));
        counts[i] = fixture->read.sample_count;
    }
    assert_true(counts[0] < counts[1] && counts[1] < counts[2]);
}

static void twenty_thousand_samples_are_written(void **state)
{
    struct fixture *fixture = *state;
    arena_ref root = add_thread(fixture, 1, "t");
    for (uint64_t i = 0; i < 20000; i++)
        weigh(fixture, child(fixture, root, 0, 0x1000 * (i + 1)), 1, 0, 0, i);
    export(fixture);
    assert_types(&fixture->read);
    assert_tables(&fixture->read);
    assert_int_equal(fixture->read.sample_count, 20000);
    assert_int_equal(wall_of(sum_of_read(&fixture->read)), UINT64_C(20000) * 19999 / 2);
    assert_int_equal(fixture->read.location_count, 20000 + PSEUDO_COUNT);
    assert_int_equal(fixture->read.function_count, 1 + PSEUDO_COUNT); /* [anonymous code] */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_empty_profile_is_a_profile),
        TEST(times_are_those_of_the_recording),
        TEST(comments_tell_people_what_happened),
        TEST(a_long_odd_command_line_is_no_trouble),
        TEST(values_and_stacks_are_those_of_the_tree),
        TEST(any_weight_makes_a_sample_and_none_does_not),
        TEST(recursion_repeats_a_location),
        TEST(without_labels_all_threads_are_one),
        TEST(threads_of_one_name_are_one),
        TEST(with_ids_every_thread_is_its_own),
        TEST(a_tid_used_again_under_the_same_name_is_one),
        TEST(odd_names_are_still_names),
        TEST(names_that_are_written_alike_are_one),
        TEST(a_thread_called_nameless_is_one_with_the_nameless),
        TEST(threads_without_a_record_have_no_labels),
        TEST(mappings_begin_with_the_main_binary),
        TEST(names_are_for_people_and_for_linkers),
        TEST(code_outside_modules_has_mappings_of_its_own),
        TEST(comments_tell_which_files_are_gone),
        TEST(pseudo_frames_have_a_name_and_nothing_else),
        TEST(nothing_is_lost_in_large_or_merged_profiles),
        TEST(twenty_thousand_samples_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
