/*
 * The table of a profile's functions while its names are made. Each function is in it once.
 *
 * Called from: names.c.
 */
#ifndef WALLPROF_NAME_FUNCTIONS_H
#define WALLPROF_NAME_FUNCTIONS_H

#include "base/string_pool.h"
#include "profile/symbols.h"

#include <stdbool.h>
#include <stdint.h>

/* Two functions are the same if all of this is equal, except start_line. Strings are copied. */
struct function_key {
    const char *system_name;
    const char *name;        /* NULL: system_name is demangled */
    const char *file;        /* or NULL */
    uint64_t symbol_address; /* of a plain symbol in its module, else 0 */
    arena_ref module;        /* 0 where the strings say everything */
    uint32_t start_line;     /* 0 if not known */
    bool is_symbol, is_script;
};

/* The part of a key that struct symbol_function lacks. */
struct function_place {
    uint64_t symbol_address;
    arena_ref module;
};

struct name_functions {
    struct symbol_function *functions; /* malloc'd; owned until the caller takes it */
    struct function_place *places;     /* by index */
    uint32_t *slots;                   /* open addressing: 1 + index */
    uint32_t count, capacity, place_capacity, slot_count;
    struct string_pool *store; /* not owned; the names are in it */
    bool is_out_of_memory;
};

/* The index of the function, made if new; 0 without memory. */
uint32_t name_functions_find(struct name_functions *functions, const struct function_key *key);
void name_functions_deinit(struct name_functions *functions);

#endif
