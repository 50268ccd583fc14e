/*
 * From addresses in one module's file to frames. The debug information names an address; where it says
 * nothing, the symbols do (.symtab, .dynsym, procedure linkage tables, .gnu_debugdata).
 *
 * The results are those of binutils' addr2line -i -f, with two exceptions. An inlined function may have no
 * linker's name although its language has them (extern "C" in C++). addr2line 2.40 then gives the name of the
 * symbol around it. Here it has its own name. The other exception is code between symbols, which has no name
 * here.
 *
 * Files are hostile. What libdw returns is bounded here in depth and number, but libdw does the parsing. A
 * caller that must survive a crash of libdw calls this in another process (debug_child.h).
 */
#ifndef WALLPROF_DEBUG_INFO_H
#define WALLPROF_DEBUG_INFO_H

#include "frame_table.h"

#include <stddef.h>
#include <stdint.h>

struct debug_module {
    const char *path;
    const uint8_t *build_id; /* the recorded GNU build-id */
    size_t build_id_bytes;   /* 0: it had none, so a file that has one is another file */
    bool is_known;           /* some of it has been read before: what is missing is read with all around it */
    void (*waiting)(void *); /* called every second while debug_child.h reads the file; or NULL */
    void *waiting_argument;
};

/*
 * Makes a table with a row around each address. Addresses are those of the file (run-time address minus load
 * bias), ascending and distinct. 0; or -errno with an empty table: as debug_file_open, or -ENOMEM.
 */
int debug_info_read(const struct debug_module *module, const uint64_t *addresses, size_t count,
                    struct frame_table *ret);

#endif
