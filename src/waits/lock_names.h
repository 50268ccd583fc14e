/*
 * What a lock is called: the variable that it is or lies in; else the function that waited for it first.
 *
 * A lock in the data of a module has the name of the symbol that covers it, and how far in it is: `journal`,
 * `server+8`. Without a symbol it is the module's name and the address in its file: `libfoo.so+0x4040`. Names
 * of C++ are the linker's.
 *
 * A name costs one pass over a symbol table, of 5 ms for each million of symbols. All names together read a
 * limited amount of these.
 *
 * Called from: the sampler thread. Opens files for a moment, where it has a descriptor table of its own.
 */
#ifndef WALLPROF_LOCK_NAMES_H
#define WALLPROF_LOCK_NAMES_H

#include "elf/elf_covering.h"
#include "modules/modules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOCK_NAME_BYTES = ELF_COVERING_NAME_BYTES };

/* How many bytes of symbol tables are read, in one process. */
enum { LOCK_NAMES_BYTES_MAX = 256 << 20 };

struct lock_names {
    const struct modules *modules; /* not owned */
    uint64_t bytes_left;           /* of LOCK_NAMES_BYTES_MAX */
    bool has_files;                /* files may be opened; else only what is exported has names */
};

/* The module whose data or code holds an address, 0 for none. */
arena_ref lock_names_module(const struct lock_names *names, uint64_t address);

/* The name of what is at an address in a module. is_data: with the distance from its beginning. */
void lock_names_find(struct lock_names *names, arena_ref module, uint64_t address, bool is_data,
                     char ret[LOCK_NAME_BYTES]);

/* Makes a text as those of labels are (account/labels.h): valid UTF-8, with '?' for control characters. */
void lock_names_make_plain(char *text);

/* Whether a name is that of a function of the C++ library, or one that leads to it: std::mutex::lock, which
 * compilers put into the program. */
bool lock_names_is_standard(const char *name);

#endif
