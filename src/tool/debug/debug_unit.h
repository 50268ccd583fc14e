/*
 * What one compilation unit's debug information says about addresses in it: the function, the inlined calls,
 * files and lines.
 *
 * Standard: DWARF 5, 3.3 (subroutines), 3.3.8 (inlined), 2.17 (ranges), 6.2 (lines); DWARF 4 likewise.
 *
 * Called from: debug_info.c. Strings belong to the debug information.
 */
#ifndef WALLPROF_DEBUG_UNIT_H
#define WALLPROF_DEBUG_UNIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debug_frame {
    const char *name; /* the linker's name, else the plain one; NULL without either */
    const char *file; /* NULL if not known */
    uint32_t line, start_line;
    uint64_t symbol_at; /* if not 0: a symbol that begins there is a better name */
};

/* The frames that stand for an address, innermost first. */
struct debug_chain {
    struct debug_frame *frames; /* malloc'd */
    uint32_t count;             /* at most FRAMES_PER_ADDRESS_MAX */
    const char *directory;      /* what relative files are relative to; NULL if not known */
    bool is_complete;           /* no .dwo file and no shared debug file was missing */
};

/*
 * Fills in chains[0..count) for ascending addresses. Chains of addresses outside this unit's code stay as
 * they are. There is no code below code_low. An address of which only the line is known has one frame without
 * a name.
 */
void debug_unit_read(Dwarf_Die *unit, uint64_t code_low, const uint64_t *addresses, size_t count,
                     struct debug_chain *chains);

/*
 * Calls visit for each of the entry's ranges that holds some of the ascending addresses: with the index of
 * the first one, their number, and the length of the range. Returns the number of ranges.
 */
typedef void debug_range_fn(void *context, size_t first, size_t count, uint64_t bytes);
size_t debug_ranges_visit(Dwarf_Die *entry, uint64_t code_low, const uint64_t *addresses, size_t count,
                          debug_range_fn *visit, void *context);

#endif
