#include "name_functions.h"

#include "demangle.h"
#include "tool/io/array.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 512 };

static uint64_t mix(uint64_t hash, const char *string)
{
    for (; string && *string; string++)
        hash = (hash ^ (unsigned char)*string) * 1099511628211U; /* FNV-1a */
    return (hash ^ 0xff) * 1099511628211U;
}

static uint32_t slot_of(const struct name_functions *functions, const char *system_name, const char *file)
{
    uint64_t hash = mix(mix(14695981039346656037U, system_name), file);
    return (uint32_t)(hash ^ hash >> 32) & (functions->slot_count - 1);
}

static bool is_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same(const struct name_functions *functions, uint32_t index, const struct function_key *key)
{
    const struct symbol_function *function = &functions->functions[index];
    const struct function_place *place = &functions->places[index];
    return place->module == key->module && place->symbol_address == key->symbol_address &&
           function->is_symbol == key->is_symbol && is_equal(function->system_name, key->system_name) &&
           is_equal(function->file, key->file) && (!key->name || is_equal(function->name, key->name)) &&
           (!key->is_script || function->start_line == key->start_line); /* a file has many <lambda> */
}

static bool grow_slots(struct name_functions *functions)
{
    if (2 * (functions->count + 1) <= functions->slot_count)
        return true;
    uint32_t count = functions->slot_count ? 2 * functions->slot_count : FIRST_SLOTS;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    free(functions->slots);
    functions->slots = slots;
    functions->slot_count = count;
    for (uint32_t i = 0; i < functions->count; i++) {
        uint32_t slot = slot_of(functions, functions->functions[i].system_name, functions->functions[i].file);
        while (slots[slot])
            slot = (slot + 1) & (count - 1);
        slots[slot] = i + 1;
    }
    return true;
}

static bool reserve_function(struct name_functions *functions)
{
    return functions->count < UINT32_MAX / 4 &&
           array_grow(&functions->functions, &functions->capacity, functions->count,
                      sizeof *functions->functions) &&
           array_grow(&functions->places, &functions->place_capacity, functions->count,
                      sizeof *functions->places) &&
           grow_slots(functions);
}

static const char *copy_string(struct name_functions *functions, const char *string)
{
    const char *kept = string ? string_pool_add(functions->store, string, strlen(string)) : NULL;
    if (string && !kept)
        functions->is_out_of_memory = true;
    return kept;
}

static const char *name_for_people(struct name_functions *functions, const struct function_key *key,
                                   const char *system_name)
{
    char demangled[DEMANGLED_MAX_BYTES];
    if (key->name)
        return strcmp(key->name, key->system_name) == 0 ? system_name : copy_string(functions, key->name);
    size_t bytes = key->is_symbol ? demangle(key->system_name, demangled) : 0;
    return bytes > 0 ? copy_string(functions, demangled) : system_name;
}

static uint32_t add_function(struct name_functions *functions, const struct function_key *key)
{
    struct symbol_function function = {
        .start_line = key->start_line, .is_symbol = key->is_symbol, .is_script = key->is_script};
    function.system_name = copy_string(functions, key->system_name);
    function.file = copy_string(functions, key->file);
    function.name = name_for_people(functions, key, function.system_name);
    functions->places[functions->count] = (struct function_place){key->symbol_address, key->module};
    functions->functions[functions->count] = function;
    return functions->count++;
}

uint32_t name_functions_find(struct name_functions *functions, const struct function_key *key)
{
    if (functions->is_out_of_memory || !reserve_function(functions)) {
        functions->is_out_of_memory = true;
        return 0;
    }
    uint32_t slot = slot_of(functions, key->system_name, key->file);
    for (; functions->slots[slot]; slot = (slot + 1) & (functions->slot_count - 1)) {
        uint32_t index = functions->slots[slot] - 1;
        if (!is_same(functions, index, key))
            continue;
        if (functions->functions[index].start_line == 0)
            functions->functions[index].start_line = key->start_line;
        return index;
    }
    functions->slots[slot] = functions->count + 1;
    return add_function(functions, key);
}

void name_functions_deinit(struct name_functions *functions)
{
    free(functions->functions);
    free(functions->places);
    free(functions->slots);
    *functions = (struct name_functions){0};
}
