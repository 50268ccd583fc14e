/*
 * From addresses in one module's file to frames: what its debug information says, and where that says nothing
 * of an address, its symbols (.symtab, .dynsym, procedure linkage tables, .gnu_debugdata).
 *
 * The results are those of binutils' addr2line -i -f, with two exceptions. Of an inlined function whose
 * language has linker's names but which has none (extern "C" in C++) addr2line 2.40 gives the name of the
 * symbol around it; here it is the function's own. And code between symbols gets no name here.
 *
 * Files are hostile: what libdw makes of one is bounded here in depth and number, but libdw parses it;
 * whoever cannot afford that it fails calls this in a process of its own (debug_child.h).
 */
#ifndef WALLPROF_TOOL_DEBUG_INFO_H
#define WALLPROF_TOOL_DEBUG_INFO_H

#include "frame_table.h"

#include <stddef.h>
#include <stdint.h>

struct debug_module {
    const char *path;
    const uint8_t *build_id; /* GNU build-id as it was recorded */
    size_t build_id_bytes;   /* 0: it had none, and a file that has one is another */
    void (*waiting)(void *); /* called with its argument every second while the file is read elsewhere */
    void *waiting_argument;  /* (debug_child.h); NULL if nobody wants to know */
};

/*
 * Makes a table with a row for each of the ascending, distinct addresses, which are as in the file: run-time
 * address minus load bias. 0; or -errno with an empty table: as debug_file_open, or -ENOMEM.
 */
int debug_info_read(const struct debug_module *module, const uint64_t *addresses, size_t count,
                    struct frame_table *ret);

#endif
