/*
 * A label's text is its key and its value. A script's function has a record with its first line, its name and
 * its file. A frame of it is that record and a line, so it is found by its address like any other.
 */
#include "tree_text.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

/* ---- labels ---- */

static uint64_t label_hash(const char *key, const char *value)
{
    uint64_t key_hash = hash_bytes(hash_of_nothing, key, strlen(key) + 1);
    return tree_hash_mix(hash_bytes(key_hash, value, strlen(value)));
}

const char *tree_label_key(const struct arena *arena, const struct location *label)
{
    return arena_at(arena, (arena_ref)(label->address & ~TREE_LABEL_ADDRESS));
}

const char *tree_label_value(const struct arena *arena, const struct location *label)
{
    const char *key = tree_label_key(arena, label);
    return key + strlen(key) + 1;
}

const char *tree_frame_name(const struct arena *arena, const struct location *location,
                            char buffer[TREE_LABEL_NAME_BYTES])
{
    if (!tree_is_label(location))
        return tree_pseudo_name((enum pseudo_frame)(location->pseudo - 1));
    snprintf(buffer, TREE_LABEL_NAME_BYTES, "{%.200s=%.300s}", tree_label_key(arena, location),
             tree_label_value(arena, location));
    return buffer;
}

static arena_ref find_label(const struct tree *tree, const char *key, const char *value, uint64_t hash)
{
    uint32_t mask = tree->location_index.capacity - 1;
    uint32_t at = (uint32_t)hash & mask;
    for (; tree->location_index.slots[at]; at = (at + 1) & mask) {
        const struct location *location = tree_location_at(tree, tree->location_index.slots[at]);
        if (tree_is_label(location) && strcmp(tree_label_key(tree->arena, location), key) == 0 &&
            strcmp(tree_label_value(tree->arena, location), value) == 0)
            return tree->location_index.slots[at];
    }
    return 0;
}

/* A copy of both texts, one after the other; 0 without memory. */
static arena_ref label_text(struct tree *tree, const char *key, const char *value)
{
    size_t key_bytes = strlen(key) + 1, value_bytes = strlen(value) + 1;
    arena_ref ref = arena_alloc(tree->arena, key_bytes + value_bytes);
    if (!ref)
        return 0;
    memcpy(arena_at(tree->arena, ref), key, key_bytes);
    memcpy((char *)arena_at(tree->arena, ref) + key_bytes, value, value_bytes);
    return ref;
}

arena_ref tree_label(struct tree *tree, const char *key, const char *value)
{
    uint64_t hash = label_hash(key, value);
    arena_ref ref = find_label(tree, key, value, hash);
    if (ref)
        return ref;
    arena_ref text = label_text(tree, key, value);
    const struct location label = {.address = TREE_LABEL_ADDRESS | text, .pseudo = 1 + PSEUDO_LABEL};
    return text ? tree_add_indexed_location(tree, &label) : 0;
}

/* ---- scripts ---- */

/* A function's record. After it come its name and its file, each with its NUL. */
struct script_function {
    uint32_t first_line, reserved;
};

static const char *function_name(const struct arena *arena, const struct location *location)
{
    return (const char *)arena_at(arena, (arena_ref)location->address) + sizeof(struct script_function);
}

static uint32_t line_of(const struct location *location)
{
    return (uint32_t)(location->address >> TREE_SCRIPT_LINE_SHIFT) & TREE_SCRIPT_LINE_MAX;
}

struct tree_script tree_script_of(const struct arena *arena, const struct location *location)
{
    const struct script_function *function = arena_at(arena, (arena_ref)location->address);
    const char *name = function_name(arena, location);
    return (struct tree_script){.function = name,
                                .file = name + strlen(name) + 1,
                                .first_line = function->first_line,
                                .line = line_of(location)};
}

static uint64_t script_hash(const struct tree_script *script)
{
    uint64_t hash = hash_bytes(hash_of_nothing, script->function, strlen(script->function) + 1);
    hash = hash_bytes(hash, script->file, strlen(script->file));
    return tree_hash_mix(hash ^ script->first_line);
}

static bool is_same_function(const struct tree_script *a, const struct tree_script *b)
{
    return a->first_line == b->first_line && strcmp(a->function, b->function) == 0 &&
           strcmp(a->file, b->file) == 0;
}

static bool is_function(const struct location *location)
{
    return tree_is_script(location) && line_of(location) == 0;
}

static arena_ref find_function(const struct tree *tree, const struct tree_script *script)
{
    uint32_t mask = tree->location_index.capacity - 1;
    uint32_t at = (uint32_t)script_hash(script) & mask;
    for (; tree->location_index.slots[at]; at = (at + 1) & mask) {
        const struct location *location = tree_location_at(tree, tree->location_index.slots[at]);
        if (!is_function(location))
            continue;
        const struct tree_script other = tree_script_of(tree->arena, location);
        if (is_same_function(script, &other))
            return tree->location_index.slots[at];
    }
    return 0;
}

static arena_ref make_function(struct tree *tree, const struct tree_script *script)
{
    const size_t name_bytes = strlen(script->function) + 1, file_bytes = strlen(script->file) + 1;
    arena_ref ref = arena_alloc(tree->arena, sizeof(struct script_function) + name_bytes + file_bytes);
    if (!ref)
        return 0;
    struct script_function *function = arena_at(tree->arena, ref);
    function->first_line = script->first_line;
    memcpy(function + 1, script->function, name_bytes);
    memcpy((char *)(function + 1) + name_bytes, script->file, file_bytes);
    const struct location location = {.address = TREE_SCRIPT_ADDRESS | ref,
                                      .function_start = TREE_SCRIPT_ADDRESS | ref};
    return tree_add_indexed_location(tree, &location);
}

arena_ref tree_script(struct tree *tree, const struct tree_script *script)
{
    arena_ref function = find_function(tree, script);
    if (!function)
        function = make_function(tree, script);
    if (!function || script->line == 0 || script->line > TREE_SCRIPT_LINE_MAX)
        return function;
    const uint64_t start = tree_location_at(tree, function)->address;
    return tree_location(tree, 0, start | (uint64_t)script->line << TREE_SCRIPT_LINE_SHIFT, start);
}

bool tree_script_is_sound(const struct arena *arena, const struct location *location)
{
    const uint64_t begin =
        (location->address & UINT32_MAX) * ARENA_UNIT_BYTES + sizeof(struct script_function);
    if (begin <= sizeof(struct script_function) || begin >= arena->used_bytes)
        return false;
    const char *name = (const char *)arena->base + begin,
               *end = (const char *)arena->base + arena->used_bytes;
    const char *name_end = memchr(name, '\0', (size_t)(end - name));
    return name_end && *name && name_end + 1 < end &&
           memchr(name_end + 1, '\0', (size_t)(end - name_end - 1)) &&
           location->function_start == (location->address & (TREE_SCRIPT_ADDRESS | UINT32_MAX)) &&
           tree_script_of(arena, location).first_line <= INT32_MAX;
}

/* ---- both ---- */

bool tree_text_hash(const struct tree *tree, const struct location *location, uint64_t *ret)
{
    const struct arena *arena = tree->arena;
    if (tree_is_label(location)) {
        *ret = label_hash(tree_label_key(arena, location), tree_label_value(arena, location));
    } else if (is_function(location)) {
        const struct tree_script script = tree_script_of(arena, location);
        *ret = script_hash(&script);
    } else {
        return false;
    }
    return true;
}
