/*
 * One module's file, and the debug information that belongs to it, by libdwfl.
 *
 * The file is used only if it is the one that was recorded: it has the recorded build-id, or neither has any.
 * Debug information comes from the file itself, from a separate debug file by build-id or .gnu_debuglink
 * beside it, in .debug or in /usr/lib/debug, and of that from a file that several share (dwz) or from .dwo
 * files. From a server (debuginfod) only if DEBUGINFOD_URLS is set: libdwfl does not ask otherwise.
 *
 * Called from: debug_info.c.
 */
#ifndef WALLPROF_TOOL_DEBUG_FILE_H
#define WALLPROF_TOOL_DEBUG_FILE_H

#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

struct debug_file {
    Dwfl *dwfl; /* owned, and all that follows with it */
    Dwfl_Module *module;
    Dwarf *dwarf;           /* NULL without debug information */
    uint64_t dwarf_bias;    /* an address in the file minus the same in the debug information */
    uint64_t code_low;      /* in the debug information: no code is below */
    const char *debug_path; /* the separate debug file, or NULL */
};

/*
 * 0; or -errno with nothing held: -ENOENT and so on from open, -ENOEXEC for what is no ELF64 executable or
 * library, -ESTALE for another file than the recorded one.
 */
int debug_file_open(struct debug_file *file, const char *path, const uint8_t *build_id,
                    size_t build_id_bytes);
void debug_file_close(struct debug_file *file);

#endif
