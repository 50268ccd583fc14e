/*
 * From addresses to names, once, when the profile is written.
 *
 * Order of sources for a module: .symtab and .dynsym of the file that was mapped, then the separate debug
 * file
 * (/usr/lib/debug/.build-id/xx/yyyy.debug). What has no symbol is called by its module and the offset of its
 * function, as far as unwind information knows it: [libfoo.so+0x1234].
 *
 * Called from: the exporting thread, with the profile's arena at rest.
 */
#ifndef WALLPROF_SYMBOLIZE_H
#define WALLPROF_SYMBOLIZE_H

#include "arena.h"
#include "modules.h"
#include "tree.h"

#include <stdbool.h>
#include <stdint.h>

/* A function in the sense of the profile: one entry of pprof's function table. */
struct wp_function {
    const char *name;        /* for people: demangled where possible; never NULL */
    const char *system_name; /* the linker's name; the same as name where there is none */
    bool is_symbol;          /* found in a symbol table, not made up from module and offset */
};

struct wp_symbols; /* names for all locations of one tree */

/*
 * Names every location of the tree. demangle is __cxa_demangle of the program (Itanium C++ ABI 3.4), or NULL;
 * it allocates with the program's malloc. NULL is returned only when there is no memory at all.
 */
typedef char *symbolize_demangle_fn(const char *mangled, char *buffer, size_t *length, int *status);
struct wp_symbols *symbolize_create(const struct wp_tree *tree, const struct wp_modules *modules,
                                    symbolize_demangle_fn *demangle);
void symbolize_destroy(struct wp_symbols *symbols);

/* Functions are numbered 0..count-1; several locations share one. */
uint32_t symbolize_function_count(const struct wp_symbols *symbols);
const struct wp_function *symbolize_function(const struct wp_symbols *symbols, uint32_t index);

/* The function of the location with this index (struct wp_location.index). */
uint32_t symbolize_function_of(const struct wp_symbols *symbols, uint32_t location_index);

/* True when at least one location of the module got its name from a symbol table. */
bool symbolize_module_has_names(const struct wp_symbols *symbols, arena_ref module);

#endif
