/*
 * Names from three symbol tables: that of a module's file, that of its separate debug file, and the one
 * packed into the file (.gnu_debugdata).
 *
 * Called from: debug_info.c.
 */
#ifndef WALLPROF_DEBUG_SYMBOLS_H
#define WALLPROF_DEBUG_SYMBOLS_H

#include "debug_file.h"
#include "debug_info.h"
#include "elf/elf.h"

/* Fills in queries[0..count), which are ascending. They have their names as long as both `names` and the file
 * are there. */
void debug_symbols_find(const struct debug_file *file, const struct debug_module *module,
                        struct string_pool *names, struct elf_query *queries, size_t count);

#endif
