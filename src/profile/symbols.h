/*
 * The names of a profile: the functions, files and lines of each of its locations.
 *
 * Filled by symbolize.h from the running process; by the tool from debug information, or from a profile that
 * it has read. Read by the encoders and reports. Plain data, owned by its maker.
 */
#ifndef WALLPROF_SYMBOLS_H
#define WALLPROF_SYMBOLS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* The memory that code outside all modules lies in: one mapping of the profile. */
struct code_region {
    uint64_t start, end;
    uint64_t file_offset; /* of start; 0 without a file */
    const char *path;     /* absolute, or "[JIT]" with listed functions, or "[anonymous executable]" */
    bool has_names;       /* some of its code is listed */
    bool is_gone;         /* no code any more: the bounds are those of pages that samples have seen */
};

/* A function of the profile: one entry of pprof's function table. */
struct symbol_function {
    const char *name;        /* for people: demangled where possible; never NULL */
    const char *system_name; /* the linker's name; the same as name where there is none */
    const char *file;        /* the source file it is in, absolute where known; NULL if not known */
    uint32_t start_line;     /* where it begins in that file; 0 if not known */
    bool is_symbol;          /* from a symbol table, debug information or a perf map; else an offset name */
    bool is_script;          /* an interpreter runs it, from a known file; in the tool only */
};

/* A function, and its line that was executed or from which the next frame inwards was called. */
struct symbol_frame {
    uint32_t function; /* index into functions */
    uint32_t line;     /* in the function's file; 0 if not known */
};

/* What is known of a module's locations, as pprof distinguishes it. */
struct symbols_module {
    arena_ref module; /* struct module */
    bool has_functions, has_files, has_lines, has_inlines;
};

/* A module with locations whose file could not be used. */
struct symbols_lost_file {
    arena_ref module;
    int error; /* -ESTALE: another file is at its path; -ENOENT: none; or why it cannot be read */
};

struct symbols {
    uint32_t location_count, function_count, module_count, region_count, lost_file_count;
    struct symbol_function *functions;
    struct symbol_frame *frames; /* of all locations, those of one together, innermost first */
    uint32_t *first_frame;       /* by location index, location_count + 1 of them: where its frames begin */
    uint32_t *region_of;         /* by location index: 1 + index into regions, 0 for none */
    const struct code_region *regions; /* that code outside all modules lies in; ascending */
    struct symbols_module *modules;    /* ascending by module; those of which something is known */
    struct symbols_lost_file *lost_files;
};

/* The frames of the location with this index (struct location.index): at least one. Where calls were inlined
 * there are several, the innermost first. */
static inline const struct symbol_frame *symbols_frames(const struct symbols *symbols,
                                                        uint32_t location_index, uint32_t *ret_count)
{
    uint32_t first = symbols->first_frame[location_index];
    *ret_count = symbols->first_frame[location_index + 1] - first;
    return &symbols->frames[first];
}

/* The function whose code a location is in: that of the outermost frame, which is not inlined. */
static inline uint32_t symbols_function_of(const struct symbols *symbols, uint32_t location_index)
{
    return symbols->frames[symbols->first_frame[location_index + 1] - 1].function;
}

/*
 * The name of code without a symbol: the last part of its module's path and the offset in it,
 * [libfoo.so+0x1234]. Returns the length.
 */
enum { SYMBOLS_OFFSET_NAME_BYTES = 256 + 32 };
int symbols_offset_name(char ret[SYMBOLS_OFFSET_NAME_BYTES], const char *module, uint64_t offset);

/*
 * Whether a symbol that begins at or before an address names the function there. function_start: where that
 * function begins, 0 if not known. A label, which has no size, is believed only up to the next function that
 * unwind information knows.
 */
static inline bool symbols_is_believed(uint64_t symbol_address, uint64_t symbol_bytes,
                                       uint64_t function_start)
{
    return symbol_bytes > 0 || function_start == 0 || symbol_address >= function_start;
}

/* What is known of a module; all false if nothing is. */
struct symbols_module symbols_module(const struct symbols *symbols, arena_ref module);

#endif
