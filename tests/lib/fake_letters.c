#include "fake_letters.h"
#include "fake_module.h"

#include <errno.h>
#include <string.h>

static void fake_letters_begin(struct fake_letters *fake)
{
    static char names[FAKE_LETTERS][2];
    memset(fake, 0, sizeof *fake);
    fake_directory_create(&fake->directory);
    assert_int_equal(arena_init(&fake->arena, 1 << 22), 0);
    fake->modules.arena = &fake->arena;
    fake->program = fake_module(&fake->modules, "/bin/app", 0);
    assert_int_equal(fake->program, FAKE_MODULE); /* as fake_path has it */
    fake->library = fake_module(&fake->modules, "/lib/lib.so", 0);
    assert_int_equal(tree_init(&fake->tree, &fake->arena), 0);
    for (int letter = 0; letter < FAKE_LETTERS; letter++) {
        names[letter][0] = (char)letter;
        fake->functions[letter] = (struct symbol_function){.name = names[letter], .file = "a.c"};
    }
    for (int i = 0; i < PSEUDO_COUNT; i++)
        fake->functions[FAKE_LETTERS + i] = (struct symbol_function){.name = tree_pseudo_name(i)};
    fake->profile = (struct profile){.arena = &fake->arena,
                                     .tree = &fake->tree,
                                     .modules = &fake->modules,
                                     .symbols = &fake->symbols,
                                     .thread_of_number = fake->thread_of_number,
                                     .labels = LABELS_ID,
                                     .period_ns = 10000000,
                                     .restraint = "",
                                     .command = "app --flag"};
}

static void fake_letters_end(struct fake_letters *fake)
{
    fake_directory_remove(&fake->directory);
    tree_deinit(&fake->tree);
    arena_deinit(&fake->arena);
}

int fake_letters_setup(void **state)
{
    static struct fake_letters fake;
    *state = &fake;
    fake_letters_begin(&fake);
    return 0;
}

int fake_letters_teardown(void **state)
{
    fake_letters_end(*state);
    return 0;
}

struct values fake_wall(uint64_t wall_ns)
{
    return (struct values){.samples = 1, .blocked_ns = wall_ns};
}

void fake_name(struct fake_letters *fake, char letter, const char *name, const char *file,
               uint32_t start_line)
{
    fake->functions[(int)letter] =
        (struct symbol_function){.name = name, .file = file, .start_line = start_line};
}

arena_ref fake_thread(struct fake_letters *fake, int32_t tid, const char *name)
{
    uint32_t number = ++fake->profile.thread_count;
    assert_true(number <= FAKE_THREADS_MAX);
    arena_ref ref = arena_alloc(&fake->arena, sizeof(struct thread_record));
    struct thread_record *record = arena_at(&fake->arena, ref);
    *record = (struct thread_record){.number = number, .tid = tid};
    record->root = tree_root(&fake->tree, number);
    assert_true(strlen(name) <= sizeof record->name);
    memcpy(record->name, name, strlen(name));
    fake->thread_of_number[number] = ref;
    return record->root;
}

void fake_weigh(struct fake_letters *fake, arena_ref root, const char *stack, struct values values)
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
static uint32_t fake_frames(const struct fake_letters *fake, const struct location *location,
                            struct symbol_frame *ret)
{
    uint32_t letter = (uint32_t)(location->address >> 8), site = location->address & 0xff, count = 0;
    if (location->pseudo) {
        ret[0] = (struct symbol_frame){.function = FAKE_LETTERS + location->pseudo - 1};
        return 1;
    }
    const char *inlined = site == 9 && fake->inlined[letter] ? fake->inlined[letter] : "";
    for (size_t i = strlen(inlined); i-- > 0;)
        ret[count++] = (struct symbol_frame){.function = (uint32_t)inlined[i],
                                             .line = fake->functions[(int)inlined[i]].start_line};
    ret[count++] =
        (struct symbol_frame){.function = letter, .line = fake->functions[letter].start_line + site};
    return count;
}

/* The tree is complete: gives all of its locations names. */
static void fake_name_locations(struct fake_letters *fake)
{
    const struct location *by_index[FAKE_LOCATIONS_MAX];
    uint32_t used = 0, count = fake->tree.location_count;
    assert_true(count <= FAKE_LOCATIONS_MAX);
    for (arena_ref ref = fake->tree.newest_location; ref; ref = tree_location_at(&fake->tree, ref)->next)
        by_index[tree_location_at(&fake->tree, ref)->index] = tree_location_at(&fake->tree, ref);
    for (uint32_t i = 0; i < count; i++) {
        fake->first_frame[i] = used;
        used += fake_frames(fake, by_index[i], &fake->frames[used]);
    }
    fake->first_frame[count] = used;
    fake->symbols = (struct symbols){.location_count = count,
                                     .function_count = FAKE_LETTERS + PSEUDO_COUNT,
                                     .functions = fake->functions,
                                     .frames = fake->frames,
                                     .first_frame = fake->first_frame,
                                     .region_of = fake->region_of};
}

struct fake_bytes fake_letters_written(struct fake_letters *fake, enum file_format format)
{
    int error;
    fake_name_locations(fake);
    struct sink *sink = sink_create(fake->directory.fd, "out", SINK_PLAIN, &error);
    assert_non_null(sink);
    assert_int_equal(formats_write(format, &fake->profile, sink), 0);
    assert_int_equal(sink_commit(sink), 0);
    return fake_read(&fake->directory, "out");
}

/* What is returned with so many bytes of new memory to be had. */
static int fake_write_within(struct fake_letters *fake, enum file_format format, uint64_t bytes)
{
    int error;
    struct sink *sink = sink_create(fake->directory.fd, "out", SINK_PLAIN, &error);
    assert_non_null(sink);
    struct rlimit before = narrow_memory_begin(bytes);
    int status = formats_write(format, &fake->profile, sink);
    narrow_memory_end(before);
    assert_int_equal(sink_commit(sink), 0);
    return status;
}

void assert_error_without_memory(struct fake_letters *fake, enum file_format format)
{
    enum { STEP = 64 * 1024, STEPS = 128 };
    struct random_state random;
    int status = -ENOMEM, errors = 0;
    arena_ref root = fake_thread(fake, 7, "main");
    random_init(&random, 1);
    for (int i = 0; i < 2000; i++) {
        char stack[13] = "";
        for (int j = 0; j < 12; j++)
            stack[j] = (char)('a' + random_next(&random) % 26);
        fake_weigh(fake, root, stack, (struct values){.samples = 1, .blocked_ns = 1000000});
    }
    fake_name_locations(fake);
    for (int i = 0; i < STEPS && status == -ENOMEM; i++, errors += status == -ENOMEM)
        status = fake_write_within(fake, format, (uint64_t)i * STEP);
    assert_int_equal(status, 0);
    assert_true(errors > 4);
}

void assert_written(struct fake_letters *fake, enum file_format format, const char *expected)
{
    struct fake_bytes file = fake_letters_written(fake, format);
    assert_string_equal((const char *)file.bytes, expected);
    fake_bytes_free(&file);
}
