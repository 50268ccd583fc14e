/*
 * Names from the symbol tables of a module's file, of its separate debug file, and of the one that is packed
 * into it (.gnu_debugdata).
 *
 * Called from: debug_info.c.
 */
#ifndef WALLPROF_TOOL_DEBUG_SYMBOLS_H
#define WALLPROF_TOOL_DEBUG_SYMBOLS_H

#include "debug_file.h"
#include "debug_info.h"
#include "elf/elf.h"

/* Answers queries[0..count), which are ascending. Names live as long as both elf_names and the file. */
void debug_symbols_find(const struct debug_file *file, const struct debug_module *module,
                        struct elf_names *elf_names, struct elf_query *queries, size_t count);

#endif
