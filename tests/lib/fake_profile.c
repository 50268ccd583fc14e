#include "fake_profile.h"
#include "fake_module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fake_profile_reserve(void *array, size_t count, size_t bytes)
{
    void **memory = array;
    if ((count & (count - 1)) == 0) /* at each power of two, to the next one */
        *memory = realloc(*memory, bytes * (count ? 2 * count : 1));
    if (!*memory)
        abort();
}

uint32_t fake_profile_function(struct fake_profile *fake, const char *name, const char *file,
                               uint32_t start_line)
{
    struct symbols *symbols = &fake->symbols;
    fake_profile_reserve(&symbols->functions, symbols->function_count, sizeof(*symbols->functions));
    symbols->functions[symbols->function_count] = (struct symbol_function){
        .name = strdup(name), .file = file, .start_line = start_line, .is_symbol = true};
    symbols->functions[symbols->function_count].system_name =
        symbols->functions[symbols->function_count].name;
    return symbols->function_count++;
}

/* The frames of the next location, innermost first. */
static void fake_profile_frames(struct fake_profile *fake, const struct symbol_frame *frames, uint32_t count,
                                uint32_t region)
{
    struct symbols *symbols = &fake->symbols;
    for (uint32_t i = 0; i < count; i++) {
        fake_profile_reserve(&symbols->frames, fake->frame_count, sizeof(*symbols->frames));
        symbols->frames[fake->frame_count++] = frames[i];
    }
    fake_profile_reserve(&symbols->region_of, symbols->location_count, sizeof(*symbols->region_of));
    symbols->region_of[symbols->location_count++] = region;
    fake_profile_reserve(&symbols->first_frame, symbols->location_count, sizeof(*symbols->first_frame));
    symbols->first_frame[symbols->location_count] = fake->frame_count;
}

arena_ref fake_profile_location(struct fake_profile *fake, arena_ref module,
                                const struct symbol_frame *frames, uint32_t count)
{
    uint64_t address = UINT64_C(0x10000) + fake->symbols.location_count;
    arena_ref location = tree_location(&fake->tree, module, address, 0);
    if (!location || tree_location_at(&fake->tree, location)->index != fake->symbols.location_count)
        abort();
    fake_profile_frames(fake, frames, count, module ? 0 : fake->symbols.region_count);
    return location;
}

arena_ref fake_profile_plain(struct fake_profile *fake, arena_ref module, const char *name)
{
    struct symbol_frame frame = {fake_profile_function(fake, name, NULL, 0), 0};
    return fake_profile_location(fake, module, &frame, 1);
}

arena_ref fake_profile_label(struct fake_profile *fake, const char *key, const char *value)
{
    char name[TREE_LABEL_NAME_BYTES];
    arena_ref label = tree_label(&fake->tree, key, value);
    const struct location *location = label ? tree_location_at(&fake->tree, label) : NULL;
    if (!location)
        abort();
    if (location->index < fake->symbols.location_count)
        return label;
    const struct symbol_frame frame = {
        fake_profile_function(fake, tree_frame_name(&fake->arena, location, name), NULL, 0), 0};
    fake->symbols.functions[frame.function].is_symbol = false;
    fake_profile_frames(fake, &frame, 1, 0);
    return label;
}

arena_ref fake_profile_module(struct fake_profile *fake, const char *path)
{
    arena_ref ref = fake_module(&fake->modules, path, 0);
    struct module *module = arena_at(&fake->arena, ref);
    module->start_pc = 0x10000;
    module->end_pc = UINT64_C(1) << 40;
    module->is_sampled = true;
    module->is_main = fake->modules.count == 1;
    return ref;
}

void fake_profile_region(struct fake_profile *fake, const char *path)
{
    if (fake->symbols.region_count == FAKE_PROFILE_REGIONS)
        abort();
    fake->regions[fake->symbols.region_count++] = (struct code_region){.path = path};
}

arena_ref fake_profile_thread(struct fake_profile *fake, int32_t tid, const char *name)
{
    uint32_t number = ++fake->profile.thread_count;
    if (number > FAKE_PROFILE_THREADS)
        abort();
    arena_ref root = tree_root(&fake->tree, number), ref = 0;
    if (name) {
        ref = arena_alloc(&fake->arena, sizeof(struct thread_record));
        struct thread_record *record = arena_at(&fake->arena, ref);
        *record =
            (struct thread_record){.next = fake->newest_thread, .root = root, .number = number, .tid = tid};
        fake->newest_thread = ref;
        memcpy(record->name, name, strlen(name) < THREAD_NAME_BYTES ? strlen(name) : THREAD_NAME_BYTES);
    }
    fake->thread_of_number[number] = ref;
    return root;
}

arena_ref fake_profile_node(struct fake_profile *fake, arena_ref parent, arena_ref location)
{
    arena_ref node = tree_child(&fake->tree, parent, location);
    if (!node)
        abort();
    return node;
}

void fake_profile_weigh(struct fake_profile *fake, arena_ref node, uint64_t samples, uint64_t cpu_ns,
                        uint64_t blocked_ns)
{
    struct values *self = &tree_node(&fake->tree, node)->self;
    self->samples += samples;
    self->cpu_ns += cpu_ns;
    self->blocked_ns += blocked_ns;
}

void fake_profile_init(struct fake_profile *fake, size_t arena_bytes)
{
    *fake = (struct fake_profile){0};
    if (arena_init(&fake->arena, arena_bytes) < 0 || tree_init(&fake->tree, &fake->arena) < 0)
        abort();
    fake->modules.arena = &fake->arena;
    fake->symbols.regions = fake->regions;
    fake_profile_reserve(&fake->symbols.first_frame, 0, sizeof(*fake->symbols.first_frame));
    fake->symbols.first_frame[0] = 0;
    for (int i = 0; i < PSEUDO_COUNT; i++) {
        struct symbol_frame frame = {fake_profile_function(fake, tree_pseudo_name(i), NULL, 0), 0};
        fake_profile_frames(fake, &frame, 1, 0);
    }
    fake->profile = (struct profile){.arena = &fake->arena,
                                     .tree = &fake->tree,
                                     .modules = &fake->modules,
                                     .symbols = &fake->symbols,
                                     .thread_of_number = fake->thread_of_number,
                                     .labels = LABELS_ID,
                                     .start_utc_ns = UINT64_C(1764000000123456789),
                                     .duration_ns = UINT64_C(12345678901),
                                     .period_ns = 10000000,
                                     .threads_per_tick = 8,
                                     .restraint = "",
                                     .command = "./app --flag"};
}

void fake_profile_deinit(struct fake_profile *fake)
{
    for (uint32_t i = 0; i < fake->symbols.function_count; i++)
        free((char *)fake->symbols.functions[i].name);
    free(fake->symbols.functions);
    free(fake->symbols.frames);
    free(fake->symbols.first_frame);
    free(fake->symbols.region_of);
    tree_deinit(&fake->tree);
    arena_deinit(&fake->arena);
}
