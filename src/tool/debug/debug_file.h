/*
 * One module's file, and the debug information that belongs to it, by libdwfl.
 *
 * The file is used only if it is the one that was recorded: it has the recorded build-id, or neither has any.
 * Debug information comes from the file itself, or from a separate debug file. That is found by build-id, or
 * by .gnu_debuglink beside the file, in .debug or in /usr/lib/debug. Parts of it may be in a file that
 * several share (dwz), or in .dwo files. A server (debuginfod) is used only if DEBUGINFOD_URLS is set.
 *
 * Called from: debug_info.c.
 */
#ifndef WALLPROF_DEBUG_FILE_H
#define WALLPROF_DEBUG_FILE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debug_file {
    Dwfl *dwfl; /* owned; it owns all that follows */
    Dwfl_Module *module;
    Dwarf *dwarf;           /* NULL without debug information */
    uint64_t dwarf_bias;    /* address in the file minus address in the debug information */
    uint64_t code_low;      /* in the debug information: there is no code below it */
    const char *debug_path; /* the separate debug file, or NULL */
};

/*
 * 0; or -errno with nothing held: -ENOENT and so on from open, -ENOEXEC for what is no ELF64 executable or
 * library, -ESTALE for another file than the recorded one.
 */
int debug_file_open(struct debug_file *file, const char *path, const uint8_t *build_id,
                    size_t build_id_bytes);
void debug_file_close(struct debug_file *file);

/* Whether debug information is to be asked for at servers (debuginfod). */
bool debug_file_asks_servers(void);

#endif
