/*
 * The functions of a profile while its names are made: each stands once, whoever asks for it.
 *
 * Called from: names.c.
 */
#ifndef WALLPROF_TOOL_NAME_FUNCTIONS_H
#define WALLPROF_TOOL_NAME_FUNCTIONS_H

#include "base/string_pool.h"
#include "profile/symbols.h"

#include <stdbool.h>
#include <stdint.h>

/* What makes two functions the same: all of it, but for start_line. Strings are copied. */
struct function_key {
    const char *system_name;
    const char *name;        /* NULL: what demangling makes of system_name */
    const char *file;        /* or NULL */
    uint64_t symbol_address; /* of a plain symbol in */
    arena_ref module;        /* this module; 0 where the strings say all */
    uint32_t start_line;     /* 0 if not known */
    bool is_symbol;
};

struct name_functions {
    struct wp_function *functions; /* malloc'd; owned until taken */
    uint64_t *symbol_addresses;    /* by index, as the next */
    arena_ref *modules;
    uint32_t *slots; /* open addressing: 1 + index */
    uint32_t count, capacity, slot_count;
    struct name_store *store; /* not owned: names live there */
    bool is_out_of_memory;
};

/* The index of the function, made if new; 0 without memory. */
uint32_t name_functions_find(struct name_functions *functions, const struct function_key *key);
void name_functions_deinit(struct name_functions *functions);

#endif
