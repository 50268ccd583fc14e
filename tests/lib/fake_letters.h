/*
 * A finished profile made by hand: stacks as in fake_stacks.h, and the functions that their letters stand
 * for.
 *
 * A letter is a function of its own with a name, a file and a first line; its call site N is N lines further
 * on. Small letters are in the program /bin/app, capital ones in /lib/lib.so.
 */
#ifndef WALLPROF_FAKE_LETTERS_H
#define WALLPROF_FAKE_LETTERS_H

#include "fake_files.h"
#include "fake_stacks.h"
#include "account/fold.h"
#include "encode/format.h"
#include "narrow_memory.h"
#include "base/random.h"

#include <errno.h>

enum { FAKE_LETTERS = 128, FAKE_LOCATIONS_MAX = 128, FAKE_THREADS_MAX = 8 };

struct fake_letters {
    struct wp_arena arena;
    struct wp_tree tree;
    struct wp_modules modules;
    struct wp_symbols symbols;
    struct wp_profile profile;
    arena_ref thread_of_number[FAKE_THREADS_MAX + 1];
    arena_ref program, library;
    struct wp_function functions[FAKE_LETTERS + PSEUDO_COUNT]; /* by letter, then pseudo-frames */
    const char *inlined[FAKE_LETTERS]; /* by letter: the stack that is inlined at its call site 9 */
    struct wp_frame frames[FAKE_LOCATIONS_MAX * 4];
    uint32_t first_frame[FAKE_LOCATIONS_MAX + 1], region_of[FAKE_LOCATIONS_MAX];
    struct fake_directory directory;
};

static inline arena_ref fake_module(struct fake_letters *fake, const char *path)
{
    arena_ref ref = arena_alloc(&fake->arena, sizeof(struct wp_module));
    struct wp_module *module = arena_at(&fake->arena, ref);
    module->path = arena_strdup(&fake->arena, path);
    module->next = fake->modules.newest;
    fake->modules.newest = ref;
    fake->modules.count++;
    return ref;
}

/* Every letter is called by itself, in file a.c, from line 0 on. */
static inline void fake_letters_begin(struct fake_letters *fake)
{
    static char names[FAKE_LETTERS][2];
    memset(fake, 0, sizeof *fake);
    fake_directory_create(&fake->directory);
    assert_int_equal(arena_init(&fake->arena, 1 << 22), 0);
    fake->program = fake_module(fake, "/bin/app");
    assert_int_equal(fake->program, FAKE_MODULE); /* as fake_path has it */
    fake->library = fake_module(fake, "/lib/lib.so");
    assert_int_equal(tree_init(&fake->tree, &fake->arena), 0);
    for (int letter = 0; letter < FAKE_LETTERS; letter++) {
        names[letter][0] = (char)letter;
        fake->functions[letter] = (struct wp_function){.name = names[letter], .file = "a.c"};
    }
    for (int i = 0; i < PSEUDO_COUNT; i++)
        fake->functions[FAKE_LETTERS + i] = (struct wp_function){.name = tree_pseudo_name(i)};
    fake->profile = (struct wp_profile){.arena = &fake->arena,
                                        .tree = &fake->tree,
                                        .modules = &fake->modules,
                                        .symbols = &fake->symbols,
                                        .thread_of_number = fake->thread_of_number,
                                        .labels = LABELS_ID,
                                        .period_ns = 10000000,
                                        .restraint = "",
                                        .command = "app --flag"};
}

static inline void fake_letters_end(struct fake_letters *fake)
{
    fake_directory_remove(&fake->directory);
    tree_deinit(&fake->tree);
    arena_deinit(&fake->arena);
}

static inline void fake_name(struct fake_letters *fake, char letter, const char *name, const char *file,
                             uint32_t start_line)
{
    fake->functions[(int)letter] = (struct wp_function){.name = name, .file = file, .start_line = start_line};
}

/* The thread's root. */
static inline arena_ref fake_thread(struct fake_letters *fake, int32_t tid, const char *name)
{
    uint32_t number = ++fake->profile.thread_count;
    assert_true(number <= FAKE_THREADS_MAX);
    arena_ref ref = arena_alloc(&fake->arena, sizeof(struct wp_thread_record));
    struct wp_thread_record *record = arena_at(&fake->arena, ref);
    *record = (struct wp_thread_record){.number = number, .tid = tid};
    record->root = tree_root(&fake->tree, number);
    assert_true(strlen(name) <= sizeof record->name);
    memcpy(record->name, name, strlen(name));
    fake->thread_of_number[number] = ref;
    return record->root;
}

/* What was measured with a stack below a root; each of its frames was called once more for it. */
static inline void fake_weigh(struct fake_letters *fake, arena_ref root, const char *stack,
                              struct wp_values values)
{
    arena_ref node = root;
    while (*stack) {
        arena_ref module = *stack < 'a' ? fake->library : fake->program;
        uint64_t address = fake_frame(&stack);
        node = tree_child(&fake->tree, node, tree_location(&fake->tree, module, address, 0));
        assert_int_not_equal(node, 0);
        tree_node(&fake->tree, node)->calls++;
    }
    fake_add_values(&tree_node(&fake->tree, node)->self, &values);
}

/* Frames of a location, innermost first: what is inlined there before the function itself. */
static inline uint32_t fake_frames(const struct fake_letters *fake, const struct wp_location *location,
                                   struct wp_frame *ret)
{
    uint32_t letter = (uint32_t)(location->address >> 8), site = location->address & 0xff, count = 0;
    if (location->pseudo) {
        ret[0] = (struct wp_frame){.function = FAKE_LETTERS + location->pseudo - 1};
        return 1;
    }
    const char *inlined = site == 9 && fake->inlined[letter] ? fake->inlined[letter] : "";
    for (size_t i = strlen(inlined); i-- > 0;)
        ret[count++] = (struct wp_frame){.function = (uint32_t)inlined[i],
                                         .line = fake->functions[(int)inlined[i]].start_line};
    ret[count++] = (struct wp_frame){.function = letter, .line = fake->functions[letter].start_line + site};
    return count;
}

/* The tree is complete: gives all of its locations names. */
static inline void fake_name_locations(struct fake_letters *fake)
{
    const struct wp_location *by_index[FAKE_LOCATIONS_MAX];
    uint32_t used = 0, count = fake->tree.location_count;
    assert_true(count <= FAKE_LOCATIONS_MAX);
    for (arena_ref ref = fake->tree.newest_location; ref; ref = tree_location_at(&fake->tree, ref)->next)
        by_index[tree_location_at(&fake->tree, ref)->index] = tree_location_at(&fake->tree, ref);
    for (uint32_t i = 0; i < count; i++) {
        fake->first_frame[i] = used;
        used += fake_frames(fake, by_index[i], &fake->frames[used]);
    }
    fake->first_frame[count] = used;
    fake->symbols = (struct wp_symbols){.location_count = count,
                                        .function_count = FAKE_LETTERS + PSEUDO_COUNT,
                                        .functions = fake->functions,
                                        .frames = fake->frames,
                                        .first_frame = fake->first_frame,
                                        .region_of = fake->region_of};
}

/* The profile in a format; fake_bytes_free. */
static inline struct fake_bytes fake_written(struct fake_letters *fake, enum wp_format format)
{
    int error;
    fake_name_locations(fake);
    struct sink *sink = sink_create(fake->directory.fd, "out", SINK_PLAIN, &error);
    assert_non_null(sink);
    assert_int_equal(format_write(format, &fake->profile, sink), 0);
    assert_int_equal(sink_commit(sink), 0);
    return fake_read(&fake->directory, "out");
}

/* What is returned with so many bytes of new memory to be had. */
static inline int fake_write_within(struct fake_letters *fake, enum wp_format format, uint64_t bytes)
{
    int error;
    struct sink *sink = sink_create(fake->directory.fd, "out", SINK_PLAIN, &error);
    assert_non_null(sink);
    struct rlimit before = narrow_memory_begin(bytes);
    int status = format_write(format, &fake->profile, sink);
    narrow_memory_end(before);
    assert_int_equal(sink_commit(sink), 0);
    return status;
}

/* Many stacks, and memory for none of them, some and all: nothing but an error comes of it. */
static inline void assert_error_without_memory(struct fake_letters *fake, enum wp_format format)
{
    enum { STEP = 64 * 1024, STEPS = 128 };
    struct wp_random random;
    int status = -ENOMEM, errors = 0;
    arena_ref root = fake_thread(fake, 7, "main");
    random_init(&random, 1);
    for (int i = 0; i < 2000; i++) {
        char stack[13] = "";
        for (int j = 0; j < 12; j++)
            stack[j] = (char)('a' + random_next(&random) % 26);
        fake_weigh(fake, root, stack, (struct wp_values){.samples = 1, .wall_ns = 1000000});
    }
    fake_name_locations(fake);
    for (int i = 0; i < STEPS && status == -ENOMEM; i++, errors += status == -ENOMEM)
        status = fake_write_within(fake, format, (uint64_t)i * STEP);
    assert_int_equal(status, 0);
    assert_true(errors > 4);
}

static inline void assert_written(struct fake_letters *fake, enum wp_format format, const char *expected)
{
    struct fake_bytes file = fake_written(fake, format);
    assert_string_equal((const char *)file.bytes, expected);
    fake_bytes_free(&file);
}

#endif
